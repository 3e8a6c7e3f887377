"""Strategies, indexed collections and previews."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from pydantic import Field

from kinsplit.server.models.base import ChunkText, Model


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

    folder: str = Field(
        description="First part of the ids of uploaded files, in all collections. Only they can be deleted."
    )
    max_bytes: int = Field(description="Maximum bytes of a request.")
    suffixes: list[str] = Field(description="Suffixes of files that can be read.")


class Strategies(Model):
    """The strategies, collections, rankings and rerankers of the service."""

    strategies: list[StrategyRow] = Field(description="Strategies for POST /chunk.")
    indexed: list[IndexedRow] = Field(description="Collections for GET /search and /documents.")
    rankings: list[RankingRow] = Field(description="Values of `ranking`, the default first.")
    rerankers: list[str] = Field(description="Values of `rerank`.")
    uploads: UploadRules | None = Field(description="Rules of POST /documents; null if uploads are not allowed.")


class Preview(Model):
    """The chunks that a strategy makes of a text."""

    strategy: str = Field(description="Name of the strategy.")
    parameters: dict[str, Any] = Field(description="All parameters, including the defaults.")
    chunks: list[ChunkText] = Field(description="Chunks, the coarsest level first, in text order within a level.")
