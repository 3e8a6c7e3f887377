"""Cost of coordination on Ray: `python benchmarks/ray_overhead.py`, twenty minutes or more on two cores.

1. The five chroma corpora, in files, are indexed in Postgres by `Index.add` and on Ray, in turns and on the same cores.
   Target: Ray takes at most 1.15 times as long after the start of its actors, that is for a chunk after the first ones.
2. An embedder and a store that only wait, with a growing number of actors, from each actor's second batch to its last
   but one. Target: 0.9 of the ideal rate with 64.
3. Peak memory of the driver that indexes 1,000 to 100,000 documents in Postgres, from Parquet files and from a folder.
   Target: the same. This takes half an hour more.
"""

from __future__ import annotations

import math
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import psutil
import typer
from ray_faults import postgres
from rich.console import Console
from rich.table import Table
from scaling import peak
from texts import corpus

from kinsplit import Index, embedding
from kinsplit.indexing.reports import AddEvent, DocumentReport

console = Console(width=None if sys.stdout.isatty() else 120)
app = typer.Typer(add_completion=False)

# Seconds that the waiting embedder takes for a batch, and documents in it: as long as a model takes for them on a
# processor, since the other stages of 64 actors share those of this machine.
_WAIT, _BATCH = 5.0, 50
# Seconds to wait until all actors have started.
_START = 600
# Seconds within which reports come from one batch.
_TOGETHER = 0.1
# Documents of part 3 in each of its Parquet files and folders.
_PART = 1000


@app.command()
def main(
    embedder: Annotated[str, typer.Option(help="Spec of the embedder of part 1.")] = "bundled",
    rounds: Annotated[int, typer.Option(help="Rounds of part 1.")] = 2,
    limit: Annotated[int | None, typer.Option(help="Read only so many characters of each corpus in part 1.")] = None,
    actors: Annotated[str, typer.Option(help="Numbers of actors of part 2.")] = "1,4,16,64",
    batches: Annotated[int, typer.Option(min=3, help="Batches for each actor of part 2.")] = 12,
    documents: Annotated[str, typer.Option(help="Numbers of documents of part 3.")] = "1000,10000,100000",
    parts: Annotated[str, typer.Option(help="Parts to run.")] = "1,2,3",
    memory: Annotated[
        tuple[str, str] | None, typer.Option(hidden=True, help="Source and store to print it for.")
    ] = None,
) -> None:
    """Measure the coordination on Ray."""
    import ray

    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    ray.init("local", include_dashboard=False, log_to_driver=False, logging_level="ERROR")
    if memory:
        drive(*memory)
        return
    if "1" in parts:
        with tempfile.TemporaryDirectory(prefix="kinsplit") as folder, postgres(folder) as store:
            compare(Path(folder) / "corpora", store, embedder, rounds, limit)
    if "2" in parts:
        scale([int(number) for number in actors.split(",")], batches)
    ray.shutdown()
    if "3" in parts:
        table = Table("documents", "from Parquet, MB", "from a folder, MB", title="Peak memory of the driver")
        for number in documents.split(","):
            with tempfile.TemporaryDirectory(prefix="kinsplit") as folder, postgres(folder) as store:
                peaks = [peak_of(source, store) for source in written(Path(folder), int(number))]
            table.add_row(f"{int(number):,}", *peaks)
        console.print(table)


def written(folder: Path, documents: int) -> tuple[Path, Path]:
    """Write short documents into Parquet files and into a folder of files, and return both."""
    import pyarrow as pa
    from pyarrow import parquet

    tables, files = folder / "parquet", folder / "files"
    tables.mkdir()
    for start in range(0, documents, _PART):
        part = files / f"{start}"
        part.mkdir(parents=True)
        texts = {f"document {n}": _text(n) for n in range(start, min(start + _PART, documents))}
        parquet.write_table(pa.table({"id": list(texts), "text": list(texts.values())}), tables / f"{start}.parquet")
        for name, text in texts.items():
            (part / f"{name}.md").write_text(text, encoding="utf-8")
    return tables, files


def peak_of(source: Path, store: str) -> str:
    """Return the peak memory in megabytes of a new process that indexes a source."""
    done = subprocess.run(
        [sys.executable, __file__, "--memory", str(source), store], capture_output=True, text=True, check=True
    )
    return done.stdout.split()[-1]


def drive(source: str, store: str) -> None:
    """Index a source in a collection of its own, and print the peak memory of this process in megabytes."""
    import ray

    from kinsplit.integrations.ray import index

    name = Path(source).name
    index(ray.data.read_parquet(source) if name == "parquet" else source, store, collection=name, embedder="hash")
    most = peak()
    # Ray may print what it has to say until it ends.
    ray.shutdown()
    print(f"\n{most:.0f}", flush=True)


def compare(folder: Path, store: str, embedder: str, rounds: int, limit: int | None) -> None:
    from kinsplit.integrations.ray import index

    folder.mkdir()
    for name, text in corpus().by_name.items():
        # Files of a usual size; whole corpora would keep a single task busy.
        text = text[:limit]
        for start in range(0, len(text), 20_000):
            (folder / f"{name}_{start // 20_000:03}.md").write_text(text[start : start + 20_000], encoding="utf-8")
    embedding.resolve(embedder).embed(["The model is loaded before the clock runs."])
    columns = "seconds", "until the first chunks", "ms per chunk after these", "processor seconds", "chunks"
    table = Table("system", *columns, title=f"{corpus().origin}, {embedder}")
    best = {"Index.add": math.inf, "Ray": math.inf}
    for number in range(rounds):
        for name in best:
            before, stored = processor_time(), Arrivals()
            if name == "Ray":
                index(folder, store, collection=f"ray-{number}", embedder=embedder, on_event=stored.add)
            else:
                with Index(store, collection=f"near-{number}", embedder=embedder) as opened:
                    opened.add(folder, on_event=stored.add)
            best[name] = min(best[name], stored.later())
            shown = f"{stored.seconds():.1f}", f"{stored.first():.1f}", f"{1000 * stored.later():.1f}"
            table.add_row(name, *shown, f"{processor_time() - before:.1f}", f"{sum(stored.chunks):,}")
    console.print(table)
    ratio = best["Ray"] / best["Index.add"]
    console.print(f"After the first chunks, Ray takes {ratio:.2f} times as long; best of {rounds} rounds.")


class Arrivals:
    """Times at which documents were stored, in seconds after a start, and the numbers of their chunks."""

    def __init__(self) -> None:
        self.chunks: list[int] = []
        self._times: list[float] = []
        self._start = time.perf_counter()

    def add(self, event: AddEvent) -> None:
        if isinstance(event, DocumentReport):
            self._times.append(time.perf_counter() - self._start)
            self.chunks.append(event.chunks)

    def first(self) -> float:
        return self._times[0]

    def seconds(self) -> float:
        return self._times[-1]

    def later(self) -> float:
        """Return the seconds for each chunk that arrived after those of the first batch."""
        after = self.first() + _TOGETHER
        chunks = sum(number for at, number in zip(self._times, self.chunks, strict=True) if at > after)
        return (self.seconds() - self.first()) / chunks


def processor_time() -> float:
    """Return the processor time that the machine has spent, since Ray's actors and their figures end with a run."""
    spent = psutil.cpu_times()
    return float(spent.user + spent.nice + spent.system)


def scale(numbers: Sequence[int], batches: int) -> None:
    table = Table("actors", "documents/s", "ideal", "efficiency", title=f"Batches of {_BATCH} that wait {_WAIT:g} s")
    for number in numbers:
        rate = pipe(number * batches * _BATCH, number, _WAIT, _BATCH)
        ideal = number * _BATCH / _WAIT
        table.add_row(str(number), f"{rate:,.0f}", f"{ideal:,.0f}", f"{rate / ideal:.2f}")
    console.print(table)


class WaitingModel:
    """A model that waits for each call as long as a server would."""

    name, dimension, window, fingerprint = "waiting", 8, 256, "waiting"

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds

    def windows(self, texts: Sequence[str]) -> list[int]:
        return [1] * len(texts)

    def embed(self, texts: Sequence[str], progress: Any = None) -> np.ndarray:  # noqa: ARG002
        time.sleep(self.seconds)
        vectors: np.ndarray = np.full((len(texts), self.dimension), self.dimension**-0.5, dtype=np.float32)
        return vectors

    def embed_query(self, text: str) -> np.ndarray:
        return self.embed([text])[0]


class WaitingStore:
    """Stands for a store: waits for a moment, and returns reports."""

    def __call__(self, table: Any) -> Any:
        """Take a batch."""
        import pyarrow as pa

        from kinsplit.integrations.ray import REPORTS

        time.sleep(0.01)
        rows = [{"id": id_, "chunks": 1, "added": 1, "embedded": 1} for id_ in table["id"].to_pylist()]
        return pa.Table.from_pylist(rows, schema=REPORTS)


def pipe(documents: int, actors: int, wait: float, batch: int) -> float:
    """Send documents through the stages; return their rate without the first and the last batch of each actor."""
    import ray
    from kinsplit.integrations.ray.report import Totals

    from kinsplit.integrations.ray import Embed, Resources, Split

    model = WaitingModel(wait)
    pool = Resources(concurrency=actors, num_cpus=0).on(ray.cluster_resources(), model)
    # Like the list of files of a run, the list of documents comes from the driver.
    reports = (
        ray.data.from_items([{"number": n} for n in range(documents)], override_num_blocks=documents // batch)
        .map_batches(_texts, **pool.task)
        .map_batches(Split(), **pool.task)
        .map_batches(Embed, fn_constructor_args=[model], **pool.embedding)
        .map_batches(WaitingStore, **pool.writing)
    )
    reports.context.enable_progress_bars, reports.context.wait_for_min_actors_s = False, _START
    totals = Totals()
    times = []
    for table in reports.iter_batches(batch_size=None, batch_format="pyarrow", prefetch_batches=0):
        for _ in totals.add(table.to_pylist()):
            pass
        times.append(time.perf_counter())
    steady = times[actors - 1 : len(times) - actors]
    return (len(steady) - 1) * batch / (steady[-1] - steady[0])


def _texts(table: Any) -> Any:
    import pyarrow as pa

    ids = [f"document {number}" for number in table["number"].to_pylist()]
    return pa.table({"id": ids, "text": [_text(number) for number in table["number"].to_pylist()]})


def _text(number: int) -> str:
    return f"This is document {number}, which says little."


if __name__ == "__main__":
    app()
