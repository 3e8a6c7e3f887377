"""Answers with citations: retrieval, a prompt of numbered passages, a streamed answer, and a check of each sentence.

`answer` yields events as they occur, `ask` returns the finished `Answer`, and `in_threads` runs a blocking model for an
event loop.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Unpack, cast

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
    Withheld,
)
from kinsplit.errors import require
from kinsplit.index import Index
from kinsplit.keywords import AnswerKeywords, SearchKeywords
from kinsplit.language_models import resolve
from kinsplit.options import AnswerOptions, SearchOptions
from kinsplit.support.telemetry import spanned
from kinsplit.support.threads import in_threads

# Default number of passages without a model, and of tokens with one whose window has room for them.
_TOP_K, _BUDGET = 5, 8000


def answer(index: Index, question: str, model: object = None, **options: Unpack[AnswerKeywords]) -> Events:
    """Answer a question from an index, as a stream of events.

    Closing the generator stops the model. If there is no model, or it can't answer, the best sentences of the sources
    are quoted, and a `Notice` says so.

    Args:
        index: The index to search.
        question: The question.
        model: Anything that `kinsplit.language_models.resolve` accepts: a name such as "ollama:llama3", a language
            model of LlamaIndex or LangChain, or a function from prompt to answer; None quotes the sources.
        **options: See `kinsplit.options.AnswerOptions` and `kinsplit.SearchOptions`. If neither `top_k` nor `budget` is
            given, passages fill the model's window, up to 8000 tokens; without a model there are 5.

    Yields:
        `SourcesFound`, then pieces of the text, citations and notices as they occur, and finally `Finished`. Until the
        model cites a passage, its text is held back, and `Withheld` comes for each of its pieces.

    Raises:
        InvalidParameterError: The question is blank, `model` is not a language model, or an option's value is invalid.
        StoreError: The search failed.
    """
    own, search = AnswerOptions.part(options)
    known = isinstance(question, str) and question.strip()
    require(known, "question", "must not be blank", question, "Ask a question.")
    SearchOptions(**search)
    chosen = None if model is None else resolve(model)
    if search.get("top_k") is None and search.get("budget") is None:
        search |= {"top_k": _TOP_K} if chosen is None else {"budget": _BUDGET}
    events = run(index, question, chosen, own, cast(SearchKeywords, search))
    return spanned("kinsplit.ask", events, texts={"question": question})


def ask(index: Index, question: str, model: object = None, **options: Unpack[AnswerKeywords]) -> Answer:
    """Answer a question and return the finished answer; see `answer`."""
    return collect(answer(index, question, model, **options))


def collect(events: Iterator[Event]) -> Answer:
    """Return the finished answer of a stream of events."""
    *_, last = events
    assert isinstance(last, Finished), "the last event of all"  # noqa: S101
    return last.answer


__all__ = [
    "NOT_FOUND",
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
    "Withheld",
    "answer",
    "ask",
    "collect",
    "in_threads",
]
