"""Conversion of sentence-transformers models for OpenVINO."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from kinsplit.embedding.backends.model_files import facts_of
from kinsplit.embedding.backends.openvino import MODEL, SENTENCE, TOKENS, OpenVinoBackend
from kinsplit.embedding.backends.telemetry import without_telemetry
from kinsplit.embedding.backends.torch import load_model, quiet
from kinsplit.embedding.windows import read_windows
from kinsplit.errors import EmbeddingError

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

#: Part of a converted model's name in the cache: raise it when the conversion changes.
VERSION = 1
#: Maximum difference between the values of a converted model's vectors and the original's, both in float32.
_TOLERANCE = 1e-3
# Texts of different lengths, so that padding matters, with positions beyond those of the traced example.
_PROBE = ("A class is a blueprint for objects.", "", "naïve café 東京 🤣", "The quick brown fox jumps. " * 12)


def convert(source: str, folder: Path) -> None:
    """Convert a model, and verify that the result gives the same vectors.

    Args:
        source: The model's folder.
        folder: Folder for the result.

    Raises:
        EmbeddingError: The model can't be loaded or converted, or the result gives different vectors.
    """
    model = load_model(source)
    facts_of(model, source).save(folder)
    try:
        # The tracer warns of conditions that hold for every input here.
        with without_telemetry(), quiet(), warnings.catch_warnings(action="ignore"):
            import openvino

            module, example = _module(model)
            converted = openvino.convert_model(module, example_input=example)
            openvino.save_model(converted, folder / MODEL, compress_to_fp16=False)
    except Exception as error:  # OpenVINO and torch raise exceptions of any kind.
        raise EmbeddingError(f"The embedding model {source!r} can't be converted: {error}. {_REMEDY}") from error
    _compare(model, folder, source)


_REMEDY = "Use the backend 'torch' for it."


def _module(model: SentenceTransformer) -> tuple[Any, dict[str, Any]]:
    """Return the transformer and its pooling as one module, and an example of its input."""
    import torch

    transformer, pooling = model[0].auto_model, model[1]

    class Pooled(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.transformer: Any = transformer
            self.pooling: Any = pooling

        def forward(self, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> dict[str, torch.Tensor]:
            tokens = self.transformer(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state
            pooled = self.pooling({TOKENS: tokens, "attention_mask": attention_mask})[SENTENCE]
            return {SENTENCE: torch.nn.functional.normalize(pooled, p=2, dim=1), TOKENS: tokens}

    ids = torch.ones((2, 16), dtype=torch.int64)
    mask = torch.ones_like(ids)
    mask[1, 9:] = 0
    return Pooled().eval(), {"input_ids": ids, "attention_mask": mask}


def _compare(model: SentenceTransformer, folder: Path, source: str) -> None:
    backend = OpenVinoBackend(folder, "f32")
    windows = [parts[0] for parts in read_windows(_PROBE, backend.facts.tokenizer, backend.facts.window)]
    (found,) = backend.vectors([windows], "", is_query=False)
    texts = [window.text for window in windows]
    expected = model.encode(texts, prompt="", normalize_embeddings=True, show_progress_bar=False)
    difference = float(np.abs(found - np.asarray(expected)).max())
    if not difference <= _TOLERANCE:  # False for NaN too.
        raise EmbeddingError(f"Converted, the embedding model {source!r} gives vectors {difference:.2g} off. {_REMEDY}")
