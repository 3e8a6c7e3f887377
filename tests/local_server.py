"""Local HTTP servers, for the duration of a test."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class QuietHandler(BaseHTTPRequestHandler):
    """Request handler that writes no log."""

    # Otherwise a response on a connection that is kept waits until its headers are confirmed.
    disable_nagle_algorithm = True

    def respond(self, data: bytes, status: int, headers: dict[str, str], *, half: bool = False) -> None:
        """Send a response, or only half of it before closing the connection."""
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data[: len(data) // 2] if half else data)

    def log_message(self, *args: object) -> None:
        pass


@contextmanager
def running(handler: type[QuietHandler], before_end: Callable[[], None] = lambda: None) -> Iterator[int]:
    """Run a server until the block ends.

    Args:
        handler: Handler of the requests.
        before_end: Function that releases handlers that are still waiting.

    Yields:
        Its port.
    """
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield server.server_port
    finally:
        before_end()
        server.shutdown()
        server.server_close()
        thread.join()
