"""Folders of uploaded files, each of which one collection owns, and writes to them that a crash can't leave half done.

While a file `NAME` is written or deleted, the folder `.NAME.kinsplit-upload` beside it is the journal. It holds the new
file until that takes its place, then the former one, and `collection`, which names the owner, once the work has begun.
What it holds tells how far the work got; the next start or the next write finishes it:

| `collection` | new file | |
|---|---|---|
| no | | Nothing has changed: the journal is deleted. |
| yes | yes | The former file comes back, if it was moved. The collection hasn't changed. |
| yes | no | The collection follows the folder: the file is indexed again, or its documents are deleted if it is gone. |
"""

from __future__ import annotations

import os
import shutil
import threading
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import replace
from io import BytesIO
from pathlib import Path, PurePath
from typing import BinaryIO, NamedTuple

from kinsplit.chunk import ABSOLUTE_PATH, Chunk
from kinsplit.errors import InvalidParameterError, KinsplitWarning, LoadError, StoreError, require
from kinsplit.identity import chunk_id
from kinsplit.index import Index
from kinsplit.indexing.origins import with_path
from kinsplit.indexing.reports import AddReport
from kinsplit.loaders import Loaded, load_file
from kinsplit.loaders.course_file import CourseFiles, readable
from kinsplit.loaders.discovery import list_folder, sources_of
from kinsplit.server.collections.registry import Collections, OpenCollection
from kinsplit.server.middleware.logs import log_failure
from kinsplit.stores.store import batches

_JOURNAL = ".kinsplit-upload"
# Files of a journal besides the new one, whose name ends in the suffix of a format.
_OWNER, _DRAFT, _FORMER = "collection", "draft", "former"
# First chunks fetched together.
_BATCH = 500


class UploadWarning(KinsplitWarning):
    """Nothing keeps two services from writing into one upload folder."""


class StoredUpload(NamedTuple):
    """An uploaded file that was stored and indexed."""

    id: str
    report: AddReport
    warnings: tuple[str, ...]


class UploadFolders:
    """The upload folders of a service, which no other service may use at the same time.

    The default collection's files are in the given folder, and those of another one in a folder in it that has the
    collection's name. In all of them, ids begin with the name of the given folder, so that a file has the same id
    whatever strategy split it.

    Args:
        root: The given folder, which is created if it is missing.
        collections: The collections of the service. What a crash left half done in their folders is finished.
        log_text: Whether logs may quote documents.

    Raises:
        InvalidParameterError: The folder can't be used, another service uses it, it holds an unfinished upload of
            another collection, or uploaded files would mix with those of a watched folder.
        KinsplitError: A collection can't be written.
    """

    def __init__(self, root: Path, collections: Collections, *, log_text: bool = False) -> None:
        root = root.resolve()
        #: First part of all ids.
        self.name = readable(root.name)
        require(self.name, "uploads", "must be a folder with a name", str(root), "Choose one in it.")
        inside = {each.stored_name: each.stored_name for each in collections} | {collections.default.stored_name: ""}
        paths = {name: (root / folder).resolve() for name, folder in inside.items()}
        self._folders = {name: UploadFolder(path, self.name, log_text=log_text) for name, path in paths.items()}
        try:
            self.of(collections.default).open()
            for each in collections:
                _check_watched(root, self.name, each)
                self.of(each).settle(each)
        except BaseException:
            self.close()
            raise

    def of(self, collection: OpenCollection) -> UploadFolder:
        """Return the folder of a collection."""
        return self._folders[collection.stored_name]

    def close(self) -> None:
        """Let other services use the folders."""
        for folder in self._folders.values():
            folder.close()


class UploadFolder:
    """The files that were uploaded into one collection. Thread-safe.

    Names are those of files in the folder: they don't begin with a dot, have no "#", and end in the suffix of a format.
    """

    def __init__(self, path: Path, prefix: str, *, log_text: bool = False) -> None:
        self._path, self._prefix, self._log_text = path, prefix, log_text
        self._turn = threading.Lock()
        self._is_open = False
        self._lock: int | None = None

    def id_of(self, name: str) -> str:
        """Return the id of a file."""
        return f"{self._prefix}/{name}"

    def open(self) -> None:
        """Create the folder if it is missing, and keep other services from using it. A second call does nothing.

        Raises:
            InvalidParameterError: Another service uses it, or it can't be created.
        """
        if self._is_open:
            return
        try:
            self._path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            rule = f"must be a folder that exists or can be created ({error.strerror})"
            raise InvalidParameterError("uploads", rule, str(self._path), "Choose another folder.") from None
        self._lock, self._is_open = _locked(self._path), True

    def close(self) -> None:
        """Let other services use the folder."""
        if self._lock is not None:
            os.close(self._lock)
        self._is_open, self._lock = False, None

    def settle(self, collection: OpenCollection) -> None:
        """Finish what a crash left half done.

        Raises:
            InvalidParameterError: It was left by another collection, or another service uses the folder.
            KinsplitError: The collection can't be written.
        """
        if self._path.is_dir():
            with self._turn:
                self._prepare(collection)

    def store(self, collection: OpenCollection, name: str, content: BinaryIO) -> StoredUpload:
        """Store a file and index it, in place of the former one of that name.

        Raises:
            LoadError: The file can't be saved, read or indexed, or would replace what was not uploaded. The former one
                stays.
            KinsplitError: The collection can't be written. The former file stays.
        """
        index, path, journal = collection.index, self._path / name, self._journal(name)
        with self._turn:
            self._prepare(collection)
            try:
                journal.mkdir()
                _write(journal / name, content)
                loaded = self._read(journal / name, name)
                self._check_free(index, name, loaded)
                self._begin(journal, collection)
                if path.exists():
                    path.rename(journal / _FORMER)
                (journal / name).rename(path)
                _sync_folders(journal, self._path)
                report = self._index(index, name, loaded)
            except OSError as error:
                self._revert(index, name)
                raise LoadError(name, f"can't be saved: {error.strerror}. Send it again later.") from error
            except Exception:
                self._revert(index, name)
                raise
            self._finish(journal)
        return StoredUpload(self.id_of(name), report, loaded.warnings)

    def delete(self, collection: OpenCollection, name: str) -> int | None:
        """Delete a file and its documents.

        Returns:
            The number of deleted chunks, or None if the collection has no such file.

        Raises:
            StoreError: The file can't be deleted, or the collection can't be written; the next write finishes it.
        """
        index, path, journal = collection.index, self._path / name, self._journal(name)
        with self._turn:
            self._prepare(collection)
            documents = self._documents(index, name)
            if not documents:
                return None
            try:
                journal.mkdir()
                self._begin(journal, collection)
                if path.exists():  # else somebody has deleted it by hand
                    path.rename(journal / _FORMER)
                _sync_folders(journal, self._path)
            except OSError as error:
                raise StoreError(f"{name} can't be deleted: {error.strerror}. Try again later.") from error
            chunks = sum(index.delete(document) for document in documents)
            self._finish(journal)
        return chunks

    def _journal(self, name: str) -> Path:
        return self._path / f".{name}{_JOURNAL}"

    def _prepare(self, collection: OpenCollection) -> None:
        """Open the folder and finish what is half done."""
        self.open()
        for journal in list(self._path.glob(f".*{_JOURNAL}")):
            name = journal.name[1:].removesuffix(_JOURNAL)
            if (journal / _OWNER).exists() and not (journal / name).exists():
                self._check_owner(journal, collection)
                self._complete(collection.index, name)
            else:
                self._revert(collection.index, name)

    def _begin(self, journal: Path, collection: OpenCollection) -> None:
        _write(journal / _DRAFT, BytesIO(collection.stored_name.encode()))
        (journal / _DRAFT).replace(journal / _OWNER)
        _sync_folders(journal, self._path)

    def _check_owner(self, journal: Path, collection: OpenCollection) -> None:
        owner = (journal / _OWNER).read_text(encoding="utf-8")
        rule = f"holds an unfinished upload of the collection {owner!r}, {journal.name}"
        remedy = "Start the service with its collections in the former order once, which finishes it."
        require(owner == collection.stored_name, "uploads", rule, str(self._path), remedy)

    def _complete(self, index: Index, name: str) -> None:
        try:
            self._follow(index, name)
        except StoreError:
            raise
        except Exception as error:  # Models raise errors of any kind; nobody was told that the file is stored.
            log_failure(error, log_text=self._log_text)
            self._revert(index, name)
        else:
            self._finish(self._journal(name))

    def _revert(self, index: Index, name: str) -> None:
        """Bring the former file back, and its documents if the collection may have changed."""
        path, journal = self._path / name, self._journal(name)
        has_begun, is_placed = (journal / _OWNER).exists(), not (journal / name).exists()
        if has_begun and (journal / _FORMER).exists():
            (journal / _FORMER).replace(path)
        elif has_begun and is_placed:
            path.unlink(missing_ok=True)
        if has_begun and is_placed:
            _sync_folders(self._path)
            try:
                self._follow(index, name)
            except LoadError as error:  # A file that was readable when it came.
                log_failure(error, log_text=self._log_text)
                for document in self._documents(index, name):
                    index.delete(document)
        self._finish(journal)

    def _finish(self, journal: Path) -> None:
        # In any order: whatever a crash leaves of it has the same meaning, or none.
        shutil.rmtree(journal, ignore_errors=True)
        _sync_folders(self._path)

    def _follow(self, index: Index, name: str) -> None:
        """Make the collection hold what the folder holds, or raise LoadError if the file can't be read or indexed."""
        path = self._path / name
        if path.exists():
            self._index(index, name, self._read(path, name))
        else:
            for document in self._documents(index, name):
                index.delete(document)

    def _read(self, path: Path, name: str) -> Loaded:
        """Read a file from any path, with the facts that it has under its name in the folder."""
        folder = PurePath(self._prefix)
        layers = CourseFiles().inside(self._path).layers
        names = sorted({*list_folder(self._path).files, name})
        courses = CourseFiles(tuple((folder, own) for _, own in layers))
        sources = sources_of(folder, folder, names, courses, (), lambda _: False)  # It has no folders.
        source = next(source for source in sources if source.path.name == name)
        try:
            loaded = load_file(replace(source, path=path, given=True, scoped=True))
        except LoadError as error:
            raise LoadError(name, error.reason) from error
        if not any(document.text.strip() for document in loaded.documents):
            raise LoadError(name, "holds no text to search. Add some; scanned pages need text recognition first.")
        return loaded

    def _index(self, index: Index, name: str, loaded: Loaded) -> AddReport:
        former = self._documents(index, name)
        try:
            report = index.add(with_path(loaded.documents, self._path / name))
        except InvalidParameterError as error:
            raise LoadError(name, str(error)) from error
        if report.failed:
            raise LoadError(name, " ".join(str(failure.error) for failure in report.failed))
        kept = {document.id for document in loaded.documents}
        for document in former:
            if document not in kept:
                index.delete(document)
        return report

    def _documents(self, index: Index, name: str) -> list[str]:
        """Return the ids of a file's documents: those read from it in this folder, or in one that was moved."""
        found = index.store.sources(0, {"file_path": self.id_of(name)})
        return [chunk.source_id for chunk in _first_chunks(index, found) if self._has(chunk, name)]

    def _has(self, chunk: Chunk, name: str) -> bool:
        place = chunk.metadata.get(ABSOLUTE_PATH)
        return isinstance(place, str) and (place == str(self._path / name) or not os.path.lexists(place))

    def _check_free(self, index: Index, name: str, loaded: Loaded) -> None:
        """Check that a file and its documents replace nothing but the file of that name and its documents.

        Raises:
            LoadError: They would.
        """
        own = set(self._documents(index, name))
        if os.path.lexists(self._path / name) and not own:
            rule = "is in the upload folder already, but is not a document of this collection"
            raise LoadError(name, f"{rule}. Give yours another name, or ask whoever runs the service.")
        wanted = {self.id_of(name), *(document.id for document in loaded.documents)}
        for chunk in _first_chunks(index, sorted(wanted - own)):
            reason = f"would replace {chunk.source_id!r}, which was not uploaded. Give the file another name."
            raise LoadError(name, reason)


def _first_chunks(index: Index, source_ids: Iterable[str]) -> Iterator[Chunk]:
    """Yield the first chunks of those of some documents that are indexed."""
    for ids in batches(source_ids, _BATCH):
        yield from index.store.get([chunk_id(source_id, index.strategy.fingerprint, 0, 0) for source_id in ids])


def _check_watched(root: Path, name: str, collection: OpenCollection) -> None:
    for path in (path.resolve() for paths, _, _ in collection.watched for path in paths):
        folder = path if path.is_dir() else path.parent
        if path.is_relative_to(root) or root.is_relative_to(path):
            remedy = "Keep uploads outside of the folders in sync."
            raise InvalidParameterError("uploads", f"must not overlap with {path}, which is watched", str(root), remedy)
        rule = f"must have another name than {folder}, which is watched, since ids begin with it"
        require(readable(folder.name) != name, "uploads", rule, str(root), "Rename one of the two.")


def _locked(folder: Path) -> int | None:
    """Lock a folder until the file descriptor is closed or the process ends, without leaving a trace in it."""
    problem = "nothing locks a folder on this system"
    try:
        import fcntl
    except ImportError:
        pass
    else:
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return descriptor
        except BlockingIOError:
            os.close(descriptor)
            remedy = "Stop it, or give each service a folder of its own."
            raise InvalidParameterError("uploads", "is used by another service", str(folder), remedy) from None
        except OSError as error:  # such as a folder on a network
            os.close(descriptor)
            problem = f"it can't be locked ({error.strerror})"
    warnings.warn(UploadWarning(f"Give {folder} to one service only: {problem}."), stacklevel=2)
    return None


def _write(path: Path, content: BinaryIO) -> None:
    with path.open("wb") as file:
        shutil.copyfileobj(content, file)
        file.flush()
        os.fsync(file.fileno())


def _sync_folders(*folders: Path) -> None:
    """Make what was renamed, created and deleted in folders survive a power failure."""
    if os.name == "nt":  # Windows opens no folders.
        return
    for folder in folders:
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
