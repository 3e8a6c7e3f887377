"""Decisions of embedders on pairs of related and of unrelated texts, by cosines and by similarities relative to these.

`related.txt` has 40 pairs on the same subject: sentences, paragraphs and code, in six languages. The first text of
each with the second one of the next pair in its language is unrelated. Run: python benchmarks/related.py EMBEDDER ...
"""

from __future__ import annotations

import sys
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

import numpy as np

from kinsplit.embedding import Embedder, resolve
from kinsplit.embedding.calibration import calibrate


class Pairs(NamedTuple):
    """Pairs of texts, related ones first.

    Attributes:
        first: First text of each.
        second: Second text of each.
        related: Whether they are related: bool[pairs].
    """

    first: list[str]
    second: list[str]
    related: np.ndarray


def pairs() -> Pairs:
    """Return the pairs of related.txt."""
    lines = Path(__file__).with_name("related.txt").read_text(encoding="utf-8").splitlines()
    rows = [line.replace("\\n", "\n").split("\t") for line in lines]
    groups = [list(group) for _, group in groupby(rows, lambda row: row[0])]
    shifted = [group[(i + 1) % len(group)][2] for group in groups for i in range(len(group))]
    first, second = [row[1] for row in rows], [row[2] for row in rows]
    return Pairs(first * 2, second + shifted, np.repeat([True, False], len(rows)))


def similarities(embedder: Embedder, known: Pairs) -> tuple[np.ndarray, np.ndarray]:
    """Return the cosine and the relative similarity of each pair."""
    first, second = embedder.embed(known.first), embedder.embed(known.second)
    return np.einsum("ij,ij->i", first, second), calibrate(embedder).similarities(first, second).diagonal()


def main(*specs: str) -> None:
    """Print how often embedders decide alike at each threshold, and how often each is right."""
    known = pairs()
    cosines, relative = map(np.stack, zip(*(similarities(resolve(spec), known) for spec in specs), strict=True))
    unrelated = relative[:, ~known.related]
    scores = (relative - unrelated.mean(axis=1, keepdims=True)) / unrelated.std(axis=1, keepdims=True)
    scales = {"cosine": (cosines, 0.05), "similarity": (relative, 0.05), "standard score": (scores, 1)}
    for name, (values, step) in scales.items():
        for threshold in np.arange(2, 19) * step:
            taken = values >= threshold
            right = ", ".join(f"{share:.0%}" for share in (taken == known.related).mean(axis=1))
            print(f"{name} {threshold:.2f}: alike {(taken == taken[0]).all(axis=0).mean():.0%}, right {right}")


if __name__ == "__main__":
    main(*sys.argv[1:])
