"""Vectors of a framework's embedding model, cached in a folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from kinsplit.embedding.cached import VectorCache
from kinsplit.errors import EmbeddingError, InvalidParameterError

Vector = list[float]


@dataclass(frozen=True, slots=True)
class VectorFolder:
    """The cached vectors of one model. The file is open during a call only, so any process can share the folder.

    Attributes:
        model: Name of the model, and of whatever else its vectors depend on; part of each vector's key.
        folder: Path of the folder; None for `vectors` in kinsplit's cache folder.

    Raises:
        InvalidParameterError: The name is blank.
    """

    model: str
    folder: str | Path | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.model, str) or not self.model.strip():
            remedy = "Name it, and change the name when the model, its dimension or its instruction changes."
            raise InvalidParameterError("model", "must name the model whose vectors are cached", self.model, remedy)

    def look_up(self, texts: Sequence[str]) -> tuple[dict[str, Vector], list[str]]:
        """Return the cached vectors, by text, and the distinct texts without one."""
        different = list(dict.fromkeys(texts))
        with VectorCache(self.folder) as cache:
            found = cache.get(self.model, different, None)
        return {text: vector.tolist() for text, vector in found.items()}, [t for t in different if t not in found]

    def complete(
        self, texts: Sequence[str], known: Mapping[str, Vector], missing: Sequence[str], new: Sequence[Sequence[float]]
    ) -> list[Vector]:
        """Cache the vectors of missing texts, and return the vectors of all texts.

        Args:
            texts: All texts.
            known: Vectors by text, from `look_up`.
            missing: The other texts, from `look_up`.
            new: Vectors of the other texts.

        Raises:
            EmbeddingError: The model returned another number of vectors, or vectors of different lengths.
        """
        if len(new) != len(missing):
            raise EmbeddingError(f"{self.model} returned {len(new)} vectors for {len(missing)} texts.")
        if not missing:
            return [known[text] for text in texts]
        try:
            vectors = np.asarray(new, dtype=np.float32)
        except ValueError as error:
            raise EmbeddingError(f"{self.model} returned something other than vectors of one length.") from error
        with VectorCache(self.folder) as cache:
            cache.put(self.model, missing, vectors)
        by_text = {**known, **dict(zip(missing, vectors.tolist(), strict=True))}
        return [by_text[text] for text in texts]
