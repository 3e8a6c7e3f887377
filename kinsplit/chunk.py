"""The frozen values that everything in kinsplit passes on."""

from __future__ import annotations

import bisect
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from kinsplit.spans import Span

#: Level of the chunk that stands for a whole document, above any depth of parents.
DOCUMENT = 100

#: Stands between the texts of spans that lie apart, in a chunk as in a passage.
SEPARATOR = "\n\n"

#: Level and content hash: what a chunk's vectors depend on. A parent with a single child has its child's text, but
#: other vectors.
Content = tuple[int, str]


@dataclass(frozen=True, slots=True)
class Chunk:
    """A piece of one document that knows its place and its kin.

    Attributes:
        id: Version-5 UUID of source, strategy, level and index (see `chunk_id`).
        source_id: Id of the document.
        index: Position among the chunks of its level, from 0.
        total: Number of chunks of its level.
        level: 0 for leaves, 1 for their parents, and so on; `DOCUMENT` for the chunk that stands for its whole
            document.
        spans: Where the text lies in the document, in document order; nearly always one span.
        text: The spans' text, joined by a separator where there are several; empty for a whole document, whose text is
            in its leaves.
        content_hash: Changes when text or context change (see `content_hash`); for a whole document, when a leaf's
            does (see `document_hash`).
        overlap: Length in characters of the beginning of the text that is also in the previous sibling.
        parent_id: Id of the chunk one level up that holds this one.
        prev_id: Id of the previous chunk of the same level.
        next_id: Id of the next chunk of the same level.
        context: Heading path or repeated table header; embedded with the text, never part of it.
        token_count: Length in tokens where the strategy counts tokens.
        metadata: The document's metadata, shared by its chunks and read-only, and what the strategy says of the chunk.
    """

    id: str
    source_id: str
    index: int
    total: int
    level: int
    spans: tuple[Span, ...]
    text: str
    content_hash: str
    overlap: int = 0
    parent_id: str | None = None
    prev_id: str | None = None
    next_id: str | None = None
    context: str = ""
    token_count: int | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)

    @property
    def start(self) -> int:
        """First code point of the chunk in its document."""
        return self.spans[0].start

    @property
    def end(self) -> int:
        """One past the last code point of the chunk in its document."""
        return self.spans[-1].end

    @property
    def is_chunked(self) -> bool:
        """Whether the document has several chunks of this level."""
        return self.total > 1

    @property
    def content(self) -> Content:
        """Level and content hash, by which the chunk's vectors are kept."""
        return self.level, self.content_hash


class Field(NamedTuple):
    """A field of a chunk and its names outside Python.

    Attributes:
        attribute: Attribute of `Chunk`.
        stored: Key in store payloads and framework metadata; None where it isn't part of them.
        shown: Key in JSON rows, service responses and answers; None where these leave it out.
        is_computed: Whether it follows from other fields.
        is_optional: Whether payloads and metadata hold it only where it says more than the other fields.
    """

    attribute: str
    stored: str | None
    shown: str | None
    is_computed: bool = False
    is_optional: bool = False


#: The fields of a chunk, in the order of a payload. Store payloads, framework metadata, JSON rows, service responses
#: and answers take their keys and values from here.
FIELDS = (
    Field("id", None, "id"),
    Field("source_id", "source_id", "source_id"),
    Field("index", "chunk_index", "chunk_index"),
    Field("total", "total_chunks", "total_chunks"),
    Field("is_chunked", "is_chunked", None, is_computed=True),
    Field("level", "level", "level"),
    Field("parent_id", "parent_id", "parent_id"),
    Field("prev_id", "prev_id", "prev_id"),
    Field("next_id", "next_id", "next_id"),
    Field("start", "char_start", "start", is_computed=True),
    Field("end", "char_end", "end", is_computed=True),
    Field("overlap", "overlap", "overlap"),
    Field("content_hash", "content_hash", None),
    Field("context", "context", "context"),
    Field("token_count", "token_count", "token_count"),
    Field("text", "full_content", "text"),
    Field("spans", "spans", "spans", is_optional=True),
)

_ATTRIBUTES = {key: field.attribute for field in FIELDS for key in (field.stored, field.shown) if key is not None}


def select(chunk: Chunk, keys: Iterable[str]) -> dict[str, Any]:
    """Return fields of a chunk by their keys, in the order of the keys; spans are lists of two offsets.

    Args:
        chunk: The chunk.
        keys: Stored or shown names of `FIELDS`.
    """
    return {
        key: [list(span) for span in chunk.spans] if key == "spans" else getattr(chunk, _ATTRIBUTES[key])
        for key in keys
    }


def embedded_text(chunk: Chunk) -> str:
    """Return what is embedded of a chunk: its context, where it has one, before its text."""
    return f"{chunk.context}\n\n{chunk.text}" if chunk.context else chunk.text


def heading_path(context: str) -> str:
    """Return the heading path of a chunk's context, its first line, without a table's repeated header below it.

    Args:
        context: Of a chunk. A header alone, whose second row is the table's delimiter row, is no path.
    """
    first, _, rest = context.partition("\n")
    second = rest.partition("\n")[0]
    return "" if second and not second.strip(" \t|:-") else first


class Part(NamedTuple):
    """A part of a document that its text doesn't mark by a heading, such as a function of a program.

    Attributes:
        start: First code point.
        end: One past the last code point.
        title: What it is called, such as `def push`.
    """

    start: int
    end: int
    title: str


class Moment(NamedTuple):
    """When a part of a recording's text was said.

    Attributes:
        at: Offset at which the part begins; it ends where the next one does.
        start: Seconds from the recording's beginning.
        end: Seconds, too.
    """

    at: int
    start: float
    end: float


@dataclass(frozen=True, slots=True)
class Document:
    """A text with an id, as a loader or a caller gives it.

    Attributes:
        id: Names the document in ids, payloads and reports; a relative path or what the caller chose.
        text: The text, exactly as every offset will count it.
        metadata: Carried to every chunk. Must be JSON-serialisable when it goes into a store.
        pages: Offset at which each page starts, ascending from 0; empty where there are no pages.
        times: When each part was said, ascending by offset; empty where the text is of no recording.
        outline: Its parts, ascending by start, outer ones before those inside them; where there are any, they and the
            last component of the id, and no headings, make the chunks' contexts.
    """

    id: str
    text: str
    metadata: Mapping[str, Any] = field(default_factory=dict)
    pages: tuple[int, ...] = ()
    times: tuple[Moment, ...] = ()
    outline: tuple[Part, ...] = ()

    def page_range(self, start: int, end: int) -> tuple[int, int] | None:
        """Return the first and last page, counted from 1, that a range of the text touches.

        Args:
            start: First code point.
            end: One past the last code point.

        Returns:
            Both page numbers, or None for a document without pages.
        """
        if not self.pages:
            return None
        first = max(1, bisect.bisect_right(self.pages, start))
        last = max(first, bisect.bisect_right(self.pages, max(start, end - 1)))
        return first, last

    def time_range(self, start: int, end: int) -> tuple[float, float] | None:
        """Return from when to when a range of the text was said, in seconds.

        Args:
            start: First code point.
            end: One past the last code point.

        Returns:
            Both times, or None for a document without times.
        """
        if not self.times:
            return None
        first = max(0, bisect.bisect_right(self.times, start, key=_offset) - 1)
        last = max(first + 1, bisect.bisect_left(self.times, end, key=_offset))
        return self.times[first].start, max(moment.end for moment in self.times[first:last])


def _offset(moment: Moment) -> int:
    return moment.at


def by_size(documents: Iterable[Document], characters: int) -> Iterator[list[Document]]:
    """Yield documents in batches that end with the document with which they hold so many characters."""
    batch: list[Document] = []
    size = 0
    for document in documents:
        batch.append(document)
        size += len(document.text)
        if size >= characters:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch
