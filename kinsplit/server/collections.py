"""What the service has open: collections with the names under which they are asked, rerankers, a language model."""

from __future__ import annotations

import heapq
import re
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from prometheus_client import Histogram

from kinsplit import embedding, language_models
from kinsplit.chunk import DOCUMENT
from kinsplit.embedding import Embedder, Progress
from kinsplit.embedding.protocol import TokenEmbedder
from kinsplit.errors import CollectionNotFoundError, InvalidParameterError
from kinsplit.index import DEFAULT_COLLECTION, Index, Opener
from kinsplit.language_models import LanguageModel
from kinsplit.parsers import current_name
from kinsplit.retrieval import Reranker, create_reranker
from kinsplit.server import limits
from kinsplit.server.middleware.metrics import Metrics
from kinsplit.server.responses import metadata_of
from kinsplit.server.settings import ServiceSettings
from kinsplit.stores import ChunkStore
from kinsplit.stores.engines.edge.process import open_detached
from kinsplit.stores.payload import PLACED


class TimedEmbedder:
    """Tells how long each question takes to embed.

    Args:
        embedder: Gives the vectors.
        seconds: Told of each.
    """

    def __init__(self, embedder: Embedder, seconds: Histogram) -> None:
        self._embedder, self._seconds = embedder, seconds
        self.name, self.dimension = embedder.name, embedder.dimension
        self.window, self.fingerprint = embedder.window, embedder.fingerprint

    def windows(self, texts: Sequence[str]) -> list[int]:
        """Count the windows of each text."""
        return self._embedder.windows(texts)

    def embed(self, texts: Sequence[str], progress: Progress | None = None) -> NDArray[np.float32]:
        """Embed texts; see `Embedder.embed`."""
        return self._embedder.embed(texts, progress)

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """Embed a question, and tell how long it took."""
        with self._seconds.time():
            return self._embedder.embed_query(text)


class TimedTokenEmbedder(TimedEmbedder):
    """The same of an embedder that also has vectors for tokens."""

    def embed_tokens(self, texts: Sequence[str]) -> list[NDArray[np.float32]]:
        """Embed the tokens of texts; see `TokenEmbedder.embed_tokens`."""
        if not isinstance(self._embedder, TokenEmbedder):
            raise TypeError(self._embedder.name)
        return self._embedder.embed_tokens(texts)


def timed(embedder: Embedder, seconds: Histogram) -> TimedEmbedder:
    """Return an embedder that tells how long questions take, and can do what it could."""
    kind = TimedTokenEmbedder if isinstance(embedder, TokenEmbedder) else TimedEmbedder
    return kind(embedder, seconds)


#: Seconds for which they are kept: others may write to a server's collection meanwhile.
_KEPT = 60.0
#: What `key=value` can be written with.
_KEY = re.compile(r'[^$=!<>"\\\s][^=!<>"\\]*')


@dataclass(frozen=True, slots=True)
class Facet:
    """A key of the metadata.

    Attributes:
        key: The key.
        distinct: Number of its values.
        values: The most frequent ones, each with the number of documents that have it.
    """

    key: str
    distinct: int
    values: list[tuple[str | float, int]]


class FilterValues:
    """Counts them when they are asked for, and not again for a minute.

    Args:
        store: The collection. One point is read of each document.
        now: The time in seconds.
    """

    def __init__(self, store: ChunkStore, now: Callable[[], float] = time.monotonic) -> None:
        self._store, self._now = store, now
        self._lock = threading.Lock()
        self._facets: list[Facet] = []
        self._until = float("-inf")

    def get(self) -> list[Facet]:
        """Return the facets, those that most documents have first."""
        with self._lock:
            if self._now() >= self._until:
                self._facets = self._count()
                self._until = self._now() + _KEPT
            return self._facets

    def _count(self) -> list[Facet]:
        counts: defaultdict[str, Counter[_Value]] = defaultdict(Counter)
        for document in self._store.find({}, level=DOCUMENT):
            for key, value in _filterable(document.metadata):
                counts[key][value] += 1
        found = sorted(counts.items(), key=lambda item: (-item[1].total(), item[0]))
        return [Facet(key, len(values), _most_frequent(values)) for key, values in found[: limits.FACETS]]


class _Value(NamedTuple):
    """A value, told apart from an equal one of another kind: True from 1."""

    is_bool: bool
    value: str | float


def _most_frequent(values: Counter[_Value]) -> list[tuple[str | float, int]]:
    most = heapq.nsmallest(limits.VALUES, values.items(), key=lambda item: (-item[1], str(item[0].value)))
    return [(each.value, number) for each, number in most]


def _filterable(metadata: Mapping[str, Any]) -> Iterator[tuple[str, _Value]]:
    """Yield what a document has that a filter may ask for; each member of a list is a value."""
    for key, stored in metadata_of(metadata).items():
        if key in PLACED or not _KEY.fullmatch(key):
            continue
        members = stored if isinstance(stored, list) else [stored]
        for each in {_Value(isinstance(m, bool), m) for m in members if isinstance(m, str | float | int)}:
            if len(key) + len(str(each.value)) < limits.CONDITION:
                yield key, each


#: Collection that `kinsplit demo` makes.
_DEMO = "demo"
#: What the 10-K search service called its strategies, where it had another name.
_OLD_NAMES = {"fixed": "word"}


@dataclass(frozen=True, slots=True)
class Shelf:
    """A collection that can be asked.

    Attributes:
        name: What a request calls it.
        collection: Its name in the store.
        index: The collection.
        filters: What its documents can be filtered by.
    """

    name: str
    collection: str
    index: Index
    filters: FilterValues

    @classmethod
    def of(cls, index: Index, collection: str, name: str = "") -> Self:
        """Return a collection under a name, or that of its strategy."""
        return cls(name or index.strategy.name, collection, index, FilterValues(index.store))


class Library:
    """All of them.

    Args:
        shelves: The collections.
        default: Name of the one that is asked where a request names none.
        metrics: Told how long questions take to embed.
        rerankers: By the name that a request takes; one of each for all collections.
        model: Writes answers.

    Raises:
        InvalidParameterError: Two have one name, or none has the default's.
    """

    def __init__(
        self,
        shelves: list[Shelf],
        default: str | None,
        metrics: Metrics,
        rerankers: Mapping[str, str | Reranker],
        model: LanguageModel | None,
    ) -> None:
        self._shelves = shelves
        self.metrics, self.rerankers, self.model = metrics, rerankers, model
        names = [shelf.name.casefold() for shelf in shelves]
        for name in names:
            if names.count(name) > 1:
                both = ", ".join(shelf.collection for shelf in shelves if shelf.name.casefold() == name)
                remedy = "Name them, for example first=COLLECTION,second=COLLECTION."
                raise InvalidParameterError("collections", f"can't have the name {name} twice", both, remedy)
        self.default = self._find(default) if default else shelves[0]

    @classmethod
    def open(cls, settings: ServiceSettings) -> Self:
        """Open the collections, and make what they are asked with.

        Raises:
            InvalidParameterError: A setting names what isn't there.
            CollectionNotFoundError: A collection was not indexed yet.
            KinsplitError: As `Index` tells.
        """
        metrics = Metrics()
        embedder = timed(embedding.resolve(settings.embedder), metrics.embed_seconds)
        rerankers = _rerankers(settings.rerankers, embedder)
        # Its threads end when nobody waits for them any more.
        model = None if settings.model is None else language_models.resolve(settings.model, settings.answer_timeout)
        opener = partial(open_detached, time_limit=settings.timeout)
        shelves: list[Shelf] = []
        try:
            for choice in settings.collections:
                name, _, collection = choice.rpartition("=")
                index = Index(settings.store, collection=collection, embedder=embedder, must_exist=True, opener=opener)
                shelves.append(Shelf.of(index, collection, name))
            if not shelves:
                shelves.append(_usual(settings.store, embedder, opener))
            return cls(shelves, settings.strategy, metrics, rerankers, model)
        except BaseException:
            for shelf in shelves:
                shelf.index.close()
            raise

    def __iter__(self) -> Iterator[Shelf]:
        return iter(self._shelves)

    def pick(self, name: str | None) -> Shelf:
        """Return the collection that a request asks.

        Args:
            name: Its name, in any case, or that of its collection; None for the default.

        Raises:
            InvalidParameterError: There is none of that name.
        """
        return self.default if name is None else self._find(name)

    def _find(self, name: str) -> Shelf:
        wanted = name.strip().casefold()
        for each in (wanted, _OLD_NAMES.get(wanted, wanted)):
            for shelf in self._shelves:
                if shelf.name.casefold() == each:
                    return shelf
        for shelf in self._shelves:
            if shelf.collection.casefold() == wanted:
                return shelf
        if (current := current_name(wanted)) != wanted:
            return self._find(current)
        known = ", ".join(shelf.name for shelf in self._shelves)
        raise InvalidParameterError("strategy", "must be one that is indexed", name, f"Indexed are: {known}.")

    def check(self) -> None:
        """Ask every store for something small.

        Raises:
            StoreError: One does not answer.
        """
        for shelf in self._shelves:
            shelf.index.store.get(["00000000-0000-0000-0000-000000000000"])

    def warm(self) -> None:
        """Load the models, so that the first question doesn't wait for them."""
        for shelf in self._shelves:
            shelf.index.search("Is everything loaded?", top_k=1, window=0)

    def close(self) -> None:
        """Let go of all collections."""
        for shelf in self._shelves:
            shelf.index.close()


def _rerankers(names: tuple[str, ...] | None, embedder: Embedder) -> dict[str, str | Reranker]:
    """Return what requests may rerank by; unless told, what the embedder at hand can do."""
    if names is None:
        names = ("none", "late") if isinstance(embedder, TokenEmbedder) else ("none",)
    try:
        return {name: create_reranker(name, embedder) or name for name in names}
    except InvalidParameterError as error:
        raise InvalidParameterError("rerankers", error.rule, error.value, error.remedy) from None


def _usual(store: str, embedder: Embedder, opener: Opener) -> Shelf:
    """Return the collection of `kinsplit index`, or else of `kinsplit demo`."""
    for collection in (DEFAULT_COLLECTION, _DEMO):
        try:
            index = Index(store, collection=collection, embedder=embedder, must_exist=True, opener=opener)
        except CollectionNotFoundError:
            continue
        return Shelf.of(index, collection)
    raise CollectionNotFoundError(
        f"There is neither a collection {DEFAULT_COLLECTION!r} nor {_DEMO!r} in {_without_secret(store)}. "
        "Run kinsplit index PATHS or kinsplit demo first, or name the collection: --collection NAME."
    )


def _without_secret(store: str) -> str:
    return store if store.startswith("edge:") else f"the {store.partition(':')[0]} store"
