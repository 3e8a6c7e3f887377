"""Vectors of a framework's embedding model, cached in a folder."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from kinsplit.embedding.cached import VectorCache
from kinsplit.errors import EmbeddingError, InvalidParameterError

Vector = list[float]


@dataclass(frozen=True, slots=True)
class VectorFolder:
    """The cached vectors of one model. The file is open during a call only, so any process can share the folder.

    The name, which must not be blank, of the model and of whatever else its vectors depend on, is part of each vector's
    key. The folder is by default `vectors` in kinsplit's cache folder.
    """

    model: str
    folder: str | Path | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.model, str) or not self.model.strip():
            remedy = "Name it, and change the name when the model, its dimension or its instruction changes."
            raise InvalidParameterError("model", "must name the model whose vectors are cached", self.model, remedy)

    def vectors(self, texts: Sequence[str], embed: Callable[[list[str]], Sequence[Sequence[float]]]) -> list[Vector]:
        """Return the vectors of texts; those that are not cached are embedded, each text once, and cached.

        The model must return as many vectors, of one length, or EmbeddingError is raised.
        """
        different = list(dict.fromkeys(texts))
        with VectorCache(self.folder) as cache:
            found = cache.get(self.model, different, None)
        known = {text: vector.tolist() for text, vector in found.items()}
        if missing := [text for text in different if text not in known]:
            new = embed(missing)
            if len(new) != len(missing):
                raise EmbeddingError(f"{self.model} returned {len(new)} vectors for {len(missing)} texts.")
            try:
                vectors = np.asarray(new, dtype=np.float32)
            except ValueError as error:
                raise EmbeddingError(f"{self.model} returned something other than vectors of one length.") from error
            with VectorCache(self.folder) as cache:
                cache.put(self.model, missing, vectors)
            known |= dict(zip(missing, vectors.tolist(), strict=True))
        return [known[text] for text in texts]
