"""Steps of the scale benchmark, each in a process of its own: indexing, searching, and indexing again.

`python benchmarks/scale_steps.py STEP ENGINE FOLDER EMBEDDER QUESTIONS OPTIONS` prints a line of JSON. The folder holds
the corpus, the engine's files and the vectors of all leaves, of which a question's exact neighbours are computed.
"""

from __future__ import annotations

import json
import re
import sys
import threading
import time
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import scale_corpus
from indexing import Stages, watched, watched_model
from numpy.typing import NDArray
from store_engines import running

from kinsplit import Index, embedding
from kinsplit.embedding import Embedder, Progress
from kinsplit.stores.values import Query

#: Address prefixes of the engines; "ray" writes into Postgres from a local cluster.
ENGINES = {"edge": "edge", "postgres": "pgvector", "ray": "pgvector"}
_COLLECTION = "scale"
#: Spec of `WordVectors`, and the number of its vectors.
WORDS, _ROWS = "words", 8192
#: Neighbours that recall compares, and what two equal similarities may differ by in 32 bits.
NEIGHBOURS, TOLERANCE = 10, 1e-4
#: Seconds between two looks at the processes' memory.
_PAUSE = 1.0
#: Seconds between opening a collection and the first question, in which an embedded one reads its files.
_STARTED = 15.0
#: Vectors multiplied at once.
_BLOCK = 50_000


class WordVectors:
    """An embedder that takes next to no time: the sum of a random vector for each word, whose texts are alike if they
    share words.

    Args:
        dimension: Length of a vector.
    """

    name, window, repeatable = WORDS, 10**6, True

    def __init__(self, dimension: int = 384) -> None:
        self.dimension, self.fingerprint = dimension, f"{WORDS}:{dimension}"
        self._table = np.random.default_rng(0).standard_normal((_ROWS, dimension)).astype(np.float32)

    def windows(self, texts: Sequence[str]) -> list[int]:
        """Count the windows of each text."""
        return [1] * len(texts)

    def embed(self, texts: Sequence[str], progress: Progress | None = None) -> NDArray[np.float32]:
        """Embed texts."""
        vectors = np.stack([self.embed_query(text) for text in texts])
        if progress:
            progress(len(texts), len(texts))
        return vectors

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """Embed a question like any other text."""
        rows = [zlib.crc32(word.encode()) % _ROWS for word in text.lower().split()] or [0]
        total = self._table[rows].sum(axis=0)
        return np.asarray(total / np.linalg.norm(total), dtype=np.float32)


def _model(spec: str) -> Embedder:
    model = WordVectors() if spec == WORDS else embedding.create(spec)
    model.embed_query("load")
    return model


class RecordedEmbedder:
    """An embedder that also appends its vectors to a file. A worker that gets it loads the model itself.

    Args:
        spec: Spec of the embedder.
        path: The file.
    """

    repeatable = True

    def __init__(self, spec: str, path: Path) -> None:
        self._embedder, self._spec, self._path = _model(spec), spec, path

    def __reduce__(self) -> tuple[type[RecordedEmbedder], tuple[str, Path]]:
        return type(self), (self._spec, self._path)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._embedder, name)

    def embed(self, texts: Sequence[str], progress: Progress | None = None) -> NDArray[np.float32]:
        """Embed texts, and record their vectors."""
        vectors = self._embedder.embed(texts, progress)
        with self._path.open("ab") as file:
            file.write(vectors.tobytes())
        return vectors


class Processes:
    """This process, those that it starts, and those of a database.

    Args:
        server: Process id of the database, if any.

    Attributes:
        peaks: Peaks of their memory in MB. Memory that a database's processes share counts once.
        seconds: Processor time that they have used, in seconds.
    """

    def __init__(self, server: int | None) -> None:
        self.peaks = dict.fromkeys(("indexer", "mapped files", "workers", "server"), 0.0)
        self._seconds: dict[int, float] = {}
        self._server, self._end = server, threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Processes:
        self._before = 0.0
        self._look()
        self._before = self.seconds
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._end.set()
        self._thread.join()
        self._look()

    def used(self) -> float:
        """Return the seconds so far."""
        self._look()
        return self.seconds

    @property
    def seconds(self) -> float:
        return sum(self._seconds.values()) - self._before

    def _watch(self) -> None:
        while not self._end.wait(_PAUSE):
            self._look()

    def _look(self) -> None:
        own = psutil.Process()
        started = own.children(recursive=True)
        of_server = [self._server, *psutil.Process(self._server).children()] if self._server else []
        ids = {process if isinstance(process, int) else process.pid for process in of_server}
        readers = [process.pid for process in started if process.pid not in ids]
        here, shared = _held(own.pid), [_held(pid) for pid in ids]
        now = {
            "indexer": here["RssAnon"],
            "mapped files": here["RssFile"],
            "workers": sum(_held(pid)["RssAnon"] for pid in readers),
            "server": sum(held["RssAnon"] for held in shared) + max((held["RssShmem"] for held in shared), default=0),
        }
        self.peaks = {name: max(peak, now[name]) for name, peak in self.peaks.items()}
        for pid in (own.pid, *readers, *ids):
            with suppress(psutil.Error):
                used = psutil.Process(pid).cpu_times()
                self._seconds[pid] = used.user + used.system


def _held(pid: int) -> dict[str, float]:
    """Return the kinds of a process's resident memory in MB; zeros for one that has ended."""
    held = dict.fromkeys(("RssAnon", "RssFile", "RssShmem"), 0.0)
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return held
    return held | {name: int(size) / 1e3 for name, size in re.findall(r"^(Rss\w+):\s+(\d+) kB", status, re.MULTILINE)}


@contextmanager
def _served(engine: str, home: Path, options: str) -> Iterator[str]:
    """Yield the address of an engine; that of a server has options."""
    with running(ENGINES[engine], home) as address:
        yield f"{address}&{options}" if ENGINES[engine] == "pgvector" and options else address


@contextmanager
def _opened(engine: str, folder: Path, embedder: Embedder, options: str) -> Iterator[tuple[Index, int | None]]:
    """Open the collection; yield it with the process id of its database's server."""
    home = folder / engine
    home.mkdir(exist_ok=True)
    with _served(engine, home, options) as address, Index(address, collection=_COLLECTION, embedder=embedder) as index:
        yield index, _server(home)


def _server(home: Path) -> int | None:
    """Return the process id of the Postgres server in a folder, if there is one."""
    pid = home / "data" / "postmaster.pid"
    return int(pid.read_text().split("\n")[0]) if pid.is_file() else None


def add(engine: str, folder: Path, spec: str, options: str = "") -> dict[str, Any]:
    """Index the corpus, or index it again.

    Returns:
        Numbers of documents, chunks and embedded texts; `seconds` until everything is on disk, of which the last ones
        are `close`; `processor` time; `stages`; `memory` in MB by process; `disk` in bytes.
    """
    recorded = RecordedEmbedder(spec, folder / f"{engine}.vectors")
    if engine == "ray":
        return _add_on_ray(folder, recorded, options)
    stages = Stages()
    model = watched_model(recorded, stages)
    with _opened(engine, folder, model, options) as (index, server), Processes(server) as processes:
        index.strategy.split("Warm. " * 100)
        with watched(index, stages):
            begun = time.perf_counter()
            report = index.add(folder / "corpus")
            seconds = time.perf_counter() - begun
        begun = time.perf_counter()
        index.store.close()
        took = time.perf_counter() - begun
    if report.failed:
        raise report.failed[0].error
    counts = {"documents": report.documents, "chunks": report.chunks}
    counts |= {"embedded": report.embedded, "added": report.added}
    return {**counts, "stages": stages.table(), "close": took, **_figures(engine, folder, seconds + took, processes)}


def _add_on_ray(folder: Path, embedder: Embedder, options: str) -> dict[str, Any]:
    """Do the same on a local Ray cluster, without its start and without the stages."""
    from kinsplit.integrations.ray import connected, index

    home = folder / "ray"
    home.mkdir(exist_ok=True)
    with connected("local"), _served("ray", home, options) as address, Processes(_server(home)) as processes:
        report = index(folder / "corpus", address, collection=_COLLECTION, embedder=embedder)
    if report.failed:
        raise report.failed[0].error
    counts = {"documents": report.documents, "chunks": report.chunks}
    counts |= {"embedded": report.embedded, "added": report.added}
    return {**counts, "stages": {}, "close": 0.0, **_figures("ray", folder, report.seconds, processes)}


def _figures(engine: str, folder: Path, seconds: float, processes: Processes) -> dict[str, Any]:
    # Without the write-ahead log of Postgres, which has a size of its own.
    files = (file for file in (folder / engine).rglob("*") if "pg_wal" not in file.parts and file.is_file())
    size = sum(file.stat().st_blocks * 512 for file in files)
    return {"seconds": seconds, "processor": processes.seconds, "memory": processes.peaks, "disk": size}


def search(engine: str, folder: Path, spec: str, number: int, options: str = "") -> dict[str, Any]:
    """Ask questions, alone and with filters, and compare the nearest chunks with the exact ones.

    Returns:
        `times`: milliseconds of each search by kind; `processor`: average processor time of a search in milliseconds;
        `recall`: share of the exact neighbours found; `reopen` in milliseconds; `memory` in MB by process.
    """
    asked = list(scale_corpus.questions(folder / "corpus", number))
    model = _model(spec)
    begun = time.perf_counter()
    with _opened(engine, folder, model, options) as (index, server), Processes(server) as processes:
        reopen = (time.perf_counter() - begun) * 1e3
        time.sleep(_STARTED)
        times: dict[str, list[float]] = {}
        before = 0.0
        for turn, question in enumerate(asked):
            kinds: dict[str, dict[str, Any] | None] = {
                "all": None,
                "a tenth": {"subject": question.subject},
                "a course": {"course": question.course},
            }
            for kind, where in kinds.items():
                begun = time.perf_counter()
                index.search(question.text, where=where)
                if turn:  # The first question opens indexes and fills caches.
                    times.setdefault(kind, []).append((time.perf_counter() - begun) * 1e3)
            before = before or processes.used()
        used = (processes.used() - before) * 1e3 / sum(map(len, times.values()))
        vectors = np.stack([model.embed_query(question.text) for question in asked])
        rankings = index.store.rank([Query("dense", vector, NEIGHBOURS) for vector in vectors])
    found = [[score for _, score in ranking] for ranking in rankings]
    nearest = exact(np.memmap(folder / f"{engine}.vectors", np.float32).reshape(-1, model.dimension), vectors)
    shares = [np.mean(np.sort(own)[::-1] >= least - TOLERANCE) for own, least in zip(found, nearest, strict=True)]
    recall = float(np.mean(shares))
    return {"reopen": reopen, "times": times, "processor": used, "recall": recall, "memory": processes.peaks}


def exact(stored: NDArray[np.float32], asked: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the similarity of each question's tenth nearest vector."""
    best = np.full((len(asked), NEIGHBOURS), -1.0, dtype=np.float32)
    for start in range(0, len(stored), _BLOCK):
        best = np.concatenate([best, asked @ stored[start : start + _BLOCK].T], axis=1)
        best = -np.partition(-best, NEIGHBOURS - 1, axis=1)[:, :NEIGHBOURS]
    return best.min(axis=1)


def main(step: str, engine: str, folder: str, spec: str, number: str, options: str = "") -> None:
    """Run a step and print its figures."""
    if step == "search":
        figures = search(engine, Path(folder), spec, int(number), options)
    else:
        figures = add(engine, Path(folder), spec, options)
    print(json.dumps(figures))


if __name__ == "__main__":
    main(*sys.argv[1:])
