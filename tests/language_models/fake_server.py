"""A server on this machine that speaks Ollama's and OpenAI's protocols, with answers that a test chooses."""

from __future__ import annotations

import json
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from tests.local_server import QuietHandler, running


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
        pieces: What the model says, in pieces; None says all of it at once. Only where a stream was asked for.
        ending: The last lines of a stream; None has the protocol's own.
        reason: Why a stream ends.
        held: Whether a stream waits for `FakeServer.goes_on` after its first piece.
    """

    content: str = ""
    status: int = 200
    body: str | None = None
    headers: dict[str, str] = field(default_factory=dict)
    broken: bool = False
    late: bool = False
    pieces: tuple[str, ...] | None = None
    ending: str | None = None
    reason: str = "stop"
    held: bool = False


class FakeServer:
    """The server.

    Attributes:
        replies: What it replies next, in order.
        answer: Makes the replies after that, from the prompt.
        told: What it tells of the model, as the metadata of a GGUF file.
        calls: Path, headers and body of each request, those for `told` left out.
        most: Most requests that were open at the same time.
        goes_on: Set to let a held stream go on.
        hung_up: Set once a client left before the end of a stream.
    """

    def __init__(self) -> None:
        self.replies: deque[Reply] = deque()
        self.answer: Callable[[str], str | Reply] = lambda prompt: '{"starts": [0]}'
        self.calls: list[tuple[str, dict[str, str], dict[str, Any]]] = []
        self.told: dict[str, Any] = {}
        self.most = self._open = 0
        self.closing, self.goes_on, self.hung_up = threading.Event(), threading.Event(), threading.Event()
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

    class Handler(QuietHandler):
        def do_GET(self) -> None:
            data = [{"id": "default", "max_model_len": fake.told.get("llama.context_length")}]
            self.respond(json.dumps({"data": data}).encode(), 200, {})

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            if self.path == "/api/show":
                self.respond(json.dumps({"model_info": fake.told}).encode(), 200, {})
                return
            reply = fake.reply_to(self.path, dict(self.headers), body)
            if reply.late:
                fake.closing.wait(30)
                return
            if body.get("stream") and reply.status < 400 and reply.body is None:
                self.stream(reply)
                return
            data = (_shaped(self.path, reply) if reply.body is None else reply.body).encode()
            kind = {"content-type": "application/json"} if data.startswith(b"{") else {}
            self.respond(data, reply.status, kind | reply.headers, half=reply.broken)

        def stream(self, reply: Reply) -> None:
            self.send_response(reply.status)
            if reply.broken:
                self.send_header("content-length", "1000000")
            self.end_headers()
            pieces = (reply.content,) if reply.pieces is None else reply.pieces
            try:
                for number, piece in enumerate(pieces):
                    self.wfile.write(_line(self.path, piece).encode())
                    if reply.held and number == 0:
                        fake.goes_on.wait(30)
                ending = _ending(self.path, reply.reason) if reply.ending is None else reply.ending
                self.wfile.write(ending.encode())
            except (BrokenPipeError, ConnectionResetError):
                fake.hung_up.set()

    def let_go() -> None:
        fake.closing.set()
        fake.goes_on.set()

    with running(Handler, let_go) as fake.port:
        yield fake


def _shaped(path: str, reply: Reply) -> str:
    if reply.status >= 400:
        told: Any = reply.content if path == "/api/chat" else {"message": reply.content}
        return json.dumps({"error": told})
    message = {"role": "assistant", "content": reply.content}
    if path == "/api/chat":
        return json.dumps({"message": message, "done": True})
    return json.dumps({"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]})


def _line(path: str, piece: str) -> str:
    """Return a piece of an answer as a stream has it."""
    if path == "/api/chat":
        return json.dumps({"message": {"role": "assistant", "content": piece}, "done": False}) + "\n"
    return f"data: {json.dumps({'choices': [{'index': 0, 'delta': {'content': piece}, 'finish_reason': None}]})}\n\n"


def _ending(path: str, reason: str) -> str:
    if path == "/api/chat":
        return json.dumps({"message": {"content": ""}, "done": True, "done_reason": reason}) + "\n"
    stop = {"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]}
    usage = {"choices": [], "usage": {"total_tokens": 3}}
    return f": keep alive\n\ndata: {json.dumps(stop)}\n\ndata: {json.dumps(usage)}\n\ndata: [DONE]\n\n"
