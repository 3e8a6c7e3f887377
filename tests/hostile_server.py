"""A local server that sends whatever a test wants, if need be byte by byte."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from itertools import chain

from tests.local_server import QuietHandler, running


class Hostile:
    """Data that a server sends, and what it has seen so far.

    Attributes:
        head: Status line and headers.
        parts: Function that returns the parts of the body.
        pause: Seconds between two parts, and then also between two bytes of the head.
        keeps: Whether a connection serves further requests.
        sent: Number of bytes sent.
        calls: Number of requests.
        connections: Addresses of the clients' connections.
        url: Its URL.
    """

    def __init__(self) -> None:
        self.head = b"HTTP/1.1 200 OK\r\n\r\n"
        self.parts: Callable[[], Iterator[bytes]] = lambda: iter([])
        self.pause = 0.0
        self.keeps = False
        self.sent = self.calls = 0
        self.connections: set[tuple[str, int]] = set()
        self.url = ""


@contextmanager
def serving() -> Iterator[Hostile]:
    hostile, over = Hostile(), threading.Event()

    class Handler(QuietHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["content-length"]))
            if self.path == "/api/show":  # It tells nothing of its models.
                self.respond(b"", 404, {})
            else:
                self.do_GET()

        def do_GET(self) -> None:
            hostile.calls += 1
            hostile.connections.add(self.client_address)
            self.close_connection = not hostile.keeps
            heads = map(bytes, zip(hostile.head)) if hostile.pause else [hostile.head]
            with suppress(OSError):
                for part in chain(heads, hostile.parts()):
                    self.wfile.write(part)
                    hostile.sent += len(part)
                    over.wait(hostile.pause)

    with running(Handler, over.set) as port:
        hostile.url = f"http://127.0.0.1:{port}"
        yield hostile
