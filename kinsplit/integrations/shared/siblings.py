"""Expansion of a framework's hits by their kin, fetched in one read."""

from __future__ import annotations

import posixpath
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import replace
from typing import Any, NamedTuple, Protocol

from kinsplit.chunk import Chunk
from kinsplit.identity import chunk_id
from kinsplit.integrations.shared.metadata import is_slim, slimmed
from kinsplit.integrations.shared.origins import FINDING, has_chunk_metadata, is_located
from kinsplit.integrations.shared.records import Item, from_chunk, stored_id, to_chunk
from kinsplit.integrations.shared.results import Result, to_related, to_result
from kinsplit.retrieval import Candidate, Expansion, Passage
from kinsplit.retrieval.expand import arrange, wanted_ids
from kinsplit.retrieval.passage import are_siblings


class Place(NamedTuple):
    """Place of a chunk among its siblings."""

    source_id: str
    level: int
    position: int


class Found(NamedTuple):
    """A node or document that a framework has found.

    Attributes:
        id: Its id.
        text: Its text.
        metadata: Its metadata.
        score: Score, higher is better; None if it isn't known.
    """

    id: str
    text: str
    metadata: Mapping[str, Any]
    score: float | None


class Expanded(NamedTuple):
    """A passage that replaces its best hit, a hit that can't be expanded, or a file related to the hit before it.

    Attributes:
        hit: Index of the best hit.
        result: The passage; None for a hit that stays as it is, since it isn't a chunk of kinsplit or has no known
            position.
        related: Whether it is another file of the hit's group, which follows the hit.
    """

    hit: int
    result: Result | None
    related: bool = False


class KinReader(Protocol):
    """Fetches chunks from a store or a collection."""

    @property
    def fingerprint(self) -> str | None:
        """Fingerprint of the strategy, from which the ids of chunks are computed; None if it isn't known."""
        ...

    def get(self, ids: Sequence[str]) -> list[Chunk]:
        """Return the stored chunks with these ids, in any order."""
        ...

    def find(self, places: Sequence[Place], ids: Sequence[str]) -> list[Chunk]:
        """Return chunks by place, and others by id; extra chunks are ignored."""
        ...

    def whole_documents(self, paths: Sequence[str]) -> list[Found]:
        """Return the documents that were embedded whole or have a single chunk, by their `file_path`."""
        ...


def expand_found(
    found: Sequence[Found], expansion: Expansion, reader: KinReader, *, slim: bool = False
) -> list[Expanded]:
    """Expand hits by their kin, and merge adjacent ones.

    The kin are fetched in one read; a second one looks up siblings by place if their ids are not found. If a sibling is
    missing, the passage ends there, with a warning.

    Args:
        found: Hits, best first; they are not changed.
        expansion: Kin to add.
        reader: Reader of the kin, and of the full metadata of hits whose metadata are slim.
        slim: Whether to keep only the metadata for a prompt; see `kinsplit.integrations.shared.metadata.slimmed`.

    Returns:
        A passage at the rank of each best hit; hits that aren't chunks of kinsplit or have no known position stay as
        they are. A document of a single chunk, or one that another system embedded whole, is followed by the other
        files of its group.
    """
    found = _completed(found, reader)
    hits = {
        number: _hit(one, expansion.window) for number, one in enumerate(found) if is_located(one.metadata, one.text)
    }
    kin = _Kin(hits.values(), expansion.window, reader)
    numbers: dict[str, int] = {}
    for number, chunk in zip(hits, kin.hits, strict=True):
        numbers.setdefault(chunk.id, number)
    candidates = [Candidate(chunk, found[number].score or 0.0) for number, chunk in zip(hits, kin.hits, strict=True)]
    chunks = kin.read(wanted_ids(kin.hits, expansion, kin.fingerprint))
    if expansion.parents:
        kin.check_parents(chunks)
    else:
        chunks = kin.with_siblings(chunks)
    passages = arrange(candidates, chunks, expansion, kin.fingerprint, len(candidates))
    expanded = [one for passage in passages for one in _expanded(passage, numbers, found)]
    expanded += [Expanded(number, None) for number in range(len(found)) if number not in hits]
    if expansion.window:
        results = [one.result for one in expanded if one.result is not None]
        expanded += related_files(found, reader, {result.metadata.get("file_path") for result in results})
    if slim:
        expanded = [one if one.result is None else one._replace(result=_slim(one.result)) for one in expanded]
    return sorted(expanded, key=lambda one: one.hit)


def _hit(one: Found, window: int) -> Chunk:
    """Return the chunk of a hit, with `total` large enough for its window.

    Slim metadata don't hold the number of siblings, and others may have been added since.
    """
    chunk = to_chunk(Item(one.id, one.text, one.metadata, one.metadata["source_id"]))
    if one.metadata.get("total_chunks") == 1:
        return chunk
    return replace(chunk, total=max(chunk.total, chunk.index + window + 1))


def _slim(result: Result) -> Result:
    return result._replace(metadata=slimmed(result.metadata))


def _completed(found: Sequence[Found], reader: KinReader) -> Sequence[Found]:
    """Return hits with their full metadata, which takes another read if some are slim."""
    ids = [stored_id(one.id) for one in found if is_slim(one.metadata)]
    kept = {chunk.id: from_chunk(chunk).metadata for chunk in reader.get(ids)} if ids else {}
    return [one._replace(metadata={**kept.get(stored_id(one.id), {}), **one.metadata}) for one in found]


def _expanded(passage: Passage, numbers: Mapping[str, int], found: Sequence[Found]) -> Iterator[Expanded]:
    hits = [found[numbers[id_]] for id_ in dict.fromkeys(hit.chunk.id for hit in passage.hits)]
    own = hits[0].metadata.get(FINDING) or {}
    finding = {
        "score": hits[0].score,
        "scores": dict(own.get("scores", {})),
        "hits": [{"id": hit.id, "score": hit.score} for hit in hits],
    }
    metadata = {key: value for key, value in passage.metadata.items() if key != FINDING}
    number, result = numbers[passage.best.chunk.id], to_result(replace(passage, metadata=metadata), finding)
    yield Expanded(number, result)
    for chunk in passage.related:
        yield Expanded(number, to_related(chunk, result), related=True)


def related_files(found: Sequence[Found], reader: KinReader, known: Set[object] = frozenset()) -> list[Expanded]:
    """Return the related files of documents that were embedded whole or have a single chunk.

    The course search that kinsplit replaces stored them with `file_path`, `sibling_files` and `group_id`, and without
    `is_chunked`.

    Args:
        found: Hits; each file follows the first document that names it, unless it is a hit itself.
        reader: Reader of the files.
        known: Paths of the files that are already among the results.
    """
    owners: dict[str, int] = {}
    for number, one in enumerate(found):
        for path in _sibling_paths(one):
            owners.setdefault(path, number)
    seen = known | {one.metadata.get("file_path") for one in found}
    wanted = [path for path in owners if path not in seen]
    by_path = {one.metadata["file_path"]: one for one in reader.whole_documents(wanted)} if wanted else {}
    expanded = []
    for path in wanted:
        if path in by_path:
            hit, file = found[owners[path]], by_path[path]
            finding: dict[str, Any] = {"score": hit.score, "scores": {}, "hits": [], "related_to": hit.id}
            result = Result(file.id, file.text, {**file.metadata, FINDING: finding}, hit.score)
            expanded.append(Expanded(owners[path], result, related=True))
    return expanded


def _sibling_paths(one: Found) -> Iterator[str]:
    """Yield the paths of the other files in a document's group, stored as names in the document's folder."""
    path, names = one.metadata.get("file_path"), one.metadata.get("sibling_files")
    # Without this key, slim metadata of kinsplit are those of a part, and other systems' those of a whole document.
    if one.metadata.get("is_chunked", has_chunk_metadata(one.metadata)) or not isinstance(path, str):
        return
    for name in names if isinstance(names, list) else ():
        if isinstance(name, str):
            yield name if "/" in name else posixpath.join(posixpath.dirname(path), name)


class _Kin:
    """The ids of hits and their kin: kinsplit's ids if they can be computed, or else ids derived from their places."""

    def __init__(self, hits: Iterable[Chunk], window: int, reader: KinReader) -> None:
        self._reader, self._window = reader, window
        own = reader.fingerprint
        chunks = list(hits)
        self._computed = own is not None and all(chunk.id == _id(_place(chunk), own) for chunk in chunks)
        self.fingerprint = own if self._computed and own is not None else ""
        places = [place for chunk in chunks for place in _around(chunk, window)]
        self._places = {_id(place, self.fingerprint): place for place in places}
        #: The hits, under the ids by which they are looked up.
        self.hits = chunks if self._computed else [self._named(chunk) for chunk in chunks]

    def read(self, ids: Sequence[str]) -> dict[str, Chunk]:
        """Return the hits and the stored chunks of the other ids."""
        chunks = {hit.id: hit for hit in self.hits}
        chunks.update((chunk.id, chunk) for chunk in self._read([id_ for id_ in ids if id_ not in chunks]))
        return chunks

    def with_siblings(self, chunks: dict[str, Chunk]) -> dict[str, Chunk]:
        """Return chunks with the siblings that were not found by id, and warn of missing ones."""
        missing = self._missing(chunks)
        if missing and self._computed:
            found = [chunk for chunk in self._reader.find(missing, []) if _place(chunk) in missing]
            chunks = {**chunks, **{chunk.id: chunk for chunk in map(self._named, found)}}
            missing = self._missing(chunks)
        if missing:
            source_id, _, position = missing[0]
            _warn(
                f"{len(missing)} siblings of the hits, the first of them chunk {position} of {source_id!r}, are "
                "missing from the collection, or of another version. Passages end before them."
            )
        return chunks

    def check_parents(self, chunks: Mapping[str, Chunk]) -> None:
        """Warn of parents that are missing, or stored under other ids."""
        without = [hit for hit in self.hits if hit.parent_id is not None and hit.parent_id not in chunks]
        if without:
            _warn(
                f"{len(without)} parents of the hits, the first of them that of chunk {without[0].index} of "
                f"{without[0].source_id!r}, are missing from the collection. Their children are returned alone."
            )

    def _read(self, ids: Sequence[str]) -> list[Chunk]:
        if not ids:
            return []
        if self._computed:
            return self._reader.get(ids)
        others = {id_ for id_ in ids if id_ not in self._places}
        found = self._reader.find([self._places[id_] for id_ in ids if id_ in self._places], list(others))
        named = [self._named(chunk) for chunk in found]
        known = {hit.id for hit in self.hits}
        siblings = (chunk for chunk in named if chunk.id in self._places and chunk.id not in known)
        return [*siblings, *(chunk for chunk in found if chunk.id in others)]

    def _missing(self, chunks: Mapping[str, Chunk]) -> list[Place]:
        """Return the places within the windows of hits that a neighbour links to, but that have no fitting chunk."""
        return [place for hit in self.hits for step in (-1, 1) for place in self._missing_on_side(hit, step, chunks)]

    def _missing_on_side(self, hit: Chunk, step: int, chunks: Mapping[str, Chunk]) -> list[Place]:
        places = [_place(hit)._replace(position=hit.index + step * n) for n in range(1, self._window + 1)]
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
        """Return a chunk under the id of its place, to which its neighbours' links lead too."""
        place = _place(chunk)
        before, after = (
            _id(place._replace(position=place.position + step), self.fingerprint) if link is not None else None
            for step, link in ((-1, chunk.prev_id), (1, chunk.next_id))
        )
        return replace(chunk, id=_id(place, self.fingerprint), prev_id=before, next_id=after)


def _warn(problem: str) -> None:
    warnings.warn(f"{problem} Index the document again.", stacklevel=5)


def _around(chunk: Chunk, window: int) -> Iterator[Place]:
    for index in range(max(0, chunk.index - window), min(chunk.total - 1, chunk.index + window) + 1):
        yield Place(chunk.source_id, chunk.level, index)
    related = chunk.metadata.get("sibling_files")
    if isinstance(related, list):
        yield from (Place(source_id, 0, 0) for source_id in related if isinstance(source_id, str))


def _place(chunk: Chunk) -> Place:
    return Place(chunk.source_id, chunk.level, chunk.index)


def _id(place: Place, fingerprint: str) -> str:
    return chunk_id(place.source_id, fingerprint, place.level, place.position)
