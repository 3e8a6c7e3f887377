"""The base of readers of kin, and the methods of stores that they call."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Literal, NamedTuple, Self

from kinsplit.chunk import Chunk
from kinsplit.integrations.shared.origins import is_located
from kinsplit.integrations.shared.records import Item, to_chunk
from kinsplit.support.threads import call_either


class SiblingPlace(NamedTuple):
    """Place of a chunk among its siblings."""

    source_id: str
    level: int
    position: int


class FoundNode(NamedTuple):
    """A node or document that a framework has found, with a score if it is known; higher is better."""

    id: str
    text: str
    metadata: Mapping[str, Any]
    score: float | None = None

    @classmethod
    def of(cls, given: Any) -> Self:
        """Return a document of LangChain or a node of LlamaIndex."""
        if not hasattr(given, "page_content"):
            return cls(given.node_id, given.get_content(metadata_mode="none"), given.metadata)
        # LangChain's own Qdrant store returns the id in the metadata alone, and others in none but kinsplit's.
        id_ = given.id or given.metadata.get("_id") or given.metadata.get("chunk_id") or ""
        return cls(str(id_), given.page_content, given.metadata)

    def to_chunk(self) -> Chunk:
        """Return it as a chunk; see `kinsplit.integrations.shared.records.to_chunk`."""
        source_id = self.metadata["source_id"] if self.is_located else self.id
        return to_chunk(Item(self.id, self.text, self.metadata, source_id))

    @property
    def is_located(self) -> bool:
        """Whether it is a chunk of kinsplit with a known position in its document."""
        return is_located(self.metadata, self.text)


class KinReader(ABC):
    """Fetches chunks from a store or a collection, whose strategy has a fingerprint, if it is known."""

    def __init__(self, fingerprint: str | None = None) -> None:
        self._fingerprint = fingerprint

    @property
    def by_place(self) -> Literal["first", "last", "never"]:
        """When `find` is called.

        Before `get`, since it is as cheap; after it, for chunks that have other ids; or never, since the store has no
        filter that is known.
        """
        return "first"

    @property
    def fingerprint(self) -> str | None:
        """Fingerprint of the strategy, from which the ids of chunks are computed; None if it isn't known."""
        return self._fingerprint

    def get(self, ids: Sequence[str]) -> list[Chunk]:
        """Return the stored chunks with these ids, as frameworks know them, in any order."""
        return self.find([], ids)

    @abstractmethod
    def find(self, places: Sequence[SiblingPlace], ids: Sequence[str] = ()) -> list[Chunk]:
        """Return chunks by place, and others by id; extra chunks are ignored."""

    @abstractmethod
    def level(self, source_ids: Sequence[str], level: int) -> list[Chunk]:
        """Return the chunks of a level of some documents; extra chunks are ignored."""

    @abstractmethod
    def whole_documents(self, paths: Sequence[str]) -> list[FoundNode]:
        """Return the documents that were embedded whole or have a single chunk, by their `file_path`."""


class Method(NamedTuple):
    """A method of a store of others, which may have a second form for event loops.

    The coroutine function is called instead in a thread that works for an event loop; see `kinsplit.support.threads`.
    """

    blocking: Callable[..., Any]
    awaitable: Callable[..., Awaitable[Any]] | None = None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the method in the form that suits this thread."""
        return call_either(self.blocking, self.awaitable, *args, **kwargs)

    @classmethod
    def of(cls, store: Any, blocking: str, awaitable: str) -> Method:
        """Return a method of a store by the names of its two forms."""
        method, other = getattr(store, blocking), getattr(store, awaitable, None)
        # LlamaIndex's base class would block the event loop; LangChain's PGVector has one form, set by `async_mode`.
        blocks = getattr(other, "__module__", None) == "llama_index.core.vector_stores.types"
        return cls(method, None if blocks or getattr(store, "async_mode", None) is False else other)
