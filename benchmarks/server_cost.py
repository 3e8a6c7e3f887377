"""What a search at a Qdrant server costs this side: `PYTHONPATH=. python benchmarks/server_cost.py [--characters N]`.

The server is the tests' own, in another process, behind HTTP and gRPC. It searches slowly, so it remembers its answers:
while this process waits, others take its place in the processor's caches, and a wait of half a second, which no real
server has, nearly doubles the time of what comes after it. Each question goes in turn to LangChain's
`similarity_search(k=5)` and to `Index.search`, over the same collection, so that other load on the machine affects all
alike. The time is that of all threads of this process, without the question's vector, which is computed before: the
least of several rounds. The size is all that this side reads from the connections, with headers.

The corpus is made, and its vectors are those of words, which take no time.
"""

from __future__ import annotations

import json
import multiprocessing
import socket
import statistics
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import lru_cache
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import scale_corpus
import typer
from langchain_core.embeddings import Embeddings
from langchain_qdrant import QdrantVectorStore
from qdrant_client import QdrantClient
from scale_steps import WordVectors

from kinsplit import Index
from tests.stores.qdrant_grpc import qdrant_grpc
from tests.stores.qdrant_server import qdrant_server

#: Most milliseconds of `Index.search` and kilobytes that are wanted, and most times LangChain's time by ranking.
MOST_MS, MOST_KB, MOST_TIMES = 6.0, 100.0, {"kin": 3.0, "dense": 1.5}
#: Milliseconds, milliseconds of the clock, and kilobytes of one search.
Cost = tuple[float, float, float]


class Place(NamedTuple):
    """Ports of the server."""

    http: int
    grpc: int


def serve(pipe: Connection) -> None:
    """Run the server until the pipe says so; answer each message before that with the number of bytes sent so far."""
    sent = [0]
    with ExitStack() as stack:
        server = stack.enter_context(qdrant_server())
        server.answer = _remembered(server.answer)  # type: ignore[method-assign]
        ports = (server.port, stack.enter_context(qdrant_grpc(server)))
        pipe.send(Place(*(_counted(port, sent) for port in ports)))
        while pipe.recv():
            pipe.send(sent[0])


def _remembered(answer: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that answers the same request again from memory, until one writes."""
    known: dict[str, Any] = {}

    def answered(method: str, place: str, query: Any, body: Any, size: int = 0) -> Any:
        if not place.endswith(("/points", "/points/query", "/points/query/batch")):
            known.clear()
            return answer(method, place, query, body, size)
        asked = json.dumps([place, query, body])
        if asked not in known:
            known[asked] = answer(method, place, query, body, size)
        return known[asked]

    return answered


def _counted(port: int, sent: list[int]) -> int:
    """Return a port that leads to another one, and counts the bytes that come from there."""
    front = socket.create_server(("127.0.0.1", 0))

    def move(source: socket.socket, target: socket.socket, counted: bool) -> None:
        try:
            while data := source.recv(1 << 16):
                sent[0] += len(data) if counted else 0
                target.sendall(data)
            target.shutdown(socket.SHUT_WR)
        except OSError:
            pass

    def accept() -> None:
        while True:
            near, far = front.accept()[0], socket.create_connection(("127.0.0.1", port))
            for side in (near, far):
                side.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            for pair in ((near, far, False), (far, near, True)):
                threading.Thread(target=move, args=pair, daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    return int(front.getsockname()[1])


class Known(Embeddings):
    """LangChain's embeddings, with the vectors of questions that were computed before."""

    def __init__(self, embed: Callable[[str], Sequence[float]]) -> None:
        self.embed_query = lru_cache(maxsize=None)(lambda text: [*map(float, embed(text))])  # type: ignore[method-assign]

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [self.embed_query(text) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        raise NotImplementedError


def main(
    characters: Annotated[int, typer.Option(help="Size of the made corpus; 1,400,000 make 3,000 chunks.")] = 1_400_000,
    questions: Annotated[int, typer.Option(min=1, help="Number of questions.")] = 20,
    rounds: Annotated[int, typer.Option(min=1, help="Number of times that each question is asked.")] = 5,
    json_file: Annotated[Path | None, typer.Option("--json", help="Also write the numbers to this file.")] = None,
) -> None:
    """Print what a search costs over HTTP and gRPC, beside LangChain's."""
    context = multiprocessing.get_context("spawn")
    pipe, other = context.Pipe()
    process = context.Process(target=serve, args=(other,), daemon=True)
    process.start()
    result = {}
    with tempfile.TemporaryDirectory() as folder:
        place, corpus, embedder = pipe.recv(), Path(folder, "corpus"), WordVectors()
        scale_corpus.write(corpus, characters)
        asked = [each.text for each in scale_corpus.questions(corpus, questions)]
        embedder.embed_query = lru_cache(maxsize=None)(embedder.embed_query)  # type: ignore[method-assign]
        with Index(f"qdrant:http://127.0.0.1:{place.http}", collection="cost", embedder=embedder) as index:
            index.add(corpus)
            print(f"{index.count():,} chunks; milliseconds of this process, of the clock, and kB read")
        for protocol, options in {"http": "", "grpc": f"?grpc=true&grpc_port={place.grpc}"}.items():
            address = f"qdrant:http://127.0.0.1:{place.http}{options}"
            client = QdrantClient(
                port=place.http, grpc_port=place.grpc, prefer_grpc=bool(options), check_compatibility=False
            )
            embeddings = Known(embedder.embed_query)
            store = QdrantVectorStore(client, "cost", embeddings, vector_name="dense", validate_collection_config=False)
            store.content_payload_key = "full_content"
            with Index(address, collection="cost", embedder=embedder) as index:
                tasks: dict[str, Callable[[str], object]] = {
                    "LangChain, k = 5": lambda text, store=store: store.similarity_search(text, k=5),
                    "dense, no siblings": lambda text, index=index: index.search(
                        text, ranking="dense", window=0, top_k=5
                    ),
                    "kin": lambda text, index=index: index.search(text),
                }
                result[protocol] = measure(protocol, tasks, asked, rounds, pipe)
            client.close()
        pipe.send(None)
    process.join()
    print(f"\nwanted: kin at most {MOST_MS} ms and {MOST_KB} kB, and {MOST_TIMES} times LangChain's time")
    if json_file:
        json_file.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")


def measure(
    protocol: str, tasks: dict[str, Callable[[str], object]], questions: Sequence[str], rounds: int, pipe: Connection
) -> dict[str, list[float]]:
    """Print the mean cost of each task over all questions, that of its first search of each, and their ratios."""
    costs: dict[str, list[list[Cost]]] = {name: [] for name in tasks}
    for question in questions:
        for name in tasks:
            costs[name].append([])
        for _ in range(rounds):
            for name, task in tasks.items():
                costs[name][-1].append(_cost(task, question, pipe))
    print(f"\n{protocol:20}{'ms':>8}{'clock':>8}{'kB':>8}{'/ LangChain':>13}   first search of each question: ms, kB")
    result = {}
    for name, of_question in costs.items():
        least = [[min(column) for column in zip(*of_round, strict=True)] for of_round in of_question]
        own, clock, size = (statistics.mean(column) for column in zip(*least, strict=True))
        first = [statistics.median(column) for column in zip(*(each[0] for each in of_question), strict=True)]
        result[name] = [own, clock, size, first[0], first[2]]
        base = next(iter(result.values()))[0]
        print(
            f"{name:20}{own:8.2f}{clock:8.2f}{size:8.1f}{own / base:13.2f}   {first[0]:.2f}, {first[2]:.1f}", flush=True
        )
    return result


def _cost(task: Callable[[str], object], question: str, pipe: Connection) -> Cost:
    before = _sent(pipe)
    begun, clock = time.process_time(), time.perf_counter()
    task(question)
    own, passed = time.process_time() - begun, time.perf_counter() - clock
    return own * 1e3, passed * 1e3, (_sent(pipe) - before) / 1e3


def _sent(pipe: Connection) -> int:
    pipe.send(True)
    return int(pipe.recv())


if __name__ == "__main__":
    typer.run(main)
