"""The encoders of the BERT family: their weights, and the sequence of operations that computes vectors from them.

After Devlin, Chang, Lee & Toutanova 2019, *BERT: Pre-training of Deep Bidirectional Transformers for Language
Understanding* (arXiv 1810.04805), with the differences of its relatives: positions that count from the padding token
(RoBERTa), a bias by distance (MPNet), embeddings of another width (ELECTRA), no types of tokens (DistilBERT, MPNet).
The operations are those of a backend, so each of them runs the same architecture.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from kinsplit.errors import EmbeddingError, MissingExtraError
from kinsplit.support.extras import needs

Array = NDArray[Any]
T = TypeVar("T")


class Operations(Protocol[T]):
    """Operations of a backend on its tensors; weights are arrays, as they were read."""

    def look_up(self, table: Array, ids: T) -> T:
        """Return the rows of a table."""

    def positions(self, ids: T) -> T:
        """Return 0, 1, 2 ... for the tokens of an input, shape (length,)."""

    def counted_positions(self, ids: T, pad: int) -> T:
        """Return `pad` for padding, and `pad` + 1, + 2 ... for other tokens, shape (inputs, length)."""

    def distances(self, ids: T, offset: int) -> T:
        """Return the distance of each token from each other plus `offset`, shape (length, length)."""

    def add(self, first: T, second: T) -> T:
        """Add two tensors."""

    def linear(self, tensor: T, weight: Array, bias: Array) -> T:
        """Multiply the last axis by the transpose of a weight, and add a bias."""

    def layer_norm(self, tensor: T, weight: Array, bias: Array, epsilon: float) -> T:
        """Normalise the last axis to mean 0 and variance 1, and scale it."""

    def activate(self, tensor: T, function: str) -> T:
        """Apply "gelu" (with the error function), "gelu_tanh" (its approximation), "relu" or "tanh"."""

    def mask_bias(self, mask: T) -> T:
        """Return 0 for tokens and a very low number for padding, shape (inputs, 1, 1, length)."""

    def heads_first(self, tensor: T) -> T:
        """Turn a tensor of shape (length, length, heads) into (1, heads, length, length)."""

    def attention(self, query: T, key: T, value: T, bias: T, heads: int) -> T:
        """Attend to all tokens with several heads, the bias added to the scaled products."""

    def first(self, tokens: T) -> T:
        """Return the first token of each input."""

    def mean(self, tokens: T, mask: T) -> T:
        """Return the mean of each input's tokens without padding."""

    def unit(self, vectors: T) -> T:
        """Scale vectors to length 1."""


@dataclass(frozen=True, slots=True, eq=False)
class Encoder:
    """An encoder."""

    weights: Mapping[str, Array]  # Tensors in float32, by their names in BERT.
    layers: int
    heads: int
    epsilon: float
    activation: str
    counted_from: int | None  # Id of the padding token if positions count from it, else None.

    def tokens(self, ops: Operations[T], ids: T, mask: T, types: T | None = None) -> T:
        """Compute the vectors of all tokens, shape (inputs, length, width), from arrays of shape (inputs, length).

        `mask` is 1 for tokens and 0 for padding; `types` may be None for 0.
        """
        hidden = self._embed(ops, ids, types)
        bias = ops.mask_bias(mask)
        if "encoder.relative_attention_bias.weight" in self.weights:
            bias = ops.add(ops.heads_first(self._by_distance(ops, ids)), bias)
        for index in range(self.layers):
            hidden = self._layer(ops, f"encoder.layer.{index}", hidden, bias)
        return hidden

    def linear(self, ops: Operations[T], name: str, tensor: T) -> T:
        """Apply the linear layer of that name."""
        return ops.linear(tensor, self.weights[f"{name}.weight"], self.weights[f"{name}.bias"])

    def _embed(self, ops: Operations[T], ids: T, types: T | None) -> T:
        word, position = (self.weights[f"embeddings.{name}_embeddings.weight"] for name in ("word", "position"))
        kinds = self.weights.get("embeddings.token_type_embeddings.weight")
        if kinds is not None and types is None:
            # All tokens are of type 0, whose vector is added once to the table instead of to each token.
            position = position + kinds[0]
        places = ops.positions(ids) if self.counted_from is None else ops.counted_positions(ids, self.counted_from)
        hidden = ops.add(ops.look_up(word, ids), ops.look_up(position, places))
        if kinds is not None and types is not None:
            hidden = ops.add(hidden, ops.look_up(kinds, types))
        hidden = self._norm(ops, "embeddings", hidden)
        return self.linear(ops, "embeddings_project", hidden) if "embeddings_project.weight" in self.weights else hidden

    def _layer(self, ops: Operations[T], name: str, hidden: T, bias: T) -> T:
        query, key, value = (
            self.linear(ops, f"{name}.attention.self.{part}", hidden) for part in ("query", "key", "value")
        )
        read = ops.attention(query, key, value, bias, self.heads)
        read = self.linear(ops, f"{name}.attention.output.dense", read)
        hidden = self._norm(ops, f"{name}.attention.output", ops.add(read, hidden))
        inner = ops.activate(self.linear(ops, f"{name}.intermediate.dense", hidden), self.activation)
        return self._norm(ops, f"{name}.output", ops.add(self.linear(ops, f"{name}.output.dense", inner), hidden))

    def _norm(self, ops: Operations[T], name: str, tensor: T) -> T:
        weight, bias = self.weights[f"{name}.LayerNorm.weight"], self.weights[f"{name}.LayerNorm.bias"]
        return ops.layer_norm(tensor, weight, bias, self.epsilon)

    def _by_distance(self, ops: Operations[T], ids: T) -> T:
        """Return the bias of each pair of tokens, shape (length, length, heads)."""
        most = len(self.weights["embeddings.position_embeddings.weight"]) - 1
        table = self.weights["encoder.relative_attention_bias.weight"]
        return ops.look_up(table[_buckets(np.arange(-most, most + 1), len(table))], ops.distances(ids, most))


def _buckets(distances: Array, count: int) -> Array:
    """Return the bucket of each distance; far ones share one, on a logarithmic scale up to 128 (as in T5)."""
    half = count // 2
    exact, near = half // 2, np.abs(distances)
    scale = np.log(np.maximum(near, 1).astype(np.float32) / exact) / math.log(128 / exact) * (half - exact)
    far = np.minimum(exact + scale.astype(np.int64), half - 1)
    return np.asarray((distances > 0) * half + np.where(near < exact, near, far))


#: Outputs of networks.
SENTENCE, TOKENS, LOGITS = "sentence_embedding", "token_embeddings", "logits"


class Network(Protocol):
    """A whole model."""

    main: str

    @property
    def reads_types(self) -> bool:
        """See the class."""
        ...

    def outputs(self, ops: Operations[T], ids: T, mask: T, types: T | None) -> dict[str, T]:
        """Compute all outputs, by name; see `Encoder.tokens`."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class SentenceNetwork:
    """An encoder whose tokens are pooled to one vector of length 1."""

    encoder: Encoder
    pooling: str
    main = SENTENCE
    reads_types = False

    def outputs(self, ops: Operations[T], ids: T, mask: T, types: T | None) -> dict[str, T]:
        """See `Network.outputs`."""
        tokens = self.encoder.tokens(ops, ids, mask, types)
        pooled = ops.first(tokens) if self.pooling == "cls" else ops.mean(tokens, mask)
        return {SENTENCE: ops.unit(pooled), TOKENS: tokens}


#: Ways to pool tokens: the first one, or the mean of all.
POOLINGS = ("cls", "mean")


@dataclass(frozen=True, slots=True, eq=False)
class PairNetwork:
    """An encoder that reads two texts at once, and a classifier on the first token."""

    encoder: Encoder
    dense: str
    activation: str  # Function between the two layers; see `Operations.activate`.
    last: str  # Name of its second layer.
    reads_types: bool
    main = LOGITS

    def outputs(self, ops: Operations[T], ids: T, mask: T, types: T | None) -> dict[str, T]:
        """See `Network.outputs`."""
        first = ops.first(self.encoder.tokens(ops, ids, mask, types))
        inner = ops.activate(self.encoder.linear(ops, self.dense, first), self.activation)
        return {LOGITS: self.encoder.linear(ops, self.last, inner)}


#: Architectures, as their `config.json` calls them.
FAMILIES = ("bert", "camembert", "distilbert", "electra", "mpnet", "roberta", "xlm-roberta")
# Activation functions, as `config.json` calls them, and the names of `Operations.activate`.
_ACTIVATIONS = {
    **{name: name for name in ("gelu", "relu", "tanh")},
    **dict.fromkeys(("gelu_fast", "gelu_new", "gelu_pytorch_tanh"), "gelu_tanh"),
}
# Families whose positions count from the padding token; MPNet's has a fixed id, whatever its configuration says.
_COUNTED = ("camembert", "mpnet", "roberta", "xlm-roberta")
_MPNET_PAD = 1
# Names of tensors in other families and in older files, and BERT's.
_RENAMED = tuple(
    (re.compile(pattern), name)
    for pattern, name in (
        (r"^(bert|camembert|distilbert|electra|mpnet|roberta)\.", ""),
        (r"\.gamma$", ".weight"),
        (r"\.beta$", ".bias"),
        (r"^transformer\.layer\.", "encoder.layer."),
        (r"attention\.(q_lin|attn\.q)\.", "attention.self.query."),
        (r"attention\.(k_lin|attn\.k)\.", "attention.self.key."),
        (r"attention\.(v_lin|attn\.v)\.", "attention.self.value."),
        (r"attention\.(out_lin|attn\.o)\.", "attention.output.dense."),
        (r"(sa_layer_norm|attention\.LayerNorm)\.", "attention.output.LayerNorm."),
        (r"ffn\.lin1\.", "intermediate.dense."),
        (r"(ffn\.lin2)\.", "output.dense."),
        (r"\.output_layer_norm\.", ".output.LayerNorm."),
    )
)
# Tensors inside an encoder that are no weights.
_BUFFERS = re.compile(r"embeddings\.(position_ids|token_type_ids)$")


def why_unknown(config: Mapping[str, Any]) -> str | None:
    """Return the reason why an architecture can't be computed here, or None."""
    family, activation = config.get("model_type"), _activation(config)
    if family not in FAMILIES:
        return f"its architecture {family!r} is none of {', '.join(FAMILIES)}"
    if activation not in _ACTIVATIONS:
        return f"its activation {activation!r} is none of {', '.join(_ACTIVATIONS)}"
    if (kind := config.get("position_embedding_type", "absolute")) != "absolute":
        return f"its position embeddings are {kind!r}, not 'absolute'"
    return "it is a decoder" if config.get("is_decoder") else None


def _activation(config: Mapping[str, Any]) -> str:
    return str(config.get("hidden_act", config.get("activation", "gelu")))


def read_encoder(folder: Path) -> Encoder:
    """Read an encoder whose architecture is known (see `why_unknown`) from a folder of transformers.

    Raises:
        MissingExtraError: The weights are in PyTorch's format, and PyTorch is not installed.
        EmbeddingError: The weights can't be read, or are not those of the architecture.
    """
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    family = config["model_type"]
    layers = int(config.get("num_hidden_layers") or config["n_layers"])
    try:
        read = {_rename(name): tensor for file in _weight_files(folder) for name, tensor in _tensors(file).items()}
        weights = {name: np.asarray(tensor, dtype=np.float32) for name, tensor in read.items()}
    except MissingExtraError:
        raise
    except Exception as error:  # safetensors and torch raise exceptions of several kinds.
        raise EmbeddingError(f"{folder}: the weights can't be read ({error}). Copy or download them again.") from error
    if problem := _difference(weights, layers):
        raise EmbeddingError(f"{folder}: the weights are not those of {family!r}: {problem}. Use the backend 'torch'.")
    pad = _MPNET_PAD if family == "mpnet" else config.get("pad_token_id", 1)
    return Encoder(
        weights,
        layers,
        heads=int(config.get("num_attention_heads") or config["n_heads"]),
        epsilon=float(config.get("layer_norm_eps", 1e-12)),
        activation=_ACTIVATIONS[_activation(config)],
        counted_from=pad if family in _COUNTED else None,
    )


def has_weights(folder: Path) -> bool:
    """Return whether a folder holds weights that `read_encoder` can read."""
    return any((folder / name).is_file() for name in (*_SAFETENSORS, PICKLED))


_SAFETENSORS = ("model.safetensors", "model.safetensors.index.json")
#: File of weights in PyTorch's format.
PICKLED = "pytorch_model.bin"


def _weight_files(folder: Path) -> list[Path]:
    whole, index = (folder / name for name in _SAFETENSORS)
    if whole.is_file():
        return [whole]
    if index.is_file():
        parts = json.loads(index.read_text(encoding="utf-8"))["weight_map"]
        return [folder / name for name in sorted(set(parts.values()))]
    return [folder / PICKLED]


def _tensors(file: Path) -> dict[str, Array]:
    if file.name != PICKLED:
        from safetensors.numpy import load_file

        return load_file(file)
    with needs("torch"):
        import torch
    return {name: tensor.float().numpy() for name, tensor in torch.load(file, weights_only=True).items()}


def _rename(name: str) -> str:
    for pattern, own in _RENAMED:
        name = pattern.sub(own, name)
    return name


_LAYER = (
    *("attention.self.query", "attention.self.key", "attention.self.value"),
    *("attention.output.dense", "attention.output.LayerNorm"),
    *("intermediate.dense", "output.dense", "output.LayerNorm"),
)


def _difference(weights: Mapping[str, Array], layers: int) -> str | None:
    """Return how the names of an encoder's tensors differ from those that are used."""
    norms = {f"embeddings.LayerNorm.{kind}" for kind in ("weight", "bias")}
    needed = {"embeddings.word_embeddings.weight", "embeddings.position_embeddings.weight", *norms}
    parts = [f"encoder.layer.{index}.{part}" for index in range(layers) for part in _LAYER]
    needed |= {f"{part}.{kind}" for part in parts for kind in ("weight", "bias")}
    more = {"embeddings.token_type_embeddings.weight", "encoder.relative_attention_bias.weight"}
    if missing := sorted(needed - set(weights)):
        return f"{missing[0]} is missing"
    own = (name for name in weights if name.startswith(("embeddings.", "encoder.")) and not _BUFFERS.match(name))
    other = sorted(set(own) - needed - more)
    return f"{other[0]} is unknown" if other else None
