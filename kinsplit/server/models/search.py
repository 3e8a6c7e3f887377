"""Search results."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from kinsplit.server.models.base import Located, Model, Place, View


class Scored(Model):
    """A result with its scores."""

    score: float = Field(description="Score of the ranking; higher is better.")
    scores: dict[str, float] = Field(description="Score of each stage, in order; for a passage, those of its best hit.")


class FoundChunk(Place, Scored):
    """A hit; its `ranges` are in the text of the passage."""


class Related(Model):
    """Another file of the same group, indexed as one chunk."""

    source_id: str = Field(description="Id of its document.")
    text: str = Field(description="Text of the file.")


class FoundPassage(Located, Scored):
    """A passage of a document that answers the question."""

    rank: int = Field(description="Rank, from 1.")
    source_id: str = Field(description="Id of the document.")
    text: str = Field(description="Text of the passage; a blank line separates several spans.")
    hits: list[FoundChunk] = Field(description="Chunks of the passage that were found, best first.")
    chunks: list[str] = Field(description="Ids of all chunks of the passage, in document order.")
    related: list[Related] = Field(description="Other files of the same group, for a file indexed as one chunk.")
    metadata: dict[str, Any] = Field(description="Metadata of the document.")
    times: tuple[float, float] | None = Field(description="Start and end in seconds, in a transcript.")
    view: View | None = Field(description="How it can be shown; null unless `render` is set.")


class SearchAnswer(Model):
    """The passages found for a question."""

    query: str = Field(description="The question.")
    strategy: str = Field(description="Name of the collection in requests.")
    passages: list[FoundPassage] = Field(description="Passages, best first; empty if none is found or fits the budget.")
