"""Question -> an answer with citations: retrieval, a prompt of numbered passages, a streamed answer, and its check.

`answer` tells events as they come, `ask` returns the finished `Answer`, and `in_threads` lets an event loop take the
events of a model that blocks.
"""

from kinsplit.answering.as_json import event_to_dict, to_dict
from kinsplit.answering.asynchronous import in_threads
from kinsplit.answering.events import CitationFound, Event, Finished, SourcesFound, TextPiece
from kinsplit.answering.pipeline import LONGEST, TOP_K, answer, ask, collect
from kinsplit.answering.prompt import NOT_FOUND
from kinsplit.answering.support import THRESHOLD
from kinsplit.answering.values import Answer, Check, Citation, Evidence, Notice, Source, Verdict

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
