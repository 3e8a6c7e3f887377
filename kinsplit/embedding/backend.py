"""What runs a model: the protocol, and the input that is put together for it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from kinsplit.embedding.model_facts import ModelFacts
from kinsplit.embedding.windows import Window

Batch = Sequence[Window]


class Backend(Protocol):
    """A loaded model.

    Attributes:
        label: What it runs on, in words.
        facts: What the model declares.
        batch_tokens: Most tokens of a batch that it runs well with, padding included.
    """

    label: str
    facts: ModelFacts
    batch_tokens: int

    def vectors(self, batches: Sequence[Batch], prompt: str, is_query: bool) -> Iterator[NDArray[np.float32]]:
        """Yield the vectors of each batch, in order, each of length 1: float32, shape (len(batch), dimension).

        Args:
            batches: Windows, whose encodings hold the prompt already.
            prompt: What was put before each.
            is_query: Whether they are questions; some models read these otherwise.
        """
        ...

    def token_vectors(self, batches: Sequence[Batch]) -> Iterator[list[NDArray[np.float32]]]:
        """Yield, for each batch and each of its windows, the vectors of all tokens: float32, shape (tokens, width)."""
        ...


def sorted_batches(lengths: Sequence[int], batch_tokens: int) -> list[list[int]]:
    """Put inputs of like length together, so that little is padded.

    Args:
        lengths: Of the inputs, in tokens.
        batch_tokens: Most tokens of a batch, padding included; a longer input is a batch of its own.

    Returns:
        The places of the inputs; the longest first, so that memory is short at once or never.
    """
    order = sorted(range(len(lengths)), key=lambda index: -lengths[index])
    batches, start = [], 0
    while start < len(order):
        stop = start + max(1, batch_tokens // max(1, lengths[order[start]]))
        batches.append(order[start:stop])
        start = stop
    return batches
