"""Sibling expansion, the same in both frameworks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from langchain_core.documents import Document as LangChainDocument
from llama_index.core import VectorStoreIndex
from llama_index.core.schema import NodeWithScore, TextNode

from kinsplit import Document, Index
from kinsplit.errors import InvalidParameterError, StoreError
from kinsplit.integrations import langchain, llama_index
from kinsplit.parsers import create
from kinsplit.tokenizers import resolve
from tests.integrations.finding import (
    FRAMEWORKS,
    HASH,
    LECTURE,
    STRATEGY,
    Hit,
    ask,
    expansion,
    found,
    process,
    split,
)
from tests.integrations.test_langchain_store import HashEmbeddings
from tests.integrations.test_llama_index_store import HashEmbedding

TOKENIZER = resolve("bundled")


class CountingStore:
    """A store that records its reads."""

    def __init__(self, store: Any) -> None:
        self.store, self.reads = store, []

    def __getattr__(self, name: str) -> Any:
        method = getattr(self.store, name)
        if not callable(method):
            return method

        def counted(*arguments: Any) -> Any:
            self.reads.append(name)
            return method(*arguments)

        return counted


# Retrievers


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_a_budget_is_spent_on_hits_before_their_siblings(framework: str, index: Index) -> None:
    chunks = split(framework)
    hits = [found(framework, chunks[4], 0.9), found(framework, chunks[8], 0.8)]
    first, second = (getattr(chunk, "page_content", None) or chunk.text for chunk in (chunks[4], chunks[8]))
    own = TOKENIZER.count([first, second]).tolist()

    def texts(budget: int, **options: Any) -> list[str]:
        return [hit.text for hit in process(expansion(framework, index, budget=budget, **options), hits)]

    assert texts(sum(own)) == [first, second]
    cut = texts(own[0] - 1)
    assert cut[0] in first
    assert sum(TOKENIZER.count(cut)) < own[0]
    assert first in texts(200)[0]
    assert len(texts(200)[0]) > len(first)
    assert sum(TOKENIZER.count(texts(100, context_share=0.5))) <= 100
    with pytest.raises(InvalidParameterError, match="context_share: needs a budget"):
        expansion(framework, index, context_share=0.5)


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_adjacent_hits_are_merged_once_with_both_scores_kept(framework: str, index: Index) -> None:
    chunks = split(framework)
    a, b = chunks[4], chunks[5]
    assert b.metadata["overlap"] > 0

    (hit,) = process(expansion(framework, index.store, window=0), [found(framework, b, 0.9), found(framework, a, 0.8)])

    assert hit.text == LECTURE[a.metadata["char_start"] : b.metadata["char_end"]]
    assert hit.score == 0.9
    ids = [chunk.node_id if framework == "llama_index" else chunk.id for chunk in (b, a)]
    assert hit.details["hits"] == [{"id": ids[0], "score": 0.9}, {"id": ids[1], "score": 0.8}]


@pytest.mark.parametrize("framework", FRAMEWORKS)
@pytest.mark.parametrize("window", [1, 2, 4])
def test_siblings_cost_one_read_and_passages_are_slices_in_order(framework: str, window: int, index: Index) -> None:
    chunks, store = split(framework), CountingStore(index.store)
    places = [9, 2, 3, 0, len(chunks) - 1]

    hits = process(
        expansion(framework, store, window=window),
        [found(framework, chunks[place], 1 - n / 10) for n, place in enumerate(places)],
    )

    assert store.reads == ["get"]
    scores = [hit.score for hit in hits]
    assert scores == sorted(scores, reverse=True)
    spans = [(hit.metadata["char_start"], hit.metadata["char_end"]) for hit in hits]
    assert [hit.text for hit in hits] == [LECTURE[start:end] for start, end in spans]
    assert sum(len(hit.details["hits"]) for hit in hits) == len(places)
    # At least the window of the best hit; more if other hits are adjacent.
    assert spans[0][0] <= chunks[9 - window].metadata["char_start"]
    assert spans[0][1] >= chunks[min(len(chunks) - 1, 9 + window)].metadata["char_end"]


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_a_store_that_was_opened_by_its_address_is_closed_again(framework: str, tmp_path: Path) -> None:
    address = f"edge:{tmp_path}"
    with Index(address, strategy=STRATEGY, embedder=HASH) as index:
        index.add(Document("lecture", LECTURE))
    middle = found(framework, split(framework)[4], 0.9)
    with expansion(framework, address) as stage:
        (hit,) = process(stage, [middle])
        assert len(hit.details["hits"]) == 1
        with Index(address, embedder=HASH) as other:
            assert other.store.count() > 0
    stage.close()
    with pytest.raises(StoreError, match="was closed"):
        process(stage, [middle])
    with Index(address, embedder=HASH) as index:
        expansion(framework, index.store).close()
        assert index.store.count() > 0, "whose store it is closes it"


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_parents_and_sections(framework: str) -> None:
    with Index("memory:", strategy=create("structure", chunk_size=12, min_chunk_size=3), embedder=HASH) as index:
        index.add(Document("lecture", LECTURE))
        chunks = index.store.find({"source_id": "lecture"})
        leaf = next(chunk for chunk in chunks if "Loops" in chunk.context and "why" in chunk.text)
        (parent,) = index.store.get([str(leaf.parent_id)])
        hits = ask(framework, index, leaf.text, top_k=1, window=0)
        assert leaf.text in hits[0].text
        store = CountingStore(index.store)

        if framework == "llama_index":
            theirs: Any = VectorStoreIndex.from_vector_store(
                llama_index.KinsplitVectorStore(index.store), embed_model=HashEmbedding()
            ).as_retriever(similarity_top_k=1)
            given = theirs.retrieve(f"{leaf.context}\n\n{leaf.text}")
        else:
            theirs = langchain.KinsplitVectorStore(HashEmbeddings(), index.store)
            given = theirs.similarity_search(f"{leaf.context}\n\n{leaf.text}", k=1)
        assert Hit(given[0]).id == leaf.id
        (whole,) = process(expansion(framework, store, parents=True), given)
        assert whole.text == parent.text
        assert store.reads == ["get"]

        (section,) = process(expansion(framework, index.store, window=9, within_sections=True), given)
        assert section.text.strip() == parent.text.strip()
        (wide,) = process(expansion(framework, index.store, window=9), given)
        assert len(wide.text) > len(section.text)


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_what_kinsplit_did_not_split_stays_where_it_is(framework: str, index: Index) -> None:
    chunks = split(framework)
    if framework == "llama_index":
        foreign: Any = NodeWithScore(node=TextNode(id_="x", text="Foreign."), score=None)
    else:
        foreign = LangChainDocument(id="x", page_content="Foreign.")
    given = [found(framework, chunks[3], None), foreign, found(framework, chunks[9], 0.5)]

    hits = process(expansion(framework, index.store), given)

    assert [hit.id == "x" for hit in hits] == [False, True, False]
    assert [hit.score for hit in hits] == [None, None, 0.5]
    assert process(expansion(framework, index.store), []) == []


def test_a_question_is_refused_where_documents_are_expanded(index: Index) -> None:
    for wrong in ("What is a loop?", [TextNode(text="A loop.")]):
        with pytest.raises(InvalidParameterError, match=r"^nodes.*: must be .*call as_retriever"):
            llama_index.SiblingExpansion(index).postprocess_nodes(wrong)  # type: ignore[arg-type]
    with pytest.raises(InvalidParameterError, match=r"^documents: must be several .*call as_retriever"):
        langchain.SiblingExpansion(index).invoke("What is a loop?")


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_expanding_twice_changes_nothing_more(framework: str, index: Index) -> None:
    stage = expansion(framework, index.store)
    given = [found(framework, split(framework)[3], 0.5)]
    if framework == "llama_index":
        once = stage.postprocess_nodes(given, query_str="q")
        assert stage.postprocess_nodes(once, query_str="q") == once
    else:
        once = stage.compress_documents(given, "q")
        assert stage.compress_documents(once, "q") == once


# Reranking
