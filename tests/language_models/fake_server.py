"""A server on this machine that speaks Ollama's and OpenAI's protocols, with answers that a test chooses."""

from __future__ import annotations

import json
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True)
class Reply:
    """One HTTP response.

    Attributes:
        content: What the model says; put into the protocol's shape.
        status: The status.
        body: The whole body instead.
        headers: More headers.
        broken: Whether the connection closes in the middle of the body.
        late: Whether nothing is sent before the server closes.
    """

    content: str = ""
    status: int = 200
    body: str | None = None
    headers: dict[str, str] = field(default_factory=dict)
    broken: bool = False
    late: bool = False


class FakeServer:
    """The server.

    Attributes:
        replies: What it replies next, in order.
        answer: Makes the replies after that, from the prompt.
        calls: Path, headers and body of each request.
        most: Most requests that were open at the same time.
    """

    def __init__(self) -> None:
        self.replies: deque[Reply] = deque()
        self.answer: Callable[[str], str | Reply] = lambda prompt: '{"starts": [0]}'
        self.calls: list[tuple[str, dict[str, str], dict[str, Any]]] = []
        self.most = self._open = 0
        self.closing = threading.Event()
        self.lock = threading.Lock()
        self.port = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def bodies(self) -> list[dict[str, Any]]:
        return [body for _, _, body in self.calls]

    @property
    def prompts(self) -> list[str]:
        return [body["messages"][0]["content"] for body in self.bodies]

    def reply_to(self, path: str, headers: dict[str, str], body: dict[str, Any]) -> Reply:
        with self.lock:
            self.calls.append((path, headers, body))
            self._open += 1
            self.most = max(self.most, self._open)
            waiting = self.replies.popleft() if self.replies else None
        try:
            answer = waiting or self.answer(body["messages"][0]["content"])
        finally:
            with self.lock:
                self._open -= 1
        return answer if isinstance(answer, Reply) else Reply(answer)


@contextmanager
def serving() -> Iterator[FakeServer]:
    """Run a server until the block ends."""
    fake = FakeServer()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            reply = fake.reply_to(self.path, dict(self.headers), body)
            if reply.late:
                fake.closing.wait(30)
                return
            data = (_shaped(self.path, reply) if reply.body is None else reply.body).encode()
            self.send_response(reply.status)
            for name, value in reply.headers.items():
                self.send_header(name, value)
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data[: len(data) // 2] if reply.broken else data)

        def log_message(self, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    fake.port = server.server_port
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield fake
    finally:
        fake.closing.set()
        server.shutdown()
        server.server_close()
        thread.join()


def _shaped(path: str, reply: Reply) -> str:
    if reply.status >= 400:
        told: Any = reply.content if path == "/api/chat" else {"message": reply.content}
        return json.dumps({"error": told})
    message = {"role": "assistant", "content": reply.content}
    if path == "/api/chat":
        return json.dumps({"message": message, "done": True})
    return json.dumps({"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]})
