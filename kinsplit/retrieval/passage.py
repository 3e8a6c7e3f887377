"""Passages: the results of a search, made of neighbouring chunks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from operator import attrgetter
from pathlib import PurePath
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

from kinsplit.chunk import GAP, PLACED, SEPARATOR, Beside, Chunk, pages_of
from kinsplit.errors import StoreError
from kinsplit.hints import HintedText
from kinsplit.spans import Span, stretches

_INDEX = attrgetter("index")


@dataclass(frozen=True, slots=True)
class Candidate:
    """A chunk that may answer the question.

    Attributes:
        chunk: The chunk.
        score: The score that candidates are ranked by; higher is better.
        scores: The score of every stage, by name, in the order of the stages. `dense` is the cosine and `bm25` the term
            score, where these rankings found the chunk; `siblings`, `parent`, `parent_dense` and `document` are the
            evidence of its kin; `kin` is their weighted sum, `hybrid` the sum of reciprocal ranks; `rerank` is the
            reranker's score, `mmr` that of a search for diversity.
    """

    chunk: Chunk
    score: float
    scores: Mapping[str, float] = field(default_factory=dict)

    def with_score(self, stage: str, score: float) -> Candidate:
        """Return the candidate ranked by the score of a further stage."""
        return replace(self, score=score, scores={**self.scores, stage: score})


@dataclass(frozen=True, slots=True)
class Passage(HintedText):
    """A slice of one document that answers a question, or several slices if its chunks have several spans.

    Attributes:
        source_id: Id of the document.
        spans: Position in the document, in document order; nearly always one span.
        text: The document's text from `start` to `end`; the texts of several spans are joined by `SEPARATOR`.
        score: Score of the last stage: that of the reranker, or of the best hit.
        scores: Scores of the best hit (see `Candidate.scores`), and `rerank_passage` if a reranker read the whole
            passage.
        hits: The chunks that were found, best first.
        chunks: All chunks of the passage, in document order; the parent alone if parents were requested.
        related: The other files of the document's group, such as the code of a lecture: the first chunk of each, which
            is the whole file if its `total` is 1.
        beside: Headings and note of the best hit; header, language and speaker that the text continues.
        pages: First and last page, counted from 1, if the document has pages.
        times: Start and end in seconds, if the document is a transcript.
        metadata: Metadata of the document.

    Example:
        >>> (passage,) = index.search("When do larks sing?", top_k=1, window=1)
        >>> passage.source_id, passage.text == document.text[passage.start : passage.end]
        ('birds.md', True)
    """

    source_id: str
    spans: tuple[Span, ...]
    text: str
    score: float
    scores: Mapping[str, float]
    hits: tuple[Candidate, ...]
    chunks: tuple[Chunk, ...]
    related: tuple[Chunk, ...]
    beside: Beside
    pages: tuple[int, int] | None
    metadata: Mapping[str, Any]
    times: tuple[float, float] | None = None

    @property
    def start(self) -> int:
        """First code point in the document."""
        return self.spans[0].start

    @property
    def end(self) -> int:
        """One past the last code point in the document."""
        return self.spans[-1].end

    @property
    def context(self) -> str:
        """The context of the passage as text; see `Chunk.context`."""
        return self.beside.context

    @property
    def citation(self) -> str:
        """A citation of the passage; see `cite`."""
        return cite(self.source_id, self.start, self.end, self.pages)

    @property
    def location(self) -> str:
        """Course, title, section and pages or time in one line; see `locate`."""
        return locate(self.source_id, self.metadata, self.beside, self.pages, self.times)

    @property
    def best(self) -> Candidate:
        """The hit that gave the passage its score."""
        return self.hits[0]

    def _repr_html_(self) -> str:
        from kinsplit.markup.html import output

        return output(passage_card(self))

    def with_score(self, stage: str, score: float) -> Passage:
        """Return the passage ranked by the score of a further stage."""
        return replace(self, score=score, scores={**self.scores, stage: score})


#: "not_close": no passage is close to the question. "named_course": the question names one of several courses.
Remark = Literal["not_close", "named_course"]
#: What a search says if no passage is close to its question.
NOT_CLOSE = "No passage is close to this question."


class Passages(list[Passage]):
    """The passages found for a question, best first, and what was found out about it.

    Attributes:
        is_close: Whether any chunk found is close to the question, by meaning and by words. None if that isn't known:
            nothing was found, or the ranking is not the default one.
        named_course: Name of the course that the question names, if the collection has several; else empty. The
            passages of that course rank higher, and those of other courses are not left out.
        unmatched: If nothing was found, each value of the filter that no chunk has, with near ones.
    """

    def __init__(
        self,
        passages: Iterable[Passage] = (),
        *,
        is_close: bool | None = None,
        named_course: str = "",
        unmatched: Iterable[str] = (),
    ) -> None:
        super().__init__(passages)
        self.is_close, self.named_course, self.unmatched = is_close, named_course, tuple(unmatched)

    @property
    def remarks(self) -> dict[Remark, str]:
        """Notes for readers of the passages, by kind."""
        found: dict[Remark, str] = {}
        if self.is_close is False:
            found["not_close"] = NOT_CLOSE
        if self.named_course:
            remedy = "Ask without the name to search all courses alike."
            named = f"The question names the course {self.named_course}, whose passages rank higher."
            found["named_course"] = f"{named} {remedy}"
        return found

    @property
    def notices(self) -> list[str]:
        """The remarks, and what the filter asks for in vain."""
        return [*self.unmatched, *self.remarks.values()]


def related_once(passages: Sequence[Passage]) -> list[list[Chunk]]:
    """Return the related chunks of each passage whose documents have no passage, each once."""
    shown = {passage.source_id for passage in passages}
    found: list[list[Chunk]] = []
    for passage in passages:
        found.append([chunk for chunk in passage.related if chunk.source_id not in shown])
        shown |= {chunk.source_id for chunk in passage.related}
    return found


def cite(source_id: str, start: int, end: int, pages: tuple[int, int] | None) -> str:
    """Return a citation of a part of a document, such as "notes.pdf, p. 3-4 [120:480]"."""
    return f"{source_id}{f', p. {page_range(pages)}' if pages else ''} [{start}:{end}]"


def locate(
    source_id: str,
    metadata: Mapping[str, Any],
    beside: Beside,
    pages: tuple[int, int] | None,
    times: tuple[float, float] | None = None,
) -> str:
    """Return where a text is in one line, such as "6.0001 > What is Computation? > Machines, p. 3-4".

    Without a title and headings, the file has its place. What two neighbouring parts share is said once.
    """
    names = [metadata.get("course"), metadata.get("title"), *beside.headings]
    if not any(names[1:]):
        names.append(PurePath(str(metadata.get("file_path", source_id))).name)
    parts = [" ".join(str(name).split()) for name in (*names, *beside.note.splitlines()) if name]
    shown = [part for number, part in enumerate(parts) if part not in parts[max(0, number - 1) : number]]
    place = f", p. {page_range(pages)}" if pages else f", {'-'.join(map(clock, times))}" if times else ""
    return f"{' > '.join(shown)}{place}"


def location_of(chunk: Chunk) -> str:
    """Return where a chunk is in one line; see `locate`."""
    start, end = chunk.metadata.get("time_start"), chunk.metadata.get("time_end")
    times = None if start is None or end is None else (float(start), float(end))
    return locate(chunk.source_id, chunk.metadata, chunk.beside, pages_of(chunk), times)


def clock(seconds: float) -> str:
    """Return a time in a recording, such as 1:02:07."""
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def page_range(pages: tuple[int, int]) -> str:
    """Return pages as "3" or "3-4"."""
    first, last = pages
    return str(first) if first == last else f"{first}-{last}"


def continues(before: Chunk, after: Chunk) -> bool:
    """Return whether a chunk is the next sibling of another one and has the same text where they overlap."""
    own = before.source_id, before.level, before.index + 1
    return own == (after.source_id, after.level, after.index) and _agree(before, after)


def _agree(one: Chunk, other: Chunk) -> bool:
    start, end = max(one.start, other.start), min(one.end, other.end)
    if start >= end or len(one.spans) > 1 or len(other.spans) > 1:
        return True
    first, second = (chunk.text[start - chunk.start : end - chunk.start] for chunk in (one, other))
    return first == second


def are_siblings(chunks: Iterable[Chunk]) -> bool:
    """Return whether chunks, in any order, are consecutive siblings with the same text where they overlap."""
    ordered = sorted(chunks, key=_INDEX)
    return all(continues(before, after) for before, after in pairwise(ordered))


def join(
    chunks: Iterable[Chunk],
    hits: Sequence[Candidate],
    related: Sequence[Chunk] = (),
    parts: Mapping[str, Part] = MappingProxyType({}),
) -> Passage:
    """Join neighbouring chunks into a passage without repeating their overlap; separate spans stay separate.

    Args:
        chunks: Chunks of one level of one source with consecutive indices.
        hits: The hits among them, or inside them, best first.
        related: See `Passage`.
        parts: Ranges of the texts of chunks of which only a part is taken, by id.

    Raises:
        StoreError: A chunk's text is not as long as its spans, or overlapping chunks have different texts there: the
            passage would not be the slice that it claims to be.
    """
    ordered = sorted(chunks, key=_INDEX)
    for before, after in pairwise(ordered):
        if not _agree(before, after):
            raise StoreError(
                f"Chunks {before.index} and {after.index} of {before.source_id!r} are of different versions of its "
                f"text, which overlap from {after.start}. Index the document again."
            )
    slices = _joined(sorted(piece for chunk in ordered for piece in pieces(chunk, parts.get(chunk.id))))
    best, first = hits[0], ordered[0]
    # A range may begin where nothing is continued.
    continued = first.beside if slices[0][0].start == first.start else Beside()
    return Passage(
        first.source_id,
        tuple(span for span, _ in slices),
        SEPARATOR.join(text for _, text in slices),
        best.score,
        best.scores,
        tuple(hits),
        tuple(ordered),
        tuple(related),
        replace(continued, headings=best.chunk.beside.headings, note=best.chunk.beside.note, placement=""),
        _range(ordered, "page_start", "page_end"),
        {key: value for key, value in best.chunk.metadata.items() if key not in PLACED},
        _range(ordered, "time_start", "time_end"),
    )


def _range(chunks: Sequence[Chunk], *keys: str) -> tuple[Any, Any] | None:
    """Return the lowest and the highest value that chunks have under some keys, or None if they have none."""
    values = [value for chunk in chunks for key in keys if (value := chunk.metadata.get(key)) is not None]
    return (min(values), max(values)) if values else None


#: Start and end in the text of a chunk.
Part = tuple[int, int]


class Piece(NamedTuple):
    """A span of a chunk, its text, and the white space before it if that is known."""

    span: Span
    text: str
    gap: str


def pieces(chunk: Chunk, part: Part | None = None) -> list[Piece]:
    """Return the spans of a chunk, or of a range of its text, with texts; StoreError if the text has another length."""
    found = stretches(chunk.spans, chunk.text)
    gap = chunk.metadata.get(GAP, "")
    if found is None:
        raise StoreError(
            f"Chunk {chunk.index} of {chunk.source_id!r} has a text of {len(chunk.text)} characters, which is not its "
            f"place from {chunk.start} to {chunk.end}. Index the document again."
        )
    first, last = part or (0, len(chunk.text))
    return [
        Piece(Span(span.start + start - at, span.start + end - at), chunk.text[start:end], "" if start else gap)
        for at, span in found
        if (start := max(first, at)) < (end := min(last, at + span.end - span.start))
    ]


def _joined(pieces: Sequence[Piece]) -> list[tuple[Span, str]]:
    """Join pieces, in document order, into slices of the document."""
    spans: list[Span] = []
    texts: list[list[str]] = []
    for (start, end), text, gap in pieces:
        apart = start - spans[-1].end if spans else len(gap) + 1
        if apart > len(gap):
            spans.append(Span(start, end))
            texts.append([text])
        elif end > spans[-1].end:
            spans[-1] = Span(spans[-1].start, end)
            texts[-1].append(gap[len(gap) - apart :] + text if apart > 0 else text[-apart:])
    return [(span, "".join(parts)) for span, parts in zip(spans, texts, strict=True)]


def passage_card(passage: Passage, rank: int | None = None) -> str:
    """Return a passage as a part of a notebook's output: rendered, with its source and the hits in it on demand."""
    from kinsplit.markup.html import card, details, rendered, source
    from kinsplit.markup.source import kind_of

    name = passage.citation if rank is None else f"{rank}. {passage.citation}"
    hits = ", ".join(f"{hit.chunk.index + 1}/{hit.chunk.total}" for hit in passage.hits)
    facts = [" ".join(passage.context.split()), f"score {passage.score:.4f}", f"chunk {hits}"]
    kind = kind_of(passage.source_id, passage.metadata)
    marked = source(passage.text, _places(passage))
    if kind == "text":
        return card(name, facts, marked)
    looks = rendered(passage.text, kind, passage.beside.header, passage.source_id)
    return card(name, facts, looks, details("Source, with the hits marked", marked))


def _places(passage: Passage) -> list[tuple[int, int]]:
    """Return the ranges of a passage's text that are hits, in order; none if all of it is."""
    hits = sorted(span for hit in passage.hits for span in hit.chunk.spans)
    ranges: list[tuple[int, int]] = []
    for at, (start, end) in stretches(passage.spans, passage.text) or ():
        for hit in hits:
            first, last = max(hit.start, start) - start + at, min(hit.end, end) - start + at
            first = max(first, ranges[-1][1]) if ranges else first
            if first < last:
                ranges.append((first, last))
    return [] if sum(last - first for first, last in ranges) >= len(passage.text) else ranges
