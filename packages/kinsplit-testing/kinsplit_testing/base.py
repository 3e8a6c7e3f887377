"""Base class of the contract's parts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar, Literal

import pytest

from kinsplit.stores.address import STORES, open_store
from kinsplit.stores.maintenance.doctor import SCHEMA
from kinsplit.stores.store import ChunkStore
from kinsplit.stores.values import Schema

#: Name of the collection of a test.
COLLECTION = "contract"


def make_store(address: str, collection: str, schema: Schema | None = None) -> ChunkStore:
    """Open a collection as its engine does, which makes one at once if it is given a schema."""
    engine, location = STORES.of_spec(address)
    return engine.open(location, collection, schema)


class Contract:
    """Fixtures and attributes of the contract.

    Attributes:
        exclusive: Whether only one process at a time can open a collection; otherwise all see the same chunks.
        holds_names: Whether an open collection can't be dropped or renamed.
        reach: Scope in which an address names the same data: every process, this process, or a single object.
    """

    exclusive: ClassVar[bool] = False
    holds_names: ClassVar[bool] = False
    reach: ClassVar[Literal["machine", "process", "object"]] = "machine"

    def open(self, address: str, collection: str = COLLECTION, schema: Schema | None = None) -> ChunkStore:
        """Open a collection, as `kinsplit.stores.open_store` does."""
        return open_store(address, collection, schema)

    def make(self, address: str, collection: str = COLLECTION, schema: Schema = SCHEMA) -> None:
        """Make an empty collection, which opening one does not do."""
        with self.open(address, collection, schema) as store:
            store.make()

    @pytest.fixture
    def address(self) -> str:
        """Address of a new, empty store."""
        raise NotImplementedError

    @pytest.fixture
    def store(self, address: str) -> Iterator[ChunkStore]:
        """A new collection at that address."""
        with self.open(address, schema=SCHEMA) as store:
            yield store
