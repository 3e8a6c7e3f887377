"""The encoders of the BERT family: their weights, and the sequence of operations that computes vectors from them.

After Devlin, Chang, Lee & Toutanova 2019, *BERT: Pre-training of Deep Bidirectional Transformers for Language
Understanding* (arXiv 1810.04805), with the differences of its relatives: positions that count from the padding token
(RoBERTa), a bias by distance (MPNet), embeddings of another width (ELECTRA), no types of tokens (DistilBERT, MPNet).
The operations are those of a backend, so each of them runs the same architecture.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

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
