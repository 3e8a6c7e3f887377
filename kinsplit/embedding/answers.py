"""What an embedding model of others gave, made sure to be vectors."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kinsplit.errors import EmbeddingError


def unit_vectors(answer: object, count: int, name: str) -> NDArray[np.float32]:
    """Return what an object gave for some texts, checked and made to have length 1.

    Args:
        answer: One sequence of numbers per text.
        count: Number of the texts.
        name: Of the object, for the error.

    Returns:
        The vectors: float32, shape (count, dimension).

    Raises:
        EmbeddingError: They are none, too many or too few, of different lengths, not finite, or zero.
    """
    try:
        vectors = np.asarray(answer, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise EmbeddingError(f"{name} returned something else than one vector per text: {error}.") from error
    if vectors.ndim != 2 or len(vectors) != count or not vectors.shape[1]:
        raise EmbeddingError(f"{name} returned an array of shape {vectors.shape} for {count} texts.")
    if not np.isfinite(vectors).all():
        raise EmbeddingError(f"{name} returned a vector that holds NaN or infinity.")
    largest = np.abs(vectors).max(axis=1, keepdims=True)
    if not largest.all():
        raise EmbeddingError(f"{name} returned a zero vector, which points nowhere and can't be compared.")
    vectors = vectors / largest  # Or their squares might be more, or less, than numbers can be.
    return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), dtype=np.float32)
