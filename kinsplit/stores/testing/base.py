"""What the parts of the contract stand on."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar, Literal

import pytest

from kinsplit.stores.address import open_store
from kinsplit.stores.protocol import ChunkStore, Schema
from kinsplit.stores.testing.data import COLLECTION, SCHEMA


class Contract:
    """Fixtures and attributes of the contract.

    Attributes:
        exclusive: Whether another process is refused until this one has closed; otherwise both see the same chunks.
        reach: Who finds what was written under the same address: every process, this process, or one object alone.
    """

    exclusive: ClassVar[bool] = False
    reach: ClassVar[Literal["machine", "process", "object"]] = "machine"

    def open(self, address: str, collection: str = COLLECTION, schema: Schema | None = None) -> ChunkStore:
        """Open a collection, as `kinsplit.stores.open_store` does."""
        return open_store(address, collection, schema)

    @pytest.fixture
    def address(self) -> str:
        """Address of a fresh, empty place."""
        raise NotImplementedError

    @pytest.fixture
    def store(self, address: str) -> Iterator[ChunkStore]:
        """A fresh collection at that address."""
        with self.open(address, schema=SCHEMA) as store:
            yield store
