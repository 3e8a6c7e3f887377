"""Throughput of the service, and latency of /healthz under load, compared with plain retrievers.

    python benchmarks/service.py [--seconds 5]

The sample course is indexed once for each. The service runs in its own process and is queried over HTTP on this
machine, so its figures include the cost of HTTP and JSON. LlamaIndex's query engine over its in-memory vector store,
without generated answers, and LangChain's retriever over its own store are queried in this process by one thread per
client, with the same embedding model, top 3, no siblings and no BM25: their figures don't include what they don't do.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from http.client import HTTPConnection
from itertools import count
from pathlib import Path
from threading import local
from typing import Annotated
from urllib.parse import urlencode

import numpy as np
import typer

from kinsplit import Index
from kinsplit.embedding import create
from kinsplit.loaders import discover, load_files

EXAMPLES = Path(__file__).parents[1] / "examples"
CLIENTS = (1, 8, 32)


def load(ask: Callable[[str], object], clients: int, seconds: float, questions: list[str]) -> tuple[float, float]:
    """Return the answers per second, and the 95th percentile of the response time in milliseconds."""
    numbers, times, end = count(), [], time.perf_counter() + seconds

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
    return len(times) / (time.perf_counter() - begun), float(np.percentile(times, 95)) * 1000


@contextmanager
def service(folder: str, **settings: str) -> Iterator[tuple[str, int]]:
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


def main(seconds: Annotated[float, typer.Option(help="Of each measurement.")] = 5.0) -> None:
    """Ask the sample course from 1, 8 and 32 clients."""
    questions = [row["question"] for row in json.loads((EXAMPLES / "course_questions.json").read_text("utf-8"))]
    with tempfile.TemporaryDirectory() as folder:
        with Index(f"edge:{folder}/kinsplit-data", collection="course") as index:
            documents = [d for loaded in load_files(discover(EXAMPLES / "course").files) for d in loaded.documents]
            index.add(documents)
            chunks = [c.text for d in documents for c in index.store.find({"source_id": d.id})]
        print(f"{len(documents)} documents, {len(chunks)} chunks, {os.cpu_count()} cores; top 3\n")
        print(f"{'':28}" + "".join(f"{f'{n} clients':>24}" for n in CLIENTS))
        print(f"{'':28}" + "".join(f"{'per s':>12}{'p95 ms':>12}" for _ in CLIENTS))
        with service(folder, collections="course") as (address, _), watching(address) as health:
            row("kinsplit serve, over HTTP", over_http(address), seconds, questions)
        with Index(f"edge:{folder}/kinsplit-data", collection="course") as index:
            row("kinsplit Index.search", lambda question: index.search(question, window=0), seconds, questions)
        row("the question's vector alone", create("bundled").embed_query, seconds, questions)
        row("LlamaIndex query engine", llama_index(chunks), seconds, questions)
        row("LangChain retriever", langchain(chunks), seconds, questions)
        figures = ", ".join(f"p{p} {np.percentile(health, p):.1f}" for p in (50, 95, 99))
        print(f"\n/healthz while the service was asked, ms: {figures}, most {max(health):.1f} ({len(health)} requests)")


def row(name: str, ask: Callable[[str], object], seconds: float, questions: list[str]) -> None:
    ask(questions[0])
    measured = [load(ask, clients, seconds, questions) for clients in CLIENTS]
    print(f"{name:28}" + "".join(f"{rate:12.0f}{p95:12.1f}" for rate, p95 in measured), flush=True)


if __name__ == "__main__":
    typer.run(main)
