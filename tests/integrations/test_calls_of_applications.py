"""What applications on LlamaIndex ask of their vector store, beyond its interface."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from llama_index.core import Document, StorageContext, VectorStoreIndex
from llama_index.core.schema import TextNode
from llama_index.core.vector_stores import FilterCondition, FilterOperator, MetadataFilter, MetadataFilters
from llama_index.core.vector_stores.types import VectorStoreQuery, VectorStoreQueryMode

from kinsplit.errors import InvalidParameterError
from kinsplit.integrations.llama_index import KinsplitEmbedding, KinsplitVectorStore, node_parser

BIRDS, BATS = "An owl hunts at night. It sees well.", "Bats are no birds. They hunt too."


@pytest.fixture
def index() -> Iterator[VectorStoreIndex]:
    store = KinsplitVectorStore("memory:")
    yield VectorStoreIndex.from_documents(
        [Document(id_="birds", text=BIRDS), Document(id_="bats", text=BATS)],
        storage_context=StorageContext.from_defaults(vector_store=store),
        embed_model=KinsplitEmbedding("hash"),
        transformations=[node_parser("sentence", max_sentences=1)],
    )
    store.close()


@pytest.mark.parametrize("key", ["doc_id", "document_id", "ref_doc_id"])
@pytest.mark.parametrize(
    ("operator", "value", "texts"),
    [
        (FilterOperator.EQ, "bats", {"Bats are no birds.", "They hunt too."}),
        (FilterOperator.IN, ["bats"], {"Bats are no birds.", "They hunt too."}),
        (FilterOperator.IN, ["bats", "birds"], {"An owl hunts at night.", "Bats are no birds."}),
        (FilterOperator.NE, "bats", {"An owl hunts at night.", "It sees well."}),
        (FilterOperator.NIN, ["birds"], {"Bats are no birds.", "They hunt too."}),
        (FilterOperator.IS_EMPTY, None, set()),
        (FilterOperator.TEXT_MATCH, "bat", {"Bats are no birds.", "They hunt too."}),
    ],
)
def test_filters_by_the_id_of_a_document(
    index: VectorStoreIndex, key: str, operator: FilterOperator, value: Any, texts: set[str]
) -> None:
    filters = MetadataFilters(filters=[MetadataFilter(key=key, value=value, operator=operator)])
    found = index.as_retriever(similarity_top_k=4, filters=filters).retrieve("owl")
    assert {hit.text for hit in found} >= texts
    assert len(found) == (4 if value == ["bats", "birds"] else len(texts))


def test_filters_by_the_id_of_foreign_nodes_and_whole_documents() -> None:
    store = KinsplitVectorStore("memory:")
    whole = TextNode(id_="note", text="An owl.", metadata={"doc_id": "other"}, embedding=[1.0, 0.0])
    store.add([whole])
    for value, number in (("note", 1), ("other", 0)):
        assert store.count(MetadataFilters(filters=[MetadataFilter(key="doc_id", value=value)])) == number
    assert store.get_nodes()[0].metadata == {"doc_id": "other"}


def test_a_limit_of_nodes(index: VectorStoreIndex) -> None:
    store = index.vector_store
    assert isinstance(store, KinsplitVectorStore)
    every = store.get_nodes()
    nested = MetadataFilters(filters=[], condition=FilterCondition.AND)
    either = [MetadataFilter(key="doc_id", value=name) for name in ("bats", "birds")]
    both = MetadataFilters(filters=[nested, MetadataFilters(filters=list(either), condition=FilterCondition.OR)])
    for filters in (None, nested, both):
        assert store.get_nodes(filters=filters, limit=3) == every[:3]
        assert store.get_nodes(filters=filters, limit=9) == store.get_nodes(filters=filters, limit=None) == every
    ids = [every[2].node_id, every[0].node_id]
    assert [node.node_id for node in store.get_nodes(ids, limit=1)] == ids[:1]
    assert store.get_nodes(limit=0) == []
    with pytest.raises(InvalidParameterError, match="limit"):
        store.get_nodes(limit=-1)


async def _scores(index: VectorStoreIndex, lowest: float | None, mode: str) -> Sequence[float]:
    options: Any = {} if lowest is None else {"vector_store_kwargs": {"score_threshold": lowest}}
    retriever = index.as_retriever(similarity_top_k=4, vector_store_query_mode=mode, **options)
    return [hit.score or 0.0 for hit in await retriever.aretrieve("An owl hunts at night.")]


async def test_a_threshold_of_the_score(index: VectorStoreIndex) -> None:
    scores = await _scores(index, None, "default")
    assert len(scores) == 4
    assert await _scores(index, scores[1], "default") == scores[:2]
    assert len(await _scores(index, 0.99, "mmr")) == 1
    assert len(await _scores(index, -1, "hybrid")) == 4
    assert await _scores(index, 0.99, "sparse") == await _scores(index, None, "sparse")
    store: Any = index.vector_store
    query = VectorStoreQuery([0.5] * 64, query_str="bats", mode=VectorStoreQueryMode.HYBRID)
    assert {node.text for node in store.query(query, score_threshold=0.99).nodes} == {"Bats are no birds."}
    with pytest.raises(InvalidParameterError, match="score_threshold: must be a cosine"):
        store.query(query, score_threshold=2)
