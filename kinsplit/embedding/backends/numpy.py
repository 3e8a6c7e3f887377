"""The backend that runs encoders in NumPy, for platforms where OpenVINO has no wheels."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from kinsplit.embedding.backends.base import Batch, padded
from kinsplit.embedding.backends.encoder import TOKENS, Array, Network
from kinsplit.embedding.backends.model_files import ModelFacts

Floats = NDArray[np.float32]


class _Arrays:
    """Operations that are computed at once, in float32; see `Operations`."""

    def look_up(self, table: Array, ids: Array) -> Array:
        return np.asarray(table[ids])

    def positions(self, ids: Array) -> Array:
        return np.arange(ids.shape[1])

    def counted_positions(self, ids: Array, pad: int) -> Array:
        mask = ids != pad
        return np.asarray(np.cumsum(mask, axis=1) * mask + pad)

    def distances(self, ids: Array, offset: int) -> Array:
        places = self.positions(ids)
        return np.asarray(places[None, :] - places[:, None] + offset)

    def add(self, first: Array, second: Array) -> Array:
        return np.asarray(first + second)

    def linear(self, tensor: Array, weight: Array, bias: Array) -> Array:
        # One large product is faster than one for each input.
        product = tensor.reshape(-1, tensor.shape[-1]) @ weight.T
        product += bias
        return np.asarray(product.reshape(*tensor.shape[:-1], -1))

    def layer_norm(self, tensor: Array, weight: Array, bias: Array, epsilon: float) -> Array:
        centred = tensor - tensor.mean(axis=-1, keepdims=True)
        variance = np.einsum("...d,...d->...", centred, centred) / np.float32(tensor.shape[-1])
        centred /= np.sqrt(variance + np.float32(epsilon))[..., None]
        centred *= weight
        centred += bias
        return np.asarray(centred)

    def activate(self, tensor: Array, function: str) -> Array:
        if function == "gelu":
            return np.asarray(tensor * (_erf(tensor * np.float32(0.5**0.5)) + 1) * np.float32(0.5))
        if function == "gelu_tanh":
            inner = np.float32((2 / np.pi) ** 0.5) * (tensor + np.float32(0.044715) * tensor**3)
            return np.asarray(tensor * (np.tanh(inner) + 1) * np.float32(0.5))
        return np.tanh(tensor) if function == "tanh" else np.maximum(tensor, np.float32(0))

    def mask_bias(self, mask: Array) -> Array:
        return np.where(mask, np.float32(0), np.float32(-1e9))[:, None, None, :]

    def heads_first(self, tensor: Array) -> Array:
        return tensor.transpose(2, 0, 1)[None]

    def attention(self, query: Array, key: Array, value: Array, bias: Array, heads: int) -> Array:
        inputs, length, width = query.shape
        split = [part.reshape(inputs, length, heads, -1).transpose(0, 2, 1, 3) for part in (query, key, value)]
        scores = (split[0] * np.float32((width // heads) ** -0.5)) @ split[1].transpose(0, 1, 3, 2)
        scores += bias
        scores -= scores.max(axis=-1, keepdims=True)
        np.exp(scores, out=scores)
        scores /= scores.sum(axis=-1, keepdims=True)
        return np.asarray((scores @ split[2]).transpose(0, 2, 1, 3).reshape(inputs, length, width))

    def first(self, tokens: Array) -> Array:
        return np.asarray(tokens[:, 0])

    def mean(self, tokens: Array, mask: Array) -> Array:
        total = np.einsum("nld,nl->nd", tokens, mask.astype(np.float32))
        return np.asarray(total / np.maximum(mask.sum(axis=1, keepdims=True), 1).astype(np.float32))

    def unit(self, vectors: Array) -> Array:
        norms = np.linalg.norm(vectors, axis=1, keepdims=True)
        return np.asarray(vectors / np.maximum(norms, np.float32(1e-12)))


# Abramowitz & Stegun 1964, *Handbook of Mathematical Functions*, formula 7.1.26; its error is below 1.5e-7.
_ERF = tuple(np.float32(number) for number in (1.061405429, -1.453152027, 1.421413741, -0.284496736, 0.254829592))


def _erf(tensor: Array) -> Array:
    size = np.abs(tensor)
    part = 1 / (1 + np.float32(0.3275911) * size)
    total = _ERF[0] * part
    for number in _ERF[1:]:
        total += number
        total *= part
    total *= np.exp(-size * size)
    return np.copysign(1 - total, tensor)


class NumpyBackend:
    """An encoder in float32, which is thread-safe; NumPy distributes products over the cores."""

    label = "numpy float32"
    batch_tokens = 2048

    def __init__(self, network: Network, facts: ModelFacts) -> None:
        self.facts, self._network = facts, network

    def vectors(self, batches: Sequence[Batch], prompt: str, is_query: bool) -> Iterator[Floats]:
        """See `Backend.vectors`; the encodings contain the prompt, and queries are encoded like other texts."""
        del prompt, is_query
        for batch in batches:
            yield self._run(batch)[self._network.main]

    def token_vectors(self, batches: Sequence[Batch]) -> Iterator[list[Floats]]:
        """See `Backend.token_vectors`."""
        for batch in batches:
            found = self._run(batch)[TOKENS]
            yield [own[: len(window.encoding.ids)] for window, own in zip(batch, found, strict=True)]

    def _run(self, batch: Batch) -> dict[str, Array]:
        ids, mask, types = padded(batch, self.facts.pad)
        return self._network.outputs(_Arrays(), ids, mask, types if self._network.reads_types else None)
