"""Candidates -> passages: each hit with its siblings, all of them fetched in one round trip."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kinsplit.chunk import Chunk, chunk_id
from kinsplit.retrieval.candidates import Candidate
from kinsplit.retrieval.passage import Passage, join
from kinsplit.stores.protocol import ChunkStore


def expand(store: ChunkStore, candidates: Sequence[Candidate], *, window: int, top_k: int) -> list[Passage]:
    """Expand candidates by their siblings and merge what touches into passages.

    A passage has the score of its best hit. Hits are taken best first until `top_k` passages stand; what lies inside
    them is added to their hits, so `top_k` counts passages after merging. A passage is at most two windows long, so a
    document full of hits gives several passages and not itself; no chunk stands in two passages.

    Args:
        store: Where the siblings are.
        candidates: Hits, best first.
        window: Siblings to add on each side; they stop at the document's edges.
        top_k: Most passages.

    Returns:
        The passages, best first.
    """
    siblings = _fetch(store, candidates, window)
    groups: list[_Group] = []
    for hit in candidates:
        around = [siblings[i] for i in _window(store, hit.chunk, window) if i in siblings]
        home = next((group for group in groups if hit.chunk.id in group.chunks), None)
        if home is not None:
            home.hits.append(hit)
            continue
        neighbour = next((group for group in groups if group.has_room_for(around, most=4 * window + 2)), None)
        if neighbour is not None:
            neighbour.add(_beside(hit.chunk, around, [g for g in groups if g is not neighbour]), hit)
        elif len(groups) < top_k:
            groups.append(_Group(_beside(hit.chunk, around, groups), hit))
    return [join(group.chunks.values(), group.hits) for group in groups]


class _Group:
    """Neighbouring chunks on their way to become a passage."""

    def __init__(self, chunks: Iterable[Chunk], hit: Candidate) -> None:
        self.chunks = {chunk.id: chunk for chunk in chunks}
        self.hits = [hit]

    def has_room_for(self, around: Sequence[Chunk], most: int) -> bool:
        """Return whether chunks touch these and together are not too many."""
        own = next(iter(self.chunks.values()))
        if (own.source_id, own.level) != (around[0].source_id, around[0].level):
            return False
        numbers = {chunk.index for chunk in self.chunks.values()}
        others = {chunk.index for chunk in around}
        touch = min(others) <= max(numbers) + 1 and max(others) >= min(numbers) - 1
        return touch and len(numbers | others) <= most

    def add(self, chunks: Iterable[Chunk], hit: Candidate) -> None:
        self.chunks.update((chunk.id, chunk) for chunk in chunks)
        self.hits.append(hit)


def _beside(chunk: Chunk, around: Sequence[Chunk], groups: Sequence[_Group]) -> list[Chunk]:
    """Return the chunks around a hit up to those that a passage already has."""
    free = [not any(c.id in group.chunks for group in groups) for c in around]
    first = last = next(i for i, c in enumerate(around) if c.id == chunk.id)
    while first > 0 and free[first - 1]:
        first -= 1
    while last + 1 < len(around) and free[last + 1]:
        last += 1
    return list(around[first : last + 1])


def _window(store: ChunkStore, chunk: Chunk, window: int) -> list[str]:
    first, last = max(0, chunk.index - window), min(chunk.total - 1, chunk.index + window)
    fingerprint = store.schema.fingerprint
    return [chunk_id(chunk.source_id, fingerprint, chunk.level, index) for index in range(first, last + 1)]


def _fetch(store: ChunkStore, candidates: Sequence[Candidate], window: int) -> dict[str, Chunk]:
    """Return the candidates' chunks and their siblings by id; ids can be computed, so one call fetches all."""
    known = {candidate.chunk.id: candidate.chunk for candidate in candidates}
    wanted = {i: None for candidate in candidates for i in _window(store, candidate.chunk, window) if i not in known}
    return known | {chunk.id: chunk for chunk in store.get(list(wanted))} if wanted else known
