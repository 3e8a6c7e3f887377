"""What a search answers."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from kinsplit.server.models.base import Located, Model, Place


class Scored(Model):
    """What was found by a score."""

    score: float = Field(description="By which it was ranked, higher is better.")
    scores: dict[str, float] = Field(description="Every stage's score, in the order of the stages; of the best hit.")


class FoundChunk(Place, Scored):
    """A chunk that was found; `ranges` are in the passage's text."""


class Related(Model):
    """A file beside a document that was indexed whole."""

    source_id: str = Field(description="Id of that document.")
    text: str = Field(description="Its text.")


class FoundPassage(Located, Scored):
    """A slice of a document that answers the question."""

    rank: int = Field(description="From 1.")
    source_id: str = Field(description="Id of the document.")
    text: str = Field(description="The slice; of several the texts, a blank line between them.")
    hits: list[FoundChunk] = Field(description="The chunks that were found in it, best first.")
    chunks: list[str] = Field(description="Ids of the chunks that it is made of, in document order.")
    related: list[Related] = Field(description="Other files of the group of a document that was indexed whole.")
    metadata: dict[str, Any] = Field(description="The document's.")


class SearchAnswer(Model):
    """Passages, best first."""

    query: str = Field(description="The question.")
    strategy: str = Field(description="Name under which the collection was asked.")
    passages: list[FoundPassage] = Field(description="Best first; none where nothing was found or fits the budget.")
