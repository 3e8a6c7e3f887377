"""Verification that a collection is intact."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Literal

from kinsplit.chunk import DOCUMENT, RECORD, Beside, Chunk
from kinsplit.details import whole
from kinsplit.errors import inline
from kinsplit.identity import chunk_id, document_hash, embedding_hash, title_of
from kinsplit.spans import holds, stretches
from kinsplit.stores.store import ChunkStore, agreed
from kinsplit.stores.values import Damage

Kind = Literal["index", "link", "parent", "child", "hash", "lost", "payload", "vectors", "unknown", "filter"]

#: Details by kind of damage.
_DAMAGE = {
    "payload": "its payload is not the one that was stored",
    "vectors": "its vectors are not those that were stored",
    "unknown": "it was deleted, or never stored",
}

#: Replacement of a character that no store can hold, which makes a text differ from its hash.
_REPLACED = "\ufffd"


@dataclass(frozen=True, slots=True)
class Inconsistency:
    """An inconsistency that a completed sync never leaves. Indexing the source again repairs it.

    Attributes:
        source_id: Id of the document; empty for a problem of the whole collection.
        level: Level of the chunks.
        index: Index of the chunk; None for a problem of the whole level.
        kind: "index" for indices other than 0 to total - 1, "link" for neighbours, "parent" and "child" for kin between
            levels, "hash" for a text that doesn't match its content hash or its length in the document, or a document
            that doesn't match its leaves. From a store that records its writes: "lost", "payload", "vectors",
            "unknown" and "filter" (see `kinsplit.stores.values.Damage`).
        detail: A sentence without a full stop.
    """

    source_id: str
    level: int
    index: int | None
    kind: Kind
    detail: str

    def __str__(self) -> str:
        if not self.source_id:
            return self.detail
        place = f"level {self.level}" if self.index is None else f"level {self.level}, chunk {self.index}"
        return inline(f"{self.source_id}: {place}: {self.detail}")


@agreed()
def verify(store: ChunkStore) -> list[Inconsistency]:
    """Check every chunk of a store, in one call per source.

    Chunks that a framework's vector store wrote have the framework's offsets. They are only checked for the metadata of
    a longer chunk from which their text was cut; kinsplit's own chunks that a framework wrote back are checked with
    their kin. A text with U+FFFD is not compared with its hash, since the character may replace one that no store can
    hold.

    Edge also compares every chunk's payload and vectors with its record of acknowledged writes, and so detects lost
    documents. The other engines keep no such record, since databases guarantee durability themselves.

    Args:
        store: Store to read. A sync in progress can look like a problem.

    Returns:
        The problems in order of source and level; none in an intact store.
    """
    fingerprint = store.schema.fingerprint
    problems: list[Inconsistency] = []
    for source_id in store.sources():
        chunks = store.find({"source_id": source_id}, level=None)
        ids = {chunk_id(source_id, fingerprint, chunk.level, chunk.index) for chunk in chunks}
        problems += _check([chunk for chunk in chunks if _own(chunk) or chunk.id in ids])
        problems += (problem for chunk in chunks if not _own(chunk) for problem in _copied(chunk))
    return sorted([*problems, *_damaged(store.damage())], key=lambda problem: (problem.source_id, problem.level))


def _damaged(damage: Sequence[Damage]) -> Iterator[Inconsistency]:
    lost: dict[tuple[str, int], list[int]] = {}
    for one in damage:
        if one.kind == "lost":
            lost.setdefault((one.source_id, one.level), []).append(one.index)
        elif one.kind == "filter":
            detail = f"filters by {one.key!r} find other chunks than they should; copy the collection, or make it anew"
            yield Inconsistency("", 0, None, "filter", detail)
        else:
            yield Inconsistency(one.source_id, one.level, one.index, one.kind, _DAMAGE[one.kind])
    for (source_id, level), indices in lost.items():
        detail = f"{len(indices)} of the chunks that were stored are lost: {_some(sorted(indices))}"
        yield Inconsistency(source_id, level, None, "lost", detail)


def _some(numbers: Sequence[int]) -> str:
    return ", ".join(map(str, numbers[:5])) + (", ..." if len(numbers) > 5 else "")


def _own(chunk: Chunk) -> bool:
    return RECORD not in chunk.metadata


def _check(chunks: Sequence[Chunk]) -> Iterator[Inconsistency]:
    """Check the chunks of one source that no framework has written, in order of level and index."""
    if not any(map(_own, chunks)):
        return
    levels = {level: list(group) for level, group in groupby(chunks, lambda chunk: chunk.level)}
    by_id = {chunk.id: chunk for chunk in chunks}
    if 0 in levels and DOCUMENT not in levels:
        yield Inconsistency(levels[0][0].source_id, DOCUMENT, None, "parent", "no chunk stands for the whole document")
    for level, siblings in levels.items():
        yield from _indices(siblings)
        below = [chunk for lower, found in levels.items() if lower < level for chunk in found]
        for chunk in filter(_own, siblings):
            for name, wanted in (("prev_id", chunk.index - 1), ("next_id", chunk.index + 1)):
                yield from _link(chunk, name, wanted, by_id)
            yield from _parent(chunk, by_id)
            if level:
                yield from _children(chunk, below)
            yield from _hash(chunk, levels.get(0, []))


def _problem(chunk: Chunk, kind: Kind, detail: str) -> Inconsistency:
    return Inconsistency(chunk.source_id, chunk.level, chunk.index, kind, detail)


def _indices(siblings: Sequence[Chunk]) -> Iterator[Inconsistency]:
    first = siblings[0]
    indices = [chunk.index for chunk in siblings]
    totals = {chunk.total for chunk in siblings}
    if len(totals) > 1:
        detail = f"its chunks disagree on their number: {', '.join(map(str, sorted(totals)))}"
        yield Inconsistency(first.source_id, first.level, None, "index", detail)
    missing = sorted(set(range(max(totals))) - set(indices))
    if missing:
        detail = f"{len(missing)} of {max(totals)} chunks are missing: {_some(missing)}"
        yield Inconsistency(first.source_id, first.level, None, "index", detail)
    for before, chunk in zip([None, *indices], siblings, strict=False):
        if chunk.index == before:
            yield _problem(chunk, "index", "another chunk has the same index")
        if not 0 <= chunk.index < chunk.total:
            yield _problem(chunk, "index", f"its index is not below the number of {chunk.total} chunks")


def _link(chunk: Chunk, name: str, wanted: int, by_id: dict[str, Chunk]) -> Iterator[Inconsistency]:
    id_ = getattr(chunk, name)
    if id_ is None:
        if 0 <= wanted < chunk.total:
            yield _problem(chunk, "link", f"{name} is not set")
    elif id_ not in by_id:
        yield _problem(chunk, "link", f"{name} leads to no chunk of this source: {id_}")
    elif (by_id[id_].level, by_id[id_].index) != (chunk.level, wanted):
        found = by_id[id_]
        yield _problem(chunk, "link", f"{name} leads to chunk {found.index} of level {found.level}, not to {wanted}")


def _parent(chunk: Chunk, by_id: dict[str, Chunk]) -> Iterator[Inconsistency]:
    if chunk.parent_id is None:
        return
    parent = by_id.get(chunk.parent_id)
    if parent is None:
        yield _problem(chunk, "parent", f"parent_id leads to no chunk of this source: {chunk.parent_id}")
    elif parent.level <= chunk.level:
        yield _problem(chunk, "parent", f"parent_id leads to level {parent.level}, which is not above")
    elif not holds(parent.spans, chunk.spans):
        yield _problem(chunk, "parent", f"it does not lie inside its parent, chunk {parent.index}")


def _children(chunk: Chunk, below: Sequence[Chunk]) -> Iterator[Inconsistency]:
    # Not every parent has a child that refers to it: windows of two sizes may only overlap.
    if not any(a.start < b.end and b.start < a.end for other in below for a in other.spans for b in chunk.spans):
        yield _problem(chunk, "child", "nothing of the levels below lies in it")


def _copied(chunk: Chunk) -> Iterator[Inconsistency]:
    """Find texts that a framework's splitter cut from a chunk while keeping the chunk's metadata."""
    metadata = whole(json.loads(chunk.metadata[RECORD])["metadata"])
    if not {"content_hash", "char_start", "char_end"} <= metadata.keys() or _REPLACED in chunk.text:
        return
    if metadata["content_hash"] != embedding_hash(chunk.text, Beside.of(metadata).context, metadata):
        place = f"{metadata['char_start']} to {metadata['char_end']}"
        yield _problem(chunk, "hash", f"content_hash and place, {place}, are those of a text that it was cut out of")


def _hash(chunk: Chunk, leaves: Sequence[Chunk]) -> Iterator[Inconsistency]:
    if chunk.level == DOCUMENT:
        # A framework's content hash covers more than the text.
        expected = document_hash((leaf.content_hash for leaf in leaves), title_of(chunk.metadata))
        if all(map(_own, leaves)) and chunk.content_hash != expected:
            yield _problem(chunk, "hash", "content_hash is not that of its leaves")
    elif _REPLACED in chunk.text + chunk.context:
        return
    elif chunk.content_hash != embedding_hash(chunk.text, chunk.context, chunk.metadata):
        yield _problem(chunk, "hash", "content_hash is not that of its text and context")
    elif stretches(chunk.spans, chunk.text) is None:
        yield _problem(chunk, "hash", f"its text is not as long as its place, {chunk.start} to {chunk.end}")
