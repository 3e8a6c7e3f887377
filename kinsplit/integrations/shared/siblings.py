"""Expansion of a framework's hits by their kin, fetched in one read."""

from __future__ import annotations

import posixpath
import warnings
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import replace
from typing import Any, NamedTuple

from pydantic import ConfigDict, Field, PrivateAttr

from kinsplit.chunk import Chunk
from kinsplit.details import whole
from kinsplit.index import Index
from kinsplit.integrations.shared.kin.lookup import Kin, place_of
from kinsplit.integrations.shared.kin.reader import FoundNode, KinReader, SiblingPlace
from kinsplit.integrations.shared.kin.readers import AddressedStore, Readers, open_reader
from kinsplit.integrations.shared.metadata import is_slim, slimmed
from kinsplit.integrations.shared.origins import has_chunk_metadata
from kinsplit.integrations.shared.records import from_chunk, stored_id
from kinsplit.integrations.shared.results import Result, related_to, to_finding, to_related, to_result
from kinsplit.options import ExpansionOptions, SearchOptions
from kinsplit.parsers import Strategy
from kinsplit.retrieval import Budget, Candidate, Expansion, Passage, context_of, related_once, spend
from kinsplit.retrieval.expand import arrange
from kinsplit.support.settings import FieldModel
from kinsplit.tokenizers import BUNDLED, resolve


class Expanded(NamedTuple):
    """A passage that replaces its best hit, a hit that can't be expanded, or a file related to the hit before it."""

    hit: int  # Index of the best hit.
    result: Result | None  # None for a hit that stays as it is: no chunk of kinsplit, or at no known position.
    related: bool = False  # Whether it is another file of the hit's group, which follows the hit.


class ExpansionStage(FieldModel, ExpansionOptions):
    """The fields of `SiblingExpansion`, and the expansion by them; see `open_reader` for the stores.

    A budget is counted by the tokenizer of the strategy, which an `Index` knows, or else by the bundled one.
    """

    model_config = ConfigDict(frozen=False)

    store: Any = Field(repr=False, exclude=True)  # Of an address, which may hold a password, the open store.
    collection: str = "default"
    parent_store: Any = Field(default=None, repr=False, exclude=True)
    parent_key: str = "parent_id"
    strategy: Strategy | None = Field(default=None, exclude=True)
    slim: bool = False

    _readers: Readers = PrivateAttr()

    def __init__(self, **values: Any) -> None:
        super().__init__(**values)
        self.__dict__["store"] = AddressedStore.of(self.store, self.collection)
        self._readers = open_reader(self.store, self.collection, self.strategy, self.parent_store)

    def close(self) -> None:
        """Close the collection, if the store was given by its address. A second call does nothing."""
        if isinstance(self.store, AddressedStore):
            self.store.opened.close()

    def __exit__(self, *_: object) -> None:
        self.close()

    def expand(self, found: Sequence[FoundNode]) -> list[Expanded]:
        """Expand hits, best first, by their kin; they are not changed.

        The kin are fetched in one read where the store allows it; see `kinsplit.integrations.shared.kin.lookup.Kin`. If
        a sibling is missing, the passage ends there, with a warning.

        Returns:
            A passage at the rank of each best hit; hits that aren't chunks of kinsplit or have no known position stay
            as they are. A document of a single chunk, or one that another system embedded whole, is followed by the
            other files of its group.

        Raises:
            StoreError: The store can be asked by id only, and has none of the kin under their ids.
        """
        expansion, reader, budget = Expansion.of(self), self._readers.siblings, self._spending()
        found = _completed(found, reader)
        located = {
            number: _hit(one, expansion.window, self.parent_key) for number, one in enumerate(found) if one.is_located
        }
        hits = _unambiguous(located, expansion)
        kin = Kin(hits.values(), expansion, reader, self._readers.parents)
        numbers: dict[str, int] = {}
        for number, chunk in zip(hits, kin.hits, strict=True):
            numbers.setdefault(chunk.id, number)
        candidates = [Candidate(chunk, found[n].score or 0.0) for n, chunk in zip(hits, kin.hits, strict=True)]
        chunks = kin.read()
        if budget is None:
            passages = arrange(candidates, chunks, expansion, kin.fingerprint, len(candidates))
        else:
            passages = spend(budget, candidates, context_of(chunks, expansion, kin.fingerprint))
        pairs = zip(passages, related_once(passages), strict=True)
        expanded = [one for passage, related in pairs for one in _expanded(passage, related, numbers, found)]
        expanded += [Expanded(number, None) for number in range(len(found)) if number not in hits]
        if expansion.window:
            results = [one.result for one in expanded if one.result is not None]
            expanded += related_files(found, reader, {result.metadata.get("file_path") for result in results})
        if budget is not None:
            expanded = _within(expanded, found, budget)
        if self.slim:
            expanded = [one if one.result is None else one._replace(result=_slim(one.result)) for one in expanded]
        return sorted(expanded, key=lambda one: one.hit)

    def _spending(self) -> Budget | None:
        # The documents come before their siblings, also before those of a given window.
        search = SearchOptions(budget=self.budget, context_share=self.context_share, parents=self.parents)
        known = self.store.strategy if isinstance(self.store, Index) else self.strategy
        return Budget.of(search, resolve(BUNDLED if known is None else known.tokenizer))


def _within(expanded: Sequence[Expanded], found: Sequence[FoundNode], budget: Budget) -> list[Expanded]:
    """Return passages, and of the other texts, best first, those that a budget has tokens left for."""
    texts = [found[one.hit].text if one.result is None else one.result.text for one in expanded]
    counts = budget.count(texts)
    others = [one.result is None or one.related for one in expanded]
    left = budget.tokens - sum(count for count, other in zip(counts, others, strict=True) if not other)
    kept = []
    for one, count, other in sorted(zip(expanded, counts, others, strict=True), key=lambda row: row[0].hit):
        if not other:
            kept.append(one)
        elif count <= left:
            left -= count
            kept.append(one)
    return kept


def _unambiguous(hits: Mapping[int, Chunk], expansion: Expansion) -> dict[int, Chunk]:
    """Return hits without those at the place of another one with other text, and warn of these.

    Their siblings can't be told apart. A parent that replaces its child can.
    """
    first: dict[SiblingPlace, Chunk] = {}
    kept = {
        number: hit
        for number, hit in hits.items()
        if (expansion.parents and hit.parent_id) or first.setdefault(place_of(hit), hit).spans == hit.spans
    }
    if len(kept) < len(hits):
        warnings.warn(
            f"{len(hits) - len(kept)} hits have the number of another chunk of their document and are not expanded: "
            "parts of one document were split in separate calls. Split them in one call, or expand by parents.",
            stacklevel=5,
        )
    return kept


def _hit(one: FoundNode, window: int, parent_key: str) -> Chunk:
    """Return the chunk of a hit under the id of its parent, with `total` large enough for its window.

    Slim metadata don't hold the number of siblings, and others may have been added since.
    """
    chunk = one._replace(metadata={**one.metadata, "parent_id": one.metadata.get(parent_key)}).to_chunk()
    if one.metadata.get("total_chunks") == 1:
        return chunk
    return replace(chunk, total=max(chunk.total, chunk.index + window + 1))


def _slim(result: Result) -> Result:
    return result._replace(metadata=slimmed(result.metadata))


def _completed(found: Sequence[FoundNode], reader: KinReader) -> Sequence[FoundNode]:
    """Return hits with their full metadata, which takes another read if some are slim."""
    ids = [one.id for one in found if is_slim(one.metadata)]
    kept = {chunk.id: from_chunk(chunk).metadata for chunk in reader.get(ids)} if ids else {}
    return [one._replace(metadata={**kept.get(stored_id(one.id), {}), **one.metadata}) for one in found]


def _expanded(
    passage: Passage, related: Sequence[Chunk], numbers: Mapping[str, int], found: Sequence[FoundNode]
) -> Iterator[Expanded]:
    hits = [found[numbers[id_]] for id_ in dict.fromkeys(hit.chunk.id for hit in passage.hits)]
    number = numbers[passage.best.chunk.id]
    own = whole(found[number].metadata)
    finding = to_finding(hits[0].score, own.get("scores", {}), [(hit.id, hit.score) for hit in hits])
    metadata = {key: value for key, value in passage.metadata.items() if key not in finding}
    result = to_result(replace(passage, metadata=metadata), found[number].id, own, finding)
    yield Expanded(number, result)
    for chunk in related:
        yield Expanded(number, to_related(chunk, result), related=True)


def related_files(found: Sequence[FoundNode], reader: KinReader, known: Set[object] = frozenset()) -> list[Expanded]:
    """Return related files of documents that were embedded whole or have a single chunk, without known ones.

    The course search that kinsplit replaces stored `file_path`, `sibling_files` and `group_id`, without `is_chunked`.
    Each file follows the first document that names it, unless it is a hit itself.
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
            result = related_to(hit.id, hit.score, file.id, file.text, file.metadata)
            expanded.append(Expanded(owners[path], result, related=True))
    return expanded


def _sibling_paths(one: FoundNode) -> Iterator[str]:
    """Yield the paths of the other files in a document's group, stored as names in the document's folder."""
    path, names = one.metadata.get("file_path"), whole(one.metadata).get("sibling_files")
    # Without this key, slim metadata of kinsplit are those of a part, and other systems' those of a whole document.
    if one.metadata.get("is_chunked", has_chunk_metadata(one.metadata)) or not isinstance(path, str):
        return
    for name in names if isinstance(names, list) else ():
        if isinstance(name, str):
            yield name if "/" in name else posixpath.join(posixpath.dirname(path), name)
