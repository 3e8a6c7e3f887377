"""Clustering of passages, compared with comparing each to all means: `python benchmarks/clustering.py`."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Annotated

import numpy as np
import typer
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from kinsplit.parsers.similarity import cluster

_DIMENSION, _THRESHOLD = 384, 0.75

app = typer.Typer(add_completion=False)


class Unlimited:
    """Clusters without a size limit.

    Attributes:
        number: Number of clusters so far.
    """

    def __init__(self) -> None:
        self.number = 0

    def has_room(self, clusters: NDArray[np.int64], _: int) -> NDArray[np.bool_]:
        return np.ones(len(clusters), dtype=np.bool_)

    def take(self, number: int, _: int) -> bool:
        self.number = max(self.number, number + 1)
        return True


@app.command()
def main(
    sizes: Annotated[str, typer.Option(help="Numbers of passages.")] = "2500,5000,10000",
    repeat: Annotated[int, typer.Option(min=1, help="Rounds; the best one counts.")] = 3,
) -> None:
    """Cluster random vectors: all of them unlike, the worst case, and of 300 topics."""
    table = Table("passages", "of", "clusters", "seconds", "one by one", "ratio")
    for size in (int(part) for part in sizes.split(",")):
        for name, vectors in (("no topic", unlike(size)), ("300 topics", of_topics(size))):
            own, other = best([lambda v=vectors: blocked(v), lambda v=vectors: one_by_one(v)], repeat)  # type: ignore[misc]
            table.add_row(
                f"{size:,}", name, f"{blocked(vectors):,}", f"{own:.2f}", f"{other:.2f}", f"{other / own:.1f}"
            )
    Console().print(table)


def unlike(size: int) -> NDArray[np.float32]:
    """Return vectors that are pairwise dissimilar."""
    return np.random.default_rng(0).normal(size=(size, _DIMENSION)).astype(np.float32)


def of_topics(size: int, topics: int = 300) -> NDArray[np.float32]:
    """Return vectors around a number of directions."""
    random = np.random.default_rng(0)
    centres = random.normal(size=(topics, _DIMENSION))
    noise = 0.5 * random.normal(size=(size, _DIMENSION))
    return (centres[random.integers(0, topics, size)] + noise).astype(np.float32)


def blocked(vectors: NDArray[np.float32]) -> int:
    """Cluster as kinsplit does; return the number of clusters."""
    capacity = Unlimited()
    cluster(vectors, _THRESHOLD, capacity)
    return capacity.number


def one_by_one(vectors: NDArray[np.float32]) -> int:
    """Cluster by multiplying each vector with all means so far; return the number of clusters."""
    units = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    sums, means, number = np.zeros_like(units), np.zeros_like(units), 0
    for unit in units:
        similar = means[:number] @ unit
        home = int(similar.argmax()) if number else 0
        if not number or similar[home] < _THRESHOLD:
            home, number = number, number + 1
        sums[home] += unit
        means[home] = sums[home] / np.linalg.norm(sums[home])
    return number


def best(calls: list[Callable[[], int]], repeat: int) -> list[float]:
    """Return the shortest time of each call, with the calls interleaved."""
    times: list[list[float]] = [[] for _ in calls]
    for _ in range(repeat):
        for call, found in zip(calls, times, strict=True):
            begun = time.perf_counter()
            call()
            found.append(time.perf_counter() - begun)
    return [min(found) for found in times]


if __name__ == "__main__":
    app()
