"""Filters in the forms that users of the frameworks and of Qdrant write, and fields that they misspell."""

from __future__ import annotations

import warnings
from typing import Any

import pytest
from langchain_classic.retrievers import SelfQueryRetriever
from langchain_core.runnables import RunnableLambda
from langchain_core.structured_query import Comparator, Comparison, Operation, Operator, StructuredQuery
from llama_index.core import MockEmbedding, VectorStoreIndex
from llama_index.core.schema import TextNode
from llama_index.core.vector_stores.types import (
    FilterCondition,
    FilterOperator,
    MetadataFilter,
    MetadataFilters,
    VectorStoreQuery,
)
from qdrant_client import models

from kinsplit import Document, Index
from kinsplit.errors import InvalidParameterError
from kinsplit.integrations import langchain, llama_index
from kinsplit.stores.filter_check import FilterWarning
from tests.integrations.test_langchain_store import HashEmbeddings

METADATA: dict[str, dict[str, Any]] = {
    "a": {"n": {"page": 1}, "tags": ["owl", "lark"], "title": "Birds of prey", "year": 2019, "day": "2024-05-31"},
    "b": {"n": {"page": 2}, "tags": ["lark"], "title": "birdsong 100%", "year": 2020, "day": "2024-06-01"},
    "c": {"tags": [], "title": "Cats", "year": 2021, "author": "Ada"},
}


@pytest.fixture(scope="module")
def chain() -> langchain.KinsplitVectorStore:
    store = langchain.KinsplitVectorStore(HashEmbeddings(), "memory:")
    store.add_texts([f"Text of {name}." for name in METADATA], list(METADATA.values()), ids=list(METADATA))
    return store


@pytest.fixture(scope="module")
def llama() -> llama_index.KinsplitVectorStore:
    store = llama_index.KinsplitVectorStore("memory:")
    store.add([TextNode(id_=n, text=f"Text of {n}.", metadata=m, embedding=[1.0, 0.5]) for n, m in METADATA.items()])
    return store


def _field(key: str, root: str, **condition: Any) -> models.FieldCondition:
    return models.FieldCondition(key=f"{root}{key}", **condition)


def _of_client(root: str) -> list[tuple[models.Filter, str]]:
    lark = _field("tags", root, match=models.MatchValue(value="lark"))
    early = _field("year", root, range=models.Range(lt=2020))
    return [
        (models.Filter(must=[lark]), "ab"),
        (models.Filter(must=lark), "ab"),
        (models.Filter(should=[early, _field("author", root, match=models.MatchAny(any=["Ada", "Bob"]))]), "ac"),
        (models.Filter(must_not=[lark]), "c"),
        (models.Filter(must=[lark], must_not=[early]), "b"),
        (models.Filter(must=[models.Filter(should=[early]), lark]), "a"),
        (models.Filter(must=[_field("n.page", root, match=models.MatchValue(value=2))]), "b"),
        (models.Filter(must=[_field("year", root, match=models.MatchExcept(**{"except": [2019]}))]), "bc"),
        (models.Filter(must=[_field("author", root, match=models.MatchExcept(**{"except": ["Bob"]}))]), "c"),
        (models.Filter(must=[_field("title", root, match=models.MatchText(text="ird"))]), "ab"),
        (models.Filter(must=[_field("title", root, match=models.MatchText(text="100%"))]), "b"),
        (models.Filter(must=[_field("day", root, range=models.DatetimeRange(gt="2024-05-31T12:00:00Z"))]), "b"),
        (models.Filter(must=[models.IsEmptyCondition(is_empty=models.PayloadField(key=f"{root}author"))]), "ab"),
        (models.Filter(must_not=[models.IsNullCondition(is_null=models.PayloadField(key=f"{root}author"))]), "c"),
        (models.Filter(must=[_field("tags", root, is_empty=True)]), "c"),
        (models.Filter(must=[models.HasIdCondition(has_id=["a", "c"])]), "ac"),
        (models.Filter(), "abc"),
    ]


@pytest.mark.parametrize("where", _of_client("metadata."), ids=str)
def test_langchain_takes_filters_of_qdrants_client(where: Any, chain: langchain.KinsplitVectorStore) -> None:
    given, expected = where
    assert "".join(sorted(str(d.id) for d in chain.similarity_search("text", filter=given))) == expected
    assert "".join(str(d.id) for d in chain.find(given)) == expected
    assert chain.count(given) == len(expected)
    retriever = chain.as_retriever(search_kwargs={"filter": given})
    assert "".join(sorted(str(d.id) for d in retriever.invoke("text"))) == expected


@pytest.mark.parametrize("where", _of_client(""), ids=str)
def test_llama_index_takes_filters_of_qdrants_client(where: Any, llama: llama_index.KinsplitVectorStore) -> None:
    given, expected = where
    index = VectorStoreIndex.from_vector_store(llama, embed_model=MockEmbedding(2))
    retriever = index.as_retriever(similarity_top_k=9, vector_store_kwargs={"qdrant_filters": given})
    assert "".join(sorted(hit.node_id for hit in retriever.retrieve("text"))) == expected


@pytest.mark.parametrize(
    "condition",
    [
        models.FieldCondition(key="n", values_count=models.ValuesCount(gt=1)),
        models.FieldCondition(key="n", geo_radius=models.GeoRadius(center=models.GeoPoint(lon=1, lat=1), radius=1)),
        models.NestedCondition(nested=models.Nested(key="n", filter=models.Filter())),
    ],
    ids=str,
)
def test_what_other_engines_lack_is_refused(condition: Any, chain: langchain.KinsplitVectorStore) -> None:
    with pytest.raises(InvalidParameterError, match="of Qdrant, which other engines lack"):
        chain.find(models.Filter(must=[condition]))


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ({"tags": "lark"}, "ab"),
        ({"tags": ["owl", "x"]}, "a"),
        ({"n": {"page": 1}}, "a"),
        ({"n.page": {"$in": [1, 2]}}, "ab"),
        ({"tags": {"$contains": "owl"}}, "a"),
        ({"author": {"$exists": True}}, "c"),
        ({"author": {"$exists": False}}, "ab"),
        ({"year": {"$between": [2019, 2020]}}, "ab"),
        ({"title": {"$not": {"$eq": "Cats"}}}, "ab"),
        ({"$not": {"title": "Cats"}}, "ab"),
        ({"title": {"$like": "Bird%"}}, "a"),
        ({"title": {"$ilike": "bird%"}}, "ab"),
        ({"title": {"$like": r"%100\%"}}, "b"),
        ({"title": {"$like": "C_ts"}}, "c"),
        ({"title": {"$ilike": "bird%", "$ne": "Birds of prey"}}, "b"),
        ({"title": {"$not": {"$ilike": "bird%"}}}, "c"),
        ({"tags": {"$like": "ow%"}}, "a"),
        ({"full_content": {"$like": "%of b."}}, "b"),
        ({"$or": [{"title": {"$like": "Ca%"}}, {"year": 2019}]}, "ac"),
        ({"$not": {"title": {"$like": "Ca%"}}}, "ab"),
        ({"title": {"$like": "x%"}}, ""),
    ],
)
def test_langchain_takes_the_operators_of_its_stores(
    where: Any, expected: str, chain: langchain.KinsplitVectorStore
) -> None:
    assert "".join(str(d.id) for d in chain.find(where)) == expected
    assert "".join(sorted(str(d.id) for d in chain.similarity_search("text", filter=where))) == expected


_YEAR, _TAG = Comparison(Comparator.GTE, "year", 2020), Comparison(Comparator.CONTAIN, "tags", "lark")


@pytest.mark.parametrize(
    ("directive", "expected"),
    [
        (Comparison(Comparator.EQ, "title", "Cats"), "c"),
        (Comparison(Comparator.NE, "title", "Cats"), "ab"),
        (_YEAR, "bc"),
        (Comparison(Comparator.LT, "year", 2020), "a"),
        (Comparison(Comparator.GT, "day", {"date": "2024-05-31", "type": "date"}), "b"),
        (_TAG, "ab"),
        (Comparison(Comparator.CONTAIN, "title", "Birds"), "a"),
        (Comparison(Comparator.LIKE, "title", "ird"), "ab"),
        (Comparison(Comparator.LIKE, "title", "%song%"), "b"),
        (Comparison(Comparator.IN, "year", [2019, 2021]), "ac"),
        (Comparison(Comparator.NIN, "year", [2019, 2021]), "b"),
        (Operation(Operator.AND, [_YEAR, _TAG]), "b"),
        (Operation(Operator.OR, [_YEAR, _TAG]), "abc"),
        (Operation(Operator.NOT, [_TAG]), "c"),
    ],
    ids=str,
)
def test_structured_queries_are_translated(directive: Any, expected: str, chain: langchain.KinsplitVectorStore) -> None:
    assert "".join(str(d.id) for d in chain.find(directive)) == expected
    query = StructuredQuery(query="text", filter=directive, limit=None)
    text, arguments = query.accept(langchain.StructuredQueryTranslator())
    assert "".join(sorted(str(d.id) for d in chain.similarity_search(text, **arguments))) == expected


def test_a_self_query_retriever_uses_the_translator(chain: langchain.KinsplitVectorStore) -> None:
    asked = StructuredQuery(query="text", filter=Operation(Operator.AND, [_YEAR, _TAG]), limit=None)
    retriever = SelfQueryRetriever(
        query_constructor=RunnableLambda(lambda _: asked),
        vectorstore=chain,
        structured_query_translator=langchain.StructuredQueryTranslator(),
    )
    assert [document.id for document in retriever.invoke("larks since 2020")] == ["b"]


@pytest.mark.parametrize("operator", FilterOperator)
def test_every_operator_of_llama_index_is_known(
    operator: FilterOperator, llama: llama_index.KinsplitVectorStore
) -> None:
    values: dict[FilterOperator, tuple[str, Any, str]] = {
        FilterOperator.EQ: ("n.page", 1, "a"),
        FilterOperator.NE: ("title", "Cats", "ab"),
        FilterOperator.GT: ("year", 2020, "c"),
        FilterOperator.GTE: ("year", 2020, "bc"),
        FilterOperator.LT: ("year", 2020, "a"),
        FilterOperator.LTE: ("year", 2020, "ab"),
        FilterOperator.IN: ("tags", ["owl", "x"], "a"),
        FilterOperator.NIN: ("tags", ["owl", "x"], "bc"),
        FilterOperator.ANY: ("tags", ["owl", "lark"], "ab"),
        FilterOperator.ALL: ("tags", ["owl", "lark"], "a"),
        FilterOperator.CONTAINS: ("tags", "owl", "a"),
        FilterOperator.TEXT_MATCH: ("title", "Birds", "a"),
        FilterOperator.TEXT_MATCH_INSENSITIVE: ("title", "birds", "ab"),
        FilterOperator.IS_EMPTY: ("author", None, "ab"),
    }
    key, value, expected = values[operator]
    one = MetadataFilter(key=key, value=value, operator=operator)
    for condition, found in ((FilterCondition.AND, expected), (FilterCondition.NOT, "abc")):
        nodes = llama.get_nodes(filters=MetadataFilters(filters=[one], condition=condition))
        ids = "".join(sorted(node.node_id for node in nodes))
        assert ids == (found if condition is FilterCondition.AND else "".join(sorted({*"abc"} - {*expected})))


# Misspelt fields


@pytest.mark.parametrize(
    ("where", "near"),
    [
        ({"titel": "Cats"}, "title"),
        ({"tag": "owl"}, "tags"),
        ({"years": {"$gt": 2019}}, "year"),
        ({"n": {"pages": 1}}, "n.page"),
        ({"$and": [{"year": 2019}, {"autor": "Ada"}]}, "author"),
        ({"$or": [{"year": 3000}, {"tilte": "x"}]}, "title"),
        ({"title": "x", "yaer": {"$ne": 2019}}, "year"),
        ({"titel": {"$like": "%a%"}}, "title"),
    ],
)
def test_a_misspelt_field_is_an_error_at_every_door(
    where: Any, near: str, chain: langchain.KinsplitVectorStore, llama: llama_index.KinsplitVectorStore
) -> None:
    doors: list[Any] = [
        lambda: chain.similarity_search("text", filter=where),
        lambda: chain.find(where),
        lambda: chain.count(where),
        lambda: chain.delete(filter=where),
        lambda: chain.max_marginal_relevance_search("text", filter=where),
    ]
    for door in doors:
        with pytest.raises(InvalidParameterError, match=f"must name fields that chunks have .*Did you mean '{near}'"):
            door()


def test_a_misspelt_field_is_an_error_in_llama_index(llama: llama_index.KinsplitVectorStore) -> None:
    for operator, value in (
        (FilterOperator.EQ, "Cats"),
        (FilterOperator.TEXT_MATCH, "Cats"),
        (FilterOperator.IN, ["x"]),
    ):
        wrong = MetadataFilters(filters=[MetadataFilter(key="titel", value=value, operator=operator)])
        for door in (
            lambda given: llama.get_nodes(filters=given),
            lambda given: llama.count(given),
            lambda given: llama.delete_nodes(filters=given),
            lambda given: llama.query(VectorStoreQuery([1.0, 0.5], filters=given)),
        ):
            with pytest.raises(InvalidParameterError, match="Did you mean 'title'"):
                door(wrong)


def test_a_field_that_only_later_documents_have_is_none(chain: langchain.KinsplitVectorStore) -> None:
    for where in ({"language": "de"}, {"titel": None}, {"title": "x"}, {"titel": {"$exists": False}, "year": 1}):
        chain.find(where)
        with warnings.catch_warnings(action="ignore", category=FilterWarning):
            chain.similarity_search("text", filter=where)
        assert chain.count(where) in (0, 3)
    empty = langchain.KinsplitVectorStore(HashEmbeddings(), "memory:")
    assert empty.find({"titel": "x"}) == []


@pytest.mark.parametrize("ranking", ["kin", "hybrid", "dense", "terms"])
def test_a_misspelt_field_is_an_error_in_an_index(ranking: Any) -> None:
    with Index("memory:", embedder="hash") as index:
        index.add([Document("a.md", "An owl hunts at night.", {"subject": "cs", "lecturer": "Ada"})])
        for door in (
            lambda: index.search("owl", where={"lecturers": "Ada"}, ranking=ranking),
            lambda: index.find({"lecturers": "Ada"}),
            lambda: index.count({"lecturers": "Ada"}),
            lambda: index.delete(where={"lecturers": "Ada"}),
        ):
            with pytest.raises(InvalidParameterError, match="Did you mean 'lecturer'"):
                door()
        with pytest.warns(FilterWarning, match="no chunk has lecturer = 'ada'. Did you mean 'Ada'?"):
            assert index.search("owl", where={"lecturer": "ada"}, ranking=ranking) == []


def test_a_value_that_no_chunk_has_is_a_warning_of_vector_stores(
    chain: langchain.KinsplitVectorStore, llama: llama_index.KinsplitVectorStore
) -> None:
    with pytest.warns(FilterWarning, match="no chunk has title = 'cats!'. Did you mean 'Cats'"):
        chain.similarity_search("text", filter={"title": "cats!"})
    wanted = MetadataFilters(filters=[MetadataFilter(key="title", value="cats!", operator=FilterOperator.EQ)])
    with pytest.warns(FilterWarning, match="no chunk has title = 'cats!'. Did you mean 'Cats'"):
        llama.query(VectorStoreQuery([1.0, 0.5], filters=wanted))
