"""Origins of indexed documents: checks for files that share an id, and a search for documents of deleted files."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from kinsplit.chunk import ABSOLUTE_PATH, Document
from kinsplit.errors import LoadError
from kinsplit.identity import chunk_id
from kinsplit.loaders import Loaded, SourceFile
from kinsplit.stores.store import ChunkStore, batches

# First chunks fetched together.
_BATCH = 500


class FileOrigin(NamedTuple):
    """File that an indexed document comes from."""

    source_id: str
    file_id: str  # Id of the file; the document's own id if it came from no file.
    path: Path | None  # Path of the file, if it still exists.


def with_path(documents: Iterable[Document], path: Path) -> Iterator[Document]:
    """Yield the documents of a file with its resolved path in their metadata."""
    for document in documents:
        yield replace(document, metadata={**document.metadata, ABSOLUTE_PATH: str(path)})


def new_files(store: ChunkStore, fingerprint: str, files: Iterable[SourceFile]) -> Iterator[SourceFile]:
    """Yield the files that are not indexed yet; LoadError if another one's id belongs to another indexed file.

    An indexed file that no longer exists was moved or deleted.
    """
    for batch in batches(files, _BATCH):
        new = {source.source_id: source for source in batch}
        for source_id, _, other in origins(store, fingerprint, [*new]):
            path = new.pop(source_id).path
            # A file deleted in the meantime replaces nothing; reading it reports the error.
            if other is not None and _same(other, path) is False:
                raise would_replace(path, other, source_id)
        yield from new.values()


def would_replace(place: object, other: object, source_id: str) -> LoadError:
    """Return the error of a file that would replace another one."""
    return LoadError(
        place,
        f"would replace {other}, which is indexed under the same id ({source_id!r}): an id begins with the "
        "name of the given folder. Give the folder that holds both, rename one, use another collection, or "
        "delete the indexed document first.",
    )


def find_duplicates(
    store: ChunkStore, fingerprint: str, new: Iterable[SourceFile], files: Mapping[str, SourceFile]
) -> dict[str, str]:
    """Return the ids of new files that are already indexed under another id, each with that id."""
    readable = (source for source in new if source.error is None)
    first = next(readable, None)
    if first is None:
        return {}
    others = [other for other in store.sources(level=0) if other not in files or files[other].error is not None]
    names = set(map(_name, others))
    # Only documents with the same file name can be of the same file.
    alike: dict[str, list[SourceFile]] = {}
    for source in chain([first], readable):
        if (name := _name(source.source_id)) in names:
            alike.setdefault(name, []).append(source)
    found: dict[str, str] = {}
    for other, _, path in origins(store, fingerprint, (other for other in others if _name(other) in alike)):
        for source in alike[_name(other)]:
            if path is not None and _same(path, source.path):
                found[source.source_id] = other
    return dict(sorted(found.items()))


def _name(source_id: str) -> str:
    return source_id.rpartition("/")[2]


def check_rows(store: ChunkStore, fingerprint: str, loaded: Loaded, files: Container[Path]) -> Loaded:
    """Return a file, with an error instead of its documents if one of its rows would replace another file's."""
    rows = [document.id for document in loaded.documents if document.id != loaded.source_id]
    for row, _, other in origins(store, fingerprint, rows):
        if other is not None and other not in files and not _same(other, loaded.path):
            reason = (
                f"its document {row!r} would replace that of {other}, which is indexed under the same id. Give both "
                "files together if it has moved, or give every document its own id."
            )
            return replace(loaded, documents=(), error=LoadError(loaded.path, reason))
    return loaded


def find_gone(
    store: ChunkStore, fingerprint: str, folders: Iterable[str], files: Mapping[str, SourceFile], kept: Container[str]
) -> list[str]:
    """Return the ids of indexed documents that were in files or folders and are no longer there."""
    searched = tuple(f"{folder}/" for folder in folders)
    unread = tuple(f"{source.source_id}/" for source in files.values() if source.error is not None)
    left = (source_id for source_id in store.sources(level=0) if source_id not in kept)
    return [
        source_id
        for source_id, file_id, path in origins(store, fingerprint, left)
        if file_id not in kept  # else a row of a file that wasn't read, or couldn't be
        and (
            file_id.startswith(searched) and not file_id.startswith(unread)
            if path is None
            else file_id in files and _same(path, files[file_id].path)
        )
    ]


def origins(store: ChunkStore, fingerprint: str, source_ids: Iterable[str]) -> Iterator[FileOrigin]:
    """Yield the origins of those of some documents that are indexed."""
    for ids in batches(source_ids, _BATCH):
        for chunk in store.get([chunk_id(source_id, fingerprint, 0, 0) for source_id in ids]):
            path, file_id = chunk.metadata.get(ABSOLUTE_PATH), chunk.metadata.get("file_path")
            if isinstance(path, str) and isinstance(file_id, str):
                yield FileOrigin(chunk.source_id, file_id, Path(path) if _exists(Path(path)) else None)
            else:
                yield FileOrigin(chunk.source_id, chunk.source_id, None)


def _same(one: Path, other: Path) -> bool | None:
    """Return whether two paths lead to the same file, or None if one of them was deleted in the meantime."""
    try:
        return one.samefile(other)
    except OSError:
        return None


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:
        return False
