"""Replicas of a Qdrant collection that part while a node is down: running the same again makes them equal."""

from itertools import count

import pytest
from kinsplit_testing import DENSE, SCHEMA, TEXTS, embed, make_chunks, make_store, save

from kinsplit import Document, Index
from kinsplit.backup import back_up
from kinsplit.errors import StoreError
from kinsplit.stores import open_store
from kinsplit.stores.maintenance import copy, verify
from kinsplit.stores.store import agreed
from kinsplit.stores.values import Query

pytest.importorskip("qdrant_client")
from tests.stores.qdrant_server import qdrant_server

pytestmark = pytest.mark.enable_socket

TWO = "?replication_factor=2&write_consistency_factor=2"


@pytest.fixture
def server(socket_enabled, monkeypatch):
    monkeypatch.setattr("kinsplit.stores.engines.qdrant.limits.time.sleep", lambda _: None)
    with qdrant_server() as server:
        yield server


def replicas(server, collection):
    """Return the ids, texts and levels that each replica holds."""
    for client in (server.client, server.second):
        points, _ = client.scroll(collection, limit=1000)
        yield {point.id: (point.payload.get("_above") or point.payload)["full_content"] for point in points}


def are_equal(server, collection="cs@1"):
    first, second = replicas(server, collection)
    return first == second


def test_a_node_that_is_down_is_named_with_the_remedy_and_the_next_run_heals(server):
    address = f"qdrant:{server.url}{TWO}"
    old, new = [Document(f"{n}", f"Lark {n} sings. " * 90) for n in range(3)], Document("1", "Owls hunt. " * 20)
    with Index(address, collection="cs", embedder="hash") as index:
        index.add(old)
        server.refusals.is_down = True
        with pytest.raises(StoreError, match=r"a node of the cluster .* is down: .*Start it again and repeat"):
            index.add(new)
        server.refusals.is_down = False
        assert not are_equal(server)
        assert index.search("lark"), "searches ask one replica"
        report = index.add(new)
        assert (report.unchanged, are_equal(server)) == (0, True)
        assert index.add([*old[:1], new, *old[2:]]).updated == 0
        assert verify(index.store) == []


def test_chunks_that_only_one_replica_still_has_are_deleted(server):
    chunks = make_chunks("doc", TEXTS)
    with make_store(f"qdrant:{server.url}{TWO}", "cs", SCHEMA) as store:
        for again in (
            lambda: save(store, "doc", make_chunks("doc", TEXTS[:2])),
            lambda: store.remove([chunk.id for chunk in chunks[3:]]),
            lambda: store.delete("doc"),
            lambda: store.sync("doc", [], {}),
        ):
            save(store, "doc", chunks)
            assert are_equal(server)
            server.refusals.is_down = True
            with pytest.raises(StoreError, match="is down"):
                again()
            server.refusals.is_down = False
            assert not are_equal(server)
            again()
            assert are_equal(server)


def test_what_depends_on_a_read_sees_what_all_replicas_have(server, tmp_path):
    with make_store(f"qdrant:{server.url}{TWO}", "cs", SCHEMA) as store:
        save(store, "doc", make_chunks("doc", TEXTS))
        server.refusals.is_down = True
        with pytest.raises(StoreError):
            save(store, "doc", make_chunks("doc", [*TEXTS[:4], "Something else."]))
        server.refusals.is_down = False
        problems = [verify(store) for _ in range(4)]
        assert problems[0]
        assert problems == [problems[0]] * 4, "the same from every node"
        with open_store("memory:", "cs", SCHEMA) as target:
            copy(store, target)
            assert target.count() == 4
        assert back_up(store, "cs", tmp_path / "cs.parquet").chunks == 4
        server.consistencies.clear()
        store.get([chunk.id for chunk in make_chunks("doc", TEXTS)])
        store.search([Query("dense", DENSE.embed_query("a"), 3)])
        store.find({})
        assert server.consistencies == [None] * 3, "searches go on while a node is down"


def test_points_that_differ_don_t_end_the_pages(server):
    with make_store(f"qdrant:{server.url}{TWO}", "cs", SCHEMA) as store:
        numbers = count()
        for name in range(5):
            texts = [f"Text {next(numbers)}" for _ in range(6)]
            store.sync(f"{name}", made := make_chunks(f"{name}", texts), embed(made))
        (first, *_), _ = server.second.scroll("cs@1", limit=9)
        server.second.delete("cs@1", [first.id])
        object.__setattr__(store._limits, "page", 4)
        assert sum(len(store.known(f"{name}")) for name in range(5)) == 29
        with agreed():
            assert (store.count(), sum(store.sources().values())) == (29, 29)


def test_searches_ask_as_many_copies_as_the_option_says(server):
    with make_store(f"qdrant:{server.url}{TWO}&read_consistency=all", "cs", SCHEMA) as store:
        save(store, "doc", make_chunks("doc", TEXTS))
        server.consistencies.clear()
        assert store.search([Query("dense", DENSE.embed_query("a"), 3)])[0]
        assert server.consistencies == [["all"]]


def test_a_collection_without_copies_asks_for_nothing(server):
    with make_store(f"qdrant:{server.url}", "cs", SCHEMA) as store:
        save(store, "doc", make_chunks("doc", TEXTS))
        assert verify(store)
    assert {*map(str, server.consistencies)} == {"None"}
    assert server.sent("POST", "/C/points/delete") == []
