"""Contract tests of `ChunkStore`, which the tests of each engine inherit. Requires pytest.

```python
pytest.register_assert_rewrite("kinsplit.stores.testing")  # in conftest.py

class TestMyStore(ChunkStoreContract):
    @pytest.fixture
    def address(self, tmp_path: Path) -> str:
        return f"my-engine:{tmp_path}"
```
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kinsplit.stores.address import open_async_store
from kinsplit.stores.async_protocol import AsyncChunkStore
from kinsplit.stores.maintenance.samples import (
    DENSE,
    SCHEMA,
    SPARSE,
    TEXTS,
    embed,
    make_chunks,
    make_document,
    save,
)
from kinsplit.stores.protocol import ChunkStore, Schema
from kinsplit.stores.testing.base import COLLECTION
from kinsplit.stores.testing.batches import Batches
from kinsplit.stores.testing.bridge import Bridge, running_loop
from kinsplit.stores.testing.catalog import Naming
from kinsplit.stores.testing.durability import Keeping
from kinsplit.stores.testing.filters import Filtering
from kinsplit.stores.testing.levels import Levels
from kinsplit.stores.testing.lifecycle import Opening
from kinsplit.stores.testing.search import Searching
from kinsplit.stores.testing.sync import Syncing

__all__ = [
    "COLLECTION",
    "DENSE",
    "SCHEMA",
    "SPARSE",
    "TEXTS",
    "AsyncChunkStoreContract",
    "ChunkStoreContract",
    "embed",
    "make_chunks",
    "make_document",
    "save",
]


class _Common(Keeping, Syncing, Batches, Searching, Filtering, Levels, Opening):
    """Contract of a store, whether it blocks or not."""


class ChunkStoreContract(_Common, Naming):
    """Contract of all stores. Subclasses provide the fixture `address`; see the module and `Contract`."""


class AsyncChunkStoreContract(_Common):
    """Contract of the stores that `open_async_store` opens."""

    @pytest.fixture(autouse=True)
    def _running(self) -> Iterator[None]:
        with running_loop() as loop:
            self._loop = loop
            yield

    def open(self, address: str, collection: str = COLLECTION, schema: Schema | None = None) -> ChunkStore:
        """Open a collection and bridge it to the blocking protocol."""
        return Bridge(self._loop, self._loop.run(self.open_async(address, collection, schema)))

    async def open_async(self, address: str, collection: str, schema: Schema | None) -> AsyncChunkStore:
        """Open a collection, as `kinsplit.stores.open_async_store` does."""
        return await open_async_store(address, collection, schema)
