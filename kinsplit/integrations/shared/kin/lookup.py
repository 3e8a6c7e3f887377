"""The lookup of hits' kin in their store."""

from __future__ import annotations

import warnings
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from kinsplit.chunk import RECORD, Chunk
from kinsplit.errors import StoreError
from kinsplit.identity import chunk_id
from kinsplit.integrations.shared.kin.reader import KinReader, SiblingPlace
from kinsplit.integrations.shared.metadata import inherited
from kinsplit.integrations.shared.records import from_chunk, stored_id
from kinsplit.retrieval import Expansion
from kinsplit.retrieval.expand import wanted_ids
from kinsplit.retrieval.passage import are_siblings
from kinsplit.spans import replace_surrogates

#: What to do about a store that can't be asked for kin.
REMEDY = (
    "Write the chunks with their own ids, or fill a KinStore when they are written, KinStore('kin.db').add(chunks), "
    "and pass that."
)


class Kin:
    """The kin of hits, under kinsplit's ids if those can be computed, or else under ids derived from their places.

    Chunks are fetched by their computed ids in one read. If the strategy isn't known or the store has other ids, they
    are fetched by place, or step by step by the ids that link neighbours. Whatever isn't found so is looked up by
    place. Parents may have a reader of their own.
    """

    def __init__(self, hits: Iterable[Chunk], expansion: Expansion, reader: KinReader, parents: KinReader) -> None:
        self._reader, self._parents, self._expansion = reader, parents, expansion
        own, chunks = reader.fingerprint, list(hits)
        self._computed = own is not None and all(chunk.id == _id(place_of(chunk), own) for chunk in chunks)
        self.fingerprint = own if self._computed and own is not None else ""
        places = [place for chunk in chunks for place in _around(chunk, expansion.window)]
        self._places = {_id(place, self.fingerprint): place for place in places}
        #: The hits, under the ids by which they are looked up.
        self.hits = chunks if self._computed else [self._looked_up(chunk) for chunk in chunks]
        # The ids of parents as the frameworks know them, by those under which they are looked up.
        self._parent_ids = {
            stored_id(link): link
            for chunk in chunks
            if expansion.parents and (link := _link(chunk, "parent_id")) is not None
        }
        self._originals = chunks

    def _looked_up(self, hit: Chunk) -> Chunk:
        """Return a hit under the id of its place; one with a parent to replace it keeps its own, if it has one."""
        stays = self._expansion.parents and hit.parent_id is not None and from_chunk(hit).id
        return hit if stays else self._named(hit)

    def read(self) -> dict[str, Chunk]:
        """Return the hits and their stored kin by id, and warn of missing ones.

        A store that can be asked by id only, and has none of the kin under their ids, raises StoreError.
        """
        chunks = {hit.id: hit for hit in self.hits}
        wanted = wanted_ids(self.hits, self._expansion, self.fingerprint)
        beside = [id_ for id_ in wanted if id_ not in chunks and id_ not in self._parent_ids]
        parents = list(self._parent_ids.values())
        together = self._parents is self._reader
        for chunk in self._read(beside, parents if together else []):
            chunks.setdefault(chunk.id, chunk)
        if parents and not together:
            chunks.update((chunk.id, chunk) for chunk in self._parents.get(parents))
        if self._expansion.parents:
            self._complete_parents(chunks)
        else:
            self._complete_siblings(chunks)
        return chunks

    def _read(self, ids: Sequence[str], parents: Sequence[str]) -> list[Chunk]:
        """Return siblings and others by id, and parents, in the way that the store prefers."""
        if not ids and not parents:
            return []
        if self._computed:
            return self._reader.get([*ids, *parents])
        if self._reader.by_place != "first":
            return self._follow(parents)
        places = [self._places[id_] for id_ in ids if id_ in self._places]
        found = self._reader.find(places, [*parents, *(id_ for id_ in ids if id_ not in self._places)])
        parts = self._of_hits([chunk for chunk in found if chunk.id not in self._parent_ids])
        named = [chunk for chunk in found if chunk.id in self._parent_ids] + [self._named(chunk) for chunk in parts]
        return [chunk for chunk in named if chunk.id in self._places or chunk.id in self._parent_ids]

    def _follow(self, parents: Sequence[str]) -> list[Chunk]:
        """Return parents, and siblings that are found step by step by the links of the hits; one read per step."""
        known = {from_chunk(hit).id: hit for hit in self._originals}
        # Hits whose parents replace them need no siblings.
        ends = [
            (hit, key)
            for hit in self._originals
            if not self._expansion.parents or hit.parent_id is None
            for key in ("prev_id", "next_id")
        ]
        more, found = list(parents), []
        for _ in range(self._expansion.window or bool(parents)):
            links = [(link, key) for chunk, key in ends if (link := _link(chunk, key)) is not None]
            links = links if self._expansion.window else []
            ids = dict.fromkeys([*more, *(link for link, _ in links if link not in known)])
            if ids:
                read = self._reader.get(list(ids))
                known.update((from_chunk(chunk).id, chunk) for chunk in read)
                found += read
            more, ends = [], [(known[link], key) for link, key in links if link in known]
        return [chunk if chunk.id in self._parent_ids else self._named(chunk) for chunk in found]

    def _complete_siblings(self, chunks: dict[str, Chunk]) -> None:
        """Add the siblings that are stored under other ids, and warn of missing ones."""
        missing = self._missing(chunks)
        if missing and (self._computed or self._reader.by_place != "first"):
            for chunk in self._of_hits(self._reader.find(missing)):
                if place_of(chunk) in missing:
                    named = self._named(chunk)
                    chunks[named.id] = named
            missing = self._missing(chunks)
        if missing:
            source_id, _, position = missing[0]
            those = f"siblings of the hits, the first of them chunk {position} of {source_id!r},"
            if self._reader.by_place == "never" and len(chunks) == len({hit.id for hit in self.hits}):
                raise StoreError(f"None of the {those} is in the store under its id. {REMEDY}")
            _warn(
                f"{len(missing)} {those} are missing from the collection, or of another version. Passages end before "
                "them."
            )

    def _complete_parents(self, chunks: dict[str, Chunk]) -> None:
        """Add the parents that are stored under other ids, and warn of missing ones."""
        hits = [hit for hit in self.hits if hit.parent_id is not None]
        lost = [hit for hit in hits if not _contains(chunks.get(str(hit.parent_id)), hit)]
        for level in sorted({hit.level + 1 for hit in lost}) if self._parents.by_place != "never" else ():
            found = self._parents.level(list(dict.fromkeys(hit.source_id for hit in lost)), level)
            for hit in lost:
                around = [c for c in found if c.level == level == hit.level + 1 and _contains(c, hit)]
                if around:
                    chunks[str(hit.parent_id)] = replace(around[0], id=str(hit.parent_id))
        for hit in hits:
            parent = chunks.get(str(hit.parent_id))
            if _contains(parent, hit) and parent is not None:
                # A whole document in a docstore has no level, and a chunk that was split again has that of its parts.
                level = max(parent.level, hit.level + 1)
                chunks[parent.id] = replace(parent, source_id=hit.source_id, level=level)
            else:
                chunks.pop(str(hit.parent_id), None)
        without = [hit for hit in hits if hit.parent_id not in chunks]
        if without:
            those = f"parents of the hits, the first of them that of chunk {without[0].index} of "
            if self._parents.by_place == "never" and len(without) == len(hits):
                raise StoreError(f"None of the {those}{without[0].source_id!r}, is in the store under its id. {REMEDY}")
            _warn(
                f"{len(without)} {those}{without[0].source_id!r}, are missing from the collection. Their children are "
                "returned alone."
            )

    def _of_hits(self, found: Iterable[Chunk]) -> Iterator[Chunk]:
        """Yield the chunks, each place once: of several texts there, the one whose metadata resemble the hits' most.

        A store that gives its chunks other ids can hold several versions of a document, or a document of that name for
        each of several users. Where nothing tells them apart, none is yielded.
        """
        by_place = defaultdict[SiblingPlace, dict[str, Chunk]](dict)
        for chunk in found:
            by_place[place_of(chunk)].setdefault(chunk.text, chunk)
        for place, versions in by_place.items():
            if len(versions) == 1:
                yield from versions.values()
                continue
            hits = [hit for hit in self._originals if place_of(hit)._replace(position=place.position) == place]
            alike = [(min((_alike(chunk, hit) for hit in hits), default=0), chunk) for chunk in versions.values()]
            most = max(number for number, _ in alike)
            those = [chunk for number, chunk in alike if number == most]
            if len(those) == 1:
                yield from those

    def _missing(self, chunks: Mapping[str, Chunk]) -> list[SiblingPlace]:
        """Return the places within the windows of hits that a neighbour links to, but that have no fitting chunk."""
        return [place for hit in self.hits for step in (-1, 1) for place in self._missing_on_side(hit, step, chunks)]

    def _missing_on_side(self, hit: Chunk, step: int, chunks: Mapping[str, Chunk]) -> list[SiblingPlace]:
        window = self._expansion.window
        places = [place_of(hit)._replace(position=hit.index + step * n) for n in range(1, window + 1)]
        last = hit
        for number, place in enumerate(places):
            if (last.prev_id if step < 0 else last.next_id) is None:
                return []
            sibling = chunks.get(_id(place, self.fingerprint))
            if sibling is None or not are_siblings((last, sibling)):
                return places[number:]
            last = sibling
        return []

    def _named(self, chunk: Chunk) -> Chunk:
        """Return a chunk under the id of its place, to which its neighbours' links lead too; it keeps its record."""
        place = place_of(chunk)
        before, after = (
            _id(place._replace(position=place.position + step), self.fingerprint) if link is not None else None
            for step, link in ((-1, chunk.prev_id), (1, chunk.next_id))
        )
        item = from_chunk(chunk)
        record = {RECORD: {"id": item.id, "metadata": item.metadata, "own": item.own}, **chunk.metadata}
        return replace(chunk, id=_id(place, self.fingerprint), prev_id=before, next_id=after, metadata=record)


def place_of(chunk: Chunk) -> SiblingPlace:
    """Return the place of a chunk."""
    return SiblingPlace(chunk.source_id, chunk.level, chunk.index)


def _alike(one: Chunk, other: Chunk) -> int:
    """Return the number of metadata that two chunks share, other than those of kinsplit."""
    first, second = (inherited(from_chunk(chunk).metadata) for chunk in (one, other))
    return sum(key in second and second[key] == value for key, value in first.items())


def _contains(parent: Chunk | None, hit: Chunk) -> bool:
    """Return whether a chunk, or a whole document that kinsplit didn't make, has the text of a hit at its position."""
    if parent is None:
        return False
    if parent.source_id == hit.source_id and (len(parent.spans) > 1 or len(hit.spans) > 1):
        return parent.start <= hit.start and hit.end <= parent.end
    if hit.start < parent.start:
        return False
    own = parent.text[hit.start - parent.start : hit.end - parent.start]
    return replace_surrogates(own) == replace_surrogates(hit.text)  # A store may have replaced them in one of both.


def _link(chunk: Chunk, key: str) -> str | None:
    link = from_chunk(chunk).metadata.get(key)
    return str(link) if link else None


def _around(chunk: Chunk, window: int) -> Iterator[SiblingPlace]:
    for index in range(max(0, chunk.index - window), min(chunk.total - 1, chunk.index + window) + 1):
        yield SiblingPlace(chunk.source_id, chunk.level, index)
    related = chunk.metadata.get("sibling_files")
    if isinstance(related, list):
        yield from (SiblingPlace(source_id, 0, 0) for source_id in related if isinstance(source_id, str))


def _id(place: SiblingPlace, fingerprint: str) -> str:
    return chunk_id(place.source_id, fingerprint, place.level, place.position)


def _warn(problem: str) -> None:
    warnings.warn(f"{problem} Index the document again.", stacklevel=7)
