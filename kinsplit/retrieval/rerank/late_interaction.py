"""Reranking by late interaction: every token of the question is matched with its best token in a text."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from kinsplit.embedding.protocol import Embedder, TokenEmbedder
from kinsplit.errors import InvalidParameterError, require
from kinsplit.options import Ranked


class LateInteractionReranker:
    """MaxSim over the token vectors of the index's embedder (Khattab and Zaharia, "ColBERT", SIGIR 2020).

    A text's score is the mean, over the question's tokens, of each token's highest cosine with a token of the text. It
    needs no second model, though one trained for late interaction does better. An embedder that wasn't trained for it
    works best in combination with the earlier scores (`benchmarks/reranking.py`), as has been found of other rerankers
    (Wang et al., "BERT-based Dense Retrievers Require Interpolation with BM25", ICTIR 2021).

    Args:
        embedder: Returns a vector for each token.
        earlier: Weight of the earlier score relative to the reranker's; 0 leaves it out. See `rerank`.

    Raises:
        InvalidParameterError: A negative weight.
    """

    def __init__(self, embedder: TokenEmbedder, earlier: float = 1.0) -> None:
        require(earlier >= 0, "earlier", "must be at least 0", earlier, "The default is 1.")
        self.embedder, self.earlier = embedder, earlier

    def rerank(self, query: str, texts: Sequence[str]) -> list[Ranked]:
        """Score texts; see `Reranker.rerank`."""
        (question,) = self.embedder.embed_tokens([query])
        return [Ranked(at, _max_sim(question, tokens)) for at, tokens in enumerate(self.embedder.embed_tokens(texts))]


def from_spec(_: str, embedder: Embedder) -> LateInteractionReranker:
    """Return the reranker of "late", or raise InvalidParameterError if the embedder has no vectors for tokens."""
    if not isinstance(embedder, TokenEmbedder):
        remedy = "Use a sentence-transformers model, or a cross-encoder."
        raise InvalidParameterError("rerank", "needs an embedder with vectors for tokens", embedder.name, remedy)
    return LateInteractionReranker(embedder)


def _max_sim(query: NDArray[np.float32], text: NDArray[np.float32]) -> float:
    return float(np.mean((query @ text.T).max(axis=1))) if len(query) and len(text) else 0.0
