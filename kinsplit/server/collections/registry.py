"""The open collections, with their names, rerankers and language model."""

from __future__ import annotations

import logging
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Concatenate, ParamSpec, Self, TypeVar

from kinsplit import embedding, language_models
from kinsplit.embedding import Embedder
from kinsplit.embedding.protocol import TokenEmbedder
from kinsplit.errors import CollectionNotFoundError, InvalidParameterError, KinsplitError, StoreError, require
from kinsplit.index import DEFAULT_COLLECTION, AddReport, Index
from kinsplit.parsers.registry import OTHER_NAMES
from kinsplit.retrieval import Reranker, create_reranker
from kinsplit.server.collections.facets import FacetCounts
from kinsplit.server.middleware.logs import log_failure
from kinsplit.server.middleware.metrics import Metrics, TimedEmbedder
from kinsplit.server.models import search_body
from kinsplit.server.settings import ServiceSettings
from kinsplit.stores import Catalog, open_catalog
from kinsplit.stores.engines.edge.process import open_detached
from kinsplit.watch import BackgroundWatch

_LOG = logging.getLogger("kinsplit.server")
#: Seconds between looks.
_LOOK = 1.0


class Switches:
    """Looks at the names of a store, now and then in a thread of its own. Thread-safe."""

    def __init__(self, address: str) -> None:
        self._address = address
        self._catalog: Catalog | None = None
        self._lock, self._stop = threading.Lock(), threading.Event()
        self._thread: threading.Thread | None = None

    def identity(self, name: str) -> str | None:
        """Return the identity of the collection that has a name now, None if there is none, or raise StoreError."""
        with self._lock:
            self._catalog = self._catalog or open_catalog(self._address)
            try:
                return self._catalog.identity(name)
            except CollectionNotFoundError:
                return None
            except StoreError:
                # The next look connects anew.
                self._catalog.close()
                self._catalog = None
                raise

    def start(self, look: Callable[[], None]) -> None:
        """Begin to call a function every second."""

        def run() -> None:
            while not self._stop.wait(_LOOK):
                look()

        self._thread = threading.Thread(target=run, name="kinsplit switches", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """End the thread and release the connection."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join()
        with self._lock:
            if self._catalog is not None:
                self._catalog.close()
                self._catalog = None


#: Collection of `kinsplit demo`.
_DEMO = "demo"

_P = ParamSpec("_P")
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class OpenCollection:
    """A collection that requests can search.

    It stays the same while its name is given to another one, so that an answer comes from one of them alone.

    Attributes:
        name: Name in requests: one that it was given, or else that of its strategy.
        label: Name in tools: one that it was given, or else that in the store.
        stored_name: Name in the store.
        index: The index over it.
        facets: Metadata that its documents can be filtered by.
        identity: Identity in the store's catalog; None if that doesn't list it.
        watches: Watches that keep it in sync with folders.
        watched: Arguments of the calls of `watch`.
    """

    name: str
    stored_name: str
    index: Index
    facets: FacetCounts
    label: str = ""
    identity: str | None = None
    watches: list[BackgroundWatch] = field(default_factory=list)
    watched: list[tuple[Sequence[Path], Metrics, bool]] = field(default_factory=list)

    @classmethod
    def of(cls, index: Index, stored_name: str, name: str = "", identity: str | None = None) -> Self:
        """Return a collection under the given name if there is one."""
        facets = FacetCounts(index.store)
        return cls(name or index.strategy.name, stored_name, index, facets, name or stored_name, identity)

    def watch(self, paths: Sequence[Path], metrics: Metrics, log_text: bool) -> None:
        """Prepare to keep the collection in sync with some paths."""

        def report(added: AddReport) -> None:
            self.facets.expire()
            metrics.watch_updates.labels(self.name).inc()
            metrics.watch_failed.labels(self.name).set(sum(len(each.status.failed) for each in self.watches))
            counts = {"documents": added.documents, "removed": len(added.gone), "failed": added.failures}
            _LOG.info("synchronised", extra={"facts": {"collection": self.stored_name, **counts}})
            for failure in added.failed:
                log_failure(failure.error, log_text=log_text)

        def fail(error: Exception) -> None:
            log_failure(error, log_text=log_text)

        self.watched.append((paths, metrics, log_text))
        self.watches.append(BackgroundWatch(self.index, paths, on_report=report, on_error=fail))

    def stop(self) -> None:
        """Stop watching. A second call does nothing."""
        for watch in self.watches:
            watch.stop()

    def close(self) -> None:
        """Stop watching, and release the collection."""
        self.stop()
        self.index.close()


class Collections:
    """The collections of the service, with the models they share.

    Args:
        settings: The settings.

    Attributes:
        default: The collection for requests that name none.
        metrics: Metrics of the service.
        rerankers: Rerankers by their names in requests.
        model: Language model for answers.

    Raises:
        InvalidParameterError: A setting is invalid, two collections share a name, or none has the default's.
        CollectionNotFoundError: A collection does not exist.
        KinsplitError: See `Index`.
    """

    def __init__(self, settings: ServiceSettings) -> None:
        self.metrics = Metrics()
        embedder = TimedEmbedder(embedding.resolve(settings.embedder), self.metrics.embed_seconds)
        opener = partial(open_detached, time_limit=settings.timeout)
        self._index = partial(Index, settings.store, embedder=embedder, opener=opener)
        self.rerankers = _rerankers(settings.rerankers, embedder)
        # Its threads end once no request waits for them.
        model, timeout = settings.model, settings.answer_timeout
        self.model = None if model is None else language_models.resolve(model, timeout)
        self._switches, self._following = Switches(settings.store), threading.Lock()
        # Collections that lost their names, with the time to close them: when no request that began with one uses it.
        self._retired: list[tuple[float, OpenCollection]] = []
        self._patience = settings.timeout + settings.answer_timeout
        self._collections: list[OpenCollection] = []
        try:
            for choice in settings.collections:
                name, _, stored_name = choice.rpartition("=")
                self._collections.append(self._open(stored_name, name, must_exist=not settings.fills))
            if not self._collections:
                self._collections.append(self._open_default(settings))
            self._check_names()
            self.default = self._find(settings.strategy) if settings.strategy else self._collections[0]
            self._watch(settings)
        except BaseException:
            for collection in self:
                collection.index.close()
            self._switches.close()
            raise

    def _open(self, stored_name: str, name: str = "", *, must_exist: bool = True) -> OpenCollection:
        # Before it is opened: a switch in between is found by the next look.
        identity = self._switches.identity(stored_name)
        index = self._index(collection=stored_name, must_exist=must_exist)
        if not must_exist:
            index.make()  # Otherwise its first write would look like a switch to another collection.
        return OpenCollection.of(index, stored_name, name, identity or self._switches.identity(stored_name))

    def _open_default(self, settings: ServiceSettings) -> OpenCollection:
        """Open the default collection of `kinsplit index`, or else that of `kinsplit demo`; or create the first one."""
        if settings.fills:
            return self._open(DEFAULT_COLLECTION, must_exist=False)
        for stored_name in (DEFAULT_COLLECTION, _DEMO):
            with suppress(CollectionNotFoundError):
                return self._open(stored_name)
        # The addresses of other stores may hold a secret.
        engine = settings.store.partition(":")[0]
        place = settings.store if engine == "edge" else f"the {engine} store"
        raise CollectionNotFoundError(
            f"There is neither a collection {DEFAULT_COLLECTION!r} nor {_DEMO!r} in {place}. "
            "Run kinsplit index PATHS or kinsplit demo first, or name a collection: --collection NAME."
        )

    def _check_names(self) -> None:
        names = [each.name.casefold() for each in self]
        for name in names:
            both = ", ".join(each.stored_name for each in self if each.name.casefold() == name)
            remedy = "Name them, for example first=COLLECTION,second=COLLECTION."
            require(names.count(name) <= 1, "collections", f"can't have the name {name} twice", both, remedy)

    def __iter__(self) -> Iterator[OpenCollection]:
        return iter(self._collections)

    def pick(self, name: str | None) -> OpenCollection:
        """Return the collection with a name in requests or in the store, in any case; None stands for the default."""
        return self.default if name is None else self._find(name)

    def _find(self, name: str) -> OpenCollection:
        wanted = name.strip().casefold()
        named = {each.name.casefold(): each for each in self}
        stored = {each.stored_name.casefold(): each for each in reversed(self._collections)}
        found = named.get(wanted) or named.get(OTHER_NAMES.get(wanted, "")) or stored.get(wanted)
        if found is None:
            known = ", ".join(each.name for each in self)
            raise InvalidParameterError("strategy", "must be an indexed strategy", name, f"Indexed: {known}.")
        return found

    def _watch(self, settings: ServiceSettings) -> None:
        folders: defaultdict[str, list[Path]] = defaultdict(list)
        names = {each.name.casefold() for each in self} | {each.stored_name.casefold() for each in self}
        for choice in settings.watch:
            name, equals, folder = choice.partition("=")
            # A path may contain an equals sign.
            picked, path = (self._find(name), folder) if equals and name.casefold() in names else (self.default, choice)
            remedy = "Create the folder, or correct its path."
            require(Path(path).exists(), "watch", "must be an existing folder or file", path, remedy)
            folders[picked.name].append(Path(path))
        for name, paths in folders.items():
            self._find(name).watch(paths, self.metrics, settings.log_text)

    def call(
        self,
        collection: OpenCollection,
        function: Callable[Concatenate[OpenCollection, _P], _T],
        *args: _P.args,
        **kwargs: _P.kwargs,
    ) -> _T:
        """Call a repeatable function with a collection; once more if that was dropped and another one has its name."""
        try:
            return function(collection, *args, **kwargs)
        except CollectionNotFoundError:
            current = self.follow(collection)
            if current is collection:
                raise
        return function(current, *args, **kwargs)

    def follow(self, collection: OpenCollection) -> OpenCollection:
        """Return the collection that has the name of an open one now, opening it if it is another one.

        The one that lost the name stays open for the requests that began with it.

        Raises:
            KinsplitError: The store can't be reached, or the other collection was made with another model.
        """
        with self._following:
            current = next(each for each in self if each.name == collection.name)
            identity = self._switches.identity(current.stored_name)
            if current is not collection or identity in (None, current.identity):
                return current
            fresh = self._open(current.stored_name, current.name)
            for arguments in current.watched:
                fresh.watch(*arguments)
            for watch in fresh.watches:
                watch.start()
            self._collections = [fresh if each is current else each for each in self]
            if self.default is current:
                self.default = fresh
            self._retired.append((time.monotonic() + self._patience, current))
        _LOG.info("switched", extra={"facts": {"collection": fresh.stored_name}})
        return fresh

    def _look(self) -> None:
        for collection in self:
            # A store that can't be reached fails requests too, and a collection that can't be opened can be replaced.
            with suppress(KinsplitError):
                self.follow(collection)
        with self._following:
            waiting = [each for each in self._retired if each[0] > time.monotonic()]
            gone = [each for each in self._retired if each not in waiting]
            self._retired = waiting
        for _, collection in waiting:
            collection.stop()
        for _, collection in gone:
            collection.close()

    def start(self) -> None:
        """Begin to watch the folders, and to follow the names of the collections."""
        for collection in self:
            for watch in collection.watches:
                watch.start()
        self._switches.start(self._look)

    def check(self) -> None:
        """Send every store a small request, or raise StoreError if one does not respond."""
        for collection in self:
            collection.index.store.get(["00000000-0000-0000-0000-000000000000"])

    def warm(self) -> None:
        """Load the models ahead of the first question."""
        for collection in self:
            # One that is still empty may not be searched.
            if collection.index.store.count(0):
                collection.index.search_as(partial(search_body, "", ""), "Is everything loaded?", top_k=1, window=0)
            else:
                collection.index.embedder.embed_query("Is everything loaded?")

    def close(self) -> None:
        """Stop watching, and close all collections."""
        self._switches.close()
        for collection in [*self, *(each for _, each in self._retired)]:
            collection.close()


def _rerankers(names: tuple[str, ...] | None, embedder: Embedder) -> dict[str, str | Reranker]:
    """Return the rerankers that requests may name; by default those that the embedder supports."""
    if names is None:
        names = ("none", "late") if isinstance(embedder, TokenEmbedder) else ("none",)
    try:
        return {name: create_reranker(name, embedder) or name for name in names}
    except InvalidParameterError as error:
        raise error.of("rerankers") from None
