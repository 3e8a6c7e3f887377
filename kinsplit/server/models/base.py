"""What the service answers, as OpenAPI describes it.

Offsets are half-open and count code points. `start`, `end` and `spans` count them in the document as it was indexed; a
`TextRange` counts them in a text of the same answer, and once more in UTF-16 units, as JavaScript's strings do.
"""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field

Pair = tuple[int, int]


class Model(BaseModel):
    """What all of them have in common."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class TextRange(Model):
    """A part of a text of this answer."""

    start: int = Field(description="First code point.")
    end: int = Field(description="One past the last code point.")
    utf16_start: int = Field(description="First UTF-16 unit.")
    utf16_end: int = Field(description="One past the last UTF-16 unit.")


class Located(Model):
    """A part of a document."""

    start: int = Field(description="First code point in the document.")
    end: int = Field(description="One past the last code point in the document.")
    spans: list[Pair] = Field(description="Where it lies in the document; nearly always one span.")
    context: str = Field(description="Its heading path, or its table's header; a passage has that of its best hit.")
    pages: Pair | None = Field(description="First and last page, from 1, where the document has pages.")


class Place(Located):
    """Where a chunk stands."""

    id: str = Field(description="Its id, a UUID.")
    level: int = Field(description="0 for chunks, 1 and above for their parents.")
    chunk_index: int = Field(description="Its position among the chunks of its level, from 0.")
    total_chunks: int = Field(description="Number of chunks of its level.")
    ranges: list[TextRange] = Field(description="Where it lies in the text that this answer shows.")
    overlap: int = Field(description="Code points at its beginning that its previous sibling has too.")
    parent_id: str | None = Field(description="Its parent.")
    prev_id: str | None = Field(description="Its previous sibling.")
    next_id: str | None = Field(description="Its next sibling.")
    token_count: int | None = Field(description="Its length in tokens, where the strategy counts them.")


class ChunkText(Place):
    """A chunk with its text."""

    text: str = Field(description="Its text.")
    metadata: dict[str, Any] = Field(description="What is known of its document, and of it.")
