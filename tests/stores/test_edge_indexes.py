"""Tests of automatic payload indexes on filtered keys, which must not change any results."""

import shutil

import pytest
from kinsplit_testing import DENSE, SCHEMA, TEXTS, embed, make_chunks, make_document, make_store, save

from kinsplit.errors import DiskFullError
from kinsplit.stores.engines.edge import engine as edge_engine
from kinsplit.stores.engines.edge import indexes as edge_indexes
from kinsplit.stores.values import Query

VALUES = [
    *("a", "b", "1", "true", "2020-05-31", 1, 2, 0, -5, 2**40, 1.5, 0.1 + 0.2, True, False, None),
    *([], ["a", 1], [1.5, "b", True], [None], {"x": 1}, {"x": "a"}, [{"x": 1}, {"x": 2.5}]),
]
SINGLE = [value for value in VALUES if not isinstance(value, list | dict)]
KEYS = ("key", "with.dot", "inside.key", "list[].x")


def filters(key):
    yield from ({key: value} for value in SINGLE)
    yield from ({key: wanted} for wanted in (["a", 1], ["a", "b"], [1, 1.5], [True, 1], [None, "a"]))
    yield from ({key: {sign: bound}} for sign in ("$gt", "$lte") for bound in (1, 1.5, "2020-05-31"))
    yield from ({key: {"$ne": value}} for value in ("a", 1, True, None))
    yield {"$or": [{key: 1}, {key: "a"}]}
    yield {"$not": {key: "a"}}


def indexes(store):
    return set(store._lease.engine.shard.info().payload_schema) - set(edge_indexes.INDEXES)


def answers(store):
    query = DENSE.embed_query("class")
    wheres = [where for key in KEYS for where in filters(key)]
    found = [sorted(chunk.id for chunk in store.find(where, None)) for where in wheres]
    hits = store.search([Query("dense", query, 50, 0, where) for where in wheres])
    return found, [sorted(hit.chunk.id for hit in ranking) for ranking in hits]


@pytest.fixture(scope="module")
def mixed(tmp_path_factory):
    """A collection whose keys have values of every kind."""
    place = tmp_path_factory.mktemp("mixed")
    chunks = []
    for number, value in enumerate(VALUES):
        named = {"key": value, "with.dot": value, "inside": {"key": value}, "list": [{"x": value}]}
        chunks += make_chunks(f"doc{number}", [f"text {number}"], **named)
    chunks += make_chunks("nothing", ["text"])
    with make_store(f"edge:{place}", "cs", SCHEMA) as store:
        store.put(chunks, embed(chunks))
        expected = answers(store)
        assert indexes(store) == set()
    return place, expected


@pytest.mark.parametrize("first", ["a", 1, True])
def test_filters_find_the_same_with_indexes(first, mixed, tmp_path, monkeypatch):
    place, expected = mixed
    monkeypatch.setattr(edge_indexes, "_FEWEST_POINTS", 0)
    shutil.copytree(place, tmp_path / "copy")
    with make_store(f"edge:{tmp_path / 'copy'}", "cs") as store:
        for key in KEYS:
            store.find({key: first}, None)
        made = {"key", '"with.dot"', "with.dot", '"inside.key"', "inside.key", '"list[].x"', "list[].x"}
        assert indexes(store) == made
        assert answers(store) == expected
        assert indexes(store) == made


@pytest.fixture
def store(tmp_path, monkeypatch):
    monkeypatch.setattr(edge_indexes, "_FEWEST_POINTS", 3)
    with make_store(f"edge:{tmp_path}", "cs", SCHEMA) as store:
        yield store


def test_an_index_is_make_once_and_kept(store, tmp_path, monkeypatch):
    save(store, "doc", make_chunks("doc", TEXTS, user="me", year=2020))
    (hits,) = store.search([Query("dense", DENSE.embed_query("class"), 3, 0, {"user": "me"})])
    assert len(hits) == 3
    assert indexes(store) == {"user"}
    assert store.count(0, {"$not": {"year": 2021}}) == len(TEXTS)
    assert indexes(store) == {"user", "year"}
    store.close()
    with make_store(f"edge:{tmp_path}", "cs") as again:
        assert indexes(again) == {"user", "year"}
        engine = again._lease.engine
        made = []
        monkeypatch.setattr(edge_engine.KeyIndexes, "make", lambda *_: made.append(1))
        again.find({"user": "me"})
        again.find({"subject": "cs"})
        assert made == [1]
        monkeypatch.undo()
        again.find({"user": 5})
        assert again.find({"user": "me"}) == again.find({})
        assert "Keyword" in str(engine.shard.info().payload_schema["user"].data_type)


def test_parents_and_documents_have_indexes_where_their_payloads_lie(store):
    leaves = make_chunks("doc", TEXTS, user="me")
    save(store, "doc", [*leaves, *make_chunks("doc", TEXTS[:2], 1, user="me"), make_document(leaves, "x", user="me")])
    assert (store.count(None, {"user": "me"}), store.count(1, {"user": "me"})) == (8, 2)
    assert indexes(store) == {"user", "_above.user"}
    (hits,) = store.search([Query("dense", DENSE.embed_query("class"), 9, 1, {"user": "me"})])
    assert len(hits) == 2


def test_a_small_collection_and_an_unknown_key_need_no_index(store):
    save(store, "doc", make_chunks("doc", TEXTS[:2], user="me"))
    store.find({"user": "me"})
    assert indexes(store) == set()
    save(store, "doc", make_chunks("doc", TEXTS, user="me"))
    store.find({"nobody": "me", "year": {"$gt": 1}})
    store.find({"user": ["me", 5]})
    assert indexes(store) == set()
    save(store, "more", make_chunks("more", TEXTS, nobody="me"))
    assert len(store.find({"nobody": "me"})) == len(TEXTS)
    assert indexes(store) == {"nobody"}


def test_only_so_many_indexes_are_made(store, monkeypatch):
    monkeypatch.setattr(edge_indexes, "_MOST_INDEXES", 2)
    save(store, "doc", make_chunks("doc", TEXTS, **{f"k{number}": "v" for number in range(5)}))
    for number in range(5):
        assert len(store.find({f"k{number}": "v"})) == len(TEXTS)
    assert indexes(store) == {"k0", "k1"}


def test_a_search_needs_no_index_where_the_disk_is_full_or_somebody_writes(store, monkeypatch):
    save(store, "doc", make_chunks("doc", TEXTS, user="me"))

    def full(*_):
        raise DiskFullError("here", "write", 2, 1)

    with monkeypatch.context() as patch:
        patch.setattr(edge_engine.folder, "check_write", full)
        assert len(store.find({"user": "me"})) == len(TEXTS)
    assert indexes(store) == set()
