"""The values of an answer: numbered sources, citations, checks of sentences, notices, and events."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from kinsplit.chunk import Beside, Chunk, pages_of
from kinsplit.retrieval import Passage
from kinsplit.retrieval.passage import Remark, location_of
from kinsplit.spans import Span, stretches

#: "supported": every claim was found in a source that it cites. "partly_supported": some were. "unsupported": none was.
#: "not_in_material": the model says that the sources don't contain the answer, or the search found none. "quoted": no
#: model answered, and the best sentences of the sources are quoted instead. "broken_off": the model failed midway.
Verdict = Literal["supported", "partly_supported", "unsupported", "not_in_material", "quoted", "broken_off"]

#: "no_model": no model was given. "model_failed": it gave no answer that can be used, or failed midway. "cut_short":
#: the answer reached its maximum length. "left_out": sources were shortened or left out to fit the model's window.
#: "nothing_found": the search found no source. "no_such_source": the answer cites a number that no source has. Others
#: are remarks of the search.
NoticeKind = Literal["no_model", "model_failed", "cut_short", "left_out", "nothing_found", "no_such_source"] | Remark

#: Result of the check of a sentence. "not_found" says nothing about its truth.
Status = Literal["found", "not_found", "uncited", "no_such_source"]


@dataclass(frozen=True, slots=True)
class Source:
    """A passage with the number by which an answer cites it.

    Attributes:
        number: Number from 1, best first.
        best: The best hit.
        chunks: All chunks of the passage.
        spans: Position in the document; nearly always one span.
        text: Text of the spans, which the model reads.
        pages: First and last page, counted from 1, if the document has pages.
        score: Score of the passage.
        file: Path of the file, or the id of a document without one.
        beside: What stands beside the text, such as its headings.
        passage: The passage that was found, with its scores; None for a file that is related to the source before it.
    """

    number: int
    best: Chunk
    chunks: tuple[Chunk, ...]
    spans: tuple[Span, ...]
    text: str
    pages: tuple[int, int] | None
    score: float
    file: str
    beside: Beside = field(default_factory=Beside)
    passage: Passage | None = field(default=None, repr=False)

    @property
    def source_id(self) -> str:
        """Id of the document."""
        return self.best.source_id

    @property
    def section(self) -> str:
        """Heading path of the best hit."""
        return self.beside.path

    @property
    def location(self) -> str:
        """Course, title, section and pages or time in one line; see `kinsplit.retrieval.locate`."""
        return location_of(self.best) if self.passage is None else self.passage.location

    def locate(self, start: int, end: int) -> Span:
        """Return the position of a part of the text in the document, from its first to its last slice.

        Args:
            start: First code point in the text.
            end: One past the last code point.
        """
        # If the text is not that of the spans, only its outer bounds are known.
        whole = Span(self.spans[0].start, self.spans[-1].end)
        touched = [
            Span(span.start + max(0, start - at), min(span.end, span.start + end - at))
            for at, span in stretches(self.spans, self.text) or ()
            if start < at + span.end - span.start and at < end
        ]
        return Span(touched[0].start, touched[-1].end) if touched else whole

    def chunk_at(self, span: Span) -> Chunk:
        """Return the chunk that contains a span of the document, or else the best hit."""
        inside = (c for c in self.chunks if any(s.start <= span.start and span.end <= s.end for s in c.spans))
        return next(inside, self.best)


@dataclass(frozen=True, slots=True)
class Citation:
    """A number in an answer that refers to a source.

    Attributes:
        number: The number.
        at: Position of its marker in the answer's text, shared by the numbers of one marker.
        source: The source; None if no source has this number.
        span: Position of the source, or of the sentence quoted from it, in its document; None without a source.
        chunk: The chunk at that position.
    """

    number: int
    at: Span
    source: Source | None
    span: Span | None
    chunk: Chunk | None

    @property
    def pages(self) -> tuple[int, int] | None:
        """First and last page of the source, or of the chunk that contains the quoted sentence."""
        if self.source is None or self.chunk is None or self.span is None:
            return None
        is_whole = self.span == (self.source.spans[0].start, self.source.spans[-1].end)
        return self.source.pages if is_whole else pages_of(self.chunk)


@dataclass(frozen=True, slots=True)
class Evidence:
    """The part of a cited source that is most similar to a sentence.

    Attributes:
        number: Number of the source.
        span: Position in the document.
        chunk: The chunk at that position.
        text: The document's text at that position.
        similarity: Similarity to the sentence, relative to unrelated texts: 0 for a cosine as high as theirs by the
            collection's embedder, 1 for identical texts.
        overlap: Share of the sentence's words that it contains, by stem and without stop words.
    """

    number: int
    span: Span
    chunk: Chunk
    text: str
    similarity: float
    overlap: float

    @property
    def score(self) -> float:
        """Mean of similarity and overlap, which decides whether a sentence counts as found."""
        return (self.similarity + self.overlap) / 2


@dataclass(frozen=True, slots=True)
class Check:
    """The check of one sentence of an answer.

    Attributes:
        at: Position in the answer's text.
        text: The sentence without its markers.
        cited: Numbers that it cites.
        status: Result of the check.
        evidence: The most similar part of each source that it cites, best first.
        missing: Its numbers of two or more digits that no evidence contains.
    """

    at: Span
    text: str
    cited: tuple[int, ...]
    status: Status
    evidence: tuple[Evidence, ...] = ()
    missing: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Notice:
    """A notice for the reader of the answer.

    Attributes:
        kind: Its kind.
        message: One or more sentences.
    """

    kind: NoticeKind
    message: str


@dataclass(frozen=True, slots=True)
class Answer:
    """A finished answer.

    Attributes:
        question: The question.
        text: The answer, with its markers.
        verdict: How far the sources support it.
        model: Name of the model that answered; None if none did.
        sources: The sources, best first.
        citations: Citations in the order of the text.
        checks: Checks of its claims.
        notices: Notices for the reader.
    """

    question: str
    text: str
    verdict: Verdict
    model: str | None
    sources: tuple[Source, ...]
    citations: tuple[Citation, ...]
    checks: tuple[Check, ...]
    notices: tuple[Notice, ...]


@dataclass(frozen=True, slots=True)
class SourcesFound:
    """The first event: the sources that the model reads.

    Attributes:
        sources: Sources, best first; none if the search found nothing.
    """

    sources: tuple[Source, ...]


@dataclass(frozen=True, slots=True)
class Withheld:
    """A sign that the model is writing, while nothing is shown because it has cited nothing yet."""


@dataclass(frozen=True, slots=True)
class TextPiece:
    """A piece of the answer's text, without markers.

    Attributes:
        text: Not empty.
    """

    text: str


@dataclass(frozen=True, slots=True)
class CitationFound:
    """A marker in the answer's text, which the texts of all pieces and markers make up in order.

    Attributes:
        text: The marker as the model wrote it.
        citations: Its citations; several for a marker such as `[1, 3]`.
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
Event = SourcesFound | Withheld | TextPiece | CitationFound | Notice | Finished
