"""Documents, their chunks, and the filters."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from kinsplit.server.models.base import ChunkText, Model, Pair, Place, View


class Page(Model):
    """A page of a list."""

    strategy: str = Field(description="Name of the collection in requests.")
    total: int = Field(description="Number of items in the whole list.")
    offset: int = Field(description="Number of items before this page.")


class DocumentRow(Model):
    """A document of a collection."""

    id: str = Field(description="Id of the document.")
    chunks: int = Field(description="Number of chunks.")


class DocumentPage(Page):
    """A page of the documents, ordered by id."""

    documents: list[DocumentRow] = Field(description="The documents.")


class DocumentText(Model):
    """A document, joined from its chunks; no file is read."""

    id: str = Field(description="Id of the document.")
    strategy: str = Field(description="Name of the collection in requests.")
    text: str = Field(description="Text of the document, with a blank line for each part that no chunk holds.")
    spans: list[Pair] = Field(description="Slices of the document that the text is joined from.")
    chunks: list[Place] = Field(description="Chunks and their parents without their texts, level by level.")
    metadata: dict[str, Any] = Field(description="Metadata of the document.")
    view: View = Field(description="How it can be shown.")


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


class Uploaded(Model):
    """The reports of uploaded files, in their order."""

    strategy: str = Field(description="Name of the collection in requests.")
    files: list[UploadRow]


class Deleted(Model):
    """A deleted file."""

    id: str = Field(description="Id of the file.")
    strategy: str = Field(description="Name of the collection in requests.")
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


class Filters(Model):
    """The metadata that `where` can test."""

    strategy: str = Field(description="Name of the collection in requests.")
    keys: list[FilterKey] = Field(description="Keys, the most frequent first, at most 50.")
