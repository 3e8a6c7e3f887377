"""Payload indexes of a Qdrant server: made when a key is first used, of the type that is stored, within limits."""

import warnings
from dataclasses import replace

import pytest
from kinsplit_testing import DENSE, SCHEMA, TEXTS, make_chunks, make_store, save

from kinsplit.errors import InvalidParameterError, StoreError
from kinsplit.stores import open_store
from kinsplit.stores.engines.qdrant.payload import INDEXES
from kinsplit.stores.values import Query

pytest.importorskip("qdrant_client")
from tests.stores.qdrant_server import qdrant_server

pytestmark = pytest.mark.enable_socket

STRICT = {"enabled": True, "unindexed_filtering_retrieve": False, "unindexed_filtering_update": False}
DOCUMENTS = {
    "one": {"year": 2003, "share": 1, "day": "2003-05-31", "final": True, "kind": "notes", "a.b": "x"},
    "two": {"year": 2005, "share": 0.5, "day": "2005-05-31T12:00:00Z", "final": False, "kind": "slides"},
    "three": {
        "year": 2007,
        "tags": ["a", "b"],
        "author": {"name": "Ann"},
        "authors": [{"name": "Bo"}],
        "kind": "notes",
    },
}
FILTERS = [
    {"kind": "notes"},
    {"kind": ["notes", "nothing"]},
    {"kind": {"$ne": "notes"}},
    {"year": 2003},
    {"year": ["2003", 2003]},
    {"year": {"$gte": 2004, "$lt": 2007}},
    {"year": {"$between": [2003, 2005]}},
    {"share": 1},
    {"share": 0.5},
    {"share": {"$gt": 0.7}},
    {"day": {"$gte": "2004-01-01"}},
    {"day": "2003-05-31"},
    {"day": {"$lt": "2004-01-01"}},
    {"final": True},
    {"final": ["true", True]},
    {"final": {"$exists": False}},
    {"final": None},
    {"tags": "b"},
    {"author.name": "Ann"},
    {"authors[].name": "Bo"},
    {"a.b": "x"},
    {"$or": [{"kind": "slides"}, {"year": 2007}]},
    {"$not": {"kind": "notes", "year": {"$gt": 2004}}},
    {"kind": "notes", "year": "2003"},
    {"year": {"$gt": "2004-01-01"}},
    {"kind": {"$gt": 3}},
]


def fill(store):
    for name, metadata in DOCUMENTS.items():
        leaves = make_chunks(name, TEXTS[:3], **metadata)
        parents = make_chunks(name, [" ".join(TEXTS[:3])], level=1, **metadata)
        save(store, name, [*(replace(leaf, parent_id=parents[0].id) for leaf in leaves), *parents])


@pytest.fixture
def server(socket_enabled):
    with qdrant_server() as server:
        yield server


def opened(server, schema=SCHEMA):
    return make_store(f"qdrant:{server.url}", "cs", schema)


def made(server):
    own = {*INDEXES}
    sent = [(body["field_name"].replace('"', ""), body["field_schema"]) for body in server.sent("PUT", "/C/index")]
    return {key: kind if isinstance(kind, str) else kind["type"] for key, kind in sent if key not in own}


@pytest.mark.parametrize("level", [0, 1, None])
def test_a_server_that_requires_indexes_finds_what_memory_finds(server, level):
    server.refusals.strict = STRICT
    with opened(server) as store, open_store("memory:", "exact", SCHEMA) as exact:
        fill(store)
        fill(exact)
        for where in FILTERS:
            assert store.sources(level, where) == exact.sources(level, where), where
            assert store.count(level, where) == exact.count(level, where), where
            if level is not None:
                query = Query("dense", DENSE.embed_query("a"), 50, level, where)
                found, wanted = ({hit.chunk.id for hit in each.search([query])[0]} for each in (store, exact))
                assert found == wanted, where


def test_indexes_have_the_types_of_what_is_stored_and_are_made_once(server, monkeypatch):
    monkeypatch.setattr("kinsplit.stores.engines.qdrant.indexes._FEWEST_POINTS", 1)
    with opened(server) as store:
        fill(store)
        for _ in range(2):
            for where in FILTERS:
                store.count(0, where)
        assert made(server) == {
            "kind": "keyword",
            "year": "integer",
            "share": "float",
            "day": "datetime",
            "final": "bool",
            "tags": "keyword",
            "author.name": "keyword",
            "authors[].name": "keyword",
            "a.b": "keyword",
        }
        known = len(server.sent("PUT", "/C/index"))
    with opened(server) as again:
        again.count(0, {"kind": "notes"})
        again.count(1, {"kind": "notes"})
    assert made(server)["_above.kind"] == "keyword"
    assert len(server.sent("PUT", "/C/index")) == known + 1


def test_a_small_collection_gets_none_unless_they_are_required(server):
    with opened(server) as store:
        fill(store)
        assert store.count(0, {"kind": "notes"}) == 6
    assert made(server) == {}


def test_an_index_of_integers_gives_way_to_a_fraction(server, monkeypatch):
    monkeypatch.setattr("kinsplit.stores.engines.qdrant.indexes._FEWEST_POINTS", 1)
    with opened(server) as store:
        save(store, "one", make_chunks("one", TEXTS[:1], share=1))
        assert store.count(0, {"share": {"$lt": 2}}) == 1
        save(store, "two", make_chunks("two", TEXTS[:1], share=1.5))
        assert store.count(0, {"share": {"$lt": 2}}) == 2
    assert server.indexes("cs@1")["share"]["data_type"] == "float"


def test_at_most_32_and_never_more_than_the_collection_may_have(server, monkeypatch):
    monkeypatch.setattr("kinsplit.stores.engines.qdrant.indexes._FEWEST_POINTS", 1)
    keys = [f"key{number}" for number in range(40)]
    with opened(server) as store:
        save(store, "doc", make_chunks("doc", TEXTS[:1], **dict.fromkeys(keys, "x")))
        assert [store.count(0, {key: "x"}) for key in keys] == [1] * 40
    assert len(made(server)) == 32
    server.refusals.strict = {**STRICT, "max_payload_index_count": len(INDEXES) + 32}
    with opened(server) as store, pytest.raises(InvalidParameterError, match=r"key39.*has 42 already.*Delete one"):
        store.count(0, {"key39": "x"})


def test_a_key_that_no_point_has_keeps_no_index(server):
    server.refusals.strict = STRICT
    with opened(server) as store:
        fill(store)
        for _ in range(2):
            assert store.count(0, {"knid": "notes"}) == store.count(None, {"knid": {"$gt": 3}}) == 0
            assert store.count(0, {"knid": None}) == store.count(0, {"knid": {"$ne": "notes"}}) == 9
        asked = len(server.sent("PUT", "/C/index"))
        assert {*server.indexes("cs@1")} == {*INDEXES}
        assert store.search([Query("dense", DENSE.embed_query("a"), 5, 0, {"year": 1})]) == [[]]
        save(store, "four", make_chunks("four", TEXTS[:1], knid="notes"))
        assert store.count(0, {"knid": "notes"}) == 1
    assert asked == len(INDEXES) + 3


def test_a_collection_gets_only_as_many_of_its_own_as_it_may_have(server):
    server.refusals.strict = {**STRICT, "max_payload_index_count": 4}
    with opened(server) as store:
        save(store, "doc", make_chunks("doc", TEXTS))
        assert store.sources(0) == {"doc": len(TEXTS)}
    assert {*server.indexes("cs@1")} == {"source_id", "level", "_above.source_id", "_above.level"}


def test_a_key_without_the_right_gets_the_command_of_an_administrator(server):
    with opened(server) as store:
        fill(store)
    server.refusals.role, server.refusals.strict = "read", STRICT
    with opened(server, None) as store:
        assert store.count(0, {"source_id": "one"}) == 3
        with pytest.raises(StoreError) as caught:
            store.count(0, {"year": 2003})
    message = str(caught.value)
    assert "\n" not in message
    assert f"curl -X PUT '{server.url}/collections/cs@1/index?wait=true'" in message
    assert '"type": "integer"' in message
    server.refusals.role = "manage"
    with opened(server, None) as store:
        assert store.count(0, {"year": 2003}) == 3


def test_a_key_without_the_right_filters_without_an_index_where_none_is_required(server, monkeypatch):
    monkeypatch.setattr("kinsplit.stores.engines.qdrant.indexes._FEWEST_POINTS", 1)
    with opened(server) as store:
        fill(store)
    server.refusals.role = "read"
    with opened(server, None) as store, warnings.catch_warnings(action="error"):
        assert [store.count(0, {"kind": "notes"}) for _ in range(2)] == [6, 6]
    assert len([1 for method, path, _ in server.requests if path.endswith("/index") and method == "PUT"]) == 11


def test_values_of_several_types_can_not_be_indexed(server):
    server.refusals.strict = STRICT
    with opened(server) as store:
        save(store, "one", make_chunks("one", TEXTS[:1], mixed=1))
        save(store, "two", make_chunks("two", TEXTS[:1], mixed="1"))
        with pytest.raises(InvalidParameterError, match=r"where\['mixed'\].*one type.*integer, keyword"):
            store.count(0, {"mixed": 1})
