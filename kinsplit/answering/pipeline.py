"""The doors: a question goes in, and events or the finished answer come out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Unpack

from kinsplit.answering.checking import THRESHOLD
from kinsplit.answering.run import Events, run
from kinsplit.answering.values import Answer, Event, Finished
from kinsplit.errors import InvalidParameterError
from kinsplit.index import Index
from kinsplit.language_models import resolve
from kinsplit.retrieval import SearchKeywords, SearchOptions

#: Passages that are looked for, unless told.
TOP_K = 5
#: Longest answer in tokens.
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
    """Answer a question from an index, telling each step as it is made.

    Closing the generator stops the model. Where no model is given, or it can't answer, the best sentences of the
    sources are quoted, and a `Notice` says so.

    Args:
        index: Where to search.
        question: The question.
        model: What `kinsplit.language_models.resolve` takes: a name such as "ollama:llama3", an object of LlamaIndex or
            LangChain, a function from prompt to answer; None quotes.
        max_tokens: Longest answer, in the model's tokens; at most a quarter of its window.
        threshold: See `kinsplit.answering.checking.check`.
        **options: See `kinsplit.retrieval.SearchOptions`; `top_k` is 5 unless it is given.

    Yields:
        `SourcesFound`; then pieces of the text, markers and notices as they come; at last `Finished`.

    Raises:
        InvalidParameterError: A blank question, no model, or a value that an option can't have.
        StoreError: The search failed.
    """
    if max_tokens < 1:
        raise InvalidParameterError("max_tokens", "must be at least 1", max_tokens, f"The default is {LONGEST}.")
    if not 0 <= threshold <= 1:
        raise InvalidParameterError("threshold", "must be 0 to 1", threshold, f"The default is {THRESHOLD}.")
    if not isinstance(question, str) or not question.strip():
        raise InvalidParameterError("question", "must hold a question", question, "Ask something.")
    settings: SearchKeywords = {"top_k": TOP_K, **options}
    SearchOptions(**settings)
    chosen = None if model is None else resolve(model)
    return run(index, question, chosen, max_tokens, threshold, settings)


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
    """Return the answer that events end with."""
    *_, last = events
    assert isinstance(last, Finished), "the last event of all"  # noqa: S101
    return last.answer
