"""Throughput of the service, and latency of /healthz under load, compared with plain retrievers.

    python benchmarks/service.py [--seconds 5]

The sample course is indexed once for each. The service runs in processes of its own and is queried over HTTP on this
machine, so its figures include the cost of HTTP and JSON. LlamaIndex's query engine over its in-memory vector store,
without generated answers, and LangChain's retriever over its own store are queried in this process by one thread per
client, with the same embedding model, top 3, no siblings and no BM25: their figures don't include what they don't do.

All are asked in turns, so that other work on the machine affects them alike. The processor time is that of the
processes that answer, without the clients of the service.
"""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from http.client import HTTPConnection
from itertools import count
from pathlib import Path
from threading import local
from typing import Annotated, NamedTuple
from urllib.parse import urlencode

import numpy as np
import psutil
import typer

from kinsplit import Index
from kinsplit.embedding import create
from kinsplit.loaders import discover, load_files

EXAMPLES = Path(__file__).parents[1] / "examples"
CLIENTS = (1, 8, 32, 128)
#: Turns in which the systems are asked, and questions before the first of them.
TURNS, WARM = 3, 150


class System(NamedTuple):
    """What answers questions.

    Attributes:
        ask: Function that asks a question.
        process: Id of the process that answers, with its children; None for this one.
    """

    ask: Callable[[str], object]
    process: int | None = None

    def processor_time(self) -> float:
        """Return the seconds of processor time that the system has used."""
        if self.process is None:
            return time.process_time()
        return sum(sum(each.cpu_times()[:2]) for each in family(self.process))


class Load(NamedTuple):
    """What a system did: answers per second, 95th percentile of the response time, processor time per answer, in ms."""

    rate: float
    p95: float
    processor: float


def family(process: int) -> list[psutil.Process]:
    """Return a process and those that it started."""
    parent = psutil.Process(process)
    return [parent, *parent.children(recursive=True)]


def load(system: System, clients: int, seconds: float, questions: list[str]) -> Load:
    """Ask a system from some clients for a while."""
    numbers, times, end = count(), [], time.perf_counter() + seconds
    ask, used = system.ask, system.processor_time()

    def client() -> None:
        while (begun := time.perf_counter()) < end:
            # No question is repeated, so that caches don't help.
            number = next(numbers)
            ask(f"{questions[number % len(questions)]} ({number})")
            times.append(time.perf_counter() - begun)

    begun = time.perf_counter()
    with ThreadPoolExecutor(clients) as pool:
        for running in [pool.submit(client) for _ in range(clients)]:
            running.result()
    rate = len(times) / (time.perf_counter() - begun)
    spent = system.processor_time() - used
    return Load(rate, float(np.percentile(times, 95)) * 1000, spent / len(times) * 1000)


def warm(ask: Callable[[str], object], questions: list[str]) -> None:
    """Ask as often as it takes until everything is loaded and copied that is loaded or copied for later searches."""
    for number in range(WARM):
        ask(f"{questions[number % len(questions)]} ({number})")


def in_turns(
    systems: Mapping[str, System], clients: int, seconds: float, questions: list[str], turns: int = TURNS
) -> dict[str, Load]:
    """Ask systems one after the other, several times, and return the medians of each."""
    loads: dict[str, list[Load]] = {name: [] for name in systems}
    for _ in range(turns):
        for name, system in systems.items():
            loads[name].append(load(system, clients, seconds / turns, questions))
    return {name: Load(*map(statistics.median, zip(*own, strict=True))) for name, own in loads.items()}


@contextmanager
def serving(folder: str, **settings: str) -> Iterator[tuple[str, int]]:
    """Run `kinsplit serve` with some settings, and yield its address and the id of its process."""
    command = [sys.executable, "-c", "from kinsplit.cli import main; main()", "serve", "--port", "0", "--json"]
    given = {f"KINSPLIT_{name.upper()}": value for name, value in settings.items()}
    environment = {**os.environ, **given, "PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen(
        command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as process:
        try:
            yield json.loads(process.stdout.readline())["address"], process.pid
        finally:
            process.terminate()


#: Runs in a separate process, since the clients here delay each other.
_WATCH = """
import http.client, json, sys, threading, time
over, times = threading.Event(), []
threading.Thread(target=lambda: (sys.stdin.read(), over.set()), daemon=True).start()
connection = http.client.HTTPConnection(sys.argv[1])
while not over.wait(0.05):
    begun = time.perf_counter()
    connection.request("GET", "/healthz")
    assert connection.getresponse().read()
    times.append((time.perf_counter() - begun) * 1000)
print(json.dumps(times))
"""


@contextmanager
def watching(address: str) -> Iterator[list[float]]:
    """Request /healthz twenty times a second, and yield a list that then holds the times in milliseconds."""
    times: list[float] = []
    command = [sys.executable, "-c", _WATCH, address.removeprefix("http://")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        yield times
        output, _ = process.communicate("", timeout=60)
    times.extend(json.loads(output))


def over_http(address: str) -> Callable[[str], object]:
    """Return a function that queries the service, with one connection per thread; richer clients take up a core."""
    own = local()

    def ask(question: str) -> None:
        if not hasattr(own, "connection"):
            own.connection = HTTPConnection(address.removeprefix("http://"), timeout=60)
        own.connection.request("GET", f"/search?{urlencode({'q': question, 'window': 0})}")
        response = own.connection.getresponse()
        answer = response.read()
        if response.status != 200:
            raise RuntimeError(answer)

    return ask


def llama_index(chunks: list[str]) -> Callable[[str], object]:
    from llama_index.core import Settings, VectorStoreIndex
    from llama_index.core.embeddings import BaseEmbedding
    from llama_index.core.llms import MockLLM
    from llama_index.core.query_engine import RetrieverQueryEngine
    from llama_index.core.response_synthesizers import ResponseMode
    from llama_index.core.schema import TextNode

    embedder = create("bundled")

    class Bundled(BaseEmbedding):
        def _get_text_embedding(self, text: str) -> list[float]:
            return embedder.embed([text])[0].tolist()

        def _get_text_embeddings(self, texts: list[str]) -> list[list[float]]:
            return embedder.embed(texts).tolist()

        def _get_query_embedding(self, query: str) -> list[float]:
            return embedder.embed_query(query).tolist()

        async def _aget_query_embedding(self, query: str) -> list[float]:
            return self._get_query_embedding(query)

    index = VectorStoreIndex([TextNode(text=text) for text in chunks], embed_model=Bundled())
    Settings.llm = MockLLM()  # Never used, but required.
    retriever = index.as_retriever(similarity_top_k=3)
    return RetrieverQueryEngine.from_args(retriever, response_mode=ResponseMode.NO_TEXT).query


def langchain(chunks: list[str]) -> Callable[[str], object]:
    from langchain_core.embeddings import Embeddings
    from langchain_core.vectorstores import InMemoryVectorStore

    embedder = create("bundled")

    class Bundled(Embeddings):
        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            return embedder.embed(texts).tolist()

        def embed_query(self, text: str) -> list[float]:
            return embedder.embed_query(text).tolist()

    store = InMemoryVectorStore.from_texts(chunks, Bundled())
    return store.as_retriever(search_kwargs={"k": 3}).invoke


class Course(NamedTuple):
    """The sample course, indexed twice in a folder, with the texts of its chunks and questions about it."""

    folder: Path
    chunks: list[str]
    questions: list[str]


@contextmanager
def course() -> Iterator[Course]:
    """Index the sample course for a service, which keeps others out, and for this process."""
    questions = [row["question"] for row in json.loads((EXAMPLES / "course_questions.json").read_text("utf-8"))]
    with tempfile.TemporaryDirectory() as folder:
        with Index(f"edge:{folder}/kinsplit-data", collection="course") as index:
            documents = [d for loaded in load_files(discover(EXAMPLES / "course").files) for d in loaded.documents]
            index.add(documents)
            chunks = [c.text for d in documents for c in index.store.find({"source_id": d.id})]
        shutil.copytree(f"{folder}/kinsplit-data", f"{folder}/own")
        yield Course(Path(folder), chunks, questions)


def open_own(course: Course) -> Index:
    """Open the course in this process."""
    return Index(f"edge:{course.folder}/own", collection="course")


def main(seconds: Annotated[float, typer.Option(help="Seconds of each measurement.")] = 5.0) -> None:
    """Ask the sample course from 1, 8, 32 and 128 clients."""
    with course() as made, open_own(made) as index:
        with serving(str(made.folder), collections="course") as (address, process):
            systems = {
                "kinsplit serve, over HTTP": System(over_http(address), process),
                "kinsplit Index.search": System(lambda question: index.search(question, window=0)),
                "the question's vector alone": System(create("bundled").embed_query),
                "LlamaIndex query engine": System(llama_index(made.chunks)),
                "LangChain retriever": System(langchain(made.chunks)),
            }
            for system in systems.values():
                warm(system.ask, made.questions)
            print(f"{len(made.chunks)} chunks, {os.cpu_count()} cores; top 3\n")
            print(f"{'':28}" + "".join(f"{f'{n} clients':>30}" for n in CLIENTS))
            print(f"{'':28}" + "".join(f"{'per s':>10}{'p95 ms':>10}{'CPU ms':>10}" for _ in CLIENTS))
            with watching(address) as health:
                loads = [in_turns(systems, clients, seconds, made.questions) for clients in CLIENTS]
            memory = ", ".join(f"{each.memory_full_info().uss / 1e6:.0f} MB" for each in family(process))
        for name in systems:
            cells = (f"{own[name].rate:10.0f}{own[name].p95:10.1f}{own[name].processor:10.1f}" for own in loads)
            print(f"{name:28}" + "".join(cells))
        served, peer = "kinsplit serve, over HTTP", "LangChain retriever"
        ratios = ", ".join(f"{own[served].rate / own[peer].rate:.2f}" for own in loads)
        print(f"\nthe service's rate, relative to LangChain's: {ratios}")
        figures = ", ".join(f"p{p} {np.percentile(health, p):.1f}" for p in (50, 95, 99))
        print(f"/healthz meanwhile, ms: {figures}, most {max(health):.1f} ({len(health)} requests)")
        print(f"private memory of the service's processes: {memory}")


if __name__ == "__main__":
    typer.run(main)
