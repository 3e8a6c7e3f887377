"""Results of the tools, whose schemas models read.

Ranges are half-open and count Unicode code points of the document as it was indexed.
"""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field


class ToolResult(BaseModel):
    """Base of all results."""

    model_config = ConfigDict(frozen=True)


class DocumentPlace(ToolResult):
    """A part of a document."""

    citation: str = Field(description="How to cite it: the document, its pages if it has any, and the range.")
    document: str = Field(description="Id of the document, for `read`.")
    start: int = Field(description="First character in the document.")
    end: int = Field(description="One past the last character in the document.")
    pages: tuple[int, int] | None = Field(description="First and last page, from 1, if the document has pages.")
    section: str = Field(description="Headings above it, or empty.")


class PassageResult(DocumentPlace):
    """A passage that answers the question."""

    rank: int = Field(description="Rank, from 1.")
    score: float = Field(description="Score, higher is better; comparable within one search only.")
    chunks: list[str] = Field(description="Ids of its chunks, for `read`.")
    text: str = Field(description="Text of the passage.")


class FoundPassages(ToolResult):
    """The passages found for a question."""

    collection: str = Field(description="Collection that was searched.")
    passages: list[PassageResult] = Field(description="Passages, best first; empty if nothing was found or fits.")


class AnswerSource(DocumentPlace):
    """A passage that an answer cites by its number."""

    number: int = Field(description="Number in the answer's citations, such as [1].")
    text: str = Field(description="Text of the passage.")


class SentenceCheck(ToolResult):
    """The check of one sentence of the answer against the passages it cites."""

    sentence: str
    status: str = Field(description="found, not_found, uncited or no_such_source.")
    cited: list[int] = Field(description="Numbers of the passages that it cites.")


class Answered(ToolResult):
    """An answer with its sources."""

    collection: str = Field(description="Collection that was searched.")
    answer: str = Field(description="The answer, with citations such as [1].")
    verdict: str = Field(
        description="supported, partly_supported or unsupported by its sources; not_in_material; quoted, if no model "
        "answered and sentences are quoted instead; or broken_off."
    )
    model: str | None = Field(description="Language model that answered, if any.")
    sources: list[AnswerSource] = Field(description="The passages, best first.")
    checks: list[SentenceCheck] = Field(description="Check of each sentence.")
    notices: list[str] = Field(description="Remarks for the reader.")


class DocumentExcerpt(DocumentPlace):
    """A part of a document as it was indexed."""

    text: str = Field(description="The text; a blank line separates parts that don't adjoin.")
    chunks: list[str] = Field(description="Ids of its chunks, in document order.")
    first_chunk: int = Field(description="Index of its first chunk in the document, from 0.")
    total_chunks: int = Field(description="Number of chunks of the document.")
    next_start: int | None = Field(description="Where to continue reading by `start`; null at the end of the document.")
    metadata: dict[str, Any] = Field(description="Metadata of the document.")


class DocumentEntry(ToolResult):
    """A document of a collection."""

    document: str = Field(description="Id of the document.")
    chunks: int = Field(description="Number of chunks.")
    metadata: dict[str, Any] = Field(description="Metadata, which `where` can test.")


class Documents(ToolResult):
    """A page of the documents of a collection, ordered by id."""

    collection: str = Field(description="Collection that was listed.")
    collections: list[str] = Field(description="All collections.")
    total: int = Field(description="Number of documents that match.")
    offset: int = Field(description="Number of documents before this page.")
    documents: list[DocumentEntry]
