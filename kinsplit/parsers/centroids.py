"""Vectors -> clusters in one pass: each joins the cluster whose mean is most like it, or begins one of its own."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from kinsplit.parsers.segment import IntArray

# So many vectors are compared with all means in one multiplication.
_BLOCK = 128
# Up to so many clusters a vector is compared with all of their means: that is faster than finding out which matter.
_FEW = 1024
# The comparison of a block is a rough one, in float32; what may be similar enough by it is compared again.
_ROUGHNESS = 1e-4
# Digits of a similarity that count: fewer than are sure, so that equal means are equally similar wherever they stand.
_DIGITS = 9


class Capacity(Protocol):
    """Says how much clusters hold, and keeps what is in them."""

    def has_room(self, clusters: IntArray, member: int) -> NDArray[np.bool_]:
        """Return which clusters are likely to take a further member; asked about many at once."""
        ...

    def take(self, cluster: int, member: int) -> bool:
        """Put a member into a cluster, or begin one with the number after the last; return False if it has no room."""
        ...


def cluster(vectors: NDArray[np.floating[Any]], threshold: float, capacity: Capacity) -> None:
    """Put each vector, in order, into the cluster with the most similar mean, if that is similar enough.

    A cluster without room is passed over, and the next best one taken. Of equally similar ones the first is taken. What
    is similar to nothing with room begins a cluster.

    n vectors of d dimensions in m clusters cost what multiplying their matrices costs, n * m * d. Where there are many
    clusters that is done in blocks, and only those means are compared one by one that have changed since their block
    began.

    Args:
        vectors: Shape (n, d), of any length.
        threshold: Least cosine between a vector and the mean of the unit vectors of a cluster so far.
        capacity: Is given every vector's number, in order.
    """
    units = _normalised(np.asarray(vectors, dtype=np.float64))
    sums, means, count = np.zeros_like(units), np.zeros_like(units), 0
    for first in range(0, len(units), _BLOCK):
        block = units[first : first + _BLOCK]
        known = 0 if count <= _FEW else count
        near = block.astype(np.float32) @ means[:known].astype(np.float32).T >= threshold - _ROUGHNESS
        # Clusters that have begun or changed since then; there can be no more of them.
        moved = np.zeros(count + len(block), dtype=np.bool_)
        for member, unit in enumerate(block, start=first):
            if known:
                likely = moved.copy()
                likely[:known] |= near[member - first]
                numbers = np.flatnonzero(likely)
                similar = means[numbers] @ unit
            else:
                similar = means[:count] @ unit
                numbers = np.flatnonzero(similar >= threshold - _ROUGHNESS)
                similar = similar[numbers]
            room = capacity.has_room(numbers, member)
            ranked = _ranked(numbers[room], similar[room], threshold)
            home = next((number for number in ranked if capacity.take(number, member)), count)
            if home == count:
                capacity.take(home, member)
                count += 1
            sums[home] += unit
            means[home] = _normalised(sums[home])
            moved[home] = True


def _ranked(clusters: IntArray, similar: NDArray[np.float64], threshold: float) -> list[int]:
    """Return the clusters that are similar enough, the most similar one first."""
    similar = np.round(similar, _DIGITS)
    order: list[int] = clusters[np.argsort(-similar, kind="stable")].tolist()
    return order[: int(np.count_nonzero(similar >= threshold))]


def _normalised(vectors: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return vectors of length 1, and those of length 0 as they are."""
    norms = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return vectors / np.where(norms > 0, norms, 1.0)
