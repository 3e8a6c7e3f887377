"""Limits of Qdrant collections hold: sizes of requests, rates, exactness, and writes that fail and are sent again."""

import pytest
from kinsplit_testing import SCHEMA, SPARSE, TEXTS, make_chunks, make_store, save

from kinsplit.errors import StoreError
from kinsplit.stores.maintenance.doctor import examine
from kinsplit.stores.values import Query

pytest.importorskip("qdrant_client")
from kinsplit.stores.engines.qdrant.limits import PATIENCE, RateWarning
from tests.stores.qdrant_grpc import qdrant_grpc
from tests.stores.qdrant_refusals import RefusalError
from tests.stores.qdrant_server import qdrant_server

pytestmark = pytest.mark.enable_socket

MODES = {
    "pages": {"max_query_limit": 20},
    "batches": {"search_max_batchsize": 1},
    "points": {"upsert_max_batchsize": 3},
    "inexact": {"search_allow_exact": False},
    "filters": {"unindexed_filtering_retrieve": False, "unindexed_filtering_update": False},
    "few indexes": {"unindexed_filtering_retrieve": False, "max_payload_index_count": 24},
    "values": {"condition_max_size": 2},
    "rates": {"read_rate_limit": 60, "write_rate_limit": 20},
}


@pytest.fixture
def server(socket_enabled):
    with qdrant_server() as server:
        yield server


@pytest.fixture
def clock(server, monkeypatch):
    """The time of the server and of the waits, in seconds; a list of the waits."""
    waits = []
    server.refusals.now = lambda: float(sum(waits))
    monkeypatch.setattr("kinsplit.stores.engines.qdrant.limits.time.sleep", waits.append)
    return waits


def opened(server, options="", schema=SCHEMA):
    return make_store(f"qdrant:{server.url}{options}", "cs", schema)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.filterwarnings("ignore::kinsplit.stores.engines.qdrant.limits.RateWarning")
def test_every_operation_works_within_the_limits(server, clock, mode):
    server.refusals.strict = {"enabled": True, **MODES[mode]}
    assert [check.problem for check in examine(f"qdrant:{server.url}")] == [None] * 17


@pytest.mark.filterwarnings("ignore::kinsplit.stores.engines.qdrant.limits.RateWarning")
def test_every_operation_works_within_all_limits_over_grpc(server, clock):
    server.refusals.strict = {"enabled": True, **{key: limit for mode in MODES.values() for key, limit in mode.items()}}
    with qdrant_grpc(server) as port:
        checks = list(examine(f"qdrant:http://127.0.0.1:9?grpc=true&grpc_port={port}"))
    assert [check.problem for check in checks] == [None] * 17


def test_strict_mode_that_is_off_limits_nothing(server):
    server.refusals.strict = {"enabled": False, "max_query_limit": 2}
    with opened(server) as store:
        save(store, "doc", make_chunks("doc", TEXTS))
        assert store._limits.page == 10_000


def test_counts_are_exact_where_the_server_only_estimates(server):
    server.refusals.strict = {"enabled": True, "search_allow_exact": False, "max_query_limit": 2}
    with opened(server) as store:
        with store.first_load():
            save(store, "one", make_chunks("one", TEXTS))
        save(store, "two", make_chunks("two", TEXTS[:2]))
        assert (store.count(), store.count(0, {"source_id": "two"})) == (len(TEXTS) + 2, 2)
        assert store.sources(0) == {"one": len(TEXTS), "two": 2}
        assert store.delete("two") == 2
    assert not server.sent("PATCH", "/C"), "searches without a graph are refused"


def test_a_rate_is_waited_for_as_the_server_says_and_long_waits_are_told(server, clock):
    server.refusals.strict = {"enabled": True, "write_rate_limit": 11}
    with opened(server) as store:
        clock.clear()
        with pytest.warns(RateWarning, match=f"waiting for the rate limit of the server, up to {PATIENCE} seconds"):
            [save(store, name, make_chunks(name, TEXTS)) for name in "abc"]
        assert store.sources() == dict.fromkeys("abc", len(TEXTS))
    # As long as that many operations take, and some that were sent twice.
    assert 45 <= sum(clock) <= 200


@pytest.mark.filterwarnings("ignore::kinsplit.stores.engines.qdrant.limits.RateWarning")
def test_a_request_that_is_larger_than_the_rate_is_split(server, clock):
    server.refusals.strict = {"enabled": True, "read_rate_limit": 1000}
    with opened(server) as store:
        save(store, "doc", make_chunks("doc", TEXTS))
        server.refusals.strict["read_rate_limit"] = 3  # unknown to the store
        server.refusals._buckets.clear()
        queries = [Query("bm25", SPARSE.embed_query(word), 3) for word in ("class", "loop", "sorting", "recursion")]
        assert [len(hits) for hits in store.search(queries)] == [2, 1, 1, 1]
    sizes = [len(body["searches"]) for body in server.sent("POST", "/C/points/query/batch")]
    assert (sizes[:3], max(sizes[1:]), sum(clock) > 0) == ([4, 2, 2], 2, True)


def test_a_rate_that_leaves_no_room_is_an_error_in_the_end(server, clock, monkeypatch):
    with opened(server) as store:
        refusal = RefusalError(429, "Rate limiting exceeded: ... Retry after 50s", retry_after="50")
        server.refusals.failures = [refusal] * 99
        chunks = make_chunks("doc", TEXTS[:1])
        with pytest.warns(RateWarning), pytest.raises(StoreError, match="leaves no room after 300 seconds"):
            save(store, "doc", chunks)
    assert sum(clock) == PATIENCE


def test_a_write_that_fails_is_sent_again(server, clock):
    with opened(server) as store:
        server.refusals.failures = [RefusalError(500, "Service internal error: election")] * 3
        save(store, "doc", make_chunks("doc", TEXTS))
        assert clock == [1, 2, 4]
        server.refusals.failures = [RefusalError(500, "Service internal error: election")] * 4
        with pytest.raises(StoreError, match="election"):
            save(store, "other", make_chunks("other", TEXTS))
        server.refusals.failures = [RefusalError(400, "Wrong input")]
        with pytest.raises(StoreError, match="Wrong input"):
            save(store, "other", make_chunks("other", TEXTS))
        assert store.sources() == {"doc": len(TEXTS)}


def test_a_large_document_is_written_in_requests_that_the_server_accepts(server):
    server.refusals.most_bytes = 1_100_000
    texts = [f"{number} " + "word " * 20_000 for number in range(30)]
    with opened(server, "?request_mb=1") as store:
        save(store, "large", make_chunks("large", texts))
        assert store.count() == 30
    assert len(server.sent("POST", "/C/points/batch")) > 4
    with opened(server) as store, pytest.raises(StoreError, match="Give the address a lower request_mb"):
        save(store, "again", make_chunks("again", texts))


def test_a_chunk_that_is_larger_than_a_request_names_its_document(server):
    with opened(server, "?request_mb=1") as store:
        chunks = make_chunks("notes/large.md", ["word " * 200_000])
        with pytest.raises(StoreError, match=r"notes/large.md: chunk 0 of level 0 takes 2.* request_mb"):
            save(store, "notes/large.md", chunks)
        assert store.count() == 0
    assert server.sent("POST", "/C/points/batch") == []
