"""Indexing on Ray: the same collections as `Index.add` makes, whatever is killed; one small cluster for all tests."""

from __future__ import annotations

import json
import os
import pickle
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pytest_socket import enable_socket

from kinsplit import Index
from kinsplit.chunk import Document, Moment, Part, Voice
from kinsplit.cli.output.terminal import describe_error
from kinsplit.embedding import create
from kinsplit.errors import (
    EmbeddingError,
    InvalidParameterError,
    KinsplitError,
    LoadError,
    MissingContentError,
    SchemaMismatchError,
    StoreError,
)
from kinsplit.indexing.reports import AddReport
from kinsplit.loaders import Limits, SourceFile, discover
from kinsplit.parsers import create as create_strategy
from kinsplit.stores.maintenance import verify
from tests.cli.conftest import make_course, run_command
from tests.stores import conftest as stores

pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
ray = pytest.importorskip("ray", reason="ray is not installed")
from kinsplit.integrations import ray as on_ray  # noqa: E402
from kinsplit.integrations.ray import file_systems, nodes, run, stages  # noqa: E402
from kinsplit.integrations.ray.columns import (  # noqa: E402
    DOCUMENTS,
    from_documents,
    from_error,
    to_error,
    to_events,
    to_row,
)

postgres, postgres_server = stores.postgres, stores.postgres_server
# Ray's processes talk over the loopback, and Ray Data warns of its own old options.
pytestmark = [pytest.mark.enable_socket, pytest.mark.filterwarnings("ignore::DeprecationWarning")]


@pytest.fixture(scope="module")
def cluster() -> Iterator[None]:
    enable_socket()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        patch.setenv("RAY_AUTH_MODE", "disabled")
        patch.setenv("RAY_worker_niceness", "0")
        patch.setenv("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
        patch.setenv("PYTHONPATH", os.pathsep.join([str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH", "")]))
        ray.init(
            "local",
            num_cpus=2,
            include_dashboard=False,
            object_store_memory=100 * 2**20,
            log_to_driver=False,
            logging_level="ERROR",
        )
        yield
        ray.shutdown()


@pytest.fixture
def course(tmp_path: Path) -> Path:
    """A course with rows, headings, a file that can't be read, and one without a text."""
    folder = make_course(tmp_path)
    (folder / "cs" / "broken.pdf").write_bytes(b"%PDF-1.4 broken")
    (folder / "cs" / "blank.txt").write_text("\n")
    (folder / "course.toml").write_text('title = "All of it"\n[[files]]\nmatch = "*.md"\nurl = "https://example.org"\n')
    return folder


def content(address: str, collection: str) -> list[tuple[Any, Any, Any]]:
    """Return all chunks of a collection with their vectors."""
    with Index(address, collection=collection, embedder="hash", must_exist=True) as index:
        assert verify(index.store) == []
        pairs = [pair for source in index.store.sources() for pair in index.store.export(source)]
        return [
            (chunk, None if vectors.dense is None else vectors.dense.round(6).tolist(), vectors.sparse)
            for chunk, vectors in pairs
        ]


def file_table(files: Iterable[SourceFile]) -> pa.Table:
    rows = [
        {
            "path": source.place,
            "id": source.source_id,
            "metadata": json.dumps(dict(source.metadata)),
            "given": source.given,
            "reader": source.reader,
            "error": to_error(source.error),
        }
        for source in files
    ]
    return pa.Table.from_pylist(rows, schema=on_ray.FILES)


def indexed(address: str, collection: str, *arguments: object) -> dict[str, Any]:
    """Return the report of `kinsplit index --json`, without its times and in the order of the ids."""
    arguments = ("--store", address, "--collection", collection, "--embedder", "hash", "--json", *arguments)
    result = run_command("index", *arguments)
    assert result.exit_code == 1, result.output
    report: dict[str, Any] = json.loads(result.stdout)
    del report["seconds"]
    report["documents"].sort(key=lambda document: document["source_id"])
    report["warnings"] = [warning.rpartition("/")[2] for warning in report["warnings"]]
    return report


class Mortal:
    """A model whose process is killed at its first call."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark
        self.name, self.dimension, self.window, self.fingerprint = "mortal", 64, 256, create("hash").fingerprint

    def windows(self, texts: Any) -> list[int]:
        return create("hash").windows(texts)

    def embed(self, texts: Any, progress: Any = None) -> np.ndarray:
        if not self.mark.exists():
            self.mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return create("hash").embed(texts)

    def embed_query(self, text: str) -> np.ndarray:
        return create("hash").embed_query(text)


def test_a_run_with_a_killed_actor_leaves_what_index_add_leaves(
    cluster: None,
    postgres: str,
    course: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    mark = tmp_path / "killed"
    monkeypatch.setattr(on_ray, "connected", nullcontext)
    monkeypatch.setattr(run, "_portable", lambda *_: Mortal(mark))
    for name in ("near", "far"):
        indexed(postgres, name, course)
    (course / "cs" / "loops.txt").write_text("A loop repeats. It may never end.")
    (course / "cs" / "sorting.md").unlink()
    (course / "math" / "alice.jsonl").write_text('{"docid": "alice:ch01", "text": "Alice met 1 rabbits. They ran."}\n')
    report = indexed(postgres, "far", course, "--ray", "--prune")
    assert mark.exists()
    assert report == indexed(postgres, "near", course, "--prune")
    assert (report["embedded"], report["unchanged"], report["gone"]) == (
        1,
        1,
        ["alice:ch02", "alice:ch03", "course/cs/sorting.md"],
    )
    assert content(postgres, "far") == content(postgres, "near")


def test_the_rows_of_a_dataset_are_documents(cluster: None, postgres: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [{"id": f"row {n}", "text": f"Row {n} is here. It says {n * n}.", "year": 2000 + n} for n in range(20)]
    dataset = ray.data.from_items([*rows, {**rows[0], "text": "Another text."}])
    stages = (on_ray.Split(), on_ray.Compare(postgres, "far"), on_ray.Embed("hash"))

    def consume(reports: Any, report: AddReport, seen: Any, *_: Any) -> tuple[int, int]:
        # Without further processes, since a run with files shows what they do.
        assert "Write" in str(reports)
        assert "num_rows=21" in str(reports)
        tables = ray.get(dataset.to_arrow_refs())
        write = on_ray.Write(postgres, "far", "hash")
        for stage in (*stages, write):
            tables = [made for table in tables for made in stage(table)]
        write.close()
        for table in tables:
            for event in to_events(table.to_pylist(), seen):
                report.count(event)
        return 0, 0

    monkeypatch.setattr(run, "_consume", consume)
    report = on_ray.index(dataset, postgres, collection="far", embedder="hash")

    (failure,) = report.failed
    assert "its id 'row 0' comes twice" in str(failure.error)
    assert (report.documents, report.failures) == (20, 1)
    with Index(postgres, collection="far", embedder="hash", must_exist=True) as index:
        assert verify(index.store) == []
        assert index.count({"year": {"$gte": 2001}}) == 19


def test_documents_that_are_stored_as_they_are_are_not_split(postgres: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with Index(postgres, collection="known", embedder="hash") as index:
        index.add([Document(id_, f"This is {id_}. It has words.", {"year": 2024}) for id_ in ("a", "b", "c")])
        strategy = index.strategy
    given: list[str] = []
    chunk_documents = stages.chunk_documents

    def recorded(documents: Iterable[Document], *others: Any) -> Any:
        documents = list(documents)
        given.extend(document.text for document in documents)
        return chunk_documents(documents, *others)

    monkeypatch.setattr(stages, "chunk_documents", recorded)
    table = pa.table(
        {
            "id": ["a", "b", "none", "c", "c"],
            "text": ["This is a. It has words.", "Another b.", None, "Another c.", "This is c. It has words."],
            "year": [2024, 2024, 2024, 2024, 2024],
        }
    )
    compare = on_ray.Compare(postgres, "known")
    (split,) = on_ray.Split(strategy, compare=compare)(table)
    assert given == ["Another b.", "Another c."]
    (compared,) = compare(split)
    assert compared["unchanged"].to_pylist() == [1, None, None, None, 1]
    assert compared["text"].to_pylist() == [None, "Another b.", None, "Another c.", None]
    (same,) = compare(next(on_ray.Split(strategy)(table)))
    assert same["unchanged"].to_pylist()[:3] == [1, None, None]
    (other,) = on_ray.Split(create_strategy("sentence", chunk_size=80), compare=compare)(table)
    assert other["unchanged"].null_count == 5


def test_bad_input_is_refused_before_anything_is_created(
    cluster: None,
    postgres: str,
    course: Path,
) -> None:
    dataset = ray.data.from_items([{"key": 1, "text": "x"}])
    for source, address, more, error, message in (
        (
            dataset,
            postgres,
            {},
            InvalidParameterError,
            r"source: must have the columns 'id' and 'text', and lacks 'id'",
        ),
        (course, "edge:./data", {}, InvalidParameterError, "address: must be one that several processes can open"),
        (course, "pgvector:host=/nowhere", {}, StoreError, "nowhere"),
        (course / "nothing", postgres, {}, LoadError, "doesn't exist"),
        (course, postgres, {"resources": on_ray.Resources(num_gpus=1)}, InvalidParameterError, "at most 0, the GPUs"),
        (course, postgres, {"resources": on_ray.Resources(concurrency=9)}, InvalidParameterError, "2 processors"),
        (course, postgres, {"embedder": object()}, KinsplitError, "embed"),
    ):
        with pytest.raises(error, match=message):
            on_ray.index(source, address, **{"embedder": "hash", **more})
    with pytest.raises(KinsplitError, match="no collection"):
        Index(postgres, embedder="hash", must_exist=True)
    with Index(postgres, collection="small", embedder="hash:8") as index:
        index.make()
    with pytest.raises(SchemaMismatchError):
        on_ray.index(course, postgres, collection="small", embedder="hash")


@pytest.mark.parametrize(
    ("files", "tasks", "blocks"),
    [(1, 8, 1), (100, 8, 8), (1_000, 8, 32), (16_000, 8, 500), (1_000_000, 8, 500), (1_000_000, 4_000, 4_000)],
)
def test_the_number_of_blocks_of_files_is_bounded(files: int, tasks: int, blocks: int) -> None:
    assert run.blocks_of(files, tasks) == blocks


def test_an_error_of_a_task_comes_without_its_traceback() -> None:
    from ray.exceptions import RayTaskError

    inner = LoadError("a.txt", "is gone.")
    failed = RayTaskError("load", "Traceback ...", inner).as_instanceof_cause()
    assert isinstance(failed, LoadError)
    assert str(nodes.cause_of(failed)) == "a.txt: is gone."
    outer = RuntimeError("the stage failed")
    outer.__cause__ = failed
    assert nodes.cause_of(outer) is inner
    lost = RayTaskError("split", "Traceback ...\n  ray::split() (pid=1, ip=10.0.0.7)\nKeyError: 'x'", KeyError("x"))
    summed = nodes.cause_of(lost.as_instanceof_cause())
    assert (summed.__cause__ is not None, "\n" in str(summed)) == (True, False)
    assert "KeyError: 'x'). What is stored stays" in str(summed)


def test_the_stages_work_on_tables_without_a_cluster(postgres: str, course: Path) -> None:
    rows = discover(course).files
    with Index(postgres, collection="parts", embedder="hash") as index:
        index.make()
    stages = (on_ray.Load(Limits()), on_ray.Split(), on_ray.Embed("hash"), on_ray.Write(postgres, "parts", "hash"))
    tables = [file_table(rows)]
    for stage in stages:
        tables = [made for table in tables for made in stage(table)]
    (report,) = tables
    assert report.schema == on_ray.REPORTS
    assert sum(each or 0 for each in report["added"].to_pylist()) == 5
    with Index(postgres, collection="whole", embedder="hash") as index:
        index.add(course)
    assert content(postgres, "parts") == content(postgres, "whole")

    others = on_ray.Split("structure")(pa.table({"id": ["x"], "text": ["A text."]}))
    with pytest.raises(InvalidParameterError, match="Give Split the same strategy"):
        next(stages[3](next(stages[2](next(others)))))
    stages[3].close()


def test_a_document_that_the_model_refuses_keeps_no_others_out(postgres: str) -> None:
    class Picky(Mortal):
        def embed(self, texts: Any, progress: Any = None) -> np.ndarray:
            if any("POISON" in text for text in texts):
                raise RuntimeError("413 input too large")
            return super().embed(texts)

    picky = Picky(Path(__file__))
    with Index(postgres, collection="picky", embedder=picky) as index:
        index.make()
    texts = ["Owls hunt.", "Owls sleep. POISON.", "Owls fly."]
    table = pa.table({"id": ["a", "b", "c"], "text": texts, "file": ["a", "b", "c"]})
    write = on_ray.Write(postgres, "picky", picky)
    for stage in (on_ray.Split(), on_ray.Embed(picky, tokens=1), write):
        table = next(stage(table))
    write.close()
    assert table["added"].to_pylist() == [1, None, 1]
    first, error, last = table["error"].to_pylist()
    assert first is last is None
    assert isinstance(from_error(error), EmbeddingError)
    assert str(from_error(error)).startswith("b: mortal refuses it: RuntimeError: 413 input too large")


def test_a_document_is_the_same_from_its_row() -> None:
    talk = Document("a.vtt", "Ann: Hi.", times=(Moment(0, 0.5, 1.0),), kind="prose", voices=(Voice(0, "Ann"),))
    code = Document("a.py", "def hunt(): ...", {"course": "cs"}, outline=(Part(0, 15, "def hunt"),), kind="code")
    table = pa.Table.from_pylist([to_row(talk), to_row(code)], schema=DOCUMENTS)
    assert from_documents(table) == [talk, code]


def test_files_of_an_object_store_have_the_ids_and_facts_of_a_folder(
    course: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pyarrow import fs

    bucket = tmp_path / "bucket"
    shutil.copytree(course, bucket / "course")
    (bucket / "course" / ".hidden").mkdir()
    (bucket / "course" / ".hidden" / "x.txt").write_text("Hidden.")
    system = fs.SubTreeFileSystem(str(tmp_path), fs.LocalFileSystem())
    monkeypatch.setattr(file_systems, "_open", lambda address: (system, address.removeprefix("s3://").rstrip("/")))

    found = file_systems.find("s3://bucket/course")
    assert [(each.source_id, each.metadata, each.reader) for each in found.files] == [
        (each.source_id, each.metadata, each.reader) for each in discover(course).files
    ]
    (loaded,) = on_ray.Load()(file_table(found.files))
    texts = {document.id: document for document in from_documents(loaded) if document is not None}
    assert texts["course/cs/sorting.md"].metadata["absolute_path"] == "s3://bucket/course/cs/sorting.md"
    assert {id_: each.text for id_, each in texts.items()} == {
        document.id: document.text
        for document in from_documents(next(on_ray.Load()(file_table(discover(course).files))))
        if document is not None
    }
    errors = [each["message"] for each in loaded["error"].to_pylist() if each is not None]
    assert [error.split(": ")[0] for error in errors] == ["s3://bucket/course/cs/broken.pdf"]
    assert [each.source_id for each in file_systems.find("s3://bucket/course/*/*.txt").files] == [
        "cs/blank.txt",
        "cs/loops.txt",
    ]
    assert [each.source_id for each in file_systems.find(f"{course}/**/*.md").files] == ["cs/sorting.md"]
    with Index("memory:", embedder="hash") as index:
        index.add(course)
        loops = found.by_id["course/cs/loops.txt"]
        with pytest.raises(LoadError, match=r"course/cs/loops.txt: would replace .*'course/cs/loops.txt'"):
            file_systems.check_addresses(index.store, index.strategy.fingerprint, [loops])
    for address, message in (("s3://bucket/none", "doesn't exist"), ("s3://bucket/course/*.xyz", "no file that")):
        with pytest.raises(LoadError, match=message):
            file_systems.find(address)


@contextmanager
def second_node(hidden: Path) -> Iterator[str]:
    """Add a node to the cluster that sees an empty folder in place of another one, and yield its id."""
    space = ["unshare", "--mount"] if os.geteuid() == 0 else ["unshare", "--map-root-user", "--mount"]
    hide = f"mount -t tmpfs none {hidden}"
    if shutil.which("unshare") is None or subprocess.run([*space, "sh", "-c", hide], capture_output=True).returncode:
        pytest.skip("a mount namespace can't be made here")
    known = {node["NodeID"] for node in ray.nodes()}
    address = ray.get_runtime_context().gcs_address
    start = f"{hide} && exec ray start --address={address} --num-cpus=1 --object-store-memory={80 * 2**20} --block"
    own = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    with subprocess.Popen([*space, "sh", "-c", start], env=own, stdout=subprocess.DEVNULL) as node:
        try:
            while not (new := {each["NodeID"] for each in ray.nodes()} - known):
                assert node.poll() is None
                time.sleep(0.05)
            yield new.pop()
        finally:
            node.terminate()
            while sum(each["Alive"] for each in ray.nodes()) > len(known):
                time.sleep(0.05)


def test_a_node_without_the_folder_is_named_before_anything_is_read(
    cluster: None, course: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(on_ray, "connected", nullcontext)
    arguments = ("index", course, "--embedder", "hash", "--store", "pgvector:host=/nowhere", "--ray")
    with second_node(hidden=course) as node:
        result = run_command(*arguments)
    assert (result.exit_code, len(result.stderr.splitlines())) == (2, 1)
    assert result.stderr.startswith(f"Error: {course}/cs/")
    assert "is missing or different on 1 of the 2 nodes of the Ray cluster" in result.stderr
    assert f"id {node[:8]}): no such file or directory. Mount the same folder there" in result.stderr
    assert "nowhere" in run_command(*arguments).stderr  # Without that node, the store is next.


def sent(error: Exception) -> BaseException:
    """Return the error of a task as Ray sends it, with advice of its own among the arguments."""
    from ray.exceptions import RayTaskError

    with pytest.raises(nodes.TaskError) as caught, nodes.noting_node(), nodes.noting_node():
        raise error
    caught.value.args = (f"{caught.value.args[0]}\nFailed to apply UDF transform after 1/1 attempts.",)
    return RayTaskError("load", "Traceback ...", pickle.loads(pickle.dumps(caught.value))).as_instanceof_cause()


def test_errors_of_tasks_name_their_node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    note = "This was on node 10.0.0.7 (far, id 1a2b3c4d) of the Ray cluster."
    for module in (nodes, stages):
        monkeypatch.setattr(module, "node_note", lambda: note)
    documents = pa.table({"id": ["a"], "text": ["A text."]})
    (split,) = on_ray.Split()(documents)
    (embedded,) = on_ray.Embed("hash")(split)
    for call in (on_ray.Compare("pgvector:host=/nowhere"), on_ray.Write("pgvector:host=/nowhere", embedder="hash")):
        with pytest.raises(nodes.TaskError, match=f"nowhere.*{re.escape(note)}"):
            next(call(embedded))
    call.close()
    for error in (StoreError("The disk is full."), MissingContentError((0, "a")), LoadError("a.txt", "is gone.")):
        found = nodes.cause_of(sent(error))
        assert type(found) is type(error)
        assert describe_error(found)["message"] == f"{error} {note}"
        # As Ray's client sends it on from a node that waited for the first one.
        assert describe_error(nodes.cause_of(sent(found)))["message"] == f"{error} {note}"
    found = nodes.cause_of(sent(KeyError("x")))
    assert str(found).startswith(f"Ray ended the run (KeyError: 'x'. {note[:-1]}). What is stored stays")

    (tmp_path / "broken.pdf").write_bytes(b"%PDF-1.4 broken")
    files = [SourceFile(tmp_path / name, name, {}) for name in ("gone.md", "broken.pdf")]
    (loaded,) = on_ray.Load()(file_table(files))
    gone, broken = (error["message"] for error in loaded["error"].to_pylist())
    assert (
        gone
        == f"{tmp_path}/gone.md: can't be read: No such file or directory. Check that it is there and readable. {note}"
    )
    assert note not in broken


def test_stdout_has_the_report_alone_whatever_ray_writes(
    course: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    @contextmanager
    def connected(address: str) -> Iterator[None]:
        sys.stdout.write(f"Connected to {address}.\n")
        try:
            yield
        finally:
            sys.stdout.write("A task was run again.\n")
            os.write(1, b"A thread of Ray has ended.\n")

    def index(*_: object, **__: object) -> AddReport:
        sys.stdout.write("A task was lost.\n")
        subprocess.run(["echo", "A process has ended."], check=True)
        return AddReport()

    monkeypatch.setattr(on_ray, "connected", connected)
    monkeypatch.setattr(on_ray, "index", index)
    result = run_command("index", course, "--ray", "--json")
    assert json.loads(result.stdout)["documents"] == []
    assert result.stderr == "Connected to auto.\nA task was lost.\nA task was run again.\n"
    assert capfd.readouterr() == ("", "A process has ended.\nA thread of Ray has ended.\n")


@pytest.fixture
def guarded_cluster() -> Iterator[str]:
    """Address at which everybody is refused, as by a cluster with a token that nobody has."""
    grpc = pytest.importorskip("grpc", reason="grpcio is not installed")

    def refuse(request: bytes, context: Any) -> bytes:
        context.abort(grpc.StatusCode.UNAUTHENTICATED, "InvalidAuthToken")
        return request

    class Handler(grpc.GenericRpcHandler):  # type: ignore[misc]
        def service(self, _: object) -> Any:
            return grpc.unary_unary_rpc_method_handler(refuse)

    server = grpc.server(ThreadPoolExecutor(1), handlers=[Handler()])
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    yield f"127.0.0.1:{port}"
    server.stop(None).wait()


@pytest.mark.parametrize(
    ("variables", "reason"),
    [
        ({"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": "secret"}, "RAY_AUTH_TOKEN holds a wrong token"),
        ({"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN_PATH": "t"}, "RAY_AUTH_TOKEN_PATH holds a wrong token"),
        ({"RAY_AUTH_MODE": "token"}, "~/.ray/auth_token holds a wrong token"),
        ({"RAY_AUTH_MODE": "disabled"}, "none is sent, since RAY_AUTH_MODE is 'disabled'"),
        ({}, "none is sent, since RAY_AUTH_MODE is not set"),
    ],
)
def test_a_wrong_token_is_called_a_wrong_token(
    guarded_cluster: str, course: Path, monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], reason: str
) -> None:
    for name in ("RAY_AUTH_MODE", "RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    rule = f"must be a cluster whose token you have ({reason}) (got '"
    for address in (guarded_cluster, f"ray://{guarded_cluster}"):
        result = run_command("index", course, "--ray", address)
        assert (result.exit_code, len(result.stderr.splitlines())) == (2, 1)
        assert result.stderr.startswith(f"Error: ray: {rule}{address}'). Set RAY_AUTH_MODE=token")
        assert "secret" not in result.stderr
    monkeypatch.setenv("RAY_ADDRESS", guarded_cluster)
    assert run_command("index", course, "--ray").stderr.startswith(f"Error: RAY_ADDRESS: {rule}{guarded_cluster}')")


def test_a_token_that_ray_does_not_find_costs_one_line(course: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    exceptions = pytest.importorskip("ray.exceptions")
    if not hasattr(exceptions, "AuthenticationError"):
        pytest.skip("this version of Ray knows no tokens")

    def init(*_: object, **__: object) -> None:
        raise exceptions.AuthenticationError("Token authentication is enabled but no authentication token was found")

    monkeypatch.setattr(ray, "init", init)
    result = run_command("index", course, "--ray", "local")
    assert (result.exit_code, len(result.stderr.splitlines())) == (2, 1)
    assert "(Token authentication is enabled but no authentication token was found) (got 'local')" in result.stderr


def test_a_missing_package_and_a_wrong_address_cost_one_line(course: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for address, message in (
        ("ray://localhost:1", "ray: must be the address of a running cluster"),
        ("nowhere", "ray: must be 'auto', 'local', 'HOST:PORT' or 'ray://HOST:PORT' (got 'nowhere')"),
    ):
        result = run_command("index", course, "--ray", address)
        assert (result.exit_code, len(result.stderr.splitlines())) == (2, 1)
        assert message in result.stderr
    for options, rule in (((), "without --ray"), (("--ray", "--dry-run"), "with --dry-run")):
        result = run_command("index", "s3://bucket/course", *options)
        assert (result.exit_code, len(result.stderr.splitlines())) == (2, 1)
        assert f"PATHS: can't be addresses {rule} (got 's3://bucket/course')" in result.stderr
    monkeypatch.setitem(sys.modules, "ray", None)
    result = run_command("index", course, "--ray")
    assert (result.exit_code, result.stderr) == (
        2,
        'Error: ray is not installed. Run: pip install "kinsplit[ray]"\n',
    )
