"""Questions that several threads ask at the same time."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from numpy.typing import NDArray

from kinsplit.embedding import create
from kinsplit.embedding.hashing import HashEmbedder
from kinsplit.embedding.protocol import QuestionEmbedder
from kinsplit.errors import EmbeddingError
from kinsplit.support.threads import Gathering


class Slow(HashEmbedder):
    """Embeds one question at a time, refuses "bad", and waits at "first"."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[list[str]] = []
        self.begun, self.leave = threading.Event(), threading.Event()

    def embed_query(self, text: str) -> NDArray[np.float32]:
        self.calls.append([text])
        if text.startswith("first"):
            self.begun.set()
            assert self.leave.wait(30)
        if "bad" in text:
            raise EmbeddingError("bad")
        return super().embed_query(text)


class Together(Slow):
    def embed_queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.calls.append([*texts])
        if "bad" in texts:
            raise EmbeddingError("bad")
        return self.embed(texts)


def until(condition: Callable[[], object]) -> None:
    while not condition():
        time.sleep(0.001)


def test_equal_questions_at_the_same_time_share_a_vector_or_an_error() -> None:
    embedder = Slow()
    vectors = Gathering(embedder.embed_query, None)
    with ThreadPoolExecutor() as pool:
        for text in ("first", "first bad"):
            embedder.begun.clear()
            embedder.leave.clear()
            asked = [pool.submit(vectors.answer, text) for _ in range(3)]
            assert embedder.begun.wait(30)
            assert pool.submit(vectors.answer, "b").result(30).shape == (embedder.dimension,)
            waiters = vectors._asked[text]._condition._waiters  # type: ignore[attr-defined]
            until(lambda waiters=waiters: len(waiters) == 2)  # type: ignore[misc]
            embedder.leave.set()
            if text == "first":
                assert len({id(each.result(30)) for each in asked}) == 1
            for each in asked if text != "first" else ():
                with pytest.raises(EmbeddingError):
                    each.result(30)
            assert embedder.calls.count([text]) == 1
    assert not vectors._asked


def test_questions_that_wait_are_embedded_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.cpu_count", lambda: 3)
    embedder, texts = Together(), [f"owl {n}" for n in range(9)]
    vectors = Gathering(embedder.embed_query, embedder.embed_queries)
    with ThreadPoolExecutor(16) as pool:
        first = pool.submit(vectors.answer, "first")
        assert embedder.begun.wait(30)
        asked = [pool.submit(vectors.answer, text) for text in (*texts, "bad")]
        until(lambda: len(vectors._waiting) == 10)
        embedder.leave.set()
        first.result(30)
        for text, each in zip(texts, asked, strict=False):
            assert (each.result(30) == embedder.embed([text])[0]).all()
        with pytest.raises(EmbeddingError):
            asked[-1].result(30)
    together = [len(call) for call in embedder.calls if len(call) > 1]
    assert together == [8, 2]  # The second one is repeated one by one, since a question was refused.
    assert len(embedder.calls) == 1 + 2 + 2


def test_vectors_of_the_model_do_not_depend_on_company() -> None:
    embedder, texts = create("bundled"), ["Which birds sing at dawn?", "owls", "When is the exam, and where?"]
    assert isinstance(embedder, QuestionEmbedder)
    assert np.allclose(embedder.embed_queries(texts), [embedder.embed_query(text) for text in texts], atol=1e-6)
