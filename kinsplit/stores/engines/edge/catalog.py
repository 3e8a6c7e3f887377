"""Collections of a folder of Qdrant Edge."""

from __future__ import annotations

import shutil
import uuid
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from kinsplit.errors import StoreError
from kinsplit.stores.engines.catalog import Catalog, CollectionInfo
from kinsplit.stores.engines.edge.disk_space import size_on_disk
from kinsplit.stores.engines.edge.folder import LEDGER_FILE, SCHEMA_FILE, collections_in, read_schema
from kinsplit.stores.engines.edge.ledger import count_recorded
from kinsplit.stores.engines.edge.names import exchange, held, naming, settle_names
from kinsplit.stores.schema import LISTED, check_change, no_collection

_DROPPED = ".dropped"


class EdgeCatalog(Catalog):
    """The collections in a folder, whose subfolders bear their names.

    Args:
        place: Folder of the collections.
    """

    def __init__(self, place: str) -> None:
        self._place = Path(place).expanduser()

    def collections(self) -> list[CollectionInfo]:
        """Return the collections, also those that are open elsewhere; see `Catalog.collections`."""
        with self._errors():
            return [self._info(self._place / name) for name in sorted(collections_in(self._place))]

    def identity(self, name: str) -> str:
        """Return a text that stands for the collection of a name; see `Catalog.identity`."""
        with self._errors():
            self._check(name)
            found = (self._place / name / SCHEMA_FILE).stat()
            return f"{found.st_ino}-{found.st_mtime_ns}"

    def drop(self, name: str) -> None:
        """Delete a collection; see `Catalog.drop`."""
        with self._errors():
            self._check(name)
            with naming(self._place), held(self._place / name):
                self._check(name)
                # Gone in one step; the files may take a while.
                (self._place / name).rename(self._place / f".{name}.{uuid.uuid4().hex}{_DROPPED}")
            # Also those whose deletion was interrupted.
            for folder in self._place.glob(f".*{_DROPPED}"):
                shutil.rmtree(folder, ignore_errors=True)

    def rename(self, old: str, new: str) -> None:
        """Give a collection another name; see `Catalog.rename`."""
        with self._changing(old, new, is_switch=False):
            if (self._place / new).exists():
                raise StoreError(f"{self._place / new} holds something else. Choose another name.")
            (self._place / old).rename(self._place / new)

    def switch(self, one: str, other: str) -> None:
        """Exchange the names of two collections; see `Catalog.switch`."""
        with self._changing(one, other, is_switch=True):
            exchange(self._place, one, other)

    def close(self) -> None:
        """Do nothing, since nothing is open."""

    def _info(self, folder: Path) -> CollectionInfo:
        try:
            schema = read_schema(folder)
        except StoreError:
            schema = None
        documents, chunks = count_recorded(folder / LEDGER_FILE) or self._count(folder)
        return CollectionInfo(folder.name, schema, documents, chunks, size_on_disk(folder))

    def _count(self, folder: Path) -> tuple[int | None, int | None]:
        """Count in a collection whose ledger does not know all of its chunks."""
        from kinsplit.stores.engines.edge.store import EdgeStore

        try:
            with EdgeStore(str(self._place), folder.name) as store:
                return len(store.sources(0)), store.count(0)
        except StoreError:
            return None, None

    @contextmanager
    def _changing(self, old: str, new: str, *, is_switch: bool) -> Iterator[None]:
        with self._errors():
            check_change(self._place, collections_in(self._place), old, new, is_switch=is_switch)
            with naming(self._place), ExitStack() as stack:
                check_change(self._place, collections_in(self._place), old, new, is_switch=is_switch)
                for name in (old, new) if is_switch else (old,):
                    stack.enter_context(held(self._place / name))
                yield

    def _check(self, name: str) -> None:
        known = collections_in(self._place)
        if name not in known:
            raise no_collection(self._place, name, known, LISTED)

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            settle_names(self._place)
            yield
        except OSError as error:
            raise StoreError(f"{self._place}: {error.strerror}. Choose a folder that you may write.") from error
