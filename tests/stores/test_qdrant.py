import json
import os
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from kinsplit.chunk import DOCUMENT
from kinsplit.errors import InvalidParameterError, StoreError
from kinsplit.stores import open_store
from kinsplit.stores.engines.qdrant.options import QdrantOptions, parse_location
from kinsplit.stores.engines.qdrant.store import QdrantStore
from kinsplit.stores.protocol import Query
from kinsplit.stores.testing import (
    COLLECTION,
    DENSE,
    SCHEMA,
    SPARSE,
    TEXTS,
    ChunkStoreContract,
    make_chunks,
    make_document,
    save,
)
from kinsplit.support.aio import run

pytest.importorskip("qdrant_client")

SERVER = os.environ.get("KINSPLIT_TEST_QDRANT_URL")


class TestQdrantFolder(ChunkStoreContract):
    exclusive = True

    @pytest.fixture
    def address(self, tmp_path: Path) -> str:
        return f"qdrant:{tmp_path / 'data'}"


class TestQdrantMemory(ChunkStoreContract):
    reach = "object"

    @pytest.fixture
    def address(self) -> str:
        return "qdrant::memory:"


@pytest.mark.skipif(SERVER is None, reason="KINSPLIT_TEST_QDRANT_URL names no server")
@pytest.mark.enable_socket
class TestQdrantServer(ChunkStoreContract):
    @pytest.fixture
    def address(self) -> Iterator[str]:
        """Address of the test server, without collections of earlier tests."""
        from qdrant_client import QdrantClient

        client = QdrantClient(SERVER, api_key=os.environ.get("KINSPLIT_QDRANT_API_KEY"))
        for when in ("before", "after"):
            for name in (COLLECTION, f"{COLLECTION}-second"):
                client.delete_collection(name)
            if when == "before":
                yield f"qdrant:{SERVER}"
        client.close()


class Recorder:
    def __init__(self, client):
        self.client, self.calls = client, []

    def __getattr__(self, name):
        self.calls.append(name)
        return getattr(self.client, name)


@pytest.fixture
def store():
    with open_store("qdrant::memory:", "cs", SCHEMA) as store:
        yield store


def record(store):
    store._store._client = Recorder(store._store._client)
    return store._store._client.calls


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


def test_the_schema_is_kept_with_the_collection(store):
    info = run(store._store._client.get_collection("cs"))
    assert info.config.metadata["kinsplit"]["fingerprint"] == "f1"
    assert set(info.config.params.vectors) == {"dense", "dense_parent"}
    assert set(info.config.params.sparse_vectors) == {"bm25", "bm25_parent", "bm25_document"}


def test_who_asks_for_the_vector_dense_finds_leaves_only(store):
    leaves = make_chunks("doc", TEXTS)
    family = [*leaves, *make_chunks("doc", [" ".join(TEXTS)], level=1), make_document(leaves, "Objects")]
    save(store, "doc", family)
    query = store._store._client.query_points("cs", DENSE.embed_query("class").tolist(), using="dense", limit=50)
    assert {point.id for point in run(query).points} == {leaf.id for leaf in leaves}


def test_a_collection_of_something_else_is_left_alone(tmp_path):
    from qdrant_client import QdrantClient, models

    client = QdrantClient(path=str(tmp_path))
    client.create_collection("mine", models.VectorParams(size=4, distance=models.Distance.DOT))
    client.close()
    with pytest.raises(StoreError, match="no schema of kinsplit"):
        open_store(f"qdrant:{tmp_path}", "mine", SCHEMA)
    client = QdrantClient(path=str(tmp_path))
    assert client.get_collection("mine").config.params.vectors.size == 4
    client.close()


def test_more_sources_than_a_page(store, monkeypatch):
    monkeypatch.setattr("kinsplit.stores.engines.qdrant.async_store._PAGE", 2)
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
        open_store(f"qdrant:http://localhost?{query}", "cs", SCHEMA)
    assert "secret" not in str(caught.value)


def test_a_key_in_the_address_is_refused_and_not_shown():
    with pytest.raises(InvalidParameterError, match="KINSPLIT_QDRANT_API_KEY") as caught:
        open_store("qdrant:http://secret@localhost:6333", "cs", SCHEMA)
    assert "secret" not in str(caught.value)


def test_a_new_collection_gets_the_options(monkeypatch):
    from qdrant_client import QdrantClient

    seen = {}
    create = QdrantClient.create_collection

    def spy(self, name, **settings):
        seen.update(settings)
        return create(self, name, **settings)

    monkeypatch.setattr(QdrantClient, "create_collection", spy)
    options = QdrantOptions(shard_number=2, replication_factor=2, quantization="scalar", on_disk=True)
    QdrantStore(":memory:", options, "cs", SCHEMA).close()
    assert (seen["shard_number"], seen["replication_factor"]) == (2, 2)
    assert seen["quantization_config"].scalar.always_ram is True
    assert seen["vectors_config"]["dense"].on_disk is True


@pytest.mark.enable_socket
def test_a_server_that_does_not_answer_is_one_line_without_the_key(monkeypatch):
    monkeypatch.setenv("KINSPLIT_QDRANT_API_KEY", "secret")
    with pytest.warns(UserWarning, match="insecure"), pytest.raises(StoreError) as caught:
        open_store("qdrant:http://127.0.0.1:9", "cs", SCHEMA)
    assert "http://127.0.0.1:9/cs" in str(caught.value)
    assert "\n" not in str(caught.value)
    assert "secret" not in str(caught.value)


@pytest.mark.enable_socket
def test_a_server_gets_the_key_as_a_header_and_the_options_with_the_collection(monkeypatch):
    requests = []

    class Server(BaseHTTPRequestHandler):
        def do_GET(self):
            body = self.rfile.read(int(self.headers.get("content-length", 0)))
            requests.append((self.command, self.path, self.headers.get("api-key"), json.loads(body or "{}")))
            result = {"/aliases": {"aliases": []}, "/collections/cs/exists": {"exists": False}}.get(self.path, True)
            answer = json.dumps({"result": result, "status": "ok", "time": 0}).encode()
            self.send_response(200 if len(requests) < 5 else 500)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def do_PUT(self):
            self.do_GET()

        def do_POST(self):
            self.do_GET()

        def log_message(self, *arguments):
            pass

    monkeypatch.setenv("KINSPLIT_QDRANT_API_KEY", "secret")
    with ThreadingHTTPServer(("127.0.0.1", 0), Server) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        address = (
            f"qdrant:http://127.0.0.1:{server.server_port}?shard_number=2&replication_factor=3&quantization=binary"
        )
        with pytest.warns(UserWarning, match="insecure"), pytest.raises(StoreError) as caught:
            open_store(address, "cs", SCHEMA)
        server.shutdown()
        thread.join()
    assert [(method, path, key) for method, path, key, _ in requests] == [
        ("GET", "/aliases", "secret"),
        ("GET", "/collections/cs/exists", "secret"),
        ("PUT", "/collections/cs%401", "secret"),
        ("POST", "/collections/aliases", "secret"),
        ("GET", "/collections/cs%401", "secret"),
    ]
    assert requests[3][3] == {"actions": [{"create_alias": {"collection_name": "cs@1", "alias_name": "cs"}}]}
    created = requests[2][3]
    assert (created["shard_number"], created["replication_factor"]) == (2, 3)
    assert created["quantization_config"] == {"binary": {"always_ram": True}}
    assert created["metadata"]["kinsplit"]["model"] == SCHEMA.model
    dense = {"size": SCHEMA.dimension, "distance": "Cosine"}
    assert created["vectors"] == {"dense": dense, "dense_parent": dense}
    assert created["sparse_vectors"]["bm25_parent"] == {"modifier": "idf"}
    assert "secret" not in str(caught.value)
