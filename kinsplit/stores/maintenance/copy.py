"""Copies of a collection's documents, which an interrupted copy is completed by."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass
from itertools import groupby
from operator import add

from kinsplit.chunk import Chunk
from kinsplit.stores.schema import check_schema
from kinsplit.stores.store import ChunkStore, agreed
from kinsplit.stores.values import Vectors

#: Chunks per read; a document with more is read at once.
_BATCH = 1000

#: Function called with the number of documents that are done and their total.
Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Copied:
    """Numbers of a copy or a restored backup.

    Attributes:
        documents: Number of documents that the source has.
        chunks: Number of their leaves.
        skipped: Number of the documents that the target held already.
    """

    documents: int = 0
    chunks: int = 0
    skipped: int = 0

    def __add__(self, other: Copied) -> Copied:
        return Copied(*map(add, astuple(self), astuple(other)))


@agreed()
def copy(source: ChunkStore, target: ChunkStore, progress: Progress | None = None) -> Copied:
    """Copy every chunk of a store, with its vectors, into another store, without embedding again.

    Documents that the target already holds become equal to the source's; its other documents stay. A document whose
    chunks are equal is skipped: a batch of them takes one call to each store. So an interrupted copy is completed by
    the next one, and a second copy takes over what has changed.

    Args:
        source: Store to read.
        target: Store to write, opened with `source.schema`.
        progress: Function called after each batch with the number of documents done and their total.

    Raises:
        SchemaMismatchError: The stores were made with different models or strategies.
    """
    check_schema("The target", target.schema, source.schema)
    sizes, held = source.sources(), target.sources()
    done = Copied()
    with target.first_load():
        for names in batches_of(sizes):
            done += take_over(target, held, read(source, names), source.vectors)
            if progress is not None:
                progress(done.documents, len(sizes))
    return done


def take_over(
    target: ChunkStore,
    held: Mapping[str, int],
    wanted: Mapping[str, Sequence[Chunk]],
    vectors: Callable[[list[str]], Mapping[str, Vectors]],
) -> Copied:
    """Make documents of a store equal to their chunks, and return their numbers.

    `held` has the number of chunks by document. A chunk without vectors was deleted meanwhile.
    """
    alike = [name for name, chunks in wanted.items() if held.get(name) == len(chunks)]
    equal = read(target, alike) if alike else {}
    changed = [name for name, chunks in wanted.items() if equal.get(name) != chunks]
    found = vectors([chunk.id for name in changed for chunk in wanted[name]])
    for name in changed:
        if whole := [chunk for chunk in wanted[name] if chunk.id in found]:
            target.sync(name, whole, {chunk.content_key: found[chunk.id] for chunk in whole})
    leaves = sum(chunk.level == 0 for chunks in wanted.values() for chunk in chunks)
    return Copied(len(wanted), leaves, len(wanted) - len(changed))


def batches_of(sizes: Mapping[str, int]) -> Iterator[list[str]]:
    """Yield documents in batches that are read at once."""
    batch: list[str] = []
    total = 0
    for name, size in sizes.items():
        if batch and total + size > _BATCH:
            yield batch
            batch, total = [], 0
        batch.append(name)
        total += size
    if batch:
        yield batch


def read(store: ChunkStore, names: Sequence[str]) -> dict[str, list[Chunk]]:
    """Return the chunks of documents, of all levels, by document, in order."""
    chunks = store.find({"source_id": list(names)}, level=None)
    return {name: list(group) for name, group in groupby(chunks, lambda chunk: chunk.source_id)}
