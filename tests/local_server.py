"""HTTP servers on this machine, for as long as a test needs them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class QuietHandler(BaseHTTPRequestHandler):
    """Answers requests without writing a log."""

    def respond(self, data: bytes, status: int, headers: dict[str, str], *, half: bool = False) -> None:
        """Send a whole response; or its half, and hang up."""
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
        handler: Answers the requests.
        before_end: Lets go of what still waits in it.

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
