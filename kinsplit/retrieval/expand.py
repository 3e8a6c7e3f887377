"""Expansion of hits by their kin, which are fetched in one round trip."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise
from types import MappingProxyType
from typing import Self

from pydantic import Field

from kinsplit.chunk import Chunk
from kinsplit.identity import chunk_id
from kinsplit.options import WINDOW, ExpansionOptions
from kinsplit.retrieval.passage import Candidate, Passage, are_siblings, continues, join
from kinsplit.retrieval.scoring import ScoredEntry
from kinsplit.stores.store import ChunkStore
from kinsplit.stores.values import Entry
from kinsplit.support.settings import Settings

#: Most files that are related to a hit; a group is a lecture with its code, its exercises and their solutions.
MOST_RELATED = 4


class Expansion(Settings):
    """Kin to add to a hit.

    Attributes:
        window: Number of siblings to add on each side, within the document.
        within_sections: Whether siblings stop where the heading path changes.
        parents: Whether to take the whole parent instead of siblings; a hit without a parent gets siblings.
    """

    window: int = Field(default=WINDOW, ge=0)
    within_sections: bool = False
    parents: bool = False

    @classmethod
    def of(cls, options: ExpansionOptions) -> Self:
        """Return the expansion that options ask for."""
        return cls(window=options.siblings, parents=options.parents, within_sections=options.within_sections)

    def kin(self, hit: Chunk | Entry, fingerprint: str) -> list[str]:
        """Return the id of the parent that replaces a hit, or the ids of the hit and its siblings in order.

        Args:
            hit: The hit.
            fingerprint: Fingerprint of the strategy, from which ids are computed.
        """
        if self.parents and hit.parent_id is not None:
            return [hit.parent_id]
        return list(self.siblings(hit, fingerprint).values())

    def siblings(self, hit: Chunk | Entry, fingerprint: str) -> dict[int, str]:
        """Return the ids of a hit and its siblings by index, in order; see `kin`."""
        first, last = max(0, hit.index - self.window), min(hit.total - 1, hit.index + self.window)
        # Looking up an id is faster than computing it.
        known = {hit.index - 1: hit.prev_id, hit.index: hit.id, hit.index + 1: hit.next_id}
        return {
            index: known.get(index) or chunk_id(hit.source_id, fingerprint, hit.level, index)
            for index in range(first, last + 1)
        }

    def related(self, hit: Chunk | Entry, fingerprint: str) -> list[str]:
        """Return the ids of the first chunks of the other files in a document's group, at most `MOST_RELATED`."""
        if hit.level or not self.window:
            return []
        return [chunk_id(source_id, fingerprint, 0, 0) for source_id in _sibling_files(hit)[:MOST_RELATED]]


def fetch_kin(
    store: ChunkStore,
    hits: Iterable[Chunk | Entry],
    expansion: Expansion,
    fingerprint: str,
    known: Mapping[str, Chunk] = MappingProxyType({}),
    read: Callable[[Sequence[str]], list[Chunk]] | None = None,
) -> dict[str, Chunk]:
    """Fetch hits, unless known, and all chunks that may become part of their passages, in one call to the store.

    A second call looks up siblings by index if their ids are not found: a framework may store chunks under ids of its
    own. `read` replaces the store's own function that fetches chunks by id.

    Returns:
        Chunks by the ids under which `arrange` looks for them.
    """
    hits = list(hits)
    ids = dict.fromkeys([*(hit.id for hit in hits), *wanted_ids(hits, expansion, fingerprint)])
    unknown = [id_ for id_ in ids if id_ not in known]
    fetched = (read or store.get)(unknown) if unknown else []
    chunks = {**known, **{chunk.id: chunk for chunk in fetched}}
    lost: dict[tuple[str, int, int], list[str]] = {}
    for hit in () if expansion.parents or ids.keys() <= chunks.keys() else hits:
        for index, id_ in expansion.siblings(hit, fingerprint).items():
            if id_ not in chunks:
                lost.setdefault((hit.source_id, hit.level, index), []).append(id_)
    if lost:
        sources, levels, indices = ([*dict.fromkeys(column)] for column in zip(*lost, strict=True))
        where = {"source_id": sources, "chunk_index": indices}
        for chunk in store.find(where, levels[0] if len(levels) == 1 else None):
            # A chunk that a framework stored and kinsplit didn't make is the only one of its document.
            for id_ in lost.get((chunk.source_id, chunk.level, chunk.index), ()) if chunk.total > 1 else ():
                chunks[id_] = chunk
    return chunks


def wanted_ids(hits: Iterable[Chunk | Entry], expansion: Expansion, fingerprint: str) -> list[str]:
    """Return the ids of all chunks that may become part of the hits' passages, each once."""
    ids = (id_ for h in hits for id_ in (*expansion.kin(h, fingerprint), *expansion.related(h, fingerprint)))
    return list(dict.fromkeys(ids))


def arrange(
    candidates: Sequence[Candidate], chunks: Mapping[str, Chunk], expansion: Expansion, fingerprint: str, top_k: int
) -> list[Passage]:
    """Expand candidates by their kin and merge adjacent ones into passages.

    A passage has the score of its best hit. Hits are taken best first until there are `top_k` passages; a hit inside
    one of them is added to its hits, so `top_k` counts passages after merging. A passage of siblings is at most two
    windows long, so that a document full of hits gives several passages and not itself. No chunk is in two passages.

    Args:
        candidates: Hits, best first.
        chunks: The stored ones of the hits and their kin, by id.
        expansion: Kin to add to a hit.
        fingerprint: Fingerprint of the strategy, from which ids are computed.
        top_k: Maximum number of passages.

    Returns:
        The passages, best first.
    """
    groups: list[_Group] = []
    for hit in candidates:
        near = [group for group in groups if group.is_near(hit.chunk, expansion)]
        if not near and len(groups) >= top_k:
            continue
        around = surroundings(hit.chunk, chunks, expansion, fingerprint)
        home = next((group for group in near if group.holds(hit.chunk, around)), None)
        if home is not None:
            home.hits.append(hit)
            continue
        free = ((group, _beside(hit.chunk, around, [g for g in groups if g is not group])) for group in near)
        neighbour, more = next((pair for pair in free if pair[0].has_room_for(pair[1], expansion)), (None, around))
        if neighbour is not None:
            neighbour.add(more, hit)
        elif len(groups) < top_k:
            others = (chunks.get(id_) for id_ in expansion.related(hit.chunk, fingerprint))
            related = [other for other in others if other is not None]
            groups.append(_Group(_beside(hit.chunk, around, groups), hit, related))
    return [join(group.chunks.values(), group.hits, group.related) for group in groups]


def decisive(hits: Iterable[ScoredEntry], expansion: Expansion, top_k: int) -> list[ScoredEntry]:
    """Return the hits that `arrange` makes passages of, best first, and some that it may leave out.

    A hit that is near no other begins a passage of its own. Once there are `top_k` of these, all others that are near
    none can be left out, so that their texts needn't be fetched.
    """
    kept: list[ScoredEntry] = []
    places: dict[str, list[int]] = {}
    alone, reach = 0, 2 * expansion.window + 1
    for hit in hits:
        own = places.setdefault(hit.entry.source_id, [])
        is_near = bool(own) and (expansion.parents or any(abs(hit.entry.index - other) <= reach for other in own))
        if is_near or alone < top_k:
            alone += not is_near
            kept.append(hit)
            own.append(hit.entry.index)
    return kept


def longest(expansion: Expansion) -> int:
    """Return the largest number of siblings in a passage, two windows."""
    return 4 * expansion.window + 2


class _Group:
    """Neighbouring chunks, or a parent, from which a passage is built."""

    def __init__(self, chunks: Iterable[Chunk], hit: Candidate, related: Sequence[Chunk]) -> None:
        self.chunks = {chunk.id: chunk for chunk in chunks}
        self.hits = [hit]
        self.related = related

    def is_near(self, chunk: Chunk, expansion: Expansion) -> bool:
        """Return whether a hit, with its kin, may be part of the passage or continue it."""
        own = self.hits[0].chunk
        if own.source_id != chunk.source_id or expansion.parents:
            return own.source_id == chunk.source_id
        reach = expansion.window + 1
        indices = [other.index for other in self.chunks.values()]
        return min(indices) - reach <= chunk.index <= max(indices) + reach

    def holds(self, chunk: Chunk, around: Sequence[Chunk]) -> bool:
        """Return whether a hit, or the parent that replaces it, is part of the passage."""
        return chunk.id in self.chunks or (len(around) == 1 and around[0].id in self.chunks)

    def has_room_for(self, around: Sequence[Chunk], expansion: Expansion) -> bool:
        """Return whether chunks can be joined with these without exceeding the limit; parents stay alone."""
        own = next(iter(self.chunks.values()))
        if (own.source_id, own.level) != (around[0].source_id, around[0].level) or own.level > self.hits[0].chunk.level:
            return False
        if expansion.within_sections and own.beside.headings != around[0].beside.headings:
            return False
        together = {**self.chunks, **{chunk.id: chunk for chunk in around}}
        return len(together) <= longest(expansion) and are_siblings(together.values())

    def add(self, chunks: Iterable[Chunk], hit: Candidate) -> None:
        self.chunks.update((chunk.id, chunk) for chunk in chunks)
        self.hits.append(hit)


def _sibling_files(hit: Chunk | Entry) -> Sequence[str]:
    if isinstance(hit, Entry):
        return hit.sibling_files
    siblings = hit.metadata.get("sibling_files")
    return [name for name in siblings if isinstance(name, str)] if isinstance(siblings, list | tuple) else []


def surroundings(chunk: Chunk, chunks: Mapping[str, Chunk], expansion: Expansion, fingerprint: str) -> list[Chunk]:
    """Return the parent alone, or the hit and its siblings, consecutive and in document order."""
    found = [chunks[id_] for id_ in expansion.kin(chunk, fingerprint) if id_ in chunks] or [chunk]
    fitting = [continues(before, after) for before, after in pairwise(found)]
    own = next((number for number, other in enumerate(found) if other.id == chunk.id), 0)
    found = _stretch(found, chunk, [*fitting[:own], True, *fitting[own:]])
    if expansion.within_sections:
        found = _stretch(found, chunk, [other.beside.headings == chunk.beside.headings for other in found])
    return found


def _beside(chunk: Chunk, around: Sequence[Chunk], groups: Sequence[_Group]) -> list[Chunk]:
    """Return the chunks around a hit, up to those that another passage already has."""
    return _stretch(around, chunk, [not any(c.id in group.chunks for group in groups) for c in around])


def _stretch(around: Sequence[Chunk], chunk: Chunk, allowed: Sequence[bool]) -> list[Chunk]:
    """Return the unbroken run of allowed chunks around one of them; all chunks if it isn't among them."""
    own = next((i for i, c in enumerate(around) if c.id == chunk.id), None)
    if own is None:
        return list(around)
    first = last = own
    while first > 0 and allowed[first - 1]:
        first -= 1
    while last + 1 < len(around) and allowed[last + 1]:
        last += 1
    return list(around[first : last + 1])
