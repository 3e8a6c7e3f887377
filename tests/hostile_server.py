"""A local server that sends whatever a test wants, if need be byte by byte."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from itertools import chain

from tests.local_server import QuietHandler, running


class Hostile:
    """Data that a server sends, and the number of bytes sent so far."""

    def __init__(self) -> None:
        self.head = b"HTTP/1.1 200 OK\r\n\r\n"
        self.parts: Callable[[], Iterator[bytes]] = lambda: iter([])
        self.pause = 0.0
        self.sent = self.calls = 0
        self.url = ""


@contextmanager
def serving() -> Iterator[Hostile]:
    hostile, over = Hostile(), threading.Event()

    class Handler(QuietHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["content-length"]))
            self.do_GET()

        def do_GET(self) -> None:
            hostile.calls += 1
            # With a pause, the head is sent byte by byte too.
            heads = map(bytes, zip(hostile.head)) if hostile.pause else [hostile.head]
            with suppress(OSError):
                for part in chain(heads, hostile.parts()):
                    self.wfile.write(part)
                    hostile.sent += len(part)
                    over.wait(hostile.pause)

    with running(Handler, over.set) as port:
        hostile.url = f"http://127.0.0.1:{port}"
        yield hostile
