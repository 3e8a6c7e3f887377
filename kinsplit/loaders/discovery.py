"""Paths -> files, with the facts that their place on disk tells."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, NamedTuple

from kinsplit.errors import InvalidParameterError, LoadError
from kinsplit.loaders.course_file import NAME as COURSE_FILE
from kinsplit.loaders.course_file import CourseFiles
from kinsplit.loaders.facts import course_facts, kin_facts, readable
from kinsplit.loaders.registry import format_of, known

_NEVER_WALKED = frozenset({"__pycache__", "node_modules"})  # .venv and the like are hidden anyway


class Listing(NamedTuple):
    """What lies in a folder.

    Attributes:
        files: Those that can be loaded, without a `course.toml`.
        folders: Those to search.
        skipped: What is left alone.
    """

    files: list[Path]
    folders: list[Path]
    skipped: list[Path]


def list_folder(folder: Path) -> Listing:
    """List a folder.

    Raises:
        LoadError: It can't be listed.
    """
    listing = Listing([], [], [])
    for path in _visible(folder):
        kind = _kind(path)
        if kind == "folder":
            # A link could lead back up; following it would give files a second id or no end.
            if path.is_symlink():
                listing.skipped.append(path)
            elif path.name not in _NEVER_WALKED:
                listing.folders.append(path)
        elif path.name == COURSE_FILE:
            continue
        elif kind == "file" and format_of(path) is not None:
            listing.files.append(path)
        else:
            listing.skipped.append(path)
    return listing


def folders_of(folder: Path) -> list[Path]:
    """Return the folders in a folder, also links to such.

    Raises:
        LoadError: It can't be listed.
    """
    return [path for path in _visible(folder) if _kind(path) == "folder"]


def _visible(folder: Path) -> list[Path]:
    """Return what lies in a folder and isn't hidden, sorted."""
    try:
        return sorted(path for path in folder.iterdir() if not path.name.startswith("."))
    except OSError as error:
        raise LoadError(folder, f"can't be listed: {error.strerror}. Check the folder's permissions.") from error


def _kind(path: Path) -> Literal["folder", "file", "other"]:
    try:
        return "folder" if path.is_dir() else "file" if path.is_file() or dangling(path) else "other"
    except OSError:
        return "file"  # It can't be looked at, and the others can: whoever reads it reports it.


def dangling(path: Path) -> LoadError | None:
    """Return why a path can't be followed, if it is a link that leads nowhere or in a circle."""
    try:
        if not path.is_symlink() or path.exists():
            return None
        return LoadError(path, f"is a link to {str(path.readlink())!r}, which isn't there. Mend it, or delete it.")
    except OSError:
        return None  # Whoever looks at it next says why that fails.


def is_folder(path: Path) -> bool:
    """Return whether a given path is a folder; a link that leads nowhere is none.

    Raises:
        LoadError: It doesn't exist, or can't be looked at.
    """
    try:
        if not path.exists() and not path.is_symlink():
            raise LoadError(path, "doesn't exist. Check the spelling, and the folder you are in.")
        return path.is_dir()
    except OSError as error:
        raise LoadError(path, f"can't be reached: {error.strerror}. Check its permissions.") from error


def checked_file(path: Path, subjects: Sequence[str]) -> Path:
    """Return the absolute path of a given file.

    Raises:
        LoadError: It can't be loaded, or has no subjects to choose from.
    """
    if subjects:
        raise LoadError(path, "is a file, and subjects are folders. Give the folder that holds the subjects' folders.")
    if not path.is_file():
        raise LoadError(path, "is neither a file nor a folder. Copy its content into a file first.")
    if format_of(path) is None:
        raise LoadError(path, f"has an unknown suffix. Known ones: {known()}.")
    return absolute(path)


def absolute(path: Path) -> Path:
    """Return the absolute path; `..` and `.` need resolving because the folder's name begins the ids."""
    return path.resolve() if ".." in path.parts else path.absolute()


# What marks the folder of an embedded collection, which may lie inside the folder that it was made from.
_COLLECTION = "kinsplit.json"


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file to load, or a folder or link that can't be followed and is reported like a file that fails.

    Attributes:
        path: Where it is, absolute.
        source_id: Its id, the same on every machine (see the package docstring).
        metadata: `file_path` (the id), `file_type`, `group_id`, `sibling_files`, and where known `course`, `subject`.
        given: Whether the file itself was asked for, and not a folder that holds it.
        error: Why there is nothing to load; None for a file.
    """

    path: Path
    source_id: str
    metadata: Mapping[str, Any]
    given: bool = False
    error: LoadError | None = None

    @property
    def resolved(self) -> Path:
        """Where it is when links are followed; `Path.resolve` raises where they lead in a circle."""
        return Path(os.path.realpath(self.path))


@dataclass(frozen=True, slots=True)
class Discovery:
    """What lies under some paths.

    Attributes:
        files: The files to load, and the folders and links that can't be followed, ordered by id.
        skipped: What was met and left alone: unknown suffixes, links to folders, and things that are no files. Ordered.
        folders: Ids of the folders that were searched with all that lies below: the given ones, or their subjects.
    """

    files: tuple[SourceFile, ...] = ()
    skipped: tuple[Path, ...] = ()
    folders: tuple[str, ...] = ()


def discover(paths: str | Path | Iterable[str | Path], *, subjects: Sequence[str] = ()) -> Discovery:
    """Find the files under some paths, without opening any.

    Hidden files and folders, `__pycache__` and `node_modules` are passed over. Links to folders are not followed. Links
    to files are, wherever they lead; one that leads nowhere is a file that fails. A file reached through several paths
    belongs to the first.

    Args:
        paths: Files and folders. A file given by itself is taken even when hidden.
        subjects: Names of sub-folders of the given folders; only these are searched. Default: everything.

    Returns:
        The files with their facts, and what was skipped.

    Raises:
        LoadError: A path or subject doesn't exist or can't be listed, a folder holds no file that can be loaded, a
            given file's suffix is unknown, or two files would have the same id.
        InvalidParameterError: No path was given.
    """
    items = [paths] if isinstance(paths, str | Path) else list(paths)
    if not items or "" in items:  # which Path takes for the folder one is in
        raise InvalidParameterError("paths", "must name files or folders", items, "Give at least one, and none empty.")
    given = [Path(item) for item in items]
    found: dict[Path, SourceFile] = {}
    ids: dict[str, Path] = {}
    skipped: dict[Path, None] = {}
    alone: dict[Path, set[Path]] = {}
    folders: list[str] = []
    for path in given:
        if broken := dangling(path):
            folder, name = absolute(path.parent), path.name
            _add(
                found, ids, [SourceFile(folder / name, _folder_id(folder, folder / name), {}, given=True, error=broken)]
            )
        elif is_folder(path):
            base = absolute(path)
            for top, subject in _tops(path, base, subjects):
                folders.append(_folder_id(base, top))
                for listing, sources in _search(path, base, top, subject):
                    skipped.update(dict.fromkeys(listing.skipped))
                    _add(found, ids, sources)
        else:
            file = checked_file(path, subjects)
            alone.setdefault(file.parent, set()).add(file)
    for folder, names in alone.items():  # by folder, so that `*.md` lists it once
        told, broken = _told(CourseFiles(), folder)
        sources = _sources(folder, folder, sorted(names.union(list_folder(folder).files)), told)
        _add(found, ids, _failed(folder, folder, broken))
        _add(found, ids, (replace(source, given=True) for source in sources if source.path in names))
    files = tuple(sorted(found.values(), key=lambda source: source.source_id))
    return Discovery(files, tuple(sorted(skipped)), tuple(folders))


def _add(found: dict[Path, SourceFile], ids: dict[str, Path], sources: Iterable[SourceFile]) -> None:
    for source in sources:
        if source.path in found:
            if source.given:
                found[source.path] = replace(found[source.path], given=True)
            continue
        other = ids.setdefault(source.source_id, source.path)
        if other != source.path:
            raise LoadError(
                source.path,
                f"would get the same id as {other} ({source.source_id!r}). Give the folder that holds both instead.",
            )
        found[source.path] = source


def _search(root: Path, base: Path, top: Path, subject: str | None) -> Iterator[tuple[Listing, list[SourceFile]]]:
    """Walk a given folder, or a subject of it, and yield each folder's listing with its files."""
    empty = True
    told, broken = _told(CourseFiles(), base) if top != base else (CourseFiles(), None)
    if broken:
        yield Listing([], [], []), _failed(base, base, broken)
    waiting = [(top, told)]
    skipped = 0
    while waiting:
        folder, told = waiting.pop()
        try:
            listing = list_folder(folder)
        except LoadError as error:
            if folder == top:
                raise
            empty = False
            yield Listing([], [], []), [SourceFile(folder, _folder_id(base, folder), {}, error=error)]
            continue
        if folder != top and folder / _COLLECTION in listing.files:
            continue
        told, broken = _told(told, folder)
        waiting.extend((inner, told) for inner in listing.folders)
        skipped += len(listing.skipped)
        empty = empty and not listing.files
        yield listing, [*_sources(base, folder, listing.files, told, subject), *_failed(base, folder, broken)]
    if empty:
        raise LoadError(
            top if subject else root,
            f"holds no file that can be loaded ({skipped:,} skipped). Known suffixes: {known()}.",
        )


def _tops(root: Path, base: Path, subjects: Sequence[str]) -> list[tuple[Path, str | None]]:
    if not subjects:
        return [(base, None)]
    there = {folder.name: folder for folder in folders_of(base)}
    for subject in subjects:
        if subject not in there:
            names = ", ".join(sorted(there)) or "none"
            raise LoadError(root, f"has no folder for the subject {subject!r}. Those there: {names}.")
    return [(there[subject], subject) for subject in dict.fromkeys(subjects)]


def _told(told: CourseFiles, folder: Path) -> tuple[CourseFiles, LoadError | None]:
    """Return what is told inside a folder, and why its own course file tells nothing."""
    try:
        return told.inside(folder), None
    except LoadError as error:
        return told, error


def _failed(base: Path, folder: Path, error: LoadError | None) -> list[SourceFile]:
    """Return a course file that can't be read like any file that can't."""
    path = folder / COURSE_FILE
    return [SourceFile(path, f"{_folder_id(base, folder)}/{COURSE_FILE}", {}, error=error)] if error else []


def _sources(
    base: Path, folder: Path, files: list[Path], told: CourseFiles, subject: str | None = None
) -> list[SourceFile]:
    """Return the files of one folder with their facts."""
    facts = course_facts(base.name, folder.relative_to(base).parts, subject)
    told_of = {file.name: told.of(file) for file in files}
    groups = {name: facts_of["group_id"] for name, facts_of in told_of.items() if "group_id" in facts_of}
    kin = kin_facts(_folder_id(base, folder), [file.name for file in files], groups)
    sources = []
    for file in files:
        own = kin[file.name]
        fmt = format_of(file)
        if fmt is not None:
            metadata: dict[str, Any] = {"file_path": own.source_id, "file_type": fmt.name, "group_id": own.group_id}
            metadata |= {"sibling_files": own.siblings, **facts, **told_of[file.name]}
            sources.append(SourceFile(file, own.source_id, metadata, error=dangling(file)))
    return sources


def _folder_id(base: Path, folder: Path) -> str:
    return readable("/".join(filter(None, (base.name, *folder.relative_to(base).parts))))
