"""What every engine behind `ChunkStore` must do, as tests to inherit. Needs pytest.

```python
pytest.register_assert_rewrite("kinsplit.stores.testing")  # in conftest.py

class TestMyStore(ChunkStoreContract):
    @pytest.fixture
    def address(self, tmp_path: Path) -> str:
        return f"my-engine:{tmp_path}"
```
"""

from __future__ import annotations

from kinsplit.stores.testing.batches import Batches
from kinsplit.stores.testing.data import (
    COLLECTION,
    DENSE,
    SCHEMA,
    SPARSE,
    TEXTS,
    embed,
    make_chunks,
    make_document,
    save,
)
from kinsplit.stores.testing.keeping import Keeping
from kinsplit.stores.testing.levels import Levels
from kinsplit.stores.testing.opening import Opening
from kinsplit.stores.testing.searching import Searching
from kinsplit.stores.testing.syncing import Syncing

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
    "save",
]


class ChunkStoreContract(Keeping, Syncing, Batches, Searching, Levels, Opening):
    """Inherit it and provide the fixture `address`; see the module's docstring, and the attributes of `Contract`."""
