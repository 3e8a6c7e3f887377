"""Answers with citations: retrieval, a prompt of numbered passages, a streamed answer, and a check of each sentence.

`answer` yields events as they occur, `ask` returns the finished `Answer`, and `in_threads` runs a blocking model for an
event loop.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Unpack

from kinsplit.answering.checking import THRESHOLD
from kinsplit.answering.prompt import NOT_FOUND
from kinsplit.answering.run import Events, run
from kinsplit.answering.values import (
    Answer,
    Check,
    Citation,
    CitationFound,
    Event,
    Evidence,
    Finished,
    Notice,
    Source,
    SourcesFound,
    TextPiece,
    Verdict,
)
from kinsplit.errors import InvalidParameterError, require
from kinsplit.index import Index
from kinsplit.language_models import resolve
from kinsplit.retrieval import SearchKeywords, SearchOptions
from kinsplit.support.telemetry import spanned
from kinsplit.support.threads import in_threads

#: Default number of passages without a model, and of tokens with one whose window has room for them.
TOP_K, BUDGET = 5, 8000
#: Default maximum length of an answer in tokens.
LONGEST = 1024


def answer(
    index: Index,
    question: str,
    model: object = None,
    *,
    max_tokens: int = LONGEST,
    threshold: float = THRESHOLD,
    **options: Unpack[SearchKeywords],
) -> Events:
    """Answer a question from an index, as a stream of events.

    Closing the generator stops the model. If there is no model, or it can't answer, the best sentences of the sources
    are quoted, and a `Notice` says so.

    Args:
        index: The index to search.
        question: The question.
        model: Anything that `kinsplit.language_models.resolve` accepts: a name such as "ollama:llama3", a language
            model of LlamaIndex or LangChain, or a function from prompt to answer; None quotes the sources.
        max_tokens: Maximum length of the answer in the model's tokens; at most a quarter of its window is used.
        threshold: See `kinsplit.answering.checking.check`.
        **options: See `kinsplit.retrieval.SearchOptions`. If neither `top_k` nor `budget` is given, passages fill the
            model's window, up to 8000 tokens; without a model there are 5.

    Yields:
        `SourcesFound`, then pieces of the text, citations and notices as they occur, and finally `Finished`.

    Raises:
        InvalidParameterError: The question is blank, `model` is not a language model, or an option's value is invalid.
        StoreError: The search failed.
    """
    require(max_tokens >= 1, "max_tokens", "must be at least 1", max_tokens, f"The default is {LONGEST}.")
    require(0 <= threshold <= 1, "threshold", "must be from 0 to 1", threshold, f"The default is {THRESHOLD}.")
    if not isinstance(question, str) or not question.strip():
        raise InvalidParameterError("question", "must not be blank", question, "Ask a question.")
    SearchOptions(**options)
    chosen = None if model is None else resolve(model)
    if options.get("top_k") is None and options.get("budget") is None:
        options = {**options, "top_k": TOP_K} if chosen is None else {**options, "budget": BUDGET}
    events = run(index, question, chosen, max_tokens, threshold, options)
    return spanned("kinsplit.ask", events, texts={"question": question})


def ask(
    index: Index,
    question: str,
    model: object = None,
    *,
    max_tokens: int = LONGEST,
    threshold: float = THRESHOLD,
    **options: Unpack[SearchKeywords],
) -> Answer:
    """Answer a question and return the finished answer; see `answer`."""
    return collect(answer(index, question, model, max_tokens=max_tokens, threshold=threshold, **options))


def collect(events: Iterator[Event]) -> Answer:
    """Return the finished answer of a stream of events."""
    *_, last = events
    assert isinstance(last, Finished), "the last event of all"  # noqa: S101
    return last.answer


__all__ = [
    "LONGEST",
    "NOT_FOUND",
    "THRESHOLD",
    "TOP_K",
    "Answer",
    "Check",
    "Citation",
    "CitationFound",
    "Event",
    "Evidence",
    "Finished",
    "Notice",
    "Source",
    "SourcesFound",
    "TextPiece",
    "Verdict",
    "answer",
    "ask",
    "collect",
    "in_threads",
]
