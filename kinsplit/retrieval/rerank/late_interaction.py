"""Reranking by late interaction: every token of the question looks for its best match among a text's tokens."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kinsplit.embedding.protocol import TokenEmbedder
from kinsplit.errors import InvalidParameterError
from kinsplit.retrieval.rerank.protocol import Ranked


class LateInteractionReranker:
    """MaxSim over the token vectors of the embedder at hand (Khattab and Zaharia, "ColBERT", SIGIR 2020).

    A text's score is the mean, over the question's tokens, of each token's highest cosine with a token of the text. No
    second model is needed, though one that was trained for it does better. An embedder that was not is worth most
    beside the order that it is given (`benchmarks/reranking.py`), as was found of other rerankers before (Wang et al.,
    "BERT-based Dense Retrievers Require Interpolation with BM25", ICTIR 2021).

    Args:
        embedder: Gives a vector for each token.
        earlier: How much the score before counts beside the own one; 0 for the own one alone. See `rerank`.

    Raises:
        InvalidParameterError: A negative weight.
    """

    def __init__(self, embedder: TokenEmbedder, earlier: float = 2.0) -> None:
        if not earlier >= 0:
            raise InvalidParameterError("earlier", "must be at least 0", earlier, "The default is 2.")
        self.embedder, self.earlier = embedder, earlier

    def rerank(self, query: str, texts: Sequence[str]) -> list[Ranked]:
        """Judge texts; see `Reranker.rerank`."""
        (asked,) = self.embedder.embed_tokens([query])
        return [
            Ranked(index, float(np.mean((asked @ tokens.T).max(axis=1))) if len(asked) and len(tokens) else 0.0)
            for index, tokens in enumerate(self.embedder.embed_tokens(texts))
        ]
