"""Reranking by a cross-encoder, which reads the question and a text as one input."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from kinsplit.errors import EmbeddingError, InvalidParameterError
from kinsplit.retrieval.rerank.protocol import Ranked, RerankWarning
from kinsplit.support.hub import check_repository

if TYPE_CHECKING:
    from sentence_transformers import CrossEncoder


class CrossEncoderReranker:
    """Any `sentence_transformers.CrossEncoder`, loaded at first use and used by one thread at a time.

    A text that doesn't fit into the model's window together with the question is cut off, and a `RerankWarning` gives
    the number of such texts.

    Args:
        model: Name on the Hugging Face Hub, or a folder.
        batch_size: Pairs per batch.

    Raises:
        InvalidParameterError: A batch size below 1.
    """

    def __init__(self, model: str, batch_size: int = 32) -> None:
        if batch_size < 1:
            raise InvalidParameterError("batch_size", "must be at least 1", batch_size, "Leave it out for 32.")
        self.model = model
        self.batch_size = batch_size
        self._lock = threading.Lock()
        self._loaded: CrossEncoder | None = None

    def rerank(self, query: str, texts: Sequence[str]) -> list[Ranked]:
        """Score texts; see `Reranker.rerank`.

        Raises:
            EmbeddingError: The model can't be loaded.
        """
        with self._lock:
            model = self._load()
            self._warn_of_long_texts(model, query, texts)
            scores = model.predict(
                [(query, text) for text in texts], batch_size=self.batch_size, show_progress_bar=False
            )
        return [Ranked(index, float(score)) for index, score in enumerate(scores)]

    def _load(self) -> CrossEncoder:
        if self._loaded is None:
            path = Path(self.model).expanduser()
            try:
                if not path.exists():
                    check_repository(self.model)
                from sentence_transformers import CrossEncoder

                self._loaded = CrossEncoder(str(path) if path.exists() else self.model)
            except Exception as error:
                message = (
                    f"The cross-encoder {self.model!r} can't be loaded: {error}. Give the name of a model or a folder."
                )
                raise EmbeddingError(message) from error
        return self._loaded

    def _warn_of_long_texts(self, model: CrossEncoder, query: str, texts: Sequence[str]) -> None:
        window = model.tokenizer.model_max_length
        lengths = [
            len(ids) for ids in model.tokenizer([query] * len(texts), list(texts), truncation=False)["input_ids"]
        ]
        if cut := sum(length > window for length in lengths):
            problem = f"{cut} of {len(texts)} texts are longer than the cross-encoder's window of {window} tokens"
            warnings.warn(f"{problem}; their ends were not read.", RerankWarning, stacklevel=2)
