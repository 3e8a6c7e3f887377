"""Reranking by a cross-encoder, which reads the question and a text as one input."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from kinsplit.embedding.backends.base import choose_device
from kinsplit.embedding.backends.model_files import fetch, find_folder
from kinsplit.embedding.backends.pairs import PairScorer, why_no_scorer
from kinsplit.errors import EmbeddingError, MissingExtraError, require
from kinsplit.models import ModelCard
from kinsplit.options import Ranked
from kinsplit.retrieval.rerank.protocol import RerankWarning
from kinsplit.support.extras import needs

if TYPE_CHECKING:
    from sentence_transformers import CrossEncoder


class CrossEncoderReranker:
    """Any `sentence_transformers.CrossEncoder`, loaded at first use.

    On a CPU, one of the BERT family with a single score runs on OpenVINO or NumPy, in float32 and without PyTorch. All
    others, and every model on a GPU, run in sentence-transformers itself, which the extra "torch" installs; then one
    thread at a time uses it. Both give the same scores.

    A text that doesn't fit into the model's window together with the question is cut off, and a `RerankWarning` gives
    the number of such texts.

    Args:
        model: Name on the Hugging Face Hub, or a folder.
        batch_size: Pairs per batch.

    Raises:
        InvalidParameterError: A batch size below 1.
    """

    def __init__(self, model: str, batch_size: int = 32) -> None:
        require(batch_size >= 1, "batch_size", "must be at least 1", batch_size, "Leave it out for 32.")
        self.model = model
        self.batch_size = batch_size
        self._lock = threading.Lock()
        self._loaded: _Scorer | None = None

    @property
    def card(self) -> ModelCard:
        """The card of the model, which is loaded now."""
        return self._load().card

    def rerank(self, query: str, texts: Sequence[str]) -> list[Ranked]:
        """Score texts; see `Reranker.rerank`.

        Raises:
            MissingExtraError: The model needs PyTorch, which is not installed.
            EmbeddingError: The model can't be loaded.
        """
        scorer = self._load()
        if cut := sum(length > scorer.card.window for length in scorer.lengths(query, texts)):
            long = f"longer than the cross-encoder's window of {scorer.card.window} tokens; their ends were not read."
            warnings.warn(f"{cut} of {len(texts)} texts are {long}", RerankWarning, stacklevel=2)
        return [Ranked(index, score) for index, score in enumerate(scorer.scores(query, texts, self.batch_size))]

    def _load(self) -> _Scorer:
        with self._lock:
            if self._loaded is None:
                self._loaded = _load(self.model)
            return self._loaded


class _Scorer(Protocol):
    """A loaded cross-encoder; see `PairScorer`."""

    card: ModelCard

    def lengths(self, query: str, texts: Sequence[str]) -> list[int]: ...

    def scores(self, query: str, texts: Sequence[str], batch_size: int) -> list[float]: ...


def _load(model: str) -> _Scorer:
    try:
        folder = find_folder(model, "config.json")
        if choose_device("auto") == "cpu":
            folder = folder or fetch(model, "config.json")
            if folder is not None and why_no_scorer(folder) is None:
                return PairScorer(folder)
        return _Torch(model if folder is None else str(folder))
    except MissingExtraError:
        raise
    except Exception as error:  # The libraries raise exceptions of any kind.
        message = f"The cross-encoder {model!r} can't be loaded: {error}. Give the name of a model or a folder."
        raise EmbeddingError(message) from error


class _Torch:
    """A cross-encoder in sentence-transformers, whose tokenizer is not thread-safe."""

    def __init__(self, model: str) -> None:
        with needs("torch"):
            from sentence_transformers import CrossEncoder
        self._model: CrossEncoder = CrossEncoder(model)
        self._lock = threading.Lock()
        self.card = ModelCard(weights=model, window=self._model.tokenizer.model_max_length)

    def lengths(self, query: str, texts: Sequence[str]) -> list[int]:
        with self._lock:
            read = self._model.tokenizer([query] * len(texts), list(texts), truncation=False)["input_ids"]
        return [len(ids) for ids in read]

    def scores(self, query: str, texts: Sequence[str], batch_size: int) -> list[float]:
        pairs = [(query, text) for text in texts]
        with self._lock:
            return [float(x) for x in self._model.predict(pairs, batch_size=batch_size, show_progress_bar=False)]
