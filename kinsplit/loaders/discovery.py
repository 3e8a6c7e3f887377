"""Discovery of files below paths, with the facts of their paths."""

from __future__ import annotations

import os
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import lru_cache
from glob import glob, has_magic
from itertools import chain
from pathlib import Path, PurePath
from typing import Any, Literal, NamedTuple

from kinsplit.errors import InvalidParameterError, LoadError, require
from kinsplit.loaders.course_file import NAME as COURSE_FILE
from kinsplit.loaders.course_file import (
    CourseFiles,
    course_facts,
    folders_of_lectures,
    is_course,
    kin_facts,
    number_of,
    readable,
)
from kinsplit.loaders.formats.plain import missing_outlines
from kinsplit.loaders.registry import ReaderWarning, check_readers, format_of, known

Paths = str | Path | Iterable[str | Path]

# Characters of a path that an error shows.
_LONGEST_SHOWN = 200
#: Folders whose files nobody wrote; the last is that of the default store.
NEVER_WALKED = frozenset({"__pycache__", "node_modules", "kinsplit-data"})  # .venv and the like are hidden


class Listing(NamedTuple):
    """The content of a folder."""

    files: list[str]
    folders: list[Path]
    skipped: list[Path]  # Everything else.


def list_folder(folder: Path, readers: Sequence[str] = ()) -> Listing:
    """List a folder, or raise LoadError if the folder can't be listed."""
    listing = Listing([], [], [])
    for path in _visible(folder):
        kind = _kind(path)
        if kind == "folder":
            # A link could lead back up: files would get a second id, or the search would never end.
            if path.is_symlink():
                listing.skipped.append(path)
            elif path.name not in NEVER_WALKED:
                listing.folders.append(path)
        elif path.name == COURSE_FILE:
            continue
        elif kind == "file" and format_of(path, readers) is not None:
            listing.files.append(path.name)
        else:
            listing.skipped.append(path)
    return listing


@lru_cache(1024)
def looks_like_course(folder: PurePath) -> bool:
    """Return whether a folder looks like one course; False if it can't be listed."""
    folders: list[str] = []
    files: list[str] = []
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                if entry.name[0] != "." and entry.name not in (COURSE_FILE, *NEVER_WALKED):
                    (folders if entry.is_dir(follow_symlinks=False) else files).append(entry.name)
    except OSError:
        return False
    return is_course(folders, files)


def _visible(folder: Path) -> Iterator[Path]:
    """Yield the content of a folder without hidden entries, sorted."""
    try:
        names = [path.name for path in folder.iterdir() if not path.name.startswith(".")]
    except OSError as error:
        raise LoadError(folder, f"can't be listed: {error.strerror}. Check the folder's permissions.") from error
    # In the order of their paths, which take several times the memory.
    return (folder / name for name in sorted(names, key=os.path.normcase))


def _kind(path: Path) -> Literal["folder", "file", "other"]:
    try:
        return "folder" if path.is_dir() else "file" if path.is_file() or dangling(path) else "other"
    except OSError:
        return "file"  # Reading it will report the error.


def dangling(path: Path) -> LoadError | None:
    """Return the error of a link that leads nowhere or in a circle, or None."""
    try:
        if not path.is_symlink() or path.exists():
            return None
        return LoadError(path, f"is a link to {str(path.readlink())!r}, which doesn't exist. Fix it, or delete it.")
    except OSError:
        return None  # The next access will report the error.


def is_folder(path: Path) -> bool:
    """Return whether a given path is a folder, or raise LoadError if nothing is there or it can't be accessed."""
    try:
        if not path.exists() and not path.is_symlink():
            raise LoadError(path, "doesn't exist. Check the spelling, and the folder you are in.")
        return path.is_dir()
    except OSError as error:
        raise LoadError(path, f"can't be reached: {error.strerror}. Check its permissions.") from error


def checked_file(path: Path, subjects: Sequence[str], readers: Sequence[str] = ()) -> Path:
    """Return the absolute path of a given file, or raise LoadError if it can't be loaded or if subjects were given."""
    if subjects:
        raise LoadError(path, "is a file, and subjects are folders. Give the folder that holds the subjects' folders.")
    if not path.is_file():
        raise LoadError(path, "is neither a file nor a folder. Copy its content into a file first.")
    if format_of(path, readers) is None:
        raise LoadError(path, f"has an unknown suffix. Known ones: {known()}.")
    return absolute(path)


def absolute(path: Path) -> Path:
    """Return the absolute path; `..` and `.` are resolved because the ids begin with the folder's name."""
    return path.resolve() if ".." in path.parts else path.absolute()


#: Marker of the folder of an embedded collection, which may be inside the indexed folder.
COLLECTION = "kinsplit.json"


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file to load, or an inaccessible folder or link, which is reported like a file that fails.

    Attributes:
        path: Absolute path.
        source_id: Id of the file, the same on every machine (see the package docstring).
        metadata: `file_path` (the id), `file_type`, `group_id`, `sibling_files`, and if known `previous_file`,
            `next_file`, `course` and `subject`.
        given: Whether the file itself was given, and not a folder that contains it.
        error: Reason why there is nothing to load; None for a file.
        reader: Name of the reader that reads it; empty for the first one that knows its suffix.
        address: Address from which the file is fetched; empty for a file of this machine.
        scoped: Whether the ids of its rows begin with its own (see `row_id`), so that no row takes another's id.
    """

    path: Path
    source_id: str
    metadata: Mapping[str, Any]
    given: bool = False
    error: LoadError | None = None
    reader: str = ""
    address: str = ""
    scoped: bool = False

    @property
    def place(self) -> str:
        """Address, or path on this machine."""
        return self.address or str(self.path)

    @property
    def resolved(self) -> Path:
        """Path with links resolved; unlike `Path.resolve`, it doesn't raise for circular links."""
        return Path(os.path.realpath(self.path))


@dataclass(frozen=True, slots=True)
class Discovery:
    """The files below some paths.

    Attributes:
        files: Files to load, and inaccessible folders and links, ordered by id.
        skipped: Skipped paths in order: unknown suffixes, links to folders, and anything that is not a file.
        folders: Ids of the folders that were searched completely: the given ones, or their subjects.
    """

    files: tuple[SourceFile, ...] = ()
    skipped: tuple[Path, ...] = ()
    folders: tuple[str, ...] = ()


class FileShard(NamedTuple):
    """A part of the files below some paths, such as those of one folder."""

    files: Iterable[SourceFile] = ()
    skipped: Sequence[Path] = ()
    folder: str | None = None


def discover(paths: Paths, *, subjects: Sequence[str] = (), readers: Sequence[str] = ()) -> Discovery:
    """Find the files below some paths, without opening them.

    Hidden files and folders, `__pycache__` and `node_modules` are ignored. Links to folders are not followed. Links to
    files are followed anywhere; one that leads nowhere is a file that fails. A file reached through several paths
    belongs to the first.

    Args:
        paths: Files and folders. A file that is given itself may be hidden.
        subjects: Names of the only sub-folders to search; empty for everything.
        readers: Names of the readers that go before the others (see `kinsplit.loaders.registry`).

    Returns:
        The files with their facts, and the skipped paths.

    Raises:
        LoadError: A path or subject doesn't exist or can't be listed, a folder holds no file that can be loaded, a
            given file's suffix is unknown, or two files would have the same id.
        InvalidParameterError: No path was given, or no reader has one of the names.
    """
    files: dict[str, SourceFile] = {}
    skipped, folders = collect(walk(paths, subjects=subjects, readers=readers), files, {})
    warn_of_missing_outlines(files.values())
    return Discovery(tuple(files[source_id] for source_id in sorted(files)), skipped, folders)


def collect(
    parts: Iterable[FileShard], files: MutableMapping[str, SourceFile], ids: MutableMapping[str, str]
) -> tuple[tuple[Path, ...], tuple[str, ...]]:
    """Add files to a mapping by id, and their ids to one by place; a file in several parts belongs to the first.

    Returns:
        The skipped paths in order, and the ids of the folders whose search began.

    Raises:
        LoadError: Two files would have the same id.
    """
    skipped: set[Path] = set()
    folders: list[str] = []
    for part in parts:
        skipped.update(part.skipped)
        if part.folder is not None:
            folders.append(part.folder)
        for source in part.files:
            place = source.address or os.path.normcase(source.path)
            known = ids.get(place)
            if known is None:
                if other := files.get(source.source_id):
                    rule = f"would get the same id as {other.place} ({source.source_id!r})"
                    raise LoadError(source.place, f"{rule}. Give the folder that holds both instead.")
                files[source.source_id] = source
                ids[place] = source.source_id
            elif source.given:
                files[known] = replace(files[known], given=True)
    return tuple(sorted(skipped)), tuple(folders)


def count_courses(files: Iterable[SourceFile]) -> dict[str, int]:
    """Return the number of files of each course, in order of the courses' names."""
    return dict(sorted(Counter(file.metadata["course"] for file in files if "course" in file.metadata).items()))


def warn_of_missing_outlines(files: Iterable[SourceFile]) -> None:
    """Warn of source files that have no outline, since the grammars are not installed."""
    if advice := missing_outlines(source.path for source in files):
        warnings.warn(ReaderWarning(advice), stacklevel=3)


def walk(paths: Paths, *, subjects: Sequence[str] = (), readers: Sequence[str] = ()) -> Iterator[FileShard]:
    """Yield the files below some paths, folder by folder, so that nobody has to hold all of them; see `discover`."""
    check_readers(readers)
    require(isinstance(paths, str | Path | Iterable), "paths", "must be paths", paths, "Name files and folders.")
    items = [paths] if isinstance(paths, str | Path) else list(paths)
    if not items or "" in items:  # which Path takes for the working directory
        raise InvalidParameterError("paths", "must name files or folders", items, "Give at least one, and none empty.")
    items = [path for item in items for path in _matches(item)]
    looks_like_course.cache_clear()
    alone: dict[Path, set[Path]] = {}
    for path in map(Path, items):
        if broken := dangling(path):
            folder, name = absolute(path.parent), path.name
            yield FileShard([SourceFile(folder / name, folder_id(folder, folder / name), {}, given=True, error=broken)])
        elif is_folder(path):
            base = absolute(path)
            for top, subject in _tops(path, base, subjects):
                yield FileShard(folder=folder_id(base, top))
                yield from _search(path, base, top, subject, readers)
        else:
            file = checked_file(path, subjects, readers)
            alone.setdefault(file.parent, set()).add(file)
    for folder, files in alone.items():  # by folder, so that `*.md` lists it once
        courses, failed = _courses_above(folder, folder)
        courses, error = _courses(courses, folder)
        all_files = sorted(files.union(folder / name for name in list_folder(folder, readers).files))
        sources = sources_of(folder, folder, [file.name for file in all_files], courses, readers, looks_like_course)
        given = [replace(source, given=True) for source in sources if source.path in files]
        yield FileShard([*failed, *_failed(folder, folder, error), *given])


def _matches(item: str | Path) -> Sequence[str | Path]:
    """Return the paths that a string stands for: those that match a pattern, or itself."""
    if not isinstance(item, str) or os.path.exists(item) or os.path.islink(item):  # noqa: PTH110, PTH114
        return [item]  # Unlike these, a Path raises errors for a name that is too long.
    if found := sorted(glob(item, recursive=True)):  # noqa: PTH207  # A Path takes no absolute pattern.
        return found
    shown = item if len(item) < _LONGEST_SHOWN else f"{item[:_LONGEST_SHOWN]}..."
    if "://" in item:
        raise LoadError(shown, "is an address, and files are read from this machine. Download it first.")
    what = "matches no file" if has_magic(item) else "doesn't exist"
    raise LoadError(shown, f"{what}. Check the spelling, and the folder you are in.")


def _search(root: Path, base: Path, top: Path, subject: str | None, readers: Sequence[str]) -> Iterator[FileShard]:
    """Walk a given folder, or a subject of it, and yield each folder's files."""
    empty = True
    courses, failed = _courses_above(base, top)
    if failed:
        yield FileShard(failed)
    waiting = [(top, courses)]
    skipped = 0
    while waiting:
        folder, courses = waiting.pop()
        try:
            listing = list_folder(folder, readers)
        except LoadError as error:
            if folder == top:
                raise
            empty = False
            yield FileShard([SourceFile(folder, folder_id(base, folder), {}, error=error)])
            continue
        if folder != top and COLLECTION in listing.files:
            continue
        courses, broken = _courses(courses, folder)
        waiting.extend((inner, courses) for inner in listing.folders)
        skipped += len(listing.skipped)
        empty = empty and not listing.files
        sources = sources_of(base, folder, listing.files, courses, readers, looks_like_course, subject)
        yield FileShard(chain(sources, _failed(base, folder, broken)), listing.skipped)
    if empty:
        rule = f"holds no file that can be loaded ({skipped:,} skipped). Known suffixes: {known()}."
        raise LoadError(top if subject else root, rule)


def _tops(root: Path, base: Path, subjects: Sequence[str]) -> list[tuple[Path, str | None]]:
    if not subjects:
        return [(base, None)]
    there = {path.name: path for path in _visible(base) if _kind(path) == "folder"}
    for subject in subjects:
        if subject not in there:
            names = ", ".join(sorted(there)) or "none"
            raise LoadError(root, f"has no folder for the subject {subject!r}. Those there: {names}.")
    return [(there[subject], subject) for subject in dict.fromkeys(subjects)]


def _courses(courses: CourseFiles, folder: Path) -> tuple[CourseFiles, LoadError | None]:
    """Return the course files that apply inside a folder, and the error of its own one."""
    try:
        return courses.inside(folder), None
    except LoadError as error:
        return courses, error


def _courses_above(base: Path, folder: Path) -> tuple[CourseFiles, list[SourceFile]]:
    """Return the course files of the folders above one, and those that can't be read as files that fail."""
    courses, failed = CourseFiles(), list[SourceFile]()
    for above in reversed(folder.parents):
        courses, error = _courses(courses, above)
        failed += _failed(base if above.is_relative_to(base) else above, above, error)
    return courses, failed


def _failed(base: Path, folder: Path, error: LoadError | None) -> list[SourceFile]:
    """Return an unreadable course file as a file that fails."""
    path = folder / COURSE_FILE
    return [SourceFile(path, f"{folder_id(base, folder)}/{COURSE_FILE}", {}, error=error)] if error else []


def sources_of(
    base: PurePath,
    folder: PurePath,
    names: Sequence[str],
    courses: CourseFiles,
    readers: Sequence[str],
    looks: Callable[[PurePath], bool],
    subject: str | None = None,
) -> Iterator[SourceFile]:
    """Yield the files of one folder with their facts; `looks` tells which folders look like one course."""
    facts = course_facts(base, folder, subject, looks)
    stated = {name: known for name in names if (known := courses.of(folder / name))}
    groups = {name: known["group_id"] for name, known in stated.items() if "group_id" in known}
    kin = kin_facts(folder_id(base, folder), names, groups, _files_beside(base, folder, readers))
    for name, own in zip(names, kin, strict=True):
        file = folder / name
        fmt = format_of(file, readers)
        if fmt is not None:
            metadata: dict[str, Any] = {"file_path": own.source_id, "file_type": fmt.name, "group_id": own.group_id}
            metadata |= {"sibling_files": own.siblings, **own.neighbours, **facts, **stated.get(name, {})}
            error = dangling(file) if isinstance(file, Path) else None
            yield SourceFile(Path(file), own.source_id, metadata, error=error, reader=fmt.reader)


def _files_beside(base: PurePath, folder: PurePath, readers: Sequence[str]) -> dict[int, list[str]]:
    """Return the ids of the files that belong to those of a folder, by number: its `lectures` and their `exercises`."""
    found: dict[int, list[str]] = {}
    if folder == base or not isinstance(folder, Path) or not folders_of_lectures(["lectures", folder.name])[1:]:
        return found
    with suppress(LoadError):
        above = list_folder(folder.parent, readers)
        beside = folders_of_lectures([other.name for other in above.folders])
        for other in (folder.parent / name for name in beside if folder.name in beside and name != folder.name):
            for name in list_folder(other, readers).files:
                found.setdefault(number_of(name), []).append(f"{folder_id(base, other)}/{readable(name)}")
    found.pop(-1, None)
    return found


def folder_id(base: PurePath, folder: PurePath) -> str:
    """Return the id of a given folder, or of one below it."""
    return readable("/".join(filter(None, (base.name, *folder.relative_to(base).parts))))
