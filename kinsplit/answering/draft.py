"""An answer while it is made: each event adds to it."""

from __future__ import annotations

from collections.abc import Sequence

from kinsplit.answering.citing import Marker
from kinsplit.answering.events import CitationFound, Finished, TextPiece
from kinsplit.answering.values import Answer, Check, Citation, Notice, NoticeKind, Source, Verdict
from kinsplit.chunk import Span


class Draft:
    """What was told so far.

    Args:
        question: The question.
        sources: What can be cited.
    """

    def __init__(self, question: str, sources: Sequence[Source]) -> None:
        self.question, self.sources = question, tuple(sources)
        self.text = ""
        self.citations: list[Citation] = []
        self.notices: list[Notice] = []

    def piece(self, text: str) -> TextPiece:
        """Add a piece of text."""
        self.text += text
        return TextPiece(text)

    def marker(self, marker: Marker, span: Span | None = None) -> CitationFound:
        """Add a marker.

        Args:
            marker: The marker.
            span: The place in the document that it is about; None takes the whole source.
        """
        at = Span(len(self.text), len(self.text) + len(marker.text))
        self.text += marker.text
        found = tuple(self._citation(number, at, span) for number in marker.numbers)
        self.citations.extend(found)
        return CitationFound(marker.text, found)

    def notice(self, kind: NoticeKind, message: str) -> Notice:
        """Add a notice."""
        notice = Notice(kind, message)
        self.notices.append(notice)
        return notice

    def finish(self, verdict: Verdict, model: str | None = None, checks: Sequence[Check] = ()) -> Finished:
        """Return the whole answer."""
        citations, notices = tuple(self.citations), tuple(self.notices)
        return Finished(
            Answer(self.question, self.text, verdict, model, self.sources, citations, tuple(checks), notices)
        )

    def _citation(self, number: int, at: Span, span: Span | None) -> Citation:
        source = next((source for source in self.sources if source.number == number), None)
        if source is None:
            return Citation(number, at, None, None, None)
        if span is None:
            return Citation(number, at, source, Span(source.spans[0].start, source.spans[-1].end), source.best)
        return Citation(number, at, source, span, source.chunk_at(span))
