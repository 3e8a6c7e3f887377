"""Strategies, and what they make of a text."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from kinsplit.server.models.base import ChunkText, Model


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
