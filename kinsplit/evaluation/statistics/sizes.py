"""How long chunks are: average, shortest and longest, in characters, words and tokens."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kinsplit.evaluation.statistics.protocol import Made
from kinsplit.parsers.segment import words

#: Of each chunk its length.
Lengths = NDArray[np.int64]


@dataclass(frozen=True)
class Size:
    """A figure of the chunks' lengths, without their contexts.

    Attributes:
        name: As it is shown.
        unit: What lengths are counted in.
        description: In one line.
        lengths: Returns the length of each chunk.
        figure: Makes one number of them.
    """

    name: str
    unit: str
    description: str
    lengths: Callable[[Made], Lengths]
    figure: Callable[[Lengths], Any]

    def value(self, made: Made) -> float | None:
        """Return the figure; None without chunks."""
        lengths = self.lengths(made)
        return float(self.figure(lengths)) if len(lengths) else None


def characters(made: Made) -> Lengths:
    """Return the characters of each chunk."""
    return np.array([len(chunk.text) for chunk in made.chunking.chunks], dtype=np.int64)


def _words(made: Made) -> Lengths:
    return np.array([len(words(chunk.text).starts) for chunk in made.chunking.chunks], dtype=np.int64)


def tokens(made: Made) -> Lengths:
    """Return the tokens of each chunk."""
    return made.chunking.tokenizer.count([chunk.text for chunk in made.chunking.chunks])


SIZES = tuple(
    Size(f"{key}_{unit}", unit, f"{title} {unit} of a chunk", lengths, figure)
    for unit, lengths in (("characters", characters), ("words", _words), ("tokens", tokens))
    for key, title, figure in (("average", "Average", np.mean), ("min", "Fewest", np.min), ("max", "Most", np.max))
)
