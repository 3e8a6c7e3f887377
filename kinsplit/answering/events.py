"""What is told while a question is answered, the same to the command line, the service and Python."""

from __future__ import annotations

from dataclasses import dataclass

from kinsplit.answering.values import Answer, Citation, Notice, Source


@dataclass(frozen=True, slots=True)
class SourcesFound:
    """The first event: what was found, and what the model will read of it.

    Attributes:
        sources: Best first; none if nothing was found.
    """

    sources: tuple[Source, ...]


@dataclass(frozen=True, slots=True)
class TextPiece:
    """A piece of the answer's text, without markers.

    Attributes:
        text: Not empty.
    """

    text: str


@dataclass(frozen=True, slots=True)
class CitationFound:
    """A marker in the answer's text; the texts of all pieces and markers, in order, are the answer's.

    Attributes:
        text: The marker, as the model wrote it.
        citations: What it names; more than one for a marker such as `[1, 3]`.
    """

    text: str
    citations: tuple[Citation, ...]


@dataclass(frozen=True, slots=True)
class Finished:
    """The last event.

    Attributes:
        answer: The whole answer, checked.
    """

    answer: Answer


#: `SourcesFound` comes first and `Finished` last, each once.
Event = SourcesFound | TextPiece | CitationFound | Notice | Finished
