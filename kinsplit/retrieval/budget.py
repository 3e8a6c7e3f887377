"""Passages -> as many as a token budget holds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from kinsplit.retrieval.passage import Passage
from kinsplit.tokenizers import Tokenizer


def within_budget(passages: Sequence[Passage], budget: int, tokenizer: Tokenizer) -> list[Passage]:
    """Take passages best first while they fit; one that doesn't is skipped, and the next ones are tried.

    A passage's related files count too; one that doesn't fit is left out, and the passage stays.

    Args:
        passages: Passages, best first.
        budget: Most tokens of all texts together.
        tokenizer: Counts them.
    """
    texts = [text for passage in passages for text in (passage.text, *(chunk.text for chunk in passage.related))]
    counts = iter(tokenizer.count(texts).tolist())
    taken = []
    for passage in passages:
        own, others = next(counts), [(chunk, next(counts)) for chunk in passage.related]
        if own > budget:
            continue
        budget -= own
        related = []
        for chunk, count in others:
            if count <= budget:
                budget -= count
                related.append(chunk)
        taken.append(replace(passage, related=tuple(related)) if len(related) < len(others) else passage)
    return taken
