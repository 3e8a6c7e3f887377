"""Cross-encoders that run without PyTorch: models that read two texts at once and score the pair."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from kinsplit.embedding.backends.base import Backend
from kinsplit.embedding.backends.encoder import LOGITS, PairNetwork
from kinsplit.embedding.backends.model_cache import open_converted
from kinsplit.embedding.backends.model_files import ModelFacts, model_key, read_json, transformer_facts, why_unreadable
from kinsplit.embedding.backends.numpy import NumpyBackend
from kinsplit.embedding.backends.openvino import has_openvino
from kinsplit.embedding.backends.weights import read_encoder
from kinsplit.embedding.protocol import check_texts
from kinsplit.embedding.windows import Window

if TYPE_CHECKING:
    from tokenizers import Encoding


class _Head(NamedTuple):
    """The classifier of an architecture; see `PairNetwork`."""

    dense: str
    activation: str
    last: str
    reads_types: bool = False


# Tokenizers of RoBERTa and its descendants give all tokens type 0.
_ROBERTA = _Head("classifier.dense", "tanh", "classifier.out_proj")
_HEADS = {
    "bert": _Head("pooler.dense", "tanh", "classifier", reads_types=True),
    "camembert": _ROBERTA,
    "distilbert": _Head("pre_classifier", "relu", "classifier"),
    "electra": _Head("classifier.dense", "gelu", "classifier.out_proj", reads_types=True),
    "mpnet": _ROBERTA,
    "roberta": _ROBERTA,
    "xlm-roberta": _ROBERTA,
}
_ACTIVATIONS = ("Identity", "Sigmoid")


class PairScorer:
    """A cross-encoder of the BERT family with one score per pair, on OpenVINO or NumPy; it is thread-safe.

    Raises:
        EmbeddingError: The model can't be read or converted.
    """

    def __init__(self, folder: Path) -> None:
        self._is_sigmoid = _activation(folder) == "Sigmoid"
        self._backend = _open(folder)
        self._tokenizer = self._backend.facts.tokenizer
        self.card = self._backend.facts.card.model_copy(update={"dimension": 0, "weights": folder.name})
        self._cutting = type(self._tokenizer).from_str(self._tokenizer.to_str())
        self._cutting.enable_truncation(self.card.window, strategy="longest_first")

    def lengths(self, query: str, texts: Sequence[str]) -> list[int]:
        """Return the number of tokens of each pair."""
        return [len(encoding.ids) for encoding in self._encode(query, texts)]

    def scores(self, query: str, texts: Sequence[str], batch_size: int) -> list[float]:
        """Score each pair of the query and a text; of a pair that is too long, the end of the longer one is cut off."""
        encodings = [
            self._cutting.encode(query, text) if len(encoding.ids) > self.card.window else encoding
            for text, encoding in zip(check_texts(texts), self._encode(query, texts), strict=True)
        ]
        order = sorted(range(len(texts)), key=lambda index: -len(encodings[index].ids))
        batches = [order[start : start + batch_size] for start in range(0, len(order), batch_size)]
        windows = [[Window(texts[index], encodings[index]) for index in batch] for batch in batches]
        scores = np.empty(len(texts))
        for batch, logits in zip(batches, self._backend.vectors(windows, "", is_query=False), strict=True):
            scores[batch] = logits[:, 0]
        return [float(score) for score in (1 / (1 + np.exp(-scores)) if self._is_sigmoid else scores)]

    def _encode(self, query: str, texts: Sequence[str]) -> list[Encoding]:
        (query,) = check_texts([query])
        encodings: list[Encoding] = self._tokenizer.encode_batch([(query, text) for text in check_texts(texts)])
        return encodings


def _open(folder: Path) -> Backend:
    def read() -> tuple[PairNetwork, ModelFacts]:
        head = _HEADS[read_json(folder / "config.json")["model_type"]]
        return PairNetwork(read_encoder(folder), *head), transformer_facts(folder)

    if not has_openvino():
        return NumpyBackend(*read())
    # In bfloat16 the scores would differ from sentence-transformers' in the third digit.
    return open_converted(f"{model_key(folder.name, folder)}-pairs", read, "openvino-float32", output=LOGITS)


def why_no_scorer(folder: Path) -> str | None:
    """Return the reason why `PairScorer` can't run a model, or None."""
    if reason := why_unreadable(folder):
        return reason
    if not str(read_json(folder / "config.json").get("architectures")).count("ForSequenceClassification"):
        return "it is not a model for sequence classification"
    if (labels := len(read_json(folder / "config.json").get("id2label", "01"))) != 1:
        return f"it gives {labels} scores for a pair"
    modules = [module["type"].rpartition(".")[2] for module in read_json(folder / "modules.json") or ()]
    if modules not in ([], ["Transformer"]):
        return f"it is not a transformer alone, but {' + '.join(modules)}"
    if (activation := _activation(folder)) not in _ACTIVATIONS:
        return f"its activation {activation!r} is none of {', '.join(_ACTIVATIONS)}"
    return None


def _activation(folder: Path) -> str:
    """Return the name of the function on the scores, in the places where sentence-transformers has declared it."""
    config = read_json(folder / "config.json")
    declared = (
        (read_json(folder / "config_sentence_transformers.json") or {}).get("activation_fn"),
        (config.get("sentence_transformers") or {}).get("activation_fn"),
        config.get("sbert_ce_default_activation_function"),
    )
    return next(filter(None, declared), "Sigmoid").rpartition(".")[2]
