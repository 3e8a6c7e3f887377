"""Reranking by a cross-encoder, which reads the question and a text as one input."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np

from kinsplit.embedding.backends.base import Backend, choose_device
from kinsplit.embedding.backends.encoder import LOGITS, PairNetwork, read_encoder
from kinsplit.embedding.backends.model_cache import open_converted
from kinsplit.embedding.backends.model_files import (
    ModelFacts,
    fetch,
    find_folder,
    model_key,
    read_json,
    transformer_facts,
    why_unreadable,
)
from kinsplit.embedding.backends.numpy import NumpyBackend
from kinsplit.embedding.backends.openvino import has_openvino
from kinsplit.embedding.protocol import check_texts
from kinsplit.embedding.windows import Window
from kinsplit.errors import EmbeddingError, MissingExtraError, require
from kinsplit.models import ModelCard
from kinsplit.options import Ranked
from kinsplit.retrieval.rerank.protocol import RerankWarning
from kinsplit.support.extras import needs

if TYPE_CHECKING:
    from sentence_transformers import CrossEncoder
    from tokenizers import Encoding


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
