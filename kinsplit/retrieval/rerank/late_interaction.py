"""Reranking by late interaction: every token of the question is matched with its best token in a text."""

from __future__ import annotations

import math
import threading
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Sequence
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from kinsplit.embedding.protocol import TokenEmbedder
from kinsplit.errors import require
from kinsplit.options import Ranked

#: Maximum bytes of the vectors that are kept: those of about 1,000 chunks of 160 tokens.
_KEPT = 64 * 2**20
# Factor from values between -1 and 1 to int8. The cosines change by less than a hundredth.
_SCALE = 127


class LateInteractionReranker:
    """MaxSim over the token vectors of the index's embedder (Khattab and Zaharia, "ColBERT", SIGIR 2020).

    A text's score is the mean, over the question's tokens, of each token's highest cosine with a token of the text. It
    needs no second model, though one trained for late interaction does better. An embedder that wasn't trained for it
    works best in combination with the earlier scores (`benchmarks/reranking.py`), as has been found of other rerankers
    (Wang et al., "BERT-based Dense Retrievers Require Interpolation with BM25", ICTIR 2021).

    Embedding the texts takes nearly all of the time: about a second for the two stages of a search on two cores. The
    token vectors of the last ones are kept in memory, as int8.

    Args:
        embedder: Returns a vector for each token.
        earlier: Weight of the earlier score relative to the reranker's; 0 leaves it out. See `rerank`.
        characters: Maximum number of characters to read of the texts together, from the first, which is always read;
            the others are left out. With 6000, a search takes a third of the time and finds less than with the default,
            which reads all (`benchmarks/reranking.py`).

    Raises:
        InvalidParameterError: A negative weight, less than one character, or an embedder without vectors for tokens.
    """

    def __init__(self, embedder: TokenEmbedder, earlier: float = 1.0, characters: float = math.inf) -> None:
        remedy = "Use a sentence-transformers model, or a cross-encoder."
        rule, name = "needs an embedder with vectors for tokens", getattr(embedder, "name", embedder)
        require(isinstance(embedder, TokenEmbedder), "rerank", rule, name, remedy)
        require(earlier >= 0, "earlier", "must be at least 0", earlier, "The default is 1.")
        require(characters >= 1, "characters", "must be at least 1", characters, "Leave it out to read all.")
        self.embedder, self.earlier, self.characters = embedder, earlier, characters
        self._kept: OrderedDict[str, NDArray[np.int8]] = OrderedDict()
        self._bytes = 0
        self._lock = threading.Lock()

    def rerank(self, query: str, texts: Sequence[str]) -> list[Ranked]:
        """Score the first texts and leave out the others; see `Reranker.rerank`."""
        texts = texts[: max(1, bisect_right(list(accumulate(map(len, texts))), self.characters))]
        (question,) = self.embedder.embed_tokens([query])
        return [Ranked(at, score) for at, score in enumerate(_max_sim(question, self._vectors(texts)))]

    def _vectors(self, texts: Sequence[str]) -> list[NDArray[np.int8]]:
        """Return the token vectors of texts, of which those that aren't kept are embedded."""
        with self._lock:
            found = {text: self._kept[text] for text in texts if text in self._kept}
            for text in found:
                self._kept.move_to_end(text)
        new = [text for text in dict.fromkeys(texts) if text not in found]
        if new:
            made = (np.rint(vectors * _SCALE).astype(np.int8) for vectors in self.embedder.embed_tokens(new))
            found |= zip(new, made, strict=True)
            self._keep({text: found[text] for text in new})
        return [found[text] for text in texts]

    def _keep(self, made: dict[str, NDArray[np.int8]]) -> None:
        with self._lock:
            for text, vectors in made.items():
                if text not in self._kept:
                    self._kept[text] = vectors
                    self._bytes += vectors.nbytes
            while self._bytes > _KEPT:
                self._bytes -= self._kept.popitem(last=False)[1].nbytes


def _max_sim(query: NDArray[np.float32], texts: Sequence[NDArray[np.int8]]) -> list[float]:
    """Score all texts by one product, since a small one for each text takes ten times as long."""
    scores, sizes = np.zeros(len(texts)), np.array([len(vectors) for vectors in texts])
    if len(query) and sizes.any():
        cosines = query @ np.concatenate(texts).astype(np.float32).T / _SCALE
        starts = (np.cumsum(sizes) - sizes)[sizes > 0]
        scores[sizes > 0] = np.maximum.reduceat(cosines, starts, axis=1).mean(axis=0)
    return scores.tolist()
