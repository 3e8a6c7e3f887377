"""Candidates -> passages: each hit with its kin, all of it fetched in one round trip."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from pydantic import Field

from kinsplit.chunk import Chunk, chunk_id
from kinsplit.retrieval.candidate import Candidate
from kinsplit.retrieval.passage import Passage, join
from kinsplit.retrieval.steps import Steps, get
from kinsplit.settings import Settings


class Expansion(Settings):
    """What is added to a hit.

    Attributes:
        window: Siblings to add on each side; they stop at the document's edges.
        within_sections: Whether they also stop where the heading path changes.
        parents: Whether to take the whole parent instead of siblings; a hit without a parent gets siblings.
    """

    window: int = Field(default=1, ge=0)
    within_sections: bool = False
    parents: bool = False


def expand(candidates: Sequence[Candidate], expansion: Expansion, fingerprint: str, top_k: int) -> Steps[list[Passage]]:
    """Expand candidates by their kin and merge what touches into passages.

    A passage has the score of its best hit. Hits are taken best first until `top_k` passages stand; what lies inside
    them is added to their hits, so `top_k` counts passages after merging. Siblings make a passage at most two windows
    long, so a document full of hits gives several passages and not itself; no chunk stands in two passages.

    Args:
        candidates: Hits, best first.
        expansion: What is added to a hit.
        fingerprint: The strategy's, by which ids are computed.
        top_k: Most passages.

    Returns:
        The passages, best first.
    """
    kin = _Kin(expansion, fingerprint)
    chunks = {candidate.chunk.id: candidate.chunk for candidate in candidates}
    wanted = dict.fromkeys(id_ for candidate in candidates for id_ in kin.ids(candidate.chunk))
    fetched = yield from get([id_ for id_ in wanted if id_ not in chunks])
    chunks.update((chunk.id, chunk) for chunk in fetched)
    groups: list[_Group] = []
    for hit in candidates:
        around = kin.around(hit.chunk, chunks)
        home = next((group for group in groups if group.holds(hit.chunk, around)), None)
        if home is not None:
            home.hits.append(hit)
            continue
        neighbour = next((group for group in groups if group.has_room_for(around, kin.longest)), None)
        if neighbour is not None:
            neighbour.add(_beside(hit.chunk, around, [g for g in groups if g is not neighbour]), hit)
        elif len(groups) < top_k:
            groups.append(_Group(_beside(hit.chunk, around, groups), hit, kin.related(hit.chunk, chunks)))
    return [join(group.chunks.values(), group.hits, group.related) for group in groups]


class _Kin:
    """Which chunks belong around a hit."""

    def __init__(self, expansion: Expansion, fingerprint: str) -> None:
        self._expansion = expansion
        self._fingerprint = fingerprint
        self.longest = 4 * expansion.window + 2

    def ids(self, chunk: Chunk) -> list[str]:
        """Return the ids of all that may belong to a hit."""
        return [*self._own_ids(chunk), *self._related_ids(chunk)]

    def around(self, chunk: Chunk, chunks: Mapping[str, Chunk]) -> list[Chunk]:
        """Return the parent alone, or the hit among its siblings, in document order."""
        found = [chunks[id_] for id_ in self._own_ids(chunk) if id_ in chunks] or [chunk]
        if self._expansion.within_sections and found[0].level == chunk.level:
            found = _stretch(found, chunk, [other.context == chunk.context for other in found])
        return found

    def related(self, chunk: Chunk, chunks: Mapping[str, Chunk]) -> list[Chunk]:
        """Return the other files of an unchunked document's group that are not chunked either."""
        return [chunks[id_] for id_ in self._related_ids(chunk) if id_ in chunks and chunks[id_].total == 1]

    def _own_ids(self, chunk: Chunk) -> list[str]:
        if self._expansion.parents and chunk.parent_id is not None:
            return [chunk.parent_id]
        window = self._expansion.window
        first, last = max(0, chunk.index - window), min(chunk.total - 1, chunk.index + window)
        return [self._id(chunk.source_id, chunk.level, index) for index in range(first, last + 1)]

    def _related_ids(self, chunk: Chunk) -> list[str]:
        siblings = chunk.metadata.get("sibling_files")
        if chunk.total > 1 or chunk.level or not self._expansion.window or not isinstance(siblings, list | tuple):
            return []
        return [self._id(source_id, 0, 0) for source_id in siblings if isinstance(source_id, str)]

    def _id(self, source_id: str, level: int, index: int) -> str:
        return chunk_id(source_id, self._fingerprint, level, index)


class _Group:
    """Neighbouring chunks, or a parent, on their way to become a passage."""

    def __init__(self, chunks: Iterable[Chunk], hit: Candidate, related: Sequence[Chunk]) -> None:
        self.chunks = {chunk.id: chunk for chunk in chunks}
        self.hits = [hit]
        self.related = related

    def holds(self, chunk: Chunk, around: Sequence[Chunk]) -> bool:
        """Return whether a hit, or the parent that stands for it, is part of the passage."""
        return chunk.id in self.chunks or (len(around) == 1 and around[0].id in self.chunks)

    def has_room_for(self, around: Sequence[Chunk], most: int) -> bool:
        """Return whether chunks touch these and together are not too many."""
        own = next(iter(self.chunks.values()))
        if (own.source_id, own.level) != (around[0].source_id, around[0].level) or own.level > self.hits[0].chunk.level:
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
    return _stretch(around, chunk, [not any(c.id in group.chunks for group in groups) for c in around])


def _stretch(around: Sequence[Chunk], chunk: Chunk, allowed: Sequence[bool]) -> list[Chunk]:
    """Return the unbroken stretch of allowed chunks around one of them; all of them where it isn't among them."""
    own = next((i for i, c in enumerate(around) if c.id == chunk.id), None)
    if own is None:
        return list(around)
    first = last = own
    while first > 0 and allowed[first - 1]:
        first -= 1
    while last + 1 < len(around) and allowed[last + 1]:
        last += 1
    return list(around[first : last + 1])
