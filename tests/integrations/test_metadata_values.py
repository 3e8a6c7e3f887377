"""Metadata values of any kind: stored, found and rejected alike through every adapter."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any
from uuid import UUID

import numpy as np
import pytest
from langchain_core.documents import Document as LangChainDocument
from langchain_core.embeddings import DeterministicFakeEmbedding
from llama_index.core.schema import TextNode
from llama_index.core.vector_stores.types import FilterOperator, MetadataFilter, MetadataFilters

import kinsplit.integrations.langchain as of_langchain
import kinsplit.integrations.llama_index as of_llama_index
from kinsplit import Document, Index
from kinsplit.errors import InvalidParameterError
from kinsplit.stores.values import Where

_GIVEN: dict[str, Any] = {
    "when": datetime(2024, 1, 2, 3, 4, tzinfo=UTC),
    "day": date(2024, 1, 2),
    "path": Path("a") / "b.md",
    "uuid": UUID(int=7),
    "tags": {"b", "a"},
    "count": np.int64(3),
    "share": np.float32(0.5),
    "year": 2020.0,
    "draft": np.bool_(True),
    "author": {"name": "Ada"},
    "nothing": None,
}
_KEPT = {
    "when": "2024-01-02T03:04:00Z",
    "day": "2024-01-02",
    "path": "a/b.md",
    "uuid": str(UUID(int=7)),
    "tags": ["a", "b"],
    "count": 3,
    "share": 0.5,
    "year": 2020,
    "draft": True,
    "author": {"name": "Ada"},
    "nothing": None,
}
_FOUND_BY: list[Where] = [
    {"when": _GIVEN["when"], "day": {"$gte": date(2024, 1, 1)}},
    {"path": _GIVEN["path"], "uuid": _GIVEN["uuid"], "tags": {"b"}},
    {"count": 3, "share": 0.5, "year": 2020, "draft": True, "author.name": "Ada", "nothing": None},
]

#: Stores a text with metadata, and returns for each filter the metadata that it finds, or None.
Door = Callable[[dict[str, Any], list[Where]], list[dict[str, Any] | None]]


def _through_index(metadata: dict[str, Any], filters: list[Where]) -> list[dict[str, Any] | None]:
    with Index("memory:", embedder="hash") as index:
        index.add(Document("a.md", "One.", metadata))
        found = [index.search("one", where=where) for where in filters]
    return [dict(passages[0].metadata) if passages else None for passages in found]


def _through_langchain(metadata: dict[str, Any], filters: list[Where]) -> list[dict[str, Any] | None]:
    store = of_langchain.KinsplitVectorStore(DeterministicFakeEmbedding(size=8), "memory:")
    store.add_documents([LangChainDocument(id="a", page_content="One.", metadata=metadata)])
    found = [store.similarity_search("one", filter=where) for where in filters]
    return [documents[0].metadata if documents else None for documents in found]


def _through_llama_index(metadata: dict[str, Any], filters: list[Where]) -> list[dict[str, Any] | None]:
    store = of_llama_index.KinsplitVectorStore("memory:")
    store.add([TextNode(id_="a", text="One.", metadata=metadata, embedding=[0.5] * 8)])
    (node,) = store.get_nodes()
    kept = store.client
    assert kept is not None
    # Its own filters can't express all of them.
    return [node.metadata if kept.find(where) else None for where in filters]


_DOORS = [_through_index, _through_langchain, _through_llama_index]


@pytest.mark.parametrize("door", _DOORS)
def test_metadata_of_every_kind_are_kept_alike_and_found(door: Door) -> None:
    for found in door(_GIVEN, _FOUND_BY):
        assert found is not None
        assert {key: found[key] for key in _KEPT} == _KEPT


@pytest.mark.parametrize("door", _DOORS)
@pytest.mark.parametrize("value", [float("nan"), np.float32("nan"), float("inf"), object(), b"x", np.datetime64("NaT")])
def test_what_can_not_be_kept_is_refused_by_its_key(door: Door, value: object) -> None:
    with pytest.raises(InvalidParameterError, match=r"^metadata\['odd'\]"):
        door({"odd": value}, [])


def test_filters_of_llama_index_take_floats_dates_and_none() -> None:
    store = of_llama_index.KinsplitVectorStore("memory:")
    store.add([TextNode(id_="a", text="One.", metadata=_GIVEN, embedding=[0.5] * 8)])

    def found(key: str, value: Any, operator: FilterOperator = FilterOperator.EQ) -> bool:
        return bool(
            store.get_nodes(filters=MetadataFilters(filters=[MetadataFilter(key=key, value=value, operator=operator)]))
        )

    assert found("share", 0.5)
    assert found("share", [0.5, 0.75], FilterOperator.IN)
    assert found("year", 2020.0)
    assert found("day", "2024-01-01", FilterOperator.GT)
    assert not found("day", "2024-01-03", FilterOperator.GTE)
    assert found("nothing", None)
    assert found("author", None, FilterOperator.NE)
    assert found("author.name", "Ada")
