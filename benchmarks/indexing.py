"""Time of indexing by stage, and growth of memory: `python benchmarks/indexing.py`.

`--filling` measures only what filling a store costs without a model, `--store qdrant:http://localhost:6333` in another.

The five chroma corpora are read from files, split, embedded and stored in an embedded Qdrant Edge. Targets: the model
is busy for at least 95 % of the wall time, twice as many documents don't raise the peak of memory, and with a model
that costs nothing, indexing takes at most twice the processor time of splitting and of the chunks' terms.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import starmap
from pathlib import Path
from typing import Annotated, Any, NamedTuple, ParamSpec, TypeVar, cast
from unittest.mock import patch

import numpy as np
import typer
from numpy.typing import NDArray
from parsers import machine
from rich.console import Console
from rich.table import Table
from scaling import peak
from texts import Corpus, corpus

from kinsplit import Document, Index, create_strategy, embedding
from kinsplit.chunk import indexed_text
from kinsplit.embedding import Embedder, Progress, VectorCache
from kinsplit.embedding.hashing import HashEmbedder
from kinsplit.embedding.sparse import Bm25Embedder
from kinsplit.indexing import indexer, run
from kinsplit.parsers import Strategy
from kinsplit.stores import ChunkStore

#: Minimum share of the wall time in which the model is busy, and maximum growth of the peak for twice the documents.
SHARE, GROWTH = 0.95, 1.1
#: Maximum processor time of indexing without a model, as a multiple of that of splitting and of the terms of chunks.
FILLING = 2.0
#: Rounds of filling, of which the fastest counts, and characters of its documents.
_ROUNDS, _LENGTH = 3, 25_000
_COPIES = (1, 2, 4)
_P, _T = ParamSpec("_P"), TypeVar("_T")

app = typer.Typer(add_completion=False)
console = Console(width=None if sys.stdout.isatty() else 120)


@app.command()
def main(
    embedder: Annotated[str, typer.Option(help="Spec of the embedder.")] = "bundled",
    embedding_context: Annotated[str, typer.Option(help="headings, none or late.")] = "headings",
    limit: Annotated[int | None, typer.Option(help="Read only so many characters of each corpus.")] = None,
    memory: Annotated[str, typer.Option(help="Spec of the embedder with which memory is measured.")] = "hash:384",
    json_file: Annotated[Path | None, typer.Option("--json", help="Also write the numbers to this file.")] = None,
    filling: Annotated[bool, typer.Option("--filling", help="Measure only filling without a model.")] = False,
    store: Annotated[str | None, typer.Option(help="Store to fill; a new embedded one by default.")] = None,
    copies: Annotated[int, typer.Option(hidden=True, help="Print the peak for so many copies and stop.")] = 0,
) -> None:
    """Measure indexing from files to an embedded store."""
    if copies:
        print(peak_of(copies, memory, limit))
        return
    filled = measure_filling(limit, store=store)
    if filling:
        console.print(f"{filled.described} x {filled.ratio:.2f}, {filled.rate:.0f} chunks a second")
        return
    measured = measure(embedder, embedding_context, limit)
    table = Table("stage", "seconds", "busy", title=f"{corpus().origin}, {embedder}, context {embedding_context}")
    for name, seconds in measured.stages.items():
        table.add_row(name, f"{seconds:.2f}", f"{seconds / measured.wall:.1%}")
    console.print(table)
    peaks = {number: _peak_apart(number, memory, limit) for number in _COPIES}
    growth = peaks[_COPIES[-1]] / peaks[_COPIES[-2]]
    kept = measure_cache()
    lines = {
        f"time that the model is busy, of {measured.wall:.1f} s": (
            f"{measured.share:.1%}",
            f">= {SHARE:.0%}",
            measured.share >= SHARE,
        ),
        "processors in use on average, without those of file readers": (f"{measured.processors:.2f}", "", None),
        "private memory for 1, 2 and 4 times the documents": (
            f"{', '.join(f'{value:.0f} MB' for value in peaks.values())}: x {growth:.2f}",
            f"<= x {GROWTH}",
            growth <= GROWTH,
        ),
        f"processor time without a model; {filled.described}": (
            f"x {filled.ratio:.2f}",
            f"<= x {FILLING}",
            filled.ratio <= FILLING,
        ),
        "vector cache, per vector of 384 dimensions": (
            f"{kept.missed:.0f} us to look up, {kept.written:.0f} us to write, {kept.read:.0f} us to read",
            "",
            None,
        ),
    }
    wanted = Table("wanted", "measured", "limit", "met")
    for what, (shown, most, met) in lines.items():
        wanted.add_row(what, shown, most, "" if met is None else ("[green]yes[/]" if met else "[red]NO[/]"))
    console.print(wanted)
    if json_file:
        result = {"machine": machine(), **measured._asdict(), "share": measured.share}
        result |= {"peaks": peaks, "cache": kept._asdict(), "filling": filled._asdict()}
        json_file.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")


class Measured(NamedTuple):
    """Time of indexing.

    Attributes:
        stages: Seconds in which each stage was busy; they overlap.
        wall: Seconds from the beginning to the end.
        processors: Average number of processors in use by this process.
    """

    stages: dict[str, float]
    wall: float
    processors: float

    @property
    def share(self) -> float:
        """Share of the wall time in which the model was busy."""
        return self.stages["model"] / self.wall


class Filling(NamedTuple):
    """Processor time of indexing with a model that costs nothing, in milliseconds for each leaf.

    Attributes:
        added: All of it, with parents and documents and their terms.
        split: Splitting alone.
        terms: Terms of the leaves alone.
        rate: Leaves per second of wall time.
    """

    added: float
    split: float
    terms: float
    rate: float

    @property
    def ratio(self) -> float:
        """All of it as a multiple of splitting and terms."""
        return self.added / (self.split + self.terms)

    @property
    def described(self) -> str:
        """The times in a sentence."""
        return f"ms a chunk: {self.added:.2f}, splitting alone {self.split:.2f}, its terms alone {self.terms:.2f}:"


class _FreeEmbedder(HashEmbedder):
    """A model that costs nothing: every text has the same vector."""

    def embed(self, texts: Sequence[str], _: Progress | None = None) -> NDArray[np.float32]:
        """Return the first unit vector for each text."""
        return np.broadcast_to(np.eye(1, self.dimension, dtype=np.float32), (len(texts), self.dimension))


def measure_filling(limit: int | None, texts: Corpus | None = None, *, store: str | None = None) -> Filling:
    """Measure indexing texts without a model in a store, by default an embedded one."""
    whole = ((name, text[:limit]) for name, text in (texts or corpus()).by_name.items())
    parts = ((f"{name}-{at}", text[at : at + _LENGTH]) for name, text in whole for at in range(0, len(text), _LENGTH))
    documents = list(starmap(Document, parts))
    _fill(documents[:1], store)  # loads what is loaded only once
    rounds = [_fill(documents, store) for _ in range(_ROUNDS)]
    added, split, terms = (min(each[at] for each in rounds) for at in range(3))
    return Filling(added, split, terms, max(each.rate for each in rounds))


def _fill(documents: list[Document], store: str | None) -> Filling:
    with tempfile.TemporaryDirectory() as folder:
        options: dict[str, Any] = {"embedder": _FreeEmbedder(384), "collection": f"filling-{Path(folder).name}"}
        with Index(store or f"edge:{folder}", **options) as index:
            begun, times = time.perf_counter(), [time.process_time()]
            index.add(documents)
            wall = time.perf_counter() - begun
            times.append(time.process_time())
            # Nothing is known of these texts, as when they were added.
            leaves = [leaf for split in create_strategy().chunk_many(documents) for leaf in split if leaf.level == 0]
            times.append(time.process_time())
            Bm25Embedder().embed([indexed_text(leaf) for leaf in leaves])
            times.append(time.process_time())
    return Filling(*(float(seconds) / len(leaves) * 1000 for seconds in np.diff(times)), len(leaves) / wall)


class Stages:
    """Sum of the time of each stage; any thread may add to it."""

    def __init__(self) -> None:
        self.seconds: Counter[str] = Counter()
        self._lock = threading.Lock()

    def table(self) -> dict[str, float]:
        """Return the seconds of all stages, in the order of the table."""
        return {stage: self.seconds[stage] for stage in STAGES}

    @contextmanager
    def busy(self, stage: str) -> Iterator[None]:
        """Add the time of the block to a stage."""
        begin = time.perf_counter()
        try:
            yield
        finally:
            with self._lock:
                self.seconds[stage] += time.perf_counter() - begin

    def timed(self, function: Callable[_P, _T], stage: str) -> Callable[_P, _T]:
        """Return a function that also adds its time to a stage."""

        def call(*args: _P.args, **kwargs: _P.kwargs) -> _T:
            with self.busy(stage):
                return function(*args, **kwargs)

        return call

    def waiting(self, function: Callable[_P, Iterator[_T]], stage: str) -> Callable[_P, Iterator[_T]]:
        """Return a function whose iterator adds the wait for each item to a stage."""

        def iterate(*args: _P.args, **kwargs: _P.kwargs) -> Iterator[_T]:
            items, end = function(*args, **kwargs), object()
            while True:
                with self.busy(stage):
                    item = next(items, end)
                if item is end:
                    return
                yield cast(_T, item)

        return iterate


class _Watched:
    """A wrapper that adds up the time of an object's methods; of nested calls, the outer one counts."""

    def __init__(self, target: object, stages: Stages, stage: str, other: dict[str, str] | None = None) -> None:
        self._target, self._stages, self._stage, self._other = target, stages, stage, other or {}

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._target, name)
        return self._stages.timed(found, self._other.get(name, self._stage)) if callable(found) else found


class _WatchedTokens(_Watched):
    """A wrapper that also embeds tokens, since its class is checked for that method."""

    def embed_tokens(self, *arguments: Any) -> Any:
        return self.__getattr__("embed_tokens")(*arguments)


#: Stages in the order of the table.
STAGES = ("read files", "split", "place chunks", "look up", "model", "count windows", "terms", "write")


def measure(spec: str, embedding_context: str, limit: int | None, texts: Corpus | None = None) -> Measured:
    """Measure the stages of indexing texts, by default the corpora, with the model already loaded."""
    stages = Stages()
    model = embedding.resolve(spec)
    model.embed_query("load")
    with tempfile.TemporaryDirectory() as folder:
        files = _files(Path(folder) / "corpora", 1, limit, texts)
        embedder = watched_model(model, stages)
        with Index(f"edge:{folder}/store", embedder=embedder, embedding_context=embedding_context) as index:
            # Load everything that is loaded only once before measuring.
            index.strategy.split("Warm. " * 100)
            with watched(index, stages):
                begin, used = time.perf_counter(), time.process_time()
                report = index.add(files)
                wall, used = time.perf_counter() - begin, time.process_time() - used
        if report.failed:
            raise report.failed[0].error
    return Measured(stages.table(), wall, used / wall)


def watched_model(model: Embedder, stages: Stages) -> Embedder:
    """Return an embedder that adds its time to the stages."""
    kind = _WatchedTokens if hasattr(model, "embed_tokens") else _Watched
    return cast(Embedder, kind(model, stages, "model", {"windows": "count windows"}))


@contextmanager
def watched(index: Index, stages: Stages) -> Iterator[None]:
    """Add the time of every other part of an index to the stages, inside the block."""
    store, strategy, bm25 = index.store, index.strategy, index.bm25
    stages.seconds.clear()
    try:
        index.store = cast(ChunkStore, _Watched(store, stages, "look up", {"sync": "write"}))
        index.strategy = cast(Strategy, _Watched(strategy, stages, "split"))
        index.bm25 = cast(Bm25Embedder, _Watched(bm25, stages, "terms"))
        with (
            patch.object(run, "load_files", stages.waiting(run.load_files, "read files")),
            patch.object(indexer, "complete", stages.timed(indexer.complete, "place chunks")),
        ):
            yield
    finally:
        index.store, index.strategy, index.bm25 = store, strategy, bm25


def _files(folder: Path, copies: int, limit: int | None, texts: Corpus | None = None) -> Path:
    """Write the corpora as files of at most 100,000 characters, so that each is small compared with the whole."""
    folder.mkdir()
    for name, text in (texts or corpus()).by_name.items():
        whole = text[:limit]
        for start in range(0, len(whole), 100_000):
            for copy in range(copies):
                file = folder / f"{name}-{start // 100_000}-{copy}.txt"
                file.write_text(whole[start : start + 100_000], encoding="utf-8")
    return folder


def _peak_apart(copies: int, spec: str, limit: int | None) -> float:
    """Run `peak_of` in a new process, to measure its peak memory alone."""
    command = [sys.executable, __file__, "--copies", str(copies), "--memory", spec]
    command += [] if limit is None else ["--limit", str(limit)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    return float(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=environment).stdout)


def peak_of(copies: int, spec: str, limit: int | None) -> float:
    """Index copies of the corpora, and return the peak of the process's private memory in megabytes.

    The store's files, which are mapped into memory and grow with their content, are not included.
    """
    most = 0.0

    def look(_: object) -> None:
        nonlocal most
        most = max(most, _private())

    with tempfile.TemporaryDirectory() as folder:
        files = _files(Path(folder) / "corpora", copies, limit)
        with Index(f"edge:{folder}/store", embedder=spec) as index:
            index.add(files, on_event=look)
    return most


def _private() -> float:
    if sys.platform != "linux":
        return peak()
    status = Path("/proc/self/status").read_text()
    return int(re.findall(r"^RssAnon:\s+(\d+) kB", status, re.MULTILINE)[0]) / 1e3


class Cost(NamedTuple):
    """Time per vector in microseconds: for a miss, a write and a read."""

    missed: float
    written: float
    read: float


def measure_cache(vectors: int = 2048, batch: int = 256) -> Cost:
    """Measure the vector cache, with batches like those of indexing."""
    texts = [f"Sentence {number} of a text that was never embedded before." for number in range(vectors)]
    values = embedding.create("hash:384").embed(texts)
    spent: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder, VectorCache(folder) as cache:
        for step in ("missed", "written", "read"):
            begin = time.perf_counter()
            for start in range(0, vectors, batch):
                part = slice(start, start + batch)
                if step == "written":
                    cache.put("model", texts[part], values[part])
                else:
                    cache.get("model", texts[part], 384)
            spent[step] = (time.perf_counter() - begin) / vectors * 1e6
    return Cost(**spent)


if __name__ == "__main__":
    app()
