"""Paths -> files, with the facts that their place on disk tells."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from kinsplit.errors import InvalidParameterError, LoadError
from kinsplit.loaders.facts import course_facts, kin_facts
from kinsplit.loaders.registry import format_of, suffixes

# What marks the folder of an embedded collection, which may lie inside the folder that it was made from.
_COLLECTION = "kinsplit.json"

_NEVER_WALKED = frozenset({"__pycache__", "node_modules"})  # .venv and the like are hidden anyway


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file that can be loaded.

    Attributes:
        path: Where it is, absolute.
        source_id: Its id, the same on every machine (see the package docstring).
        metadata: `file_path` (the id), `file_type`, `group_id`, `sibling_files`, and where known `course`, `subject`.
    """

    path: Path
    source_id: str
    metadata: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Discovery:
    """What lies under some paths.

    Attributes:
        files: The files that can be loaded, ordered by id.
        skipped: What was met and left alone: unknown suffixes, links to folders, and things that are no files. Ordered.
    """

    files: tuple[SourceFile, ...]
    skipped: tuple[Path, ...]


class _Listing(NamedTuple):
    files: list[Path]
    folders: list[Path]
    skipped: list[Path]


def discover(paths: str | Path | Iterable[str | Path], *, subjects: Sequence[str] = ()) -> Discovery:
    """Find the files under some paths, without opening any.

    Hidden files and folders, `__pycache__` and `node_modules` are passed over. Links to folders are not followed,
    links to files are. A file reached through several paths belongs to the first.

    Args:
        paths: Files and folders. A file given by itself is taken even when hidden.
        subjects: Names of sub-folders of the given folders; only these are searched. Default: everything.

    Returns:
        The files with their facts, and what was skipped.

    Raises:
        LoadError: A path or subject doesn't exist or can't be listed, a folder holds no file that can be loaded, a
            file's suffix is unknown, or two files would have the same id.
        InvalidParameterError: No path was given.
    """
    given = [Path(paths)] if isinstance(paths, str | Path) else [Path(path) for path in paths]
    if not given:
        raise InvalidParameterError("paths", "must name a file or a folder", given, "Give at least one.")
    found: dict[Path, SourceFile] = {}
    ids: dict[str, Path] = {}
    skipped: dict[Path, None] = {}
    alone: dict[Path, set[Path]] = {}
    for path in given:
        if _is_folder(path):
            for listing, sources in _search(path, subjects):
                skipped.update(dict.fromkeys(listing.skipped))
                _add(found, ids, sources)
        else:
            file = _checked_file(path, subjects)
            alone.setdefault(file.parent, set()).add(file)
    for folder, files in alone.items():  # by folder, so that `*.md` lists it once
        sources = _sources(folder, folder, sorted(files.union(_list(folder).files)))
        _add(found, ids, (source for source in sources if source.path in files))
    return Discovery(tuple(sorted(found.values(), key=lambda source: source.source_id)), tuple(sorted(skipped)))


def _add(found: dict[Path, SourceFile], ids: dict[str, Path], sources: Iterable[SourceFile]) -> None:
    for source in sources:
        if source.path in found:
            continue
        other = ids.setdefault(source.source_id, source.path)
        if other != source.path:
            raise LoadError(
                source.path,
                f"would get the same id as {other} ({source.source_id!r}). Give the folder that holds both instead.",
            )
        found[source.path] = source


def _search(root: Path, subjects: Sequence[str]) -> Iterator[tuple[_Listing, list[SourceFile]]]:
    """Walk a given folder, or its subjects, and yield each folder's listing with its files."""
    base = _absolute(root)
    for top, subject in _tops(root, base, subjects):
        empty = True
        waiting = [top]
        skipped = 0
        while waiting:
            folder = waiting.pop()
            listing = _list(folder)
            waiting.extend(listing.folders)
            skipped += len(listing.skipped)
            empty = empty and not listing.files
            yield listing, _sources(base, folder, listing.files, subject)
        if empty:
            raise LoadError(
                top if subject else root,
                f"holds no file that can be loaded ({skipped:,} skipped). Known suffixes: {', '.join(suffixes())}",
            )


def _tops(root: Path, base: Path, subjects: Sequence[str]) -> list[tuple[Path, str | None]]:
    if not subjects:
        return [(base, None)]
    there = {folder.name: folder for folder in _visible(base) if folder.is_dir()}
    for subject in subjects:
        if subject not in there:
            names = ", ".join(sorted(there)) or "none"
            raise LoadError(root, f"has no folder for the subject {subject!r}. Those there: {names}.")
    return [(there[subject], subject) for subject in dict.fromkeys(subjects)]


def _sources(base: Path, folder: Path, files: list[Path], subject: str | None = None) -> list[SourceFile]:
    """Return the files of one folder with their facts."""
    folders = folder.relative_to(base).parts
    folder_id = "/".join(filter(None, (base.name, *folders)))
    facts = course_facts(base.name, folders, subject)
    kin = kin_facts(folder_id, [file.name for file in files])
    sources = []
    for file in files:
        own = kin[file.name]
        fmt = format_of(file)
        if fmt is not None:
            metadata = {"file_path": own.source_id, "file_type": fmt.name, "group_id": own.group_id}
            sources.append(SourceFile(file, own.source_id, {**metadata, "sibling_files": own.siblings, **facts}))
    return sources


def _list(folder: Path) -> _Listing:
    listing = _Listing([], [], [])
    try:
        for path in _visible(folder):
            if path.is_dir():
                # A link could lead back up; following it would give files a second id or no end.
                if path.is_symlink():
                    listing.skipped.append(path)
                elif path.name not in _NEVER_WALKED and not (path / _COLLECTION).is_file():
                    listing.folders.append(path)
            elif path.is_file() and format_of(path) is not None:
                listing.files.append(path)
            else:
                listing.skipped.append(path)
    except OSError as error:
        raise LoadError(folder, f"can't be listed: {error.strerror}. Check the folder's permissions.") from error
    return listing


def _visible(folder: Path) -> list[Path]:
    return sorted(path for path in folder.iterdir() if not path.name.startswith("."))


def _is_folder(path: Path) -> bool:
    try:
        if not path.exists():
            raise LoadError(path, "doesn't exist. Check the spelling, and the folder you are in.")
        return path.is_dir()
    except OSError as error:
        raise LoadError(path, f"can't be reached: {error.strerror}. Check its permissions.") from error


def _checked_file(path: Path, subjects: Sequence[str]) -> Path:
    if subjects:
        raise LoadError(path, "is a file, and subjects are folders. Give the folder that holds the subjects' folders.")
    if not path.is_file():
        raise LoadError(path, "is neither a file nor a folder. Copy its content into a file first.")
    if format_of(path) is None:
        raise LoadError(path, f"has an unknown suffix. Known ones: {', '.join(suffixes())}")
    return _absolute(path)


def _absolute(path: Path) -> Path:
    """Return the absolute path; `..` and `.` need resolving because the folder's name begins the ids."""
    return path.resolve() if ".." in path.parts else path.absolute()
