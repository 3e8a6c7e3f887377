"""Collections of a folder of Qdrant Edge."""

from __future__ import annotations

import re
import shutil
import uuid
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path

from kinsplit.errors import ForeignCollectionError, StoreError
from kinsplit.stores.engines.catalog import CollectionInfo, EngineCatalog, Named
from kinsplit.stores.engines.edge.folder import (
    LEDGER_FILE,
    SCHEMA_FILE,
    collections_in,
    read_schema,
    size_on_disk,
    stored_schema,
    strangers_in,
)
from kinsplit.stores.engines.edge.ledger import count_recorded
from kinsplit.stores.engines.edge.names import exchange, held, naming, settle_names

#: A folder that `drop` has moved out of the way.
_DROPPED = re.compile(r"\.\w[\w.-]*\.[0-9a-f]{32}\.dropped")


class EdgeCatalog(EngineCatalog[Path]):
    """The collections in a folder, whose subfolders bear their names.

    Args:
        place: Folder of the collections.
    """

    def __init__(self, place: str) -> None:
        self._folder = Path(place).expanduser()
        super().__init__(self._folder)

    def collections(self) -> list[CollectionInfo]:
        """Return the collections, also those that are open elsewhere; see `Catalog.collections`."""
        with self._reading():
            found = [self._info(folder) for _, folder in sorted(self._names().items())]
        return [info for info in found if info is not None]

    def identity(self, name: str) -> str:
        """Return a text that stands for the collection of a name; see `Catalog.identity`."""
        with self._reading():
            found = (self._own(self._names(), name).key / SCHEMA_FILE).stat()
            return f"{found.st_ino}-{found.st_mtime_ns}"

    def close(self) -> None:
        """Do nothing, since nothing is open."""

    def _info(self, folder: Path) -> CollectionInfo | None:
        try:
            schema = read_schema(folder)
        except ForeignCollectionError:
            return None
        except StoreError:
            schema = None
        documents, chunks = count_recorded(folder / LEDGER_FILE) or self._count(folder)
        return CollectionInfo(folder.name, schema, documents, chunks, size_on_disk(folder))

    def _count(self, folder: Path) -> tuple[int | None, int | None]:
        """Count in a collection whose ledger does not know all of its chunks."""
        from kinsplit.stores.engines.edge.store import EdgeStore

        try:
            with EdgeStore(str(self._folder), folder.name) as store:
                return len(store.sources(0)), store.count(0)
        except StoreError:
            return None, None

    @contextmanager
    def _reading(self) -> Iterator[None]:
        try:
            settle_names(self._folder)
            yield
        except OSError as error:
            raise StoreError(f"{self._folder}: {error.strerror}. Choose a folder that you may write.") from error

    @contextmanager
    def _naming(self) -> Iterator[None]:
        with self._reading(), naming(self._folder) if self._folder.is_dir() else nullcontext():
            yield

    def _dropping(self) -> AbstractContextManager[object]:
        return self._naming()

    def _names(self) -> Mapping[str, Path]:
        return {name: self._folder / name for name in collections_in(self._folder)}

    def _stored(self, key: Path) -> object:
        return stored_schema(key)

    def _drop(self, found: Named[Path]) -> None:
        if strangers := strangers_in(found.key):
            rest = f" and {len(strangers) - 1:,} more" if strangers[1:] else ""
            rule = f"{found.key} also holds {strangers[0]!r}{rest}, which kinsplit didn't make"
            raise StoreError(f"{rule}. Move that out of the folder first.")
        with held(found.key):
            # Gone in one step; the files may take a while.
            found.key.rename(self._folder / f".{found.name}.{uuid.uuid4().hex}.dropped")
        # Also those whose deletion was interrupted.
        for folder in self._folder.iterdir():
            if _DROPPED.fullmatch(folder.name) and folder.is_dir() and not strangers_in(folder):
                shutil.rmtree(folder, ignore_errors=True)

    def _rename(self, found: Named[Path], new: str) -> None:
        if (self._folder / new).exists():
            raise StoreError(f"{self._folder / new} holds something else. Choose another name.")
        with held(found.key):
            found.key.rename(self._folder / new)

    def _switch(self, one: Named[Path], other: Named[Path]) -> None:
        with held(one.key), held(other.key):
            exchange(self._folder, one.name, other.name)
