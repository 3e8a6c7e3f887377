"""Contract tests of `ChunkStore`, which the tests of each engine inherit. Requires pytest.

```python
pytest.register_assert_rewrite("kinsplit_testing")  # in conftest.py

class TestMyStore(ChunkStoreContract):
    @pytest.fixture
    def address(self, tmp_path: Path) -> str:
        return f"my-engine:{tmp_path}"
```
"""

from __future__ import annotations

from kinsplit.stores.maintenance.doctor import (
    DENSE,
    SCHEMA,
    SPARSE,
    TEXTS,
    embed,
    make_chunks,
    make_document,
    save,
)
from kinsplit_testing.base import COLLECTION, make_store
from kinsplit_testing.batches import Batches
from kinsplit_testing.catalog import Naming
from kinsplit_testing.durability import Keeping
from kinsplit_testing.filters import Filtering
from kinsplit_testing.levels import Levels
from kinsplit_testing.lifecycle import Opening
from kinsplit_testing.search import Searching
from kinsplit_testing.sync import Syncing

__all__ = [
    "COLLECTION",
    "DENSE",
    "SCHEMA",
    "SPARSE",
    "TEXTS",
    "ChunkStoreContract",
    "embed",
    "make_chunks",
    "make_document",
    "make_store",
    "save",
]


class ChunkStoreContract(Keeping, Syncing, Batches, Searching, Filtering, Levels, Opening, Naming):
    """Contract of all stores. Subclasses provide the fixture `address`; see the module and `Contract`."""
