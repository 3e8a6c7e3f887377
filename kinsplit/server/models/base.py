"""Base models of the responses.

Ranges are half-open. `start`, `end` and `spans` are code point offsets in the document as it was indexed. A `TextRange`
has offsets in a text of the same response, both in code points and in UTF-16 units, as JavaScript counts them.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

Pair = tuple[int, int]


class Model(BaseModel):
    """Base of all models."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class TextRange(Model):
    """A range of a text in this response."""

    start: int = Field(description="First code point.")
    end: int = Field(description="One past the last code point.")
    utf16_start: int = Field(description="First UTF-16 unit.")
    utf16_end: int = Field(description="One past the last UTF-16 unit.")


class Located(Model):
    """A part of a document."""

    start: int = Field(description="First code point in the document.")
    end: int = Field(description="One past the last code point in the document.")
    spans: list[Pair] = Field(description="Spans in the document; nearly always one.")
    context: str = Field(description="Heading path or table header; for a passage, that of its best hit.")
    pages: Pair | None = Field(description="First and last page, from 1, if the document has pages.")


class View(Model):
    """How a text can be shown as it looks in its file."""

    kind: Literal["markdown", "code"] | None = Field(description="What the text is; null for plain text.")
    html: str | None = Field(description="Markdown or code as safe HTML, with the hits marked, if `render` is set.")
    problem: str | None = Field(description="Why a text of Markdown or code could not be rendered.")
    pages: bool = Field(description="Whether GET /documents/{id}/pages/{page}.png draws its pages.")
    original: bool = Field(description="Whether GET /documents/{id}/original returns its file.")
    recording: str | None = Field(
        description="Address of the recording, if `url` in its metadata has one, at its time."
    )


class Place(Located):
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


class ChunkText(Place):
    """A chunk with its text."""

    text: str = Field(description="Text of the chunk.")
    metadata: dict[str, Any] = Field(description="Metadata of the document and of the chunk.")
