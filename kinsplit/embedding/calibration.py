"""Cosines of a model relative to those of unrelated texts, so that a threshold fits every model and language.

A cosine alone says little: unrelated sentences have a mean of 0.05 with MiniLM in English, of 0.6 with MiniLM in
Russian, and of 0.8 with multilingual-e5. A relative similarity is 0 for a cosine as high as that of unrelated texts, 1
for identical texts and -1 for opposite ones, and linear in between. `docs/embedding.md` compares it with others.

The unrelated texts are those of `unrelated.txt`: sentences, paragraphs and code, none on the subject of another, in
groups of one language. So a relative similarity depends on the model and on the compared texts, and on no collection.
"""

from __future__ import annotations

import functools
from contextlib import suppress
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kinsplit.embedding.cached import without_cache
from kinsplit.embedding.protocol import Embedder, repeatable
from kinsplit.embedding.registry import Same
from kinsplit.errors import EmbeddingError
from kinsplit.support.disk_cache import JsonCache
from kinsplit.support.environment import cache_folder

FloatArray = NDArray[np.float64]
Vectors = NDArray[np.floating[Any]]

# Bytes on disk: those of hundreds of models.
_SIZE = 64 << 20
# A cosine of unrelated texts never counts as 1, since nothing could be more similar then.
_MOST = 1 - 1e-6
# Excess of the expected cosine over that of the language which a model knows best, as a share of what is left up to 1,
# at which a model doesn't know a language: MiniLM has 0.01 on average in English, and 0.24 in German.
_UNKNOWN = 0.2


class Baseline(NamedTuple):
    """Expected cosine of a text with unrelated ones, and how well the model knows its language.

    Attributes:
        unrelated: Expected cosine with unrelated texts.
        familiarity: How well the model knows the language of the text, from 0 to 1. To a model that doesn't know a
            language, all its texts are alike.
    """

    unrelated: float
    familiarity: float


@dataclass(frozen=True, eq=False)
class Calibration:
    """The similarity of unrelated texts by a model.

    Attributes:
        centres: Mean vectors of unrelated texts, float64[languages, dimension]. The dot product of one with the vector
            of a text is the mean cosine of that text and those of the language.
    """

    centres: FloatArray

    def unrelated(self, vectors: Vectors) -> FloatArray:
        """Return the expected cosine of each text with unrelated ones, those of the language that is most similar.

        Args:
            vectors: Vectors of length 1, shape (texts, dimension).

        Returns:
            Shape (texts,).
        """
        return np.asarray(np.minimum((vectors @ self.centres.T).max(axis=1, initial=-1), _MOST))

    @functools.cached_property
    def _lowest(self) -> float:
        """Mean cosine of unrelated texts in the language that the model knows best."""
        return min(float((self.centres**2).sum(axis=1).min()), _MOST)

    def baseline(self, vector: Vectors) -> Baseline:
        """Return the baseline of one text, given its vector of length 1, shape (dimension,)."""
        unrelated = float(self.unrelated(vector[None])[0])
        excess = (unrelated - self._lowest) / (1 - self._lowest)
        return Baseline(unrelated, min(1.0, max(0.0, 1 - excess / _UNKNOWN)))

    def similarities(self, first: Vectors, second: Vectors) -> FloatArray:
        """Return the relative similarity of each of some texts with each of others, from -1 to 1.

        Args:
            first: Vectors of length 1, shape (n, dimension).
            second: Vectors of length 1, shape (m, dimension).

        Returns:
            Shape (n, m).
        """
        base = (self.unrelated(first)[:, None] + self.unrelated(second)) / 2
        beyond = first @ second.T - base
        return np.asarray(np.clip(beyond / np.where(beyond > 0, 1 - base, 1 + base), -1, 1))

    def cosine(self, similarity: float, vectors: Vectors) -> float:
        """Return the cosine that is a relative similarity, from -1 to 1, among some texts.

        Args:
            similarity: The relative similarity.
            vectors: Vectors of the texts, of length 1, shape (texts, dimension).
        """
        base = float(self.unrelated(vectors).mean()) if len(vectors) else 0.0
        return base + similarity * (1 - base if similarity > 0 else 1 + base)


def calibrate(embedder: Embedder) -> Calibration:
    """Return the calibration of a model, which is computed once, and kept in kinsplit's cache folder if it can be.

    Raises:
        EmbeddingError: The model can't be loaded.
    """
    return _calibrated(Same(without_cache(embedder)))


def baseline_of(embedder: Embedder, vector: Vectors) -> Baseline | None:
    """Return the baseline of a text, or None if the model can't embed the unrelated texts.

    Args:
        embedder: The model.
        vector: The text's vector, of length 1, shape (dimension,).
    """
    with suppress(EmbeddingError):
        return calibrate(embedder).baseline(vector)
    return None


@functools.lru_cache(maxsize=8)
def _calibrated(same: Same[Embedder]) -> Calibration:
    embedder, groups = same.value, _unrelated()
    folder = cache_folder() / "calibrations" if repeatable(embedder) else None
    cache = JsonCache(folder, _SIZE, "Calibrations of embedding models")
    key = blake2b(f"{embedder.fingerprint}\0{groups}".encode(), digest_size=16).digest()
    known = cache.get(key)
    if known is None:
        texts = [text for group in groups for text in group]
        ends = np.cumsum([len(group) for group in groups])[:-1]
        vectors = np.split(np.asarray(embedder.embed(texts), dtype=np.float64), ends)
        known = [group.mean(axis=0).tolist() for group in vectors]
        cache.put(key, known)
    cache.close()
    return Calibration(np.asarray(known, dtype=np.float64))


@functools.cache
def _unrelated() -> list[list[str]]:
    """Return the unrelated texts of each language."""
    groups: dict[str, list[str]] = {}
    for line in Path(__file__).with_name("unrelated.txt").read_text(encoding="utf-8").splitlines():
        language, text = line.split("\t")
        groups.setdefault(language, []).append(text.replace("\\n", "\n"))
    return list(groups.values())
