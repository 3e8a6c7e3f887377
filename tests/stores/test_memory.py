import uuid

import numpy as np
import pytest
from kinsplit_testing import DENSE, SCHEMA, TEXTS, ChunkStoreContract, embed, make_chunks, save

from kinsplit.errors import StoreError
from kinsplit.stores import open_store
from kinsplit.stores.values import Query, Vectors


class TestNamedMemory(ChunkStoreContract):
    reach = "process"

    @pytest.fixture
    def address(self) -> str:
        return f"memory:{uuid.uuid4()}"


class TestPrivateMemory(ChunkStoreContract):
    reach = "object"

    @pytest.fixture
    def address(self) -> str:
        return "memory:"


def test_a_place_without_a_name_belongs_to_one_object():
    with open_store("memory:", "cs", SCHEMA) as store:
        save(store, "doc", make_chunks("doc", TEXTS))
        with open_store("memory:", "cs", SCHEMA) as other:
            assert (store.count(), other.count()) == (5, 0)
        with pytest.raises(StoreError, match="no collection 'cs'"):
            open_store("memory:", "cs")


def test_vectors_that_the_caller_changes_later_are_not_changed_in_the_store():
    chunks = make_chunks("doc", TEXTS[:1])
    vectors = embed(chunks)
    with open_store("memory:", "cs", SCHEMA) as store:
        store.sync("doc", chunks, vectors)
        next(iter(vectors.values())).dense[:] = 0
        (hits,) = store.search([Query("dense", DENSE.embed_query(TEXTS[0]), 1)])
        assert hits[0].score == pytest.approx(1.0)


class Unread(dict):
    """A mapping of which single keys alone are read."""

    def __iter__(self):
        raise AssertionError("every point is read")

    keys = values = items = __iter__


def test_a_write_reads_no_other_documents():
    with open_store("memory:", "cs", SCHEMA) as store:
        save(store, "a", make_chunks("a", TEXTS))
        store._collection.points, store._collection.sources = (
            Unread(store._collection.points),
            Unread(store._collection.sources),
        )
        save(store, "b", make_chunks("b", TEXTS))
        save(store, "b", make_chunks("b", TEXTS[1:], year=2020))
        assert (len(store.known("a")), store.delete("b")) == (5, 4)


def test_a_vector_of_length_zero_is_like_nothing():
    (chunk,) = make_chunks("doc", TEXTS[:1])
    with open_store("memory:", "cs", SCHEMA) as store:
        store.sync("doc", [chunk], {chunk.content_key: Vectors(np.zeros(64, np.float32))})
        (hits,) = store.search([Query("dense", DENSE.embed_query("class"), 1)])
        assert hits[0].score == 0
