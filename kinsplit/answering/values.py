"""What an answer is made of: numbered sources, citations of them, and what the check of each sentence found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from kinsplit.chunk import Chunk, heading_path
from kinsplit.spans import Span, stretches

#: "supported": every sentence that states something cites a source in which it was found. "partly_supported": some do.
#: "unsupported": none does. "not_in_material": the material doesn't hold the answer, so the model says, or nothing was
#: found at all. "quoted": no model answered, and the best sentences of the sources stand instead. "broken_off": the
#: model failed in the middle.
Verdict = Literal["supported", "partly_supported", "unsupported", "not_in_material", "quoted", "broken_off"]

#: "no_model": none was given. "model_failed": it gave no answer, or broke off. "cut_short": it reached the longest
#: answer. "left_out": sources were shortened or left out to fit the model's window. "nothing_found": no source.
#: "no_such_source": the answer cites a number that no source has.
NoticeKind = Literal["no_model", "model_failed", "cut_short", "left_out", "nothing_found", "no_such_source"]

#: What the check of a sentence says. "not_found" is no judgement on its truth.
Status = Literal["found", "not_found", "uncited", "no_such_source"]


def pages_of(chunk: Chunk) -> tuple[int, int] | None:
    """Return the first and last page, counted from 1, on which a chunk lies, where its document has pages."""
    first, last = chunk.metadata.get("page_start"), chunk.metadata.get("page_end")
    return None if first is None or last is None else (int(first), int(last))


@dataclass(frozen=True, slots=True)
class Source:
    """A passage with the number by which an answer cites it.

    Attributes:
        number: From 1, best first.
        best: The chunk that was found.
        chunks: All chunks that the passage is made of.
        spans: Where it lies in its document; nearly always one span.
        text: What the model reads of it, the spans' text.
        pages: First and last page, counted from 1, where the document has pages.
        score: The passage's.
        file: The file, or the id of a document that came from none.
    """

    number: int
    best: Chunk
    chunks: tuple[Chunk, ...]
    spans: tuple[Span, ...]
    text: str
    pages: tuple[int, int] | None
    score: float
    file: str

    @property
    def source_id(self) -> str:
        """Id of the document."""
        return self.best.source_id

    @property
    def section(self) -> str:
        """Heading path of the chunk that was found."""
        return heading_path(self.best.context)

    def place(self, start: int, end: int) -> Span:
        """Return where a part of the text lies in the document; of several slices, from the first to the last touched.

        Args:
            start: First code point in the text.
            end: One past the last.
        """
        # A text that isn't made of its spans lies somewhere between the first and the last.
        whole = Span(self.spans[0].start, self.spans[-1].end)
        touched = [
            Span(span.start + max(0, start - at), min(span.end, span.start + end - at))
            for at, span in stretches(self.spans, self.text) or ()
            if start < at + span.end - span.start and at < end
        ]
        return Span(touched[0].start, touched[-1].end) if touched else whole

    def chunk_at(self, place: Span) -> Chunk:
        """Return the chunk in which a place of the document lies, or else the one that was found."""
        inside = (c for c in self.chunks if any(s.start <= place.start and place.end <= s.end for s in c.spans))
        return next(inside, self.best)


@dataclass(frozen=True, slots=True)
class Citation:
    """A number in an answer that names a source.

    Attributes:
        number: The number.
        at: Where its marker stands in the answer's text; that of several numbers in one marker is the same.
        source: The source; None if there is none of that number.
        span: Where the source, or the sentence quoted of it, lies in its document; None without a source.
        chunk: The chunk there.
    """

    number: int
    at: Span
    source: Source | None
    span: Span | None
    chunk: Chunk | None

    @property
    def pages(self) -> tuple[int, int] | None:
        """First and last page of what is cited: of the source, or of the chunk in which the sentence quoted lies."""
        if self.source is None or self.chunk is None or self.span is None:
            return None
        is_whole = self.span == (self.source.spans[0].start, self.source.spans[-1].end)
        return self.source.pages if is_whole else pages_of(self.chunk)


@dataclass(frozen=True, slots=True)
class Evidence:
    """What comes nearest to a sentence in a source that it cites.

    Attributes:
        number: The source's.
        span: Where it lies in the document.
        chunk: The chunk there.
        text: The document's text there.
        cosine: Between its vector and the sentence's.
        overlap: Share of the sentence's words, by stem and without stop words, that it holds.
    """

    number: int
    span: Span
    chunk: Chunk
    text: str
    cosine: float
    overlap: float

    @property
    def score(self) -> float:
        """The mean of both measures, by which a sentence counts as found: words alone are shared by its denial too."""
        return (self.cosine + self.overlap) / 2


@dataclass(frozen=True, slots=True)
class Check:
    """A sentence of an answer, and what was found of it in the sources that it cites.

    Attributes:
        at: Where it stands in the answer's text.
        text: The sentence without its markers.
        cited: Numbers that it cites.
        status: What the check says.
        evidence: What comes nearest to it in each source that it cites, best first.
        missing: Numbers of two or more digits that it states and none of the evidence holds.
    """

    at: Span
    text: str
    cited: tuple[int, ...]
    status: Status
    evidence: tuple[Evidence, ...] = ()
    missing: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Notice:
    """Something that a person who reads the answer should know.

    Attributes:
        kind: What it is about.
        message: The same for a person, in one sentence or a few.
    """

    kind: NoticeKind
    message: str


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer with all that is known of it.

    Attributes:
        question: As it was asked.
        text: The answer, with its markers.
        verdict: How far the sources support it.
        model: Name of the model that answered; None if none did.
        sources: What was found, best first.
        citations: In the order of the text.
        checks: Of each sentence that states something.
        notices: What should be known of it.
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
