"""Protocol of catalogs: the collections at an address, and their names."""

from __future__ import annotations

from dataclasses import dataclass
from types import TracebackType
from typing import Protocol, Self

from kinsplit.stores.protocol import Schema


@dataclass(frozen=True, slots=True)
class CollectionInfo:
    """A collection of a catalog.

    Attributes:
        name: Name of the collection.
        schema: Its schema; None if this version of kinsplit can't read it.
        documents: Number of its documents; None if they can't be counted, as in a collection that is locked.
        chunks: Number of its leaves; None if they can't be counted.
        bytes: Size on disk, with indexes; None if the engine doesn't tell.
    """

    name: str
    schema: Schema | None
    documents: int | None
    chunks: int | None
    bytes: int | None


class Catalog(Protocol):
    """The collections at an address.

    Every change is atomic: a process that is killed in the middle leaves the old or the new state. Open stores keep the
    collection that they opened, whatever its name becomes, until it is dropped.
    """

    def collections(self) -> list[CollectionInfo]:
        """Return the collections, in order of their names."""
        ...

    def identity(self, name: str) -> str:
        """Return a text that stands for the collection which has a name now, in one cheap call.

        Once the name belongs to another collection, the text differs.

        Raises:
            CollectionNotFoundError: There is no such collection.
        """
        ...

    def drop(self, name: str) -> None:
        """Delete a collection with everything in it.

        Raises:
            CollectionNotFoundError: There is no such collection.
            StoreLockedError: The engine's collections are opened by one process at a time, and this one is open.
        """
        ...

    def rename(self, old: str, new: str) -> None:
        """Give a collection another name, which no collection has.

        Raises:
            InvalidParameterError: The new name is not allowed.
            CollectionNotFoundError: There is no such collection.
            StoreLockedError: See `drop`.
            StoreError: There is a collection of the new name, or the engine can't rename this one.
        """
        ...

    def switch(self, one: str, other: str) -> None:
        """Exchange the names of two collections, in one step for every reader.

        Raises:
            InvalidParameterError: The names are the same.
            CollectionNotFoundError: One of them does not exist.
            StoreLockedError: See `drop`.
            StoreError: The engine can't rename one of them.
        """
        ...

    def close(self) -> None:
        """Release the connection. A second call does nothing."""
        ...

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()
