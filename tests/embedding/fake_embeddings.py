"""A server on this machine that speaks the embedding APIs of OpenAI and Ollama, with vectors of hashed words."""

from __future__ import annotations

import base64
import json
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from kinsplit.embedding.hashing import HashEmbedder
from tests.local_server import QuietHandler, running


class FakeEmbeddings:
    """The server.

    Attributes:
        replies: Status, body and headers of the next responses; after them, requests are answered.
        most: Maximum number of texts in a request.
        longest: Maximum number of characters of a text.
        told: What the server tells of its models, by path; it has no other.
        shown: More metadata that Ollama shows of every model.
        calls: Path, headers and body of each request, those for `told` left out.
    """

    def __init__(self) -> None:
        self.replies: deque[tuple[int, str, dict[str, str]]] = deque()
        self.most, self.longest = 1000, 100_000
        self.told: dict[str, object] = {}
        self.shown: dict[str, object] = {}
        self.calls: list[tuple[str, dict[str, str], dict[str, Any]]] = []
        self.url = ""

    @property
    def inputs(self) -> list[list[str]]:
        return [body["input"] for _, _, body in self.calls if "input" in body]

    def answer(self, path: str, body: dict[str, Any]) -> tuple[int, str, dict[str, str]]:
        if path == "/api/show":
            info = {"bert.context_length": 300, "bert.block_count": 2, **self.shown}
            return 200, json.dumps({"model_info": info}), {}
        texts = body["input"]
        if len(texts) > self.most:
            return 422, json.dumps({"error": f"batch size {len(texts)} > maximum allowed batch size {self.most}"}), {}
        if any(len(text) > self.longest for text in texts):
            return 400, json.dumps({"error": {"message": "This model's maximum context length is 99 tokens."}}), {}
        # Not of length 1, which few models guarantee.
        vectors = 2 * HashEmbedder(body.get("dimensions") or 16).embed(texts)
        tokens = sum(len(text.split()) for text in texts)
        if path == "/api/embed":
            return 200, json.dumps({"embeddings": vectors.tolist(), "prompt_eval_count": tokens}), {}
        shaped = [vector.tolist() for vector in vectors]
        if body.get("encoding_format") == "base64":
            shaped = [base64.b64encode(np.asarray(vector, np.float32).tobytes()).decode() for vector in vectors]
        data = [{"index": index, "embedding": vector, "object": "embedding"} for index, vector in enumerate(shaped)]
        # In another order, as the API allows.
        answer = {"object": "list", "data": data[::-1], "model": body["model"]}
        return 200, json.dumps({**answer, "usage": {"prompt_tokens": tokens, "total_tokens": tokens}}), {}


@contextmanager
def serving() -> Iterator[FakeEmbeddings]:
    """Run a server until the block ends."""
    fake = FakeEmbeddings()

    class Handler(QuietHandler):
        def do_GET(self) -> None:
            known = self.path in fake.told
            self.respond(json.dumps(fake.told.get(self.path)).encode(), 200 if known else 404, {})

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            fake.calls.append((self.path, dict(self.headers), body))
            status, text, headers = fake.replies.popleft() if fake.replies else fake.answer(self.path, body)
            self.respond(text.encode(), status, {"content-type": "application/json", **headers})

    with running(Handler) as port:
        fake.url = f"http://127.0.0.1:{port}"
        yield fake
