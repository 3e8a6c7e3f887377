"""Tests of catalogs: listing, dropping and renaming collections."""

# ruff: noqa: S101

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from kinsplit.errors import CollectionNotFoundError, InvalidParameterError, StoreError, StoreLockedError
from kinsplit.stores.address import open_catalog
from kinsplit.stores.engines.catalog import Catalog
from kinsplit.stores.maintenance.doctor import SCHEMA, TEXTS, make_chunks, save
from kinsplit_testing.base import COLLECTION, Contract

_OTHER = f"{COLLECTION}-second"


class Naming(Contract):
    """Tests of a catalog."""

    @pytest.fixture
    def catalog(self, address: str) -> Iterator[Catalog]:
        """Catalog of a store with two collections: one of two documents, and one of one."""
        if self.reach == "object":
            pytest.skip("nobody else finds what a store object holds")
        with self.open(address, schema=SCHEMA) as store:
            save(store, "one", make_chunks("one", TEXTS))
            save(store, "two", make_chunks("two", TEXTS[:2]))
        with self.open(address, _OTHER, replace(SCHEMA, model="another")) as store:
            save(store, "three", make_chunks("three", TEXTS[:1]))
        with open_catalog(address) as catalog:
            yield catalog

    def test_collections_are_listed(self, catalog: Catalog) -> None:
        """By name, with schema, documents and leaves."""
        found = [(each.name, each.documents, each.chunks) for each in catalog.collections()]
        assert found == [(COLLECTION, 2, len(TEXTS) + 2), (_OTHER, 1, 1)]
        assert [each.schema for each in catalog.collections()] == [SCHEMA, replace(SCHEMA, model="another")]
        assert all(each.bytes is None or each.bytes > 0 for each in catalog.collections())

    def test_a_dropped_collection_is_gone(self, address: str, catalog: Catalog) -> None:
        """The other stays, and the name is free again."""
        catalog.drop(COLLECTION)
        assert [each.name for each in catalog.collections()] == [_OTHER]
        with pytest.raises(CollectionNotFoundError, match=_OTHER):
            self.open(address)
        with pytest.raises(CollectionNotFoundError, match="kinsplit collections"):
            catalog.drop(COLLECTION)
        with self.open(address, schema=SCHEMA) as store:
            assert store.count() == 0

    def test_a_renamed_collection_is_found_under_its_new_name_alone(self, address: str, catalog: Catalog) -> None:
        """A name that is taken or not allowed is refused, and the old one is free again."""
        before = catalog.identity(COLLECTION)
        with pytest.raises(StoreError, match="kinsplit switch"):
            catalog.rename(COLLECTION, _OTHER)
        with pytest.raises(InvalidParameterError, match="letters and digits"):
            catalog.rename(COLLECTION, "../outside")
        with pytest.raises(CollectionNotFoundError):
            catalog.rename("nothing", "new")
        catalog.rename(COLLECTION, "new")
        assert catalog.identity("new") == before
        with pytest.raises(CollectionNotFoundError):
            catalog.identity(COLLECTION)
        with self.open(address, "new", SCHEMA) as store:
            assert store.sources() == {"one": len(TEXTS), "two": 2}
        with self.open(address, schema=SCHEMA) as store:
            assert store.count() == 0
        assert {each.name for each in catalog.collections()} == {_OTHER, "new"}

    def test_two_collections_exchange_their_names(self, address: str, catalog: Catalog) -> None:
        """A second switch undoes the first; what is dropped afterwards is the other one."""
        names = (COLLECTION, _OTHER)
        before = [catalog.identity(name) for name in names]
        with pytest.raises(InvalidParameterError, match="differ"):
            catalog.switch(COLLECTION, COLLECTION)
        with pytest.raises(CollectionNotFoundError):
            catalog.switch(COLLECTION, "nothing")
        catalog.switch(*names)
        assert [catalog.identity(name) for name in names] == before[::-1]
        catalog.switch(*names)
        assert [catalog.identity(name) for name in names] == before
        catalog.switch(*names)
        catalog.drop(_OTHER)
        with self.open(address) as store:
            assert store.sources() == {"three": 1}
        with self.open(address, _OTHER, SCHEMA) as store:
            save(store, "new", make_chunks("new", TEXTS[:1]))
        catalog.switch(*names)
        with self.open(address) as store:
            assert store.sources() == {"new": 1}

    def test_an_open_store_keeps_its_collection(self, address: str, catalog: Catalog) -> None:
        """It reads and writes what it opened, whatever the name becomes, unless it holds the name."""
        with self.open(address) as store:
            if self.holds_names:
                with pytest.raises(StoreLockedError, match="open"):
                    catalog.drop(COLLECTION)
                with pytest.raises(StoreLockedError, match="open"):
                    catalog.rename(COLLECTION, "new")
                with pytest.raises(StoreLockedError, match="open"):
                    catalog.switch(_OTHER, COLLECTION)
                assert [each.chunks for each in catalog.collections()] == [len(TEXTS) + 2, 1]
                return
            catalog.switch(COLLECTION, _OTHER)
            save(store, "four", make_chunks("four", TEXTS[:1]))
            assert list(store.sources()) == ["four", "one", "two"]
        with self.open(address, _OTHER) as store:
            assert list(store.sources()) == ["four", "one", "two"]
            if self.reach == "process":  # There it keeps the content, too.
                return
            catalog.drop(_OTHER)
            with pytest.raises(CollectionNotFoundError, match="was dropped"):
                store.count()
