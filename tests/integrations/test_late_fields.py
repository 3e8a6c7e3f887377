"""A field of an adapter that is set late works as if it had been given to the constructor, or is refused."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from langchain_core.documents import BaseDocumentCompressor
from langchain_core.documents import Document as LangChainDocument
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import ConfigurableField, RunnableSerializable
from langchain_core.vectorstores import InMemoryVectorStore
from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.schema import TextNode
from llama_index.core.vector_stores.types import BasePydanticVectorStore

from kinsplit import Document, Index
from kinsplit.errors import InvalidParameterError
from kinsplit.integrations import langchain, llama_index
from kinsplit.options import NO_KIN, Ranked
from kinsplit.parsers import create
from tests.integrations.finding import FRAMEWORKS, HASH, LECTURE, PARAMETERS, expansion, found, process, split
from tests.integrations.test_langchain_store import HashEmbeddings

HIERARCHY = {"parent_size": 150, "child_size": 60}


def chunks_of(framework: str) -> list[Any]:
    if framework == "langchain":
        whole = LangChainDocument(id="lecture", page_content=LECTURE)
        return langchain.text_splitter("hierarchical", **HIERARCHY).split_documents([whole])
    return llama_index.node_parser("hierarchical", **HIERARCHY)([llama_index_document()])


def llama_index_document() -> Any:
    from llama_index.core import Document as LlamaIndexDocument

    return LlamaIndexDocument(id_="lecture", text=LECTURE)


@pytest.fixture
def kin() -> Iterator[langchain.KinStore]:
    with langchain.KinStore(":memory:") as store:
        store.add(chunks_of("langchain"))
        yield store


@pytest.fixture
def other() -> Iterator[langchain.KinStore]:
    with langchain.KinStore(":memory:") as store:
        store.add(chunks_of("langchain"))
        yield store


def own_fields(kind: type[Any], *bases: type[Any]) -> set[str]:
    """Return the public fields that a class adds to those of the framework's classes."""
    return set(kind.model_fields) - {name for base in bases for name in base.model_fields}


EXPANSION_VALUES: dict[str, Any] = {
    "window": 3,
    "parents": True,
    "within_sections": True,
    "budget": 60,
    "context_share": None,
    "parent_key": "doc_id",
    "strategy": create("hierarchical", **HIERARCHY),
    "slim": True,
}


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_the_fields_of_an_expansion(framework: str, kin: Any, other: Any) -> None:
    values = {**EXPANSION_VALUES, "store": other, "parent_store": other, "collection": "default"}
    bases = (BaseDocumentCompressor, RunnableSerializable) if framework == "langchain" else (BaseNodePostprocessor,)
    assert own_fields(type(expansion(framework, kin)), *bases) == set(values)
    hits = [found(framework, chunk, 0.5) for chunk in chunks_of(framework) if not chunk.metadata["level"]][3:5]

    def result(stage: Any) -> list[Any]:
        return [(hit.id, hit.text, hit.score, hit.given) for hit in process(stage, hits)]

    plain, different = result(expansion(framework, kin)), set()
    for name, value in values.items():
        given = {"store": kin, name: value}
        expected = result(expansion(framework, **given))
        late, original = expansion(framework, kin), expansion(framework, kin)
        setattr(late, name, value)
        again = original.model_copy(update={name: value})
        for stage in (late, again, copy.copy(late), copy.deepcopy(late)):
            assert getattr(stage, name) == value
            assert result(stage) == expected, name
        assert result(original) == plain, "the original of a copy stays as it was"
        different |= {name} if expected != plain else set()
    assert different >= {"window", "parents", "budget", "slim"}


@pytest.mark.parametrize("framework", FRAMEWORKS)
@pytest.mark.parametrize(
    ("name", "value", "rule"),
    [
        ("window", -5, "window: must be at least 0"),
        ("window", "4", "window: must be a valid integer"),
        ("parents", 1, "parents: must be a valid boolean"),
        ("context_share", 0.5, "context_share: needs a budget"),
        ("collection", "other", "collection: can be given for an address or a QdrantClient only"),
        ("store", 42, "store: must be a store that can be asked"),
        ("strategy", "sentence", "strategy: must be"),
    ],
)
def test_a_wrong_value_is_refused_and_changes_nothing(
    framework: str, kin: Any, name: str, value: Any, rule: str
) -> None:
    stage = expansion(framework, kin)
    before = getattr(stage, name)
    with pytest.raises(InvalidParameterError, match=rule):
        setattr(stage, name, value)
    with pytest.raises(InvalidParameterError, match=rule):
        stage.model_copy(update={name: value})
    assert getattr(stage, name) is before
    with pytest.raises((InvalidParameterError, TypeError, ValueError), match="widnow"):
        stage.widnow = 3


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_another_collection_at_an_address(framework: str, tmp_path: Path) -> None:
    strategy, address = create("sentence", **PARAMETERS), f"edge:{tmp_path}"
    for name in ("one", "two"):
        with Index(address, collection=name, strategy=strategy, embedder=HASH) as index:
            index.add(Document("lecture", LECTURE if name == "one" else LECTURE[:500]))
    last = found(framework, split(framework)[-1], 0.5)
    with expansion(framework, address, collection="one") as stage:
        (before,) = process(stage, [last])
        assert len(before.details["chunks"]) == 2
        with stage.model_copy(update={"collection": "two"}) as again, pytest.warns(UserWarning, match="are missing"):
            (after,) = process(again, [last])
        assert len(after.details["chunks"]) == 1
        assert stage.collection == "one"
        (same,) = process(stage, [last])
        assert same.text == before.text
        with stage.model_copy(update={"window": 0}) as again:
            assert again.store is stage.store, "an address is opened once"


class Shortest:
    """A reranker that prefers short texts."""

    def rerank(self, query: str, texts: Sequence[str]) -> list[Ranked]:
        return [Ranked(index, -float(len(text))) for index, text in enumerate(texts)]


RETRIEVER_VALUES: dict[str, Any] = {
    "k": 1,
    "window": 0,
    "parents": True,
    "within_sections": True,
    "budget": 60,
    "context_share": None,
    "candidates": 3,
    "ranking": "dense",
    "rerank": Shortest(),
    "diversity": 0.5,
    "where": {"subject": "bio"},
    "level": 0,
    "weights": NO_KIN,
    "slim": True,
}


def configured(runnable: Any, name: str, value: Any, given: Any) -> Any:
    made = runnable.configurable_fields(**{name: ConfigurableField(id=name)})
    made.invoke(given)
    return made.with_config(configurable={name: value}).invoke(given)


def test_the_fields_of_a_retriever_of_langchain(index: Index) -> None:
    with Index("memory:", strategy="sentence", embedder=HASH) as second:
        second.add(Document("other", LECTURE))
        values = {**RETRIEVER_VALUES, "index": second}
        assert own_fields(langchain.KinsplitRetriever, BaseRetriever) == set(values)
        question, different = "What does sorting mean?", set()
        plain = langchain.KinsplitRetriever(index).invoke(question)
        for name, value in values.items():
            expected = langchain.KinsplitRetriever(**{"index": index, name: value}).invoke(question)
            late, original = langchain.KinsplitRetriever(index), langchain.KinsplitRetriever(index)
            setattr(late, name, value)
            again = original.model_copy(update={name: value})
            for retriever in (late, again):
                assert getattr(retriever, name) == value
                assert retriever.invoke(question) == expected
            assert configured(original, name, value, question) == expected
            assert original.invoke(question) == plain
            different |= {name} if expected != plain else set()
    assert different >= {"k", "window", "where", "slim", "index", "budget", "ranking"}
    with pytest.raises(InvalidParameterError, match="window: must be at least 0"):
        langchain.KinsplitRetriever(index).window = -1
    with pytest.raises(InvalidParameterError, match="context_share: needs a budget"):
        langchain.KinsplitRetriever(index).context_share = 0.5


def test_runnables_are_configurable(kin: Any) -> None:
    hits = [chunk for chunk in chunks_of("langchain") if not chunk.metadata["level"]][3:5]
    stage = langchain.SiblingExpansion(kin)
    for name, value in EXPANSION_VALUES.items():
        expected = langchain.SiblingExpansion(**{"store": kin, name: value}).invoke(hits)
        assert configured(stage, name, value, hits) == expected, name
    other = stage.configurable_alternatives(
        ConfigurableField(id="kin"), default_key="siblings", parents=langchain.SiblingExpansion(kin, parents=True)
    )
    assert other.invoke(hits) == stage.invoke(hits)
    parents = other.with_config(configurable={"kin": "parents"}).invoke(hits)
    assert parents == langchain.SiblingExpansion(kin, parents=True).invoke(hits)

    store = InMemoryVectorStore(HashEmbeddings())
    store.add_documents(chunks_of("langchain"))
    base = store.as_retriever(search_kwargs={"k": 2})
    retriever = stage.as_retriever(base).configurable_fields(expansion=ConfigurableField(id="expansion"))
    wide = langchain.SiblingExpansion(kin, window=4)
    assert retriever.with_config(configurable={"expansion": wide}).invoke("q") == wide.as_retriever(base).invoke("q")


def node(text: str) -> TextNode:
    return TextNode(text=text, embedding=[1.0, 0.0])


def test_the_fields_of_a_vector_store_of_llama_index(tmp_path: Path) -> None:
    make: Callable[..., Any] = llama_index.KinsplitVectorStore
    values = {"store": f"edge:{tmp_path / 'b'}", "collection": "two", "model": "m", "language": "german", "slim": True}
    assert own_fields(make, BasePydanticVectorStore) == set(values)  # type: ignore[arg-type]
    for name, value in values.items():
        store = make(f"edge:{tmp_path / name}", collection="one")
        store.add([node("x")])
        made = store.model_copy(update={name: value})
        late = make(f"edge:{tmp_path / name}", collection="one")
        setattr(late, name, value)
        assert getattr(made, name) == getattr(late, name) == value
        assert make.from_dict(made.to_dict()).to_dict() == made.to_dict()  # type: ignore[attr-defined]
        is_elsewhere = name in ("store", "collection")
        assert (made.count(), late.count()) == ((0, 0) if is_elsewhere else (1, 1))
        if is_elsewhere:
            made.add([node("y"), node("z")])
        assert store.count() == 1
        for each in (store, made, late):
            each.close()

    kept = make("memory:")
    kept.add([node("x")])
    kept.slim = True
    assert (kept.count(), kept.model_copy().count(), copy.deepcopy(kept).count()) == (1, 1, 1)
    opened = make(kept.client)
    with pytest.raises(InvalidParameterError, match="collection: can be given for an address only"):
        opened.collection = "two"
    assert (opened.collection, opened.count()) == ("default", 1)


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_an_expansion_does_not_show_its_store(framework: str, kin: Any) -> None:
    assert "store=" not in repr(expansion(framework, kin)).replace("parent_store", "")


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_the_fields_of_a_reranker(framework: str) -> None:
    make: Any = langchain.Rerank if framework == "langchain" else llama_index.Rerank
    base = BaseDocumentCompressor if framework == "langchain" else BaseNodePostprocessor
    values = {"reranker": Shortest(), "top_n": 2, "embedder": HASH}
    assert own_fields(make, base) == set(values)
    hits = [found(framework, chunk, 0.5) for chunk in split(framework)]

    def result(stage: Any) -> list[Any]:
        return [(hit.id, hit.score) for hit in process(stage, hits, "What does sorting mean?")]

    for name, value in values.items():
        expected = result(make(**{"reranker": "none", name: value}))
        late = make("none")
        setattr(late, name, value)
        for stage in (late, make("none").model_copy(update={name: value}), copy.deepcopy(late)):
            assert getattr(stage, name) is value
            assert result(stage) == expected
    stage = make(Shortest(), top_n=3)
    with pytest.raises(InvalidParameterError, match="top_n: must be at least 1"):
        stage.top_n = 0
    assert len(result(stage)) == 3
    late = make("late")
    model = late._reranker
    late.top_n = 1
    assert late._reranker is model, "a model is loaded once"
