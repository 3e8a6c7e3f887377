"""Retrievers, sibling expansion and reranking, the same in both frameworks."""

from __future__ import annotations

import asyncio
import copy
import json
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from langchain_classic.retrievers import ContextualCompressionRetriever
from langchain_core.documents import Document as LangChainDocument
from langchain_core.retrievers import BaseRetriever
from langchain_tests.integration_tests import RetrieversIntegrationTests
from llama_index.core import Document as LlamaIndexDocument
from llama_index.core import VectorStoreIndex
from llama_index.core.llms import MockLLM
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.schema import MetadataMode, NodeWithScore, QueryBundle, TextNode

from kinsplit import Document, Index
from kinsplit.embedding.hashing import HashEmbedder
from kinsplit.errors import InvalidParameterError, StoreError, StoreLockedError
from kinsplit.integrations import langchain, llama_index
from kinsplit.parsers import create
from kinsplit.retrieval import Ranked, RerankWarning
from tests.integrations.test_langchain_store import HashEmbeddings
from tests.integrations.test_llama_index_store import HashEmbedding

HASH = HashEmbedder()
TOPICS = ("recursion", "loops", "classes", "files", "sorting", "testing", "modules", "strings")
LECTURE = "\n\n".join(
    f"## {topic.title()}\n\nThis part is about {topic}.  It says what {topic} means.\nAnd it says why {topic} matters."
    for topic in TOPICS
)
PARAMETERS: dict[str, Any] = {"chunk_size": 24, "overlap_sentences": 1}
STRATEGY = create("sentence", **PARAMETERS)
FRAMEWORKS = ("llama_index", "langchain")


class Hit:
    """What either framework returns, seen alike."""

    def __init__(self, given: Any) -> None:
        node = given.node if isinstance(given, NodeWithScore) else given
        self.text = node.text if isinstance(node, TextNode) else node.page_content
        self.id = node.id_ if isinstance(node, TextNode) else node.id
        self.metadata = node.metadata
        self.finding = node.metadata.get("kinsplit") or {}
        self.score = given.score if isinstance(given, NodeWithScore) else self.finding.get("score")


def split(framework: str) -> list[Any]:
    """Return the lecture's chunks as a framework gives them."""
    if framework == "llama_index":
        document = LlamaIndexDocument(id_="lecture", text=LECTURE, metadata={"subject": "cs"})
        return llama_index.node_parser("sentence", **PARAMETERS)([document])
    whole = LangChainDocument(id="lecture", page_content=LECTURE, metadata={"subject": "cs"})
    return langchain.text_splitter("sentence", **PARAMETERS).split_documents([whole])


def found(framework: str, chunk: Any, score: float | None) -> Any:
    """Return a chunk as what a framework has found."""
    if framework == "llama_index":
        return NodeWithScore(node=chunk, score=score)
    finding = {} if score is None else {"kinsplit": {"score": score, "scores": {"dense": score}}}
    return LangChainDocument(id=chunk.id, page_content=chunk.page_content, metadata={**chunk.metadata, **finding})


def process(stage: Any, hits: Sequence[Any], query: str = "q") -> list[Hit]:
    """Put hits through a postprocessor or a compressor, and make sure that they stay as they are."""
    before = copy.deepcopy(hits)
    if hasattr(stage, "postprocess_nodes"):
        after = stage.postprocess_nodes(list(hits), query_str=query)
    else:
        after = stage.compress_documents(hits, query)
    assert hits == before, "nothing is mutated"
    return [Hit(one) for one in after]


@pytest.fixture(scope="module")
def index() -> Iterator[Index]:
    with Index("memory:", strategy=STRATEGY, embedder=HASH) as made:
        made.add(Document("lecture", LECTURE, {"subject": "cs"}, pages=(0, 300)))
        made.add(Document("cells", "Cells divide. Cells grow. Cells die.", {"subject": "bio"}))
        yield made


class CountingStore:
    """A store that counts what is read from it."""

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


class TestTheirSuite(RetrieversIntegrationTests):
    @pytest.fixture(autouse=True)
    def _index(self, index: Index) -> None:
        self.index = index

    @property
    def retriever_constructor(self) -> type[BaseRetriever]:
        return langchain.KinsplitRetriever  # type: ignore[return-value]

    @property
    def retriever_constructor_params(self) -> dict[str, Any]:
        return {"index": self.index, "window": 0}

    @property
    def retriever_query_example(self) -> str:
        return "What does recursion mean?"


def ask(framework: str, index: Index, query: str, **options: Any) -> list[Hit]:
    if framework == "llama_index":
        return [Hit(one) for one in llama_index.KinsplitRetriever(index, **options).retrieve(query)]
    return [Hit(one) for one in langchain.KinsplitRetriever(index, **options).invoke(query)]


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_a_retriever_returns_passages_with_their_place_and_scores(framework: str, index: Index) -> None:
    options: dict[str, Any] = {"window": 1, "where": {"subject": "cs"}, "budget": 500}
    hits = ask(framework, index, "What does sorting mean?", **options)
    passages = index.search("What does sorting mean?", **options)

    assert len(hits) == len(passages) > 1
    for hit, passage in zip(hits, passages, strict=True):
        metadata = hit.metadata
        assert hit.text == passage.text == LECTURE[metadata["char_start"] : metadata["char_end"]]
        assert metadata["source_id"] == "lecture"
        assert metadata["subject"] == "cs"
        assert (metadata["page_start"], metadata["page_end"]) == passage.pages
        assert hit.score == passage.score
        assert hit.finding["scores"] == dict(passage.scores)
        assert [one["id"] for one in hit.finding["hits"]] == [one.chunk.id for one in passage.hits]
        assert json.loads(json.dumps(metadata)) == metadata
    assert len({hit.id for hit in hits}) == len(hits)


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_a_retriever_checks_its_options_when_it_is_made(framework: str, index: Index) -> None:
    made: Any = llama_index.KinsplitRetriever if framework == "llama_index" else langchain.KinsplitRetriever
    with pytest.raises(InvalidParameterError, match="window"):
        made(index, window=-1)
    with pytest.raises(InvalidParameterError, match="nonsense"):
        made(index, nonsense=1)


async def test_every_option_counts_per_call_in_langchain(index: Index) -> None:
    retriever = langchain.KinsplitRetriever(index, k=2, window=0)
    query = "What does sorting mean?"
    assert len(retriever.invoke(query)) == len(await retriever.ainvoke(query)) == 2
    for options in ({"k": 4}, {"k": 1, "where": {"subject": "bio"}}, {"budget": 30}, {"window": 2}):
        expected = [
            p.text for p in index.search(query, **{"window": 0, "top_k": options.get("k", 2)} | {
                name: value for name, value in options.items() if name != "k"
            })
        ]  # fmt: skip
        assert [d.page_content for d in retriever.invoke(query, **options)] == expected
        assert [d.page_content for d in await retriever.ainvoke(query, **options)] == expected
    with pytest.raises(InvalidParameterError, match="nonsense"):
        retriever.invoke(query, nonsense=1)


async def test_a_query_engine_answers_from_passages(index: Index) -> None:
    engine = RetrieverQueryEngine.from_args(llama_index.KinsplitRetriever(index, top_k=1), llm=MockLLM())
    response, other = engine.query("What does sorting mean?"), await engine.aquery("What does sorting mean?")
    assert "sorting means" in str(response)
    assert str(response) == str(other)
    shown = response.source_nodes[0].node.get_content(MetadataMode.LLM)
    assert not any(word in shown for word in ("kinsplit", "char_start", "dense"))
    assert "subject: cs" in shown


class SlowIndex(Index):
    """Takes its time."""

    def search(self, query: str, **options: Any) -> Any:
        time.sleep(0.3)
        return super().search(query, **options)

    async def asearch(self, query: str, **options: Any) -> Any:
        return await asyncio.to_thread(self.search, query, **options)


async def test_an_asynchronous_search_does_not_keep_the_event_loop() -> None:
    with SlowIndex("memory:", strategy=STRATEGY, embedder=HASH) as index:
        index.add(Document("lecture", LECTURE))
        for call in (
            lambda: llama_index.KinsplitRetriever(index).aretrieve("loops"),
            lambda: langchain.KinsplitRetriever(index).ainvoke("loops"),
        ):
            ticks, task = 0, asyncio.ensure_future(call())
            while not task.done():
                await asyncio.sleep(0.02)
                ticks += 1
            assert ticks >= 5
            assert task.result()


def test_files_that_belong_to_an_unchunked_document_follow_it() -> None:
    with Index("memory:", strategy=STRATEGY, embedder=HASH) as index:
        index.add(Document("code.py", "print(1)", {"sibling_files": ["notes.md"]}))
        index.add(Document("notes.md", "It prints one.", {"sibling_files": ["code.py"]}))
        for framework in FRAMEWORKS:
            first, second = ask(framework, index, "print", top_k=1)
            assert {first.text, second.text} == {"print(1)", "It prints one."}
            assert second.finding["related_to"] == first.id


# Sibling expansion


def expansion(framework: str, store: Any, **options: Any) -> Any:
    made: Any = llama_index.SiblingExpansion if framework == "llama_index" else langchain.SiblingExpansion
    return made(store, **options)


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_adjacent_hits_are_merged_once_with_both_scores_kept(framework: str, index: Index) -> None:
    chunks = split(framework)
    a, b = chunks[4], chunks[5]
    assert b.metadata["overlap"] > 0

    (hit,) = process(expansion(framework, index.store, window=0), [found(framework, b, 0.9), found(framework, a, 0.8)])

    assert hit.text == LECTURE[a.metadata["char_start"] : b.metadata["char_end"]]
    assert hit.score == 0.9
    ids = [chunk.node_id if framework == "llama_index" else chunk.id for chunk in (b, a)]
    assert hit.finding["hits"] == [{"id": ids[0], "score": 0.9}, {"id": ids[1], "score": 0.8}]


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
    assert sum(len(hit.finding["hits"]) for hit in hits) == len(places)
    # At least the window of the best hit; more where other hits lie beside it.
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
        assert len(hit.finding["hits"]) == 1
        with pytest.raises(StoreLockedError):
            Index(address, embedder=HASH)
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


class Backwards:
    """Judges the last text best, and answers sorted, so that indices matter."""

    def __init__(self) -> None:
        self.seen: list[str] = []

    def rerank(self, query: str, texts: Sequence[str]) -> list[Ranked]:
        self.seen = list(texts)
        return [Ranked(index, float(index)) for index in reversed(range(len(texts)))]


class Broken:
    def rerank(self, query: str, texts: Sequence[str]) -> list[Ranked]:
        raise RuntimeError("out of memory")


def reranking(framework: str, reranker: Any, **options: Any) -> Any:
    made: Any = llama_index.Rerank if framework == "llama_index" else langchain.Rerank
    return made(reranker, **options)


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_a_rerankers_scores_land_on_what_it_judged(framework: str) -> None:
    chunks, reranker = split(framework)[:4], Backwards()
    given = [found(framework, chunk, 1 - n / 10) for n, chunk in enumerate(chunks)]

    hits = process(reranking(framework, reranker, top_n=3), given)

    assert [hit.text for hit in hits] == [Hit(one).text for one in given[:0:-1]]
    assert reranker.seen == [Hit(one).text for one in given]
    assert [hit.score for hit in hits] == [3.0, 2.0, 1.0]
    assert all(isinstance(hit.score, float) for hit in hits)
    before = "retrieval" if framework == "llama_index" else "dense"
    assert [hit.finding["scores"] for hit in hits] == [
        {before: pytest.approx(1 - n / 10), "rerank": float(n)} for n in (3, 2, 1)
    ]


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_a_reranker_that_fails_leaves_the_order_and_warns(framework: str) -> None:
    given = [found(framework, chunk, 0.5) for chunk in split(framework)[:3]]
    with pytest.warns(RerankWarning, match="out of memory"):
        hits = process(reranking(framework, Broken()), given)
    assert [hit.id for hit in hits] == [Hit(one).id for one in given]
    assert [hit.score for hit in hits] == [0.5] * 3


class Slow(Backwards):
    def rerank(self, query: str, texts: Sequence[str]) -> list[Ranked]:
        time.sleep(0.3)
        return super().rerank(query, texts)


@pytest.mark.parametrize("framework", FRAMEWORKS)
async def test_a_slow_reranker_does_not_keep_the_event_loop(framework: str) -> None:
    given = [found(framework, chunk, 0.5) for chunk in split(framework)[:3]]
    stage = reranking(framework, Slow())
    call = (
        stage.apostprocess_nodes(given, query_str="q")
        if framework == "llama_index"
        else (stage.acompress_documents(given, "q"))
    )
    ticks, task = 0, asyncio.ensure_future(call)
    while not task.done():
        await asyncio.sleep(0.02)
        ticks += 1
    assert ticks >= 5
    assert [Hit(one).id for one in task.result()] == [Hit(one).id for one in given[::-1]]


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_rerankers_by_name(framework: str) -> None:
    given = [found(framework, chunk, 0.5) for chunk in split(framework)[:3]]
    assert len(process(reranking(framework, "none", top_n=2), given)) == 2
    with pytest.raises(InvalidParameterError, match="rerank"):
        reranking(framework, "nonsense")
    with pytest.raises(InvalidParameterError, match="top_n"):
        reranking(framework, "none", top_n=0)


def test_nodes_keep_their_finding_out_of_every_text(index: Index) -> None:
    nodes = split("llama_index")
    (hit,) = llama_index.Rerank(Backwards()).postprocess_nodes([NodeWithScore(node=nodes[0], score=0.5)], query_str="q")
    for mode in (MetadataMode.EMBED, MetadataMode.LLM):
        assert hit.node.get_content(mode) == nodes[0].get_content(mode)
    with pytest.raises(InvalidParameterError, match="query"):
        llama_index.Rerank(Backwards()).postprocess_nodes([NodeWithScore(node=nodes[0])])


# Together, in each framework's own chain


async def test_in_a_llama_index_query_engine(index: Index) -> None:
    base = VectorStoreIndex.from_vector_store(llama_index.KinsplitVectorStore(index.store), embed_model=HashEmbedding())
    engine = base.as_query_engine(
        similarity_top_k=5,
        llm=MockLLM(),
        node_postprocessors=[
            llama_index.Rerank("late", embedder=_Tokens()),
            llama_index.SiblingExpansion(index.store),
            llama_index.Rerank(Backwards(), top_n=2),
        ],
    )
    query = QueryBundle("It says what sorting means.")
    for response in (engine.query(query), await engine.aquery(query)):
        hits = [Hit(one) for one in response.source_nodes]
        assert len(hits) == 2
        assert set(hits[0].finding["scores"]) == {"retrieval", "rerank", "rerank_passage"}
        assert hits[0].text == LECTURE[hits[0].metadata["char_start"] : hits[0].metadata["char_end"]]


async def test_in_a_langchain_compression_retriever(index: Index) -> None:
    store = langchain.KinsplitVectorStore(HashEmbeddings(), index.store)
    base: Any = store.as_retriever(search_kwargs={"k": 5})
    for stage in (langchain.SiblingExpansion(index.store), langchain.Rerank(Backwards(), top_n=2)):
        base = ContextualCompressionRetriever(base_compressor=stage, base_retriever=base)
    query = "It says what sorting means."
    for documents in (base.invoke(query), await base.ainvoke(query)):
        hits = [Hit(one) for one in documents]
        assert len(hits) == 2
        assert hits[0].finding["scores"].keys() == {"rerank"}
        assert hits[0].text == LECTURE[hits[0].metadata["char_start"] : hits[0].metadata["char_end"]]


class _Tokens(HashEmbedder):
    """The hash embedder with a vector for each word."""

    def embed_tokens(self, texts: Sequence[str]) -> list[Any]:
        return [self.embed(text.split()) for text in texts]
