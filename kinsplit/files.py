"""Which file an indexed document is from: two files of one id must not take turns in a collection."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from kinsplit.chunk import Document, chunk_id
from kinsplit.errors import LoadError
from kinsplit.loaders import Loaded, SourceFile
from kinsplit.stores.logic import batches
from kinsplit.stores.protocol import ChunkStore

#: Metadata key of the file that a document was read from, on the machine that read it.
ABSOLUTE_PATH = "absolute_path"

# First chunks that are asked for together.
_BATCH = 500


def with_paths(loaded: Loaded) -> Iterator[Document]:
    """Yield the documents of a file, those that got their id from its place with the place itself."""
    for document in loaded.documents:
        if document.id == loaded.source.source_id:
            document = replace(document, metadata={**document.metadata, ABSOLUTE_PATH: str(loaded.path.resolve())})
        yield document


def check_same(store: ChunkStore, fingerprint: str, files: Iterable[SourceFile]) -> None:
    """Make sure that no file would replace another one that still exists. One that is gone was moved or deleted.

    Args:
        store: Holds the documents so far.
        fingerprint: Of the strategy.
        files: Those to be indexed.

    Raises:
        LoadError: An indexed file of the same id is another file.
    """
    paths = {source.source_id: source.path for source in files}
    for source_id, other in existing(store, fingerprint, paths):
        if not other.samefile(paths[source_id]):
            raise LoadError(
                paths[source_id],
                f"would replace {other}, which is indexed under the same id ({source_id!r}): an id begins with the "
                "name of the given folder. Give the folder that holds both, rename one, use another collection, or "
                "delete the indexed document first.",
            )


def existing(store: ChunkStore, fingerprint: str, source_ids: Iterable[str]) -> Iterator[tuple[str, Path]]:
    """Yield which of the documents were read from files that are still there, with these files."""
    for ids in batches(list(source_ids), _BATCH):
        for chunk in store.get([chunk_id(source_id, fingerprint, 0, 0) for source_id in ids]):
            path = chunk.metadata.get(ABSOLUTE_PATH)
            if isinstance(path, str) and _exists(Path(path)):
                yield chunk.source_id, Path(path)


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:
        return False
