"""The examination of a store, and its command."""

import json
import os

import pytest

from kinsplit.errors import StoreError
from kinsplit.stores import open_catalog
from kinsplit.stores.maintenance.doctor import examine
from kinsplit.stores.store import ChunkStore
from tests.cli.conftest import Cli, run_command
from tests.stores.engines import ENGINES, address_of


@pytest.fixture
def cli() -> Cli:
    return run_command


def names_at(address):
    with open_catalog(address) as catalog:
        return [info.name for info in catalog.collections()]


@pytest.mark.parametrize("engine", ENGINES)
def test_every_operation_of_an_engine_works_and_nothing_is_left(engine, request):
    address = f"memory:{request.node.name}" if engine == "memory" else address_of(engine, request, "examined")
    checks = list(examine(address))
    assert [check.problem for check in checks] == [None] * 17
    assert names_at(address) == []


@pytest.mark.enable_socket
def test_every_request_to_a_server_is_one_that_it_accepts():
    pytest.importorskip("qdrant_client")
    from tests.stores.qdrant_server import qdrant_server

    with qdrant_server() as server:
        address = f"qdrant:{server.url}?tenant=subject&quantization=scalar&shard_number=3&hnsw_ef=64"
        assert [check.problem for check in examine(address)] == [None] * 17
        assert server.client.get_collections().collections == []


def test_a_partitioned_postgres_with_short_vectors_works(postgres):
    options = "&halfvec=true&partition_by=subject&partitions=3&maintenance_work_mem=64MB"
    assert [check.problem for check in examine(f"{postgres}{options}")] == [None] * 17


def test_a_private_store_has_no_outside():
    assert [check.problem for check in examine("memory:")] == [None] * 13


def test_an_operation_that_fails_is_named_and_the_others_are_tried(monkeypatch):
    def fail(self, ids):
        raise StoreError("no disk")

    monkeypatch.setattr(ChunkStore, "get", fail)
    checks = list(examine("memory:failing"))
    assert {check.name: check.problem for check in checks if check.problem} == {"read kin": "no disk"}
    assert len(checks) == 17


def test_an_examination_that_is_broken_off_leaves_nothing(tmp_path):
    address = f"edge:{tmp_path}"
    examination = examine(address)
    assert next(examination).name == "create a collection"
    assert len(names_at(address)) == 1
    examination.close()
    assert names_at(address) == []


def test_the_command_prints_a_line_for_each_check_and_fails_with_one(cli, monkeypatch):
    done = cli("doctor", "--store", "memory:")
    lines = done.stdout.splitlines()
    assert (done.exit_code, len(lines)) == (0, 14)
    assert lines[1].endswith(" ms  write documents: works")
    assert lines[-1] == "13 operations: all work."

    def fail(self, ids):
        raise StoreError("no disk")

    monkeypatch.setattr(ChunkStore, "get", fail)
    done = cli("doctor", "--store", "memory:")
    assert done.exit_code == 1
    assert "read kin: no disk" in done.stdout
    assert done.stdout.splitlines()[-1] == "13 operations: 1 problem."
    done = cli("doctor", "--store", "memory:", "--json")
    assert done.exit_code == 1
    failed = [check for check in json.loads(done.stdout)["checks"] if not check["works"]]
    assert [(check["name"], check["problem"]) for check in failed] == [("read kin", "no disk")]


def test_a_server_that_does_not_answer_is_one_error(cli, tmp_path):
    done = cli("doctor", "--store", f"pgvector:postgresql:///db?host={tmp_path}")
    assert done.exit_code == 2
    assert done.stdout == ""
    assert str(tmp_path) in done.stderr
    assert len(done.stderr.strip().split(os.linesep)) == 1


@pytest.mark.parametrize("engine", ["qdrant", "pgvector"])
def test_stores_lists_the_options_of_a_server(cli, engine):
    from kinsplit.stores.address import STORES

    described = json.loads(cli("stores", engine, "--json").stdout)
    assert [option["name"] for option in described["options"]] == list(STORES.load(engine).options.model_fields)
    shown = cli("stores", engine).stdout
    assert all(option["name"] in shown for option in described["options"])
    assert cli("stores", "edge").stdout == "edge has no options.\n"
    assert cli("stores", "redis").exit_code == 2


@pytest.mark.enable_socket
def test_grpc_does_what_http_does():
    pytest.importorskip("qdrant_client")
    from tests.stores.qdrant_grpc import qdrant_grpc
    from tests.stores.qdrant_server import qdrant_server

    with qdrant_server() as server, qdrant_grpc(server) as port:
        options = f"?grpc=true&grpc_port={port}&tenant=subject&quantization=binary&hnsw_ef=64&oversampling=2&hnsw_m=8"
        checks = list(examine(f"qdrant:http://127.0.0.1:9{options}"))
    assert [check.problem for check in checks] == [None] * 17
    (dense, *_), *_ = (body["searches"] for body in server.sent("POST", "/C/points/query/batch"))
    assert dense["params"]["hnsw_ef"] == 64
    assert dense["params"]["quantization"] == {"ignore": False, "rescore": True, "oversampling": 2.0}
