"""The open collections, with their names, rerankers and language model."""

from __future__ import annotations

import heapq
import logging
import re
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, Self

from kinsplit import embedding, language_models
from kinsplit.chunk import DOCUMENT
from kinsplit.compat import SEARCH_SERVICE_STRATEGIES
from kinsplit.embedding import Embedder
from kinsplit.embedding.protocol import TokenEmbedder
from kinsplit.errors import CollectionNotFoundError, InvalidParameterError
from kinsplit.index import DEFAULT_COLLECTION, AddReport, Index, Opener
from kinsplit.language_models import LanguageModel
from kinsplit.parsers import current_name
from kinsplit.retrieval import Reranker, create_reranker
from kinsplit.server import limits
from kinsplit.server.middleware.logs import log_failure
from kinsplit.server.middleware.metrics import Metrics, timed
from kinsplit.server.responses import visible_metadata
from kinsplit.server.settings import ServiceSettings
from kinsplit.stores import ChunkStore
from kinsplit.stores.engines.edge.process import open_detached
from kinsplit.stores.payload import PLACED
from kinsplit.watch import BackgroundWatch

#: Lifetime of the counts in seconds: other processes may write to a server's collection.
_LIFETIME = 60.0
#: Keys that can be written as `key=value`.
_KEY = re.compile(r'[^$=!<>"\\\s][^=!<>"\\]*')


@dataclass(frozen=True, slots=True)
class Facet:
    """A metadata key with its values.

    Attributes:
        key: The key.
        distinct: Number of distinct values.
        values: The most frequent values, each with its number of documents.
    """

    key: str
    distinct: int
    values: list[tuple[str | float, int]]


class FacetCounts:
    """Counts of the metadata values of a collection, cached for a minute.

    Args:
        store: The collection. Counting reads one point per document.
        now: Clock in seconds.
    """

    def __init__(self, store: ChunkStore, now: Callable[[], float] = time.monotonic) -> None:
        self._store, self._now = store, now
        self._lock = threading.Lock()
        self._facets: list[Facet] = []
        self._expires = float("-inf")

    def get(self) -> list[Facet]:
        """Return the facets, the most frequent keys first."""
        with self._lock:
            if self._now() >= self._expires:
                self._facets = self._count()
                self._expires = self._now() + _LIFETIME
            return self._facets

    def expire(self) -> None:
        """Count anew for the next request, since documents have changed."""
        with self._lock:
            self._expires = float("-inf")

    def _count(self) -> list[Facet]:
        counts: defaultdict[str, Counter[_Value]] = defaultdict(Counter)
        for document in self._store.find({}, level=DOCUMENT):
            for key, value in _filterable(document.metadata):
                counts[key][value] += 1
        found = sorted(counts.items(), key=lambda item: (-item[1].total(), item[0]))
        return [Facet(key, len(values), _most_frequent(values)) for key, values in found[: limits.FACETS]]


class _Value(NamedTuple):
    """A value with its type, since True equals 1."""

    is_bool: bool
    value: str | float


def _most_frequent(values: Counter[_Value]) -> list[tuple[str | float, int]]:
    most = heapq.nsmallest(limits.VALUES, values.items(), key=lambda item: (-item[1], str(item[0].value)))
    return [(each.value, number) for each, number in most]


def _filterable(metadata: Mapping[str, Any]) -> Iterator[tuple[str, _Value]]:
    """Yield the metadata of a document that a filter can test; each member of a list is a value."""
    for key, stored in visible_metadata(metadata).items():
        if key in PLACED or not _KEY.fullmatch(key):
            continue
        members = stored if isinstance(stored, list) else [stored]
        for each in {_Value(isinstance(m, bool), m) for m in members if isinstance(m, str | float | int)}:
            if len(key) + len(str(each.value)) < limits.CONDITION:
                yield key, each


#: Collection of `kinsplit demo`.
_DEMO = "demo"


@dataclass(frozen=True, slots=True)
class OpenCollection:
    """A collection that requests can search.

    Attributes:
        name: Name in requests.
        stored_name: Name in the store.
        index: The index over it.
        facets: Metadata that its documents can be filtered by.
        watches: Watches that keep it in sync with folders.
    """

    name: str
    stored_name: str
    index: Index
    facets: FacetCounts
    watches: list[BackgroundWatch] = field(default_factory=list)

    @classmethod
    def of(cls, index: Index, stored_name: str, name: str = "") -> Self:
        """Return a collection under the given name, or else under that of its strategy."""
        return cls(name or index.strategy.name, stored_name, index, FacetCounts(index.store))

    def watch(self, paths: Sequence[Path], metrics: Metrics, *, log_text: bool) -> None:
        """Prepare to keep the collection in sync with some paths."""

        def report(added: AddReport) -> None:
            self.facets.expire()
            metrics.watch_updates.labels(self.name).inc()
            metrics.watch_failed.labels(self.name).set(sum(len(each.status.failed) for each in self.watches))
            counts = {"documents": len(added.documents), "removed": len(added.gone), "failed": len(added.failed)}
            logging.getLogger("kinsplit.server").info(
                "synchronised", extra={"facts": {"collection": self.name, **counts}}
            )
            for failure in added.failed:
                log_failure(failure.error, log_text=log_text)

        def fail(error: Exception) -> None:
            log_failure(error, log_text=log_text)

        self.watches.append(BackgroundWatch(self.index, paths, on_report=report, on_error=fail))


class Collections:
    """The collections of the service, with the models they share.

    Args:
        collections: The collections.
        default: Name of the collection for requests that name none; None for the first.
        metrics: Metrics of the service.
        rerankers: Rerankers by their names in requests.
        model: Language model for answers.

    Raises:
        InvalidParameterError: Two collections share a name, or none has the default's.
    """

    def __init__(
        self,
        collections: list[OpenCollection],
        default: str | None,
        metrics: Metrics,
        rerankers: Mapping[str, str | Reranker],
        model: LanguageModel | None,
    ) -> None:
        self._collections = collections
        self.metrics, self.rerankers, self.model = metrics, rerankers, model
        names = [collection.name.casefold() for collection in collections]
        for name in names:
            if names.count(name) > 1:
                both = ", ".join(each.stored_name for each in collections if each.name.casefold() == name)
                remedy = "Name them, for example first=COLLECTION,second=COLLECTION."
                raise InvalidParameterError("collections", f"can't have the name {name} twice", both, remedy)
        self.default = self._find(default) if default else collections[0]

    @classmethod
    def open(cls, settings: ServiceSettings) -> Self:
        """Open the collections and create the rerankers and the language model.

        Raises:
            InvalidParameterError: A setting is invalid.
            CollectionNotFoundError: A collection does not exist.
            KinsplitError: See `Index`.
        """
        metrics = Metrics()
        embedder = timed(embedding.resolve(settings.embedder), metrics.embed_seconds)
        rerankers = _rerankers(settings.rerankers, embedder)
        # Its threads end once no request waits for them.
        model = None if settings.model is None else language_models.resolve(settings.model, settings.answer_timeout)
        opener = partial(open_detached, time_limit=settings.timeout)
        opened: list[OpenCollection] = []
        try:
            for choice in settings.collections:
                name, _, stored_name = choice.rpartition("=")
                index = Index(
                    settings.store,
                    collection=stored_name,
                    embedder=embedder,
                    must_exist=not settings.fills,
                    opener=opener,
                )
                opened.append(OpenCollection.of(index, stored_name, name))
            if not opened:
                opened.append(_open_default(settings, embedder, opener))
            collections = cls(opened, settings.strategy, metrics, rerankers, model)
            collections._watch(settings)
            return collections
        except BaseException:
            for collection in opened:
                collection.index.close()
            raise

    def __iter__(self) -> Iterator[OpenCollection]:
        return iter(self._collections)

    def pick(self, name: str | None) -> OpenCollection:
        """Return the collection with the given name.

        Args:
            name: Name in requests or in the store, case-insensitive; None for the default.

        Raises:
            InvalidParameterError: No collection has this name.
        """
        return self.default if name is None else self._find(name)

    def _find(self, name: str) -> OpenCollection:
        wanted = name.strip().casefold()
        for each in (wanted, SEARCH_SERVICE_STRATEGIES.get(wanted, wanted)):
            for collection in self:
                if collection.name.casefold() == each:
                    return collection
        for collection in self:
            if collection.stored_name.casefold() == wanted:
                return collection
        if (current := current_name(wanted)) != wanted:
            return self._find(current)
        known = ", ".join(collection.name for collection in self)
        raise InvalidParameterError("strategy", "must be an indexed strategy", name, f"Indexed: {known}.")

    def _watch(self, settings: ServiceSettings) -> None:
        folders: defaultdict[str, list[Path]] = defaultdict(list)
        names = {each.name.casefold() for each in self} | {each.stored_name.casefold() for each in self}
        for choice in settings.watch:
            name, equals, folder = choice.partition("=")
            # A path may contain an equals sign.
            picked, path = (self._find(name), folder) if equals and name.casefold() in names else (self.default, choice)
            if not Path(path).exists():
                remedy = "Create the folder, or correct its path."
                raise InvalidParameterError("watch", "must be an existing folder or file", path, remedy)
            folders[picked.name].append(Path(path))
        for name, paths in folders.items():
            self._find(name).watch(paths, self.metrics, log_text=settings.log_text)

    def start(self) -> None:
        """Begin to watch the folders."""
        for collection in self:
            for watch in collection.watches:
                watch.start()

    def check(self) -> None:
        """Send every store a small request.

        Raises:
            StoreError: A store does not respond.
        """
        for collection in self:
            collection.index.store.get(["00000000-0000-0000-0000-000000000000"])

    def warm(self) -> None:
        """Load the models ahead of the first question."""
        for collection in self:
            # One that is still empty may not be searched.
            if collection.index.store.count(0):
                collection.index.search("Is everything loaded?", top_k=1, window=0)
            else:
                collection.index.embedder.embed_query("Is everything loaded?")

    def close(self) -> None:
        """Stop watching, and close all collections."""
        for collection in self:
            for watch in collection.watches:
                watch.stop()
            collection.index.close()


def _rerankers(names: tuple[str, ...] | None, embedder: Embedder) -> dict[str, str | Reranker]:
    """Return the rerankers that requests may name; by default those that the embedder supports."""
    if names is None:
        names = ("none", "late") if isinstance(embedder, TokenEmbedder) else ("none",)
    try:
        return {name: create_reranker(name, embedder) or name for name in names}
    except InvalidParameterError as error:
        raise InvalidParameterError("rerankers", error.rule, error.value, error.remedy) from None


def _open_default(settings: ServiceSettings, embedder: Embedder, opener: Opener) -> OpenCollection:
    """Open the default collection of `kinsplit index`, or else that of `kinsplit demo`; or create the first one."""
    store = settings.store
    if settings.fills:
        index = Index(store, collection=DEFAULT_COLLECTION, embedder=embedder, opener=opener)
        return OpenCollection.of(index, DEFAULT_COLLECTION)
    for stored_name in (DEFAULT_COLLECTION, _DEMO):
        try:
            index = Index(store, collection=stored_name, embedder=embedder, must_exist=True, opener=opener)
        except CollectionNotFoundError:
            continue
        return OpenCollection.of(index, stored_name)
    raise CollectionNotFoundError(
        f"There is neither a collection {DEFAULT_COLLECTION!r} nor {_DEMO!r} in {_without_secret(store)}. "
        "Run kinsplit index PATHS or kinsplit demo first, or name a collection: --collection NAME."
    )


def _without_secret(store: str) -> str:
    return store if store.startswith("edge:") else f"the {store.partition(':')[0]} store"
