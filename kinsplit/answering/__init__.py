"""Answers with citations: retrieval, a prompt of numbered passages, a streamed answer, and a check of each sentence.

`answer` yields events as they occur, `ask` returns the finished `Answer`, and `in_threads` runs a blocking model for an
event loop.
"""

from kinsplit.answering.as_json import event_to_dict, to_dict
from kinsplit.answering.checking import THRESHOLD
from kinsplit.answering.pipeline import LONGEST, TOP_K, answer, ask, collect
from kinsplit.answering.prompt import NOT_FOUND
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
from kinsplit.support.aio import in_threads

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
    "event_to_dict",
    "in_threads",
    "to_dict",
]
