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


class Place(Model):
    """Where a chunk stands."""

    id: str = Field(description="Its id, a UUID.")
    level: int = Field(description="0 for chunks, 1 and above for their parents.")
    chunk_index: int = Field(description="Its position among the chunks of its level, from 0.")
    total_chunks: int = Field(description="Number of chunks of its level.")
    start: int = Field(description="First code point in the document.")
    end: int = Field(description="One past the last code point in the document.")
    spans: list[Pair] = Field(description="Where it lies in the document; nearly always one span.")
    ranges: list[TextRange] = Field(description="Where it lies in the text that this answer shows.")
    overlap: int = Field(description="Code points at its beginning that its previous sibling has too.")
    parent_id: str | None = Field(description="Its parent.")
    prev_id: str | None = Field(description="Its previous sibling.")
    next_id: str | None = Field(description="Its next sibling.")
    context: str = Field(description="Its heading path, or its table's header.")
    token_count: int | None = Field(description="Its length in tokens, where the strategy counts them.")
    pages: Pair | None = Field(description="First and last page, from 1, where the document has pages.")


class ChunkText(Place):
    """A chunk with its text."""

    text: str = Field(description="Its text.")
    metadata: dict[str, Any] = Field(description="What is known of its document, and of it.")


class FoundChunk(Place):
    """A chunk that was found; `ranges` are in the passage's text."""

    score: float = Field(description="By which it was ranked, higher is better.")
    scores: dict[str, float] = Field(description="Every stage's score, in the order of the stages.")


class Related(Model):
    """A file beside a document that was indexed whole."""

    source_id: str = Field(description="Id of that document.")
    text: str = Field(description="Its text.")


class FoundPassage(Model):
    """A slice of a document that answers the question."""

    rank: int = Field(description="From 1.")
    score: float = Field(description="The last stage's score, higher is better.")
    scores: dict[str, float] = Field(description="Every stage's score of the best hit.")
    source_id: str = Field(description="Id of the document.")
    start: int = Field(description="First code point in the document.")
    end: int = Field(description="One past the last code point in the document.")
    spans: list[Pair] = Field(description="Where it lies in the document; nearly always one span.")
    pages: Pair | None = Field(description="First and last page, from 1.")
    context: str = Field(description="Heading path of the best hit.")
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


class DocumentRow(Model):
    """A document of a collection."""

    id: str = Field(description="Its id.")
    chunks: int = Field(description="Number of its chunks.")


class DocumentPage(Model):
    """Some of the documents, in order of their ids."""

    strategy: str = Field(description="Name under which the collection was asked.")
    total: int = Field(description="Number of all documents.")
    offset: int = Field(description="Number of those before the first one here.")
    documents: list[DocumentRow] = Field(description="The documents.")


class FilterValue(Model):
    """A value that a filter can ask for."""

    value: str | int
    documents: int = Field(description="Number of the documents that have it.")


class FilterKey(Model):
    """A key of the documents' metadata that a filter can ask for."""

    key: str
    distinct: int = Field(description="Number of its values.")
    values: list[FilterValue] = Field(description="Its most frequent values, at most 100.")


class Filters(Model):
    """What `where` can ask for."""

    strategy: str = Field(description="Name under which the collection was asked.")
    keys: list[FilterKey] = Field(description="The keys that most documents have first, at most 50.")


class DocumentText(Model):
    """A document, put together from its chunks: no file is read."""

    id: str = Field(description="Its id.")
    strategy: str = Field(description="Name under which the collection was asked.")
    text: str = Field(description="Its text; where the chunks leave something out, a blank line stands for it.")
    spans: list[Pair] = Field(description="Which slices of the document the text is made of.")
    chunks: list[Place] = Field(description="The chunks and their parents, without their texts, level by level.")
    metadata: dict[str, Any] = Field(description="What is known of it.")


class ChunkPage(Model):
    """Some of the chunks of a document; `ranges` are in the text that /documents/{id} shows."""

    id: str = Field(description="Id of the document.")
    strategy: str = Field(description="Name under which the collection was asked.")
    level: int = Field(description="Level of the chunks.")
    total: int = Field(description="Number of all chunks of that level.")
    offset: int = Field(description="Number of those before the first one here.")
    chunks: list[ChunkText] = Field(description="The chunks, in document order.")


class ParameterRow(Model):
    """A parameter of a strategy."""

    name: str
    default: Any = Field(description="Taken where it is left out.")
    type: str = Field(description="Its type in words.")
    description: str = Field(description="What it means.")
    settable: bool = Field(description="Whether POST /chunk takes it.")


class StrategyRow(Model):
    """A way to split."""

    name: str
    summary: str = Field(description="What it does.")
    origin: str = Field(description="Where its defaults come from.")
    parameters: list[ParameterRow]


class IndexedRow(Model):
    """A collection that can be asked."""

    name: str = Field(description="What `strategy` takes, in any case.")
    collection: str = Field(description="Name of the collection, which `strategy` takes too.")
    strategy: str = Field(description="Name of the strategy that it was split by.")
    parameters: dict[str, Any] = Field(description="The strategy's parameters.")
    documents: int
    chunks: int
    default: bool = Field(description="Whether it is asked where no strategy is named.")


class Strategies(Model):
    """What there is to choose from."""

    strategies: list[StrategyRow] = Field(description="What POST /chunk takes.")
    indexed: list[IndexedRow] = Field(description="What GET /search and /documents take.")
    rerankers: list[str] = Field(description="What `rerank` takes.")


class Preview(Model):
    """How a strategy cuts a text."""

    strategy: str = Field(description="Name of the strategy.")
    parameters: dict[str, Any] = Field(description="All its parameters, with the defaults of those left out.")
    chunks: list[ChunkText] = Field(description="Coarsest level first, in order of the text within a level.")


class Health(Model):
    """Whether the service is there."""

    status: str


class Problem(Model):
    """What was wrong and what to do about it."""

    field: str | None = Field(description="What of the request it is about.")
    rule: str = Field(description="What is allowed, or what happened.")
    value: Any = Field(description="What was given, shortened.")
    remedy: str = Field(description="What to do.")


class ErrorAnswer(Model):
    """The body of every error."""

    error: Problem
