"""Files of this machine, of shared folders and of object stores, found and fetched through PyArrow's file systems."""

from __future__ import annotations

import glob
import pickle
import re
import shutil
import sqlite3
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping, Sequence, ValuesView
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fnmatch import translate
from itertools import chain, pairwise
from pathlib import Path, PurePath, PurePosixPath
from typing import TypeVar

from kinsplit.chunk import ABSOLUTE_PATH
from kinsplit.errors import LoadError
from kinsplit.identity import chunk_id
from kinsplit.indexing.origins import with_path, would_replace
from kinsplit.loaders import Limits, Loaded, SourceFile, discovery
from kinsplit.loaders.course_file import MOST_BYTES, CourseFiles, is_course
from kinsplit.loaders.course_file import NAME as COURSE_FILE
from kinsplit.loaders.registry import format_of, known
from kinsplit.stores import ChunkStore
from kinsplit.stores.store import batches
from kinsplit.support.extras import needs

with needs("ray"):
    from pyarrow import fs

V = TypeVar("V")


class TemporaryDict(MutableMapping[str, V]):
    """A dictionary in a temporary file, ordered by key, that takes a few megabytes of memory whatever its length.

    Values are pickled: a value that is changed has to be set again. The file is deleted with the dictionary.
    """

    def __init__(self) -> None:
        # An empty name stands for a file that SQLite deletes, and makes once its cache of 2 MB is full.
        self._items = sqlite3.connect("", isolation_level=None, check_same_thread=False)
        self._items.execute("PRAGMA journal_mode = OFF")
        self._items.execute("CREATE TABLE items (key BLOB PRIMARY KEY, value BLOB) WITHOUT ROWID")

    def __getitem__(self, key: str) -> V:
        row = self._items.execute("SELECT value FROM items WHERE key = ?", [_encoded(key)]).fetchone()
        if row is None:
            raise KeyError(key)
        value: V = pickle.loads(row[0])  # noqa: S301 - from a file of our own
        return value

    def __setitem__(self, key: str, value: V) -> None:
        self._items.execute("INSERT OR REPLACE INTO items VALUES (?, ?)", [_encoded(key), pickle.dumps(value)])

    def __delitem__(self, key: str) -> None:
        if not self._items.execute("DELETE FROM items WHERE key = ?", [_encoded(key)]).rowcount:
            raise KeyError(key)

    def __iter__(self) -> Iterator[str]:
        for (key,) in self._items.execute("SELECT key FROM items ORDER BY key"):
            yield key.decode("utf-8", "surrogatepass")

    def __len__(self) -> int:
        number: int = self._items.execute("SELECT count(*) FROM items").fetchone()[0]
        return number


def _encoded(key: str) -> bytes:
    """Return a key as bytes of the same order; names of files that are not UTF-8 have lone surrogates."""
    return key.encode("utf-8", "surrogatepass")


_URI = re.compile(r"[a-z][a-z0-9+.-]+://", re.IGNORECASE)
_MAGIC = re.compile(r"[*?[]")
# First chunks fetched together.
_BATCH = 500


@dataclass(frozen=True, slots=True)
class FoundFiles:
    """The files of a run."""

    by_id: Mapping[str, SourceFile]  # By id, in that order and in a temporary file; also inaccessible ones.
    skipped: tuple[Path, ...]  # See `kinsplit.loaders.Discovery`.
    folders: tuple[str, ...]  # Ids of the folders that were searched completely.
    roots: tuple[str, ...]  # Resolved given paths of this machine.

    @property
    def files(self) -> ValuesView[SourceFile]:
        """Files to load, and inaccessible folders and links, ordered by id; each is read when it is asked for."""
        return self.by_id.values()


def find(
    paths: str | Path | Sequence[str | Path], subjects: Sequence[str] = (), readers: Sequence[str] = ()
) -> FoundFiles:
    """Find the files below some paths and addresses; their ids are those that `Index.add` gives.

    Args:
        paths: Files, folders, patterns such as `docs/**/*.md`, and addresses that PyArrow knows: `s3://`, `gs://`,
            `hdfs://`, `file://`.
        subjects: Names of the only sub-folders to search; empty for everything.
        readers: Names of the readers that go before the others.

    Raises:
        LoadError: A path doesn't exist or can't be reached, holds no file that can be loaded, or two files would have
            the same id.
        InvalidParameterError: No path was given, or no reader has one of the names.
    """
    given = [str(path) for path in ([paths] if isinstance(paths, str | Path) else paths)]
    remote = [path for path in given if is_address(path) and not path.lower().startswith("file:")]
    local = [each for path in given if path not in remote for each in _local(path)]
    parts = [discovery.walk(local, subjects=subjects, readers=readers)] if local or not remote else []
    parts += [_walk(address, subjects, readers) for address in remote]
    files = TemporaryDict[SourceFile]()
    skipped, folders = discovery.collect(chain.from_iterable(parts), files, TemporaryDict[str]())
    discovery.warn_of_missing_outlines(source for source in files.values() if not source.address)
    return FoundFiles(files, skipped, folders, tuple(str(Path(path).resolve()) for path in local))


def is_address(place: str) -> bool:
    """Return whether something is an address, and not a path."""
    return _URI.match(place) is not None


def _local(path: str) -> list[str]:
    if path.lower().startswith("file:"):
        return [_open(path)[1]]
    if not _MAGIC.search(path) or Path(path).exists():
        return [path]
    # Path.glob takes no absolute patterns.
    if not (matches := [each for each in sorted(glob.glob(path, recursive=True)) if Path(each).is_file()]):  # noqa: PTH207
        raise LoadError(path, "matches no file. Check the pattern, and the folder you are in.")
    return [each for each in matches if format_of(Path(each)) is not None] or matches


def _open(address: str) -> tuple[fs.FileSystem, str]:
    """Return the file system of an address, and the path in it, or raise LoadError if PyArrow can't reach it."""
    try:
        system, path = fs.FileSystem.from_uri(address)
        return system, path.rstrip("/") or path
    except (OSError, ValueError, ImportError) as error:  # pyarrow's own errors are among them
        raise LoadError(address, f"can't be reached: {_line(error)}. Check the address and the credentials.") from error


def _walk(address: str, subjects: Sequence[str], readers: Sequence[str]) -> Iterator[discovery.FileShard]:
    """Yield the files of an address, folder by folder; see `find` for its errors."""
    pattern = _MAGIC.search(address)
    # A pattern begins with a folder.
    base_address = address[: address.rindex("/", 0, pattern.start())] if pattern else address
    system, root = _open(base_address)
    before, _, after = base_address.rpartition(root)
    is_empty = True
    try:
        kind = system.get_file_info(root).type
        if kind == fs.FileType.NotFound:
            raise LoadError(base_address, "doesn't exist. Check the spelling, and that your credentials may read it.")
        if kind == fs.FileType.File or pattern:
            glob_ = _open(address)[1] if pattern else root
            parts = _single(system, PurePosixPath(root), glob_, readers, is_pattern=bool(pattern))
        else:
            parts = _below(system, PurePosixPath(root), subjects, readers)
        for part in parts:
            yield part._replace(files=())
            for source in part.files:
                is_empty = False
                yield discovery.FileShard([replace(source, address=f"{before}{source.path}{after}")])
    except OSError as error:
        raise LoadError(base_address, f"can't be listed: {_line(error)}. Check the credentials.") from error
    if is_empty:
        raise LoadError(address, f"holds no file that can be loaded. Known suffixes: {known()}.")


def _single(
    system: fs.FileSystem, root: PurePosixPath, wanted: str, readers: Sequence[str], *, is_pattern: bool
) -> Iterator[discovery.FileShard]:
    """Yield a file that is given itself, or those that match a pattern, with the facts that their folders have."""
    folders = _listed(system, str(root if is_pattern else root.parent), recursive=is_pattern)
    pattern = re.compile(translate(wanted.replace("**/", "*")) if is_pattern else re.escape(wanted))
    looks = _looks(root, folders)
    for folder, names in folders.items():
        if _is_hidden(folder, root):
            continue
        courses = _courses(system, CourseFiles(), folder, names)
        sources = discovery.sources_of(folder, folder, _readable(names, readers), courses, readers, looks)
        yield discovery.FileShard(
            replace(source, given=True) for source in sources if pattern.fullmatch(str(source.path))
        )


def _below(
    system: fs.FileSystem, base: PurePosixPath, subjects: Sequence[str], readers: Sequence[str]
) -> Iterator[discovery.FileShard]:
    """Yield the files below a folder, which is listed at once."""
    folders = _listed(system, str(base), recursive=True)
    collections = {folder for folder, names in folders.items() if discovery.COLLECTION in names and folder != base}
    tops = [base / subject for subject in dict.fromkeys(subjects)] or [base]
    for top in tops:
        if not any(folder.is_relative_to(top) for folder in folders):
            raise LoadError(top, "doesn't exist. Give the names of sub-folders as subjects.")
        yield discovery.FileShard(folder=discovery.folder_id(base, top))
    looks = _looks(base, folders)
    for folder, names in folders.items():
        searched = next((top for top in tops if folder.is_relative_to(top)), None)
        if _is_hidden(folder, base) or searched is None or collections.intersection((folder, *folder.parents)):
            continue
        courses = CourseFiles()
        for above in (*reversed(folder.parents), folder):
            if above.is_relative_to(base):
                courses = _courses(system, courses, above, folders.get(above, ()))
        subject = searched.name if subjects else None
        yield discovery.FileShard(
            discovery.sources_of(base, folder, _readable(names, readers), courses, readers, looks, subject)
        )


def _listed(system: fs.FileSystem, folder: str, *, recursive: bool) -> dict[PurePosixPath, list[str]]:
    """Return the sorted names of the files in a folder, or also below it, by folder."""
    folders: dict[str, list[str]] = {}
    for info in system.get_file_info(fs.FileSelector(folder, recursive=recursive)):
        if info.type == fs.FileType.File:
            parent, _, name = info.path.rpartition("/")
            folders.setdefault(parent, []).append(name)
    return dict(sorted((PurePosixPath(parent), sorted(names)) for parent, names in folders.items()))


def _looks(base: PurePosixPath, folders: Mapping[PurePosixPath, list[str]]) -> Callable[[PurePath], bool]:
    """Return what tells whether a folder looks like one course, of those from `base` on, with their files."""
    inner: dict[PurePath, set[str]] = {}
    for folder in folders:
        for below, above in pairwise((folder, *folder.parents)):
            if above.is_relative_to(base) and not _is_hidden(below, base):
                inner.setdefault(above, set()).add(below.name)
    files = dict[PurePath, list[str]](folders.items())
    return lambda folder: is_course([*inner.get(folder, ())], files.get(folder, []))


def _is_hidden(folder: PurePosixPath, base: PurePosixPath) -> bool:
    """Return whether a search of a folder leaves out a folder below it."""
    inside = folder.relative_to(base).parts if folder.is_relative_to(base) else ()
    return any(part.startswith(".") or part in discovery.NEVER_WALKED for part in inside)


def _readable(names: Sequence[str], readers: Sequence[str]) -> list[str]:
    return [
        name
        for name in names
        if not name.startswith(".") and name != COURSE_FILE and format_of(PurePosixPath(name), readers) is not None
    ]


def _courses(system: fs.FileSystem, courses: CourseFiles, folder: PurePosixPath, names: Sequence[str]) -> CourseFiles:
    if COURSE_FILE not in names:
        return courses
    with system.open_input_stream(str(folder / COURSE_FILE)) as stream:
        return courses.with_file(folder, stream.read(MOST_BYTES + 1))


def check_addresses(store: ChunkStore, fingerprint: str, files: Iterable[SourceFile]) -> None:
    """Raise LoadError if a file of an object store would replace another one that still exists; see `new_files`."""
    for batch in batches(files, _BATCH):
        addresses = {source.source_id: source.address for source in batch}
        for chunk in store.get([chunk_id(source_id, fingerprint, 0, 0) for source_id in addresses]):
            own, other = addresses[chunk.source_id], chunk.metadata.get(ABSOLUTE_PATH)
            if isinstance(other, str) and other != own and _exists(other):
                raise would_replace(own, other, chunk.source_id)


def size_of(address: str) -> int:
    """Return the size of a file of an object store in bytes, or raise LoadError if it isn't there."""
    system, path = _open(address)
    try:
        info = system.get_file_info(path)
    except OSError as error:
        raise LoadError(address, f"can't be reached: {_line(error)}. Check the credentials.") from error
    if info.type == fs.FileType.NotFound:
        raise LoadError(address, "doesn't exist. Check the spelling, and that your credentials may read it.")
    return info.size or 0


def _exists(place: str) -> bool:
    try:
        if not is_address(place):
            return Path(place).exists()
        system, path = _open(place)
        return bool(system.get_file_info(path).type != fs.FileType.NotFound)
    except (OSError, LoadError):
        return False


@contextmanager
def fetched(
    sources: Sequence[SourceFile], limits: Limits
) -> Iterator[tuple[Iterator[SourceFile], Callable[[Loaded], Loaded]]]:
    """Fetch files of other file systems, one after the other as they are taken, unless they are larger than the limit.

    Yields:
        The files to load, and a function that adds its place to what was loaded and deletes the copy.
    """
    addresses = {source.source_id: source.address for source in sources if source.address}
    copies: dict[str, Path] = {}
    with tempfile.TemporaryDirectory(prefix="kinsplit-") as folder:

        def take() -> Iterator[SourceFile]:
            for number, source in enumerate(sources):
                if not source.address or source.error is not None:
                    yield source
                    continue
                copy = Path(folder) / f"{number}{Path(source.address.partition('?')[0]).suffix}"
                try:
                    _fetch(source.address, copy, limits.size)
                except LoadError as error:
                    yield replace(source, error=error)
                    continue
                copies[source.source_id] = copy
                yield replace(source, path=copy)

        def restore(loaded: Loaded) -> Loaded:
            address = addresses.get(loaded.source_id)
            if address is None:
                return replace(loaded, documents=tuple(with_path(loaded.documents, loaded.source.resolved)))
            if copy := copies.pop(loaded.source_id, None):
                copy.unlink(missing_ok=True)
            error = None if loaded.error is None else LoadError(address, loaded.error.reason)
            place = {ABSOLUTE_PATH: address}
            documents = (replace(each, metadata={**each.metadata, **place}) for each in loaded.documents)
            return replace(loaded, documents=tuple(documents), error=error)

        yield take(), restore


def _fetch(address: str, target: Path, most: int) -> None:
    system, path = _open(address)
    try:
        size = system.get_file_info(path).size or 0
        if size > most:
            reason = f"has {size:,} bytes, where at most {most:,} are read. Split it, or raise the limit 'size'."
            raise LoadError(address, reason)
        with system.open_input_stream(path) as stream, target.open("wb") as copy:
            shutil.copyfileobj(stream, copy)
    except OSError as error:
        raise LoadError(address, f"can't be read: {_line(error)}. Check that it is there and readable.") from error


def _line(error: BaseException) -> str:
    return " ".join(str(error).split()).rstrip(".")
