"""Documents, their chunks, and what they can be filtered by."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from kinsplit.server.models.base import ChunkText, Model, Pair, Place


class Page(Model):
    """Some of many."""

    strategy: str = Field(description="Name under which the collection was asked.")
    total: int = Field(description="Number of all of them.")
    offset: int = Field(description="Number of those before the first one here.")


class DocumentRow(Model):
    """A document of a collection."""

    id: str = Field(description="Its id.")
    chunks: int = Field(description="Number of its chunks.")


class DocumentPage(Page):
    """Some of the documents, in order of their ids."""

    documents: list[DocumentRow] = Field(description="The documents.")


class DocumentText(Model):
    """A document, put together from its chunks: no file is read."""

    id: str = Field(description="Its id.")
    strategy: str = Field(description="Name under which the collection was asked.")
    text: str = Field(description="Its text; where the chunks leave something out, a blank line stands for it.")
    spans: list[Pair] = Field(description="Which slices of the document the text is made of.")
    chunks: list[Place] = Field(description="The chunks and their parents, without their texts, level by level.")
    metadata: dict[str, Any] = Field(description="What is known of it.")


class ChunkPage(Page):
    """Some of the chunks of a document; `ranges` are in the text that /documents/{id} shows."""

    id: str = Field(description="Id of the document.")
    level: int = Field(description="Level of the chunks.")
    chunks: list[ChunkText] = Field(description="The chunks, in document order.")


class FilterValue(Model):
    """A value that a filter can ask for."""

    value: str | bool | int | float
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
