import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from kinsplit_testing import (
    COLLECTION,
    DENSE,
    SCHEMA,
    SPARSE,
    TEXTS,
    ChunkStoreContract,
    make_chunks,
    make_document,
    make_store,
    save,
)
from pydantic_core import to_json
from qdrant_client import models

from kinsplit.chunk import DOCUMENT
from kinsplit.errors import InvalidParameterError, StoreError
from kinsplit.stores import open_catalog, open_store
from kinsplit.stores.engines.qdrant.collection import postpone_graph
from kinsplit.stores.engines.qdrant.limits import PAGE
from kinsplit.stores.engines.qdrant.options import QdrantOptions, parse_location
from kinsplit.stores.values import Query

pytest.importorskip("qdrant_client")

from tests.cli.conftest import run_command
from tests.stores.qdrant_grpc import qdrant_grpc
from tests.stores.qdrant_server import BODIES, parsed, qdrant_server

SERVER = os.environ.get("KINSPLIT_TEST_QDRANT_URL")


class TestQdrantFolder(ChunkStoreContract):
    exclusive = True

    @pytest.fixture
    def address(self, tmp_path: Path) -> str:
        return f"qdrant:{tmp_path / 'data'}"


@pytest.mark.enable_socket
class TestQdrantServer(ChunkStoreContract):
    """The contract against a real server, if KINSPLIT_TEST_QDRANT_URL names one, or else one that checks requests."""

    @pytest.fixture
    def address(self) -> Iterator[str]:
        """Address of the server, without collections of earlier tests."""
        if SERVER is None:
            with qdrant_server() as server:
                yield f"qdrant:{server.url}"
            return
        address = f"qdrant:{SERVER}"
        for when in ("before", "after"):
            with open_catalog(address) as catalog:
                for name in {COLLECTION, f"{COLLECTION}-second", "new"} & {info.name for info in catalog.collections()}:
                    catalog.drop(name)
            if when == "before":
                yield address


@pytest.mark.enable_socket
class TestQdrantServerOverGrpc(ChunkStoreContract):
    @pytest.fixture
    def address(self) -> Iterator[str]:
        with qdrant_server() as server, qdrant_grpc(server) as port:
            yield f"qdrant:{server.url}?grpc=true&grpc_port={port}"


@pytest.mark.enable_socket
class TestQdrantServerInStrictMode(ChunkStoreContract):
    """The contract against a server that limits everything it can, but for rates."""

    @pytest.fixture
    def address(self) -> Iterator[str]:
        strict = {"max_query_limit": 200, "search_max_batchsize": 2, "search_allow_exact": False}
        needed = {"unindexed_filtering_retrieve": False, "unindexed_filtering_update": False}
        with qdrant_server() as server:
            server.refusals.strict = {"enabled": True, **strict, **needed}
            yield f"qdrant:{server.url}"

    @pytest.fixture(autouse=True)
    def one_type(self, request):
        """A key has one index, so that filters by values of several types under one key are refused."""
        if request.node.name in ("test_ranges_exceptions_and_what_joins_them", "test_values_of_every_kind"):
            request.node.add_marker(pytest.mark.xfail(raises=InvalidParameterError, strict=True))


def test_a_folder_that_is_not_there_is_made_by_the_first_write(tmp_path):
    address = f"qdrant:{tmp_path / 'data'}"
    with open_store(address, "cs", SCHEMA) as store, open_catalog(address) as catalog:
        assert (store.count(), catalog.collections()) == (0, [])
        assert list(tmp_path.iterdir()) == []
        save(store, "doc", make_chunks("doc", TEXTS))
    with open_store(address, "cs") as store:
        assert store.count() == len(TEXTS)


class Recorder:
    def __init__(self, client):
        self.client, self.calls = client, []

    def __getattr__(self, name):
        self.calls.append(name)
        return getattr(self.client, name)


@pytest.fixture
def store():
    with make_store("qdrant::memory:", "cs", SCHEMA) as store:
        yield store


def record(store):
    store._client = Recorder(store._client)
    return store._client.calls


def test_search_get_known_sources_and_delete_are_the_fewest_calls(store):
    chunks = make_chunks("doc", TEXTS)
    save(store, "doc", chunks)
    calls = record(store)
    store.search(
        [
            Query("dense", DENSE.embed_query("a"), 3),
            Query("dense", DENSE.embed_query("a"), 3, 1, {"subject": "cs"}),
            Query("bm25", SPARSE.embed_query("class"), 3, DOCUMENT, {"source_id": "doc"}),
        ]
    )
    store.get([chunk.id for chunk in chunks])
    store.vectors([chunk.id for chunk in chunks])
    store.find({"source_id": "doc"})
    store.known("doc")
    store.sources(0)
    store.delete("doc")
    assert calls == ["query_batch_points", "retrieve", "retrieve", "scroll", "scroll", "facet", "count", "delete"]


def test_a_sync_writes_in_one_call_new_before_old(store):
    save(store, "doc", make_chunks("doc", TEXTS))
    calls = record(store)
    save(store, "doc", make_chunks("doc", ["Something else.", TEXTS[0]]))
    assert calls.count("batch_update_points") == 1
    assert calls[-1] == "batch_update_points"


def test_a_large_sync_is_written_in_requests_that_a_server_accepts(store, monkeypatch):
    store._options = store._options.model_copy(update={"request_mb": 0.01})
    monkeypatch.setattr("kinsplit.stores.engines.qdrant.points._DELETES", 2)
    sent = []
    write = store._client.batch_update_points

    def parts(operation):
        points = operation.upsert.points if isinstance(operation, models.UpsertOperation) else [operation]
        return [to_json(each, exclude_none=True) for each in points]

    def record(collection, operations, **options):
        sent.append([json for each in operations for json in parts(each)])
        return write(collection, operations, **options)

    monkeypatch.setattr(store._client, "batch_update_points", record, raising=False)
    chunks = make_chunks("doc", [*TEXTS, *(f"{text} Again." for text in TEXTS)])
    save(store, "doc", chunks)
    assert [chunk for chunk, _ in store.export("doc")] == chunks
    sizes = [sum(map(len, operations)) for operations in sent]
    assert sum(map(len, sent)) == len(chunks)
    assert 1 < len(sent) < len(chunks)
    assert max(sizes) <= 10_000
    sent.clear()
    assert store.remove([chunk.id for chunk in chunks[:5]]) == 5
    assert [len(operations) for operations in sent] == [3]


def test_the_schema_is_kept_with_the_collection(store):
    info = store._client.get_collection("cs")
    assert info.config.metadata["kinsplit"]["fingerprint"] == "f1"
    assert set(info.config.params.vectors) == {"dense", "dense_parent"}
    assert set(info.config.params.sparse_vectors) == {"bm25", "bm25_parent", "bm25_document"}


def test_who_asks_for_the_vector_dense_finds_leaves_only(store):
    leaves = make_chunks("doc", TEXTS)
    family = [*leaves, *make_chunks("doc", [" ".join(TEXTS)], level=1), make_document(leaves, "Objects")]
    save(store, "doc", family)
    query = store._client.query_points("cs", DENSE.embed_query("class").tolist(), using="dense", limit=50)
    assert {point.id for point in query.points} == {leaf.id for leaf in leaves}


@pytest.mark.parametrize("page", [2, PAGE])
def test_more_sources_than_a_page(store, monkeypatch, page):
    store._limits = replace(store._limits, page=2)
    monkeypatch.setattr("kinsplit.stores.engines.qdrant.store.PAGE", min(page, 2))
    for name in "abcde":
        save(store, name, make_chunks(name, TEXTS))
    assert store.sources() == dict.fromkeys("abcde", 5)
    assert len(store.known("a")) == 5


def test_options_are_read_from_the_address():
    place, options = parse_location("https://host:6333/prefix?shard_number=2&replication_factor=3&quantization=scalar")
    assert place == "https://host:6333/prefix"
    assert options == QdrantOptions(shard_number=2, replication_factor=3, quantization="scalar")
    assert parse_location("./folder?x") == ("./folder?x", QdrantOptions())


@pytest.mark.parametrize(
    ("query", "name"), [("shard_number=0", "shard_number"), ("api_key=secret", "api_key"), ("quantization=x", "quant")]
)
def test_a_wrong_option_is_named_and_no_key_is_shown(query, name):
    with pytest.raises(InvalidParameterError, match=name) as caught:
        make_store(f"qdrant:http://localhost?{query}", "cs", SCHEMA)
    assert "secret" not in str(caught.value)


def test_a_key_in_the_address_is_refused_and_not_shown():
    with pytest.raises(InvalidParameterError, match="KINSPLIT_QDRANT_API_KEY") as caught:
        make_store("qdrant:http://secret@localhost:6333", "cs", SCHEMA)
    assert "secret" not in str(caught.value)


@pytest.fixture
def server(socket_enabled):
    with qdrant_server() as server:
        yield server


def opened(server, options="", schema=SCHEMA):
    return make_store(f"qdrant:{server.url}{options}", "cs", schema)


def refused(server, options="", schema=SCHEMA):
    with pytest.raises((StoreError, InvalidParameterError)) as caught:
        opened(server, options, schema)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_a_new_collection_gets_the_options(server):
    opened(
        server,
        "?shard_number=6&replication_factor=3&write_consistency_factor=2&on_disk=true&on_disk_payload=true"
        "&quantization=scalar&hnsw_m=32&hnsw_ef_construct=200&hnsw_on_disk=true&indexing_threshold=50000&tenant=subject",
    ).close()
    (created,) = server.sent("PUT", "/C")
    assert created.pop("metadata")["kinsplit"]["model"] == SCHEMA.model
    assert created.pop("sparse_vectors")["bm25_parent"] == {"modifier": "idf"}
    dense = {"size": SCHEMA.dimension, "distance": "Cosine", "on_disk": True}
    assert created == {
        "vectors": {"dense": dense, "dense_parent": dense},
        "shard_number": 6,
        "replication_factor": 3,
        "write_consistency_factor": 2,
        "on_disk_payload": True,
        "quantization_config": {"scalar": {"type": "int8", "always_ram": True}},
        "hnsw_config": {"m": 32, "ef_construct": 200, "on_disk": True},
        "optimizers_config": {"indexing_threshold": 50000},
    }
    indexes = {body["field_name"]: body["field_schema"] for body in server.sent("PUT", "/C/index")}
    assert indexes["subject"] == indexes["_above.subject"] == {"type": "keyword", "is_tenant": True}
    assert indexes["source_id"] == "keyword"


def test_a_search_gets_the_options(server):
    with opened(server, "?quantization=binary&hnsw_ef=256&oversampling=3") as store:
        save(store, "doc", make_chunks("doc", TEXTS))
        store.search([Query("dense", DENSE.embed_query("a"), 3), Query("bm25", SPARSE.embed_query("class"), 3)])
    ((dense, terms),) = (body["searches"] for body in server.sent("POST", "/C/points/query/batch"))
    assert dense["params"] == {"hnsw_ef": 256, "quantization": {"rescore": True, "oversampling": 3.0}}
    assert "params" not in terms
    assert server.sent("PUT", "/C")[0]["quantization_config"] == {"binary": {"always_ram": True}}


QUERIES = [Query("dense", DENSE.embed_query("a"), 3), Query("bm25", SPARSE.embed_query("class"), 3)]


def entry_reads(server):
    return [len(body["ids"]) for body in server.sent("POST", "/C/points")]


def payloads_asked(server):
    return [each["with_payload"] for body in server.sent("POST", "/C/points/query/batch") for each in body["searches"]]


def ids(rankings):
    return [[entry.id for entry, _ in ranking] for ranking in rankings]


def test_requests_share_a_connection(server):
    with opened(server) as store:
        for _ in range(3):
            store.count()

    assert len(server.connections) == 1


@pytest.mark.parametrize("grpc", [False, True])
def test_a_ranking_reads_of_each_point_once_until_it_is_written(server, monkeypatch, grpc):
    with qdrant_grpc(server) as port, opened(server) as writer:
        save(writer, "doc", make_chunks("doc", TEXTS))
        with opened(server, f"?grpc=true&grpc_port={port}" if grpc else "") as store:
            first = store.rank(QUERIES)
            assert ids(store.rank(QUERIES)) == ids(first)
            (read,) = entry_reads(server)
            assert read == len({entry.id for ranking in first for entry, _ in ranking})
            assert not any(payloads_asked(server))
            save(writer, "doc", make_chunks("doc", TEXTS, title="Other"))
            assert {entry.title for ranking in store.rank(QUERIES) for entry, _ in ranking} == {"Other"}
            assert entry_reads(server) == [read, read]
            monkeypatch.setattr("kinsplit.stores.engines.qdrant.calls.time.monotonic", lambda: 1e9)
            assert {entry.title for ranking in store.rank(QUERIES) for entry, _ in ranking} == {"Other"}
            assert entry_reads(server) == [read] * 3
            writer.delete("doc")
            assert store.rank(QUERIES) == [[], []]


@pytest.mark.parametrize("place", ["replicas", "rate"])
def test_a_ranking_brings_its_keys_where_versions_differ_or_each_read_counts(server, place):
    if place == "rate":
        server.refusals.strict = {"enabled": True, "read_rate_limit": 900}
    with opened(server, "?replication_factor=2" if place == "replicas" else "") as store:
        save(store, "doc", make_chunks("doc", TEXTS))
        server.requests.clear()
        assert ids(store.rank(QUERIES)) == ids(store.rank(QUERIES))
    assert entry_reads(server) == []
    assert all(payloads_asked(server))


def test_options_that_an_existing_collection_does_not_have_are_refused(server):
    opened(server, "?shard_number=2&quantization=scalar").close()
    for same in ("", "?shard_number=2", "?quantization=scalar&hnsw_ef=9"):
        opened(server, same).close()
    for other, name, there in (
        ("?shard_number=3", "shard_number", "2"),
        ("?quantization=none", "quantization", "'scalar'"),
        ("?hnsw_m=8", "hnsw_m", "16"),
        ("?on_disk=true", "on_disk", "False"),
    ):
        assert f"store option '{name}': is {there} in {server.url}/cs" in refused(server, other)


def test_a_collection_gets_a_tenant_later_but_no_second_one(server):
    opened(server).close()
    opened(server, "?tenant=subject").close()
    assert server.sent("PUT", "/C/index")[-1]["field_schema"] == {"type": "keyword", "is_tenant": True}
    indexes = len(server.sent("PUT", "/C/index"))
    opened(server).close()
    opened(server, "?tenant=subject").close()
    assert len(server.sent("PUT", "/C/index")) == indexes
    assert "is 'subject'" in refused(server, "?tenant=author")


def test_the_graph_is_postponed_during_a_first_load_only(server):
    with opened(server, "?hnsw_m=24") as store:
        with store.first_load():
            assert server.sent("PATCH", "/C")[-1]["hnsw_config"] == {"m": 0}
            opened(server, "?hnsw_m=24").close()
            assert len(server.sent("PATCH", "/C")) == 1
            save(store, "doc", make_chunks("doc", TEXTS))
        assert server.sent("PATCH", "/C")[-1]["hnsw_config"] == {"m": 24}
        with store.first_load():
            pass
    assert len(server.sent("PATCH", "/C")) == 2


def test_a_first_load_that_died_is_ended_by_the_next_one_or_by_an_opening_an_hour_later(server, monkeypatch):
    with opened(server) as store:
        for _ in range(2):
            postpone_graph(store._client, store._collection)
            save(store, "doc", make_chunks("doc", TEXTS))
        assert [body["hnsw_config"]["m"] for body in server.sent("PATCH", "/C")] == [0, 0]
        monkeypatch.setattr("kinsplit.stores.engines.qdrant.collection.time.time", lambda: 4e9)
        opened(server).close()
        opened(server).close()
    assert [body["hnsw_config"]["m"] for body in server.sent("PATCH", "/C")] == [0, 0, 16]


def test_an_unfinished_collection_and_one_that_may_not_be_read_hide_no_other(server):
    for name in ("good", "half", "secret"):
        with make_store(f"qdrant:{server.url}", name, SCHEMA) as store:
            save(store, "doc", make_chunks("doc", TEXTS))
    server.indexes("half@1").clear()
    server.refusals.bound = frozenset({"good@1", "half@1"})
    with open_catalog(f"qdrant:{server.url}") as catalog:
        good, half, secret = catalog.collections()
        assert (good.name, good.documents, good.chunks, good.problem) == ("good", 1, len(TEXTS), None)
        assert (half.name, half.schema, half.chunks) == ("half", SCHEMA, None)
        assert "was not finished when it was made. Index into it again, which finishes it, or drop it" in half.problem
        assert (secret.name, secret.schema) == ("secret", None)
        assert "Access to collection secret@1 is required" in secret.problem
        with make_store(f"qdrant:{server.url}", "half", SCHEMA) as store:
            assert store.sources() == {"doc": len(TEXTS)}
        assert [each.problem is None for each in catalog.collections()] == [True, True, False]
        server.indexes("half@1").clear()
        catalog.drop("good")
        catalog.drop("half")
        assert [each.name for each in catalog.collections()] == ["secret"]


def test_the_command_lists_a_collection_with_its_problem(server):
    with make_store(f"qdrant:{server.url}", "half", SCHEMA) as store:
        save(store, "doc", make_chunks("doc", TEXTS))
    server.indexes("half@1").clear()
    shown = run_command("collections", "--store", f"qdrant:{server.url}")
    assert "was not finished when it was made" in " ".join(shown.stdout.split())
    assert shown.stdout.splitlines()[-1] == "1 collection."
    assert run_command("drop", "half", "--yes", "--store", f"qdrant:{server.url}").exit_code == 0


def test_a_wrong_key_is_one_line_that_names_the_variable(server, monkeypatch):
    server.key = "right"
    assert "KINSPLIT_QDRANT_API_KEY" in refused(server)
    monkeypatch.setenv("KINSPLIT_QDRANT_API_KEY", "wrong")
    message = refused(server)
    assert "refuses access" in message
    assert "wrong" not in message
    monkeypatch.setenv("KINSPLIT_QDRANT_API_KEY", "right")
    with opened(server) as store:
        save(store, "doc", make_chunks("doc", TEXTS))
        assert [len(ranking) for ranking in store.rank(QUERIES)] == [3, 2]


def test_an_old_server_and_something_else_are_refused_before_anything_is_made(server, hostile):
    server.version = "1.15.5"
    assert "runs Qdrant 1.15.5; kinsplit needs 1.16 or newer" in refused(server)
    assert [path for _, path, _ in server.requests] == ["/"]
    hostile.head = b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello"
    assert "not that of a Qdrant server" in refused(hostile)
    hostile.head = b"HTTP/1.1 404 Not Found\r\ncontent-length: 5\r\n\r\nhello"
    assert "not that of a Qdrant server" in refused(hostile)


@pytest.mark.enable_socket
def test_a_server_that_does_not_answer_is_one_line_without_the_key(monkeypatch):
    monkeypatch.setenv("KINSPLIT_QDRANT_API_KEY", "secret")
    for options in ("", "?grpc=true&grpc_port=9&timeout=5"):
        with pytest.raises(StoreError) as caught:
            make_store(f"qdrant:http://127.0.0.1:9{options}", "cs", SCHEMA)
        assert "http://127.0.0.1:9/cs: no server answers: " in str(caught.value)
        assert "\n" not in str(caught.value)
        assert "secret" not in str(caught.value)


def test_a_request_that_no_model_allows_is_noticed():
    body = {"vectors": {"dense": {"size": 3, "distance": "Cosine"}}, "shard_number": 2}
    parsed(BODIES["PUT", "/C"], body)
    for wrong in (
        {**body, "shards": 2},
        {**body, "shard_number": "2"},
        {"vectors": {"dense": {"size": 3, "distance": "Cosine", "ondisk": True}}},
    ):
        with pytest.raises((ValueError, AssertionError)):
            parsed(BODIES["PUT", "/C"], wrong)
