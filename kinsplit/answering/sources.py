"""Numbered sources, as many as fit into a model's window."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import count

import numpy as np

from kinsplit.answering.prompt import build_prompt
from kinsplit.answering.values import Source
from kinsplit.retrieval import Budget, Passage, shorten
from kinsplit.tokenizers.estimate import count_tokens
from kinsplit.tokenizers.protocol import IntArray

# Fewest tokens that are worth a question to the model.
_FEWEST = 16
#: Usable share of the window, since token counts are estimates.
PLANNED = 0.85


def room(question: str, window: int, answer_tokens: int) -> int:
    """Return the number of tokens that a model's window has for passages, none or fewer if it is too small.

    Args:
        question: The question.
        window: Size of the window in tokens.
        answer_tokens: Tokens of the window to keep for the answer.
    """
    return int(PLANNED * window) - answer_tokens - count_tokens(build_prompt(question, ()))


def fit(question: str, passages: Sequence[Passage], window: int, answer_tokens: int) -> list[Source]:
    """Return passages as sources that fit into a model's window, shortened to their hits where they don't.

    Args:
        question: The question.
        passages: Passages, best first.
        window: See `room`.
        answer_tokens: See `room`.

    Returns:
        Sources numbered from 1; none if the window is too small for any.
    """
    left, sources = room(question, window, answer_tokens), number(passages)

    def taken() -> int:
        return count_tokens(build_prompt(question, sources)) - count_tokens(build_prompt(question, ()))

    if not sources or taken() <= left:
        return sources
    overhead = -(-(taken() - sum(count_tokens(source.text) for source in sources)) // len(sources))
    tokens = left
    while tokens >= overhead + _FEWEST:
        sources = number(shorten(passages, Budget(tokens, _Estimate(), overhead=overhead)))
        if taken() <= left:
            return sources
        tokens -= taken() - left
    return []


class _Estimate:
    def count(self, texts: Sequence[str]) -> IntArray:
        return np.array([count_tokens(text) for text in texts], dtype=np.int64)


def number(passages: Iterable[Passage]) -> list[Source]:
    """Return passages as sources numbered from 1, each followed by its related files."""
    numbers = count(1)
    return [source for passage in passages for source in _sources(passage, numbers)]


def _sources(passage: Passage, numbers: Iterator[int]) -> Iterator[Source]:
    yield Source(
        next(numbers),
        passage.best.chunk,
        passage.chunks,
        passage.spans,
        passage.text,
        passage.pages,
        passage.score,
        str(passage.metadata.get("file_path", passage.source_id)),
    )
    for chunk in passage.related:
        file = str(chunk.metadata.get("file_path", chunk.source_id))
        yield Source(next(numbers), chunk, (chunk,), chunk.spans, chunk.text, None, passage.score, file)
