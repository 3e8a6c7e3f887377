"""Response bodies, and chunks, passages and offsets in them.

Ranges are half-open. `start`, `end` and `spans` are code point offsets in the document as it was indexed. A `TextRange`
has offsets in a text of the same response, both in code points and in UTF-16 units, as JavaScript counts them.
"""

from __future__ import annotations

import bisect
import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from itertools import zip_longest
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from kinsplit.chunk import Chunk
from kinsplit.retrieval import Passage, Passages
from kinsplit.spans import Span, stretches
from kinsplit.wire import LOCATION, Extent, Finding, RankedText, chunk_row, finding_row, passage_row, place_row

Pair = tuple[int, int]


class Model(BaseModel):
    """Base of all models."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class OfCollection(Model):
    """Base of what a request gets from one collection."""

    strategy: str = Field(description="Name of the collection in requests.")


class TextRange(Model):
    """A range of a text in this response."""

    start: int = Field(description="First code point.")
    end: int = Field(description="One past the last code point.")
    utf16_start: int = Field(description="First UTF-16 unit.")
    utf16_end: int = Field(description="One past the last UTF-16 unit.")


class Located(Model, Extent):
    """A part of a document."""

    spans: list[Pair] = Field(description="Spans in the document; nearly always one.")
    context: str = Field(description="What stands beside the text, as text; for a passage, beside its best hit.")
    beside: dict[str, str | list[str]] = Field(
        description="The same as fields, without the empty ones: `headings`, `note`, `speaker`, `language`, `header`."
    )


class TextView(Model):
    """How a text can be shown as it looks in its file."""

    kind: Literal["markdown", "code"] | None = Field(description="What the text is; null for plain text.")
    html: str | None = Field(description="Markdown or code as safe HTML, with the hits marked, if `render` is set.")
    problem: str | None = Field(description="Why a text of Markdown or code could not be rendered.")
    pages: bool = Field(description="Whether GET /documents/{id}/pages/{page}.png draws its pages.")
    original: bool = Field(description="Whether GET /documents/{id}/original returns its file.")
    recording: str | None = Field(description="Address of the recording at its time, if `url` in its metadata is one.")


class ChunkPlace(Located):
    """The place of a chunk in its document."""

    id: str = Field(description="Chunk id, a UUID.")
    level: int = Field(description="0 for chunks, 1 and above for their parents.")
    chunk_index: int = Field(description="Index among the chunks of the same level, from 0.")
    total_chunks: int = Field(description="Number of chunks of the same level.")
    ranges: list[TextRange] = Field(description="Ranges in the text of this response.")
    overlap: int = Field(description="Number of leading code points shared with the previous sibling.")
    parent_id: str | None = Field(description="Id of the parent.")
    prev_id: str | None = Field(description="Id of the previous sibling.")
    next_id: str | None = Field(description="Id of the next sibling.")
    token_count: int | None = Field(description="Length in tokens, if the strategy counts tokens.")


class ChunkText(ChunkPlace):
    """A chunk with its text."""

    text: str = Field(description="Text of the chunk.")
    metadata: dict[str, Any] = Field(description="Metadata of the document and of the chunk.")


class Scored(Model):
    """A result with its scores."""

    score: float = Field(description="Score of the ranking; higher is better.")
    scores: dict[str, float] = Field(description="Score of each stage, in order; for a passage, those of its best hit.")


class FoundChunk(ChunkPlace, Scored):
    """A hit; its `ranges` are in the text of the passage."""

    location: str = Field(description=LOCATION)


class Related(Model):
    """Another file of the same group."""

    source_id: str = Field(description="Id of its document.")
    text: str = Field(description="Text of its first chunk.")


class Highlight(Model):
    """The part of a passage that answers the question: one or two sentences, or a list, a table or code."""

    start: int = Field(description="First code point in the document.")
    end: int = Field(description="One past the last code point in the document.")
    ranges: list[TextRange] = Field(description="Ranges in the text of the passage.")
    matches: bool = Field(description="Whether it has words of the question; if none has, the best hit begins there.")


class FoundPassage(Located, RankedText, Scored):
    """A passage of a document that answers the question."""

    hits: list[FoundChunk] = Field(description="Chunks of the passage that were found, best first.")
    related: list[Related] = Field(description="Other files of the same group, such as the code of a lecture.")
    metadata: dict[str, Any] = Field(description="Metadata of the document.")
    times: tuple[float, float] | None = Field(description="Start and end in seconds, in a transcript.")
    highlight: Highlight | None = Field(description="What answers the question; null unless `render` is set.")
    view: TextView | None = Field(description="How it can be shown; null unless `render` is set.")


class SearchAnswer(OfCollection, Finding):
    """The passages found for a question."""

    query: str = Field(description="The question.")
    passages: list[FoundPassage] = Field(description="Passages, best first; empty if none is found or fits the budget.")


class Page(OfCollection):
    """A page of a list."""

    total: int = Field(description="Number of items in the whole list.")
    offset: int = Field(description="Number of items before this page.")


class DocumentRow(Model):
    """A document of a collection."""

    id: str = Field(description="Id of the document.")
    title: str | None = Field(description="Title of the document, if it has one.")
    course: str | None = Field(description="Course of the document, if it is of one.")
    file_type: str | None = Field(description="Type of its file, such as `pdf`.")
    chunks: int = Field(description="Number of chunks.")


class DocumentPage(Page):
    """A page of the documents, ordered by id."""

    documents: list[DocumentRow] = Field(description="The documents.")


class DocumentText(OfCollection):
    """A document, joined from its chunks; no file is read."""

    id: str = Field(description="Id of the document.")
    text: str = Field(description="Text of the document, with a blank line for each part that no chunk holds.")
    spans: list[Pair] = Field(description="Slices of the document that the text is joined from.")
    chunks: list[ChunkPlace] = Field(description="Chunks and their parents without their texts, level by level.")
    metadata: dict[str, Any] = Field(description="Metadata of the document.")
    view: TextView = Field(description="How it can be shown.")


class ChunkPage(Page):
    """A page of the chunks of a document; their `ranges` are in the text that /documents/{id} returns."""

    id: str = Field(description="Id of the document.")
    level: int = Field(description="Level of the chunks.")
    chunks: list[ChunkText] = Field(description="The chunks, in document order.")


class UploadRow(Model):
    """The report of one uploaded file."""

    name: str = Field(description="Name of the file, as it is stored.")
    id: str | None = Field(description="Id of the file and of its document; rows have `ID#docid`. Null if it failed.")
    documents: int = Field(description="Number of its documents.")
    chunks: int = Field(description="Number of their chunks.")
    warnings: list[str] = Field(description="Decisions and losses.")
    error: str | None = Field(description="Why it couldn't be read, and what to do about it.")


class Uploaded(OfCollection):
    """The reports of uploaded files, in their order."""

    files: list[UploadRow]


class Deleted(OfCollection):
    """A deleted file."""

    id: str = Field(description="Id of the file.")
    chunks: int = Field(description="Number of deleted chunks.")


class FilterValue(Model):
    """A metadata value that a filter can test."""

    value: str | bool | int | float
    documents: int = Field(description="Number of documents with this value.")


class FilterKey(Model):
    """A metadata key that a filter can test."""

    key: str
    distinct: int = Field(description="Number of distinct values.")
    values: list[FilterValue] = Field(description="Most frequent values, at most 100.")


class MetadataFilters(OfCollection):
    """The metadata that `where` can test."""

    documents: int = Field(description="Number of documents in the collection.")
    keys: list[FilterKey] = Field(description="Keys, the most frequent first, at most 50.")


class Health(Model):
    """State of the service."""

    status: str


class Problem(Model):
    """An error and its remedy."""

    field: str | None = Field(description="The part of the request that is at fault.")
    rule: str = Field(description="The rule that it breaks, or what happened.")
    value: Any = Field(description="The value given, shortened.")
    remedy: str = Field(description="What to do about it.")


class ErrorAnswer(Model):
    """The body of every error."""

    error: Problem


class ParameterRow(Model):
    """A parameter of a strategy."""

    name: str
    default: Any = Field(description="Default value.")
    type: str = Field(description="Type in words.")
    description: str = Field(description="Meaning of the parameter.")
    settable: bool = Field(description="Whether POST /chunk accepts it.")


class StrategyRow(Model):
    """A splitting strategy."""

    name: str
    summary: str = Field(description="Summary in a few words.")
    origin: str = Field(description="Source of the defaults.")
    parameters: list[ParameterRow]


class WatchRow(Model):
    """The synchronisation of a collection with a folder."""

    state: str = Field(description="indexing, waiting (for changes), failed (it will be tried again) or stopped.")
    updates: int = Field(description="Number of updates since the service started.")
    updated: datetime | None = Field(description="Time of the last update.")
    failed: list[str] = Field(description="Ids of files that can't be loaded, at most 100; the log has the reasons.")
    error: str | None = Field(description="Kind of error that made the last attempt fail.")


class IndexedRow(Model):
    """An indexed collection."""

    name: str = Field(description="Name for `strategy` in requests, case-insensitive.")
    collection: str = Field(description="Name in the store, which `strategy` accepts too.")
    strategy: str = Field(description="Strategy that split its documents.")
    parameters: dict[str, Any] = Field(description="Parameters of the strategy.")
    documents: int
    chunks: int
    watches: list[WatchRow] = Field(description="Synchronisation with folders, if the service was started with it.")
    default: bool = Field(description="Whether requests without `strategy` use it.")


class RankingRow(Model):
    """A ranking of chunks."""

    name: str
    description: str = Field(description="Description in one line.")


class UploadRules(Model):
    """The files that clients may upload."""

    folder: str = Field(description="Prefix of uploaded files' ids, in all collections. Only they can be deleted.")
    max_bytes: int = Field(description="Maximum bytes of a request.")
    suffixes: list[str] = Field(description="Suffixes of files that can be read.")


class Strategies(Model):
    """The strategies, collections, rankings and rerankers of the service."""

    strategies: list[StrategyRow] = Field(description="Strategies for POST /chunk.")
    indexed: list[IndexedRow] = Field(description="Collections for GET /search and /documents.")
    rankings: list[RankingRow] = Field(description="Values of `ranking`, the default first.")
    rerankers: list[str] = Field(description="Values of `rerank`. All but `none` take a second or more per search.")
    uploads: UploadRules | None = Field(description="Rules of POST /documents; null if uploads are not allowed.")


class Preview(Model):
    """The chunks that a strategy makes of a text."""

    strategy: str = Field(description="Name of the strategy.")
    parameters: dict[str, Any] = Field(description="All parameters, including the defaults.")
    chunks: list[ChunkText] = Field(description="Chunks, the coarsest level first, in text order within a level.")


_BEYOND = re.compile("[\U00010000-\U0010ffff]")


class Utf16Offsets:
    """Converts offsets in one text from code points to UTF-16 units; a lone surrogate is one of either."""

    def __init__(self, text: str) -> None:
        self._beyond = [] if text.isascii() else [match.start() for match in _BEYOND.finditer(text)]

    def offset(self, code_points: int) -> int:
        """Return the number of UTF-16 units before a code point."""
        return code_points + bisect.bisect_left(self._beyond, code_points)


class SpanLocator:
    """Locates spans of a document in a text that was joined from slices of it."""

    def __init__(self, spans: Sequence[Span], text: str) -> None:
        self._stretches = stretches(spans, text) or ()
        self._units = Utf16Offsets(text)

    def locate(self, spans: Iterable[Span]) -> list[TextRange]:
        """Return the ranges of spans in the text; parts that the text lacks are left out."""
        units, places = self._units.offset, (place for span in spans for place in self._clip(span))
        return [TextRange(start=a, end=b, utf16_start=units(a), utf16_end=units(b)) for a, b in places]

    def _clip(self, span: Span) -> Iterator[tuple[int, int]]:
        for at, (start, end) in self._stretches:
            first, last = max(start, span.start), min(end, span.end)
            if first < last:
                yield at + first - start, at + last - start


def to_place(chunk: Chunk, locator: SpanLocator) -> ChunkPlace:
    """Return the position of a chunk, without its text."""
    return ChunkPlace(**place_row(chunk), ranges=locator.locate(chunk.spans))


def to_chunk_text(chunk: Chunk, locator: SpanLocator) -> ChunkText:
    """Return the position of a chunk, with its text and metadata."""
    row = {**chunk_row(chunk), "ranges": locator.locate(chunk.spans)}
    return ChunkText(**{key: row[key] for key in ChunkText.model_fields})


def to_highlight(passage: Passage, span: Span, matches: bool) -> Highlight:
    """Return a highlight, given its span in the document."""
    ranges = SpanLocator(passage.spans, passage.text).locate([span])
    return Highlight(start=span.start, end=span.end, ranges=ranges, matches=matches)


def to_found_passage(rank: int, passage: Passage, highlight: Highlight | None, view: TextView | None) -> FoundPassage:
    """Return a passage with its rank, counted from 1."""
    row, locator = passage_row(passage, rank), SpanLocator(passage.spans, passage.text)
    for hit, found in zip(row["hits"], passage.hits, strict=True):
        hit["ranges"] = locator.locate(found.chunk.spans)
    return FoundPassage(**row, highlight=highlight, view=view)


def to_search_answer(
    query: str,
    strategy: str,
    passages: Passages,
    highlights: Sequence[Highlight] = (),
    views: Sequence[TextView] = (),
) -> SearchAnswer:
    """Return the response to a question, with a highlight and a view of each passage, or without any."""
    rows = enumerate(zip_longest(passages, highlights, views), 1)
    found = [to_found_passage(rank, passage, lit, view) for rank, (passage, lit, view) in rows]
    return SearchAnswer(query=query, strategy=strategy, passages=found, **finding_row(passages))


def search_body(query: str, strategy: str, passages: Passages) -> bytes:
    """Return the JSON of the response to a question, without highlights and views."""
    return to_search_answer(query, strategy, passages).model_dump_json().encode()
