"""Collections in the user's own data folder: `home:NAME`, from wherever a command is run.

The chunks are kept by an engine of kinsplit's. A store with a database of its own is a subclass of
`kinsplit.stores.store.ChunkStore`, whose abstract methods an engine provides, and of
`kinsplit.stores.Catalog`; the shortest is `kinsplit/stores/engines/memory.py`.
"""

import os
from pathlib import Path

from platformdirs import user_data_path

from kinsplit.errors import require
from kinsplit.stores import Catalog, ChunkStore, Schema, open_catalog, open_store
from kinsplit.stores.engines import Engine


def _place(name: str) -> str:
    require(name.isidentifier(), "store", "must have a name of letters and digits after 'home:'", name, "Rename it.")
    return f"edge:{Path(os.environ.get('KINSPLIT_HOME') or user_data_path('kinsplit')) / name}"


def _open(name: str, collection: str, schema: Schema | None) -> ChunkStore:
    return open_store(_place(name), collection, schema)


def _catalog(name: str) -> Catalog:
    return open_catalog(_place(name))


ENGINE = Engine(_open, _catalog, "collections that belong to a user instead of a folder", "qdrant_edge", "search")
