"""Passages -> as many as a token budget holds."""

from __future__ import annotations

from collections.abc import Sequence

from kinsplit.retrieval.passage import Passage
from kinsplit.tokenizers import Tokenizer


def within_budget(passages: Sequence[Passage], budget: int, tokenizer: Tokenizer) -> list[Passage]:
    """Take passages best first while they fit; one that doesn't is skipped, and the next ones are tried.

    Args:
        passages: Passages, best first.
        budget: Most tokens of all texts together.
        tokenizer: Counts them.
    """
    taken = []
    for passage, count in zip(passages, tokenizer.count([p.text for p in passages]).tolist(), strict=True):
        if count <= budget:
            budget -= count
            taken.append(passage)
    return taken
