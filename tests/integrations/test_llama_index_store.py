"""A chunk store inside LlamaIndex: unchanged nodes, filters and query modes."""

from __future__ import annotations

import asyncio
import pickle
import threading
import time
from collections.abc import Callable, Iterator
from functools import reduce
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from llama_index.core import Document, StorageContext, VectorStoreIndex
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.ingestion import IngestionPipeline
from llama_index.core.schema import (
    BaseNode,
    ImageNode,
    IndexNode,
    MediaResource,
    MetadataMode,
    Node,
    NodeRelationship,
    RelatedNodeInfo,
    TextNode,
)
from llama_index.core.vector_stores.types import (
    FilterCondition,
    FilterOperator,
    MetadataFilter,
    MetadataFilters,
    VectorStoreQuery,
    VectorStoreQueryMode,
)

from kinsplit import Document as CoreDocument
from kinsplit import Index
from kinsplit.embedding.hashing import HashEmbedder
from kinsplit.embedding.sparse import Bm25Embedder
from kinsplit.errors import InvalidParameterError
from kinsplit.integrations.llama_index import KinsplitVectorStore, node_parser, vector_store
from kinsplit.stores import ChunkStore, Schema, open_store
from kinsplit.stores.maintenance import verify
from tests.integrations.helpers import TEXT

HASH = HashEmbedder()


class HashEmbedding(BaseEmbedding):
    """The hash embedder inside LlamaIndex."""

    def _get_text_embedding(self, text: str) -> list[float]:
        return HASH.embed([text])[0].tolist()

    def _get_query_embedding(self, query: str) -> list[float]:
        return HASH.embed_query(query).tolist()

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return self._get_query_embedding(query)


def embedded(nodes: list[Any]) -> list[Any]:
    for node in nodes:
        node.embedding = HASH.embed([node.get_content(metadata_mode=MetadataMode.EMBED)])[0].tolist()
    return nodes


def without_vectors(nodes: list[Any]) -> list[dict[str, Any]]:
    return [{**node.model_dump(), "embedding": None, "class": type(node)} for node in nodes]


def ask(text: str, **options: Any) -> VectorStoreQuery:
    return VectorStoreQuery(HASH.embed_query(text).tolist(), query_str=text, **options)


SOURCE = {NodeRelationship.SOURCE: RelatedNodeInfo(node_id="book", hash="x", metadata={"title": "T"})}


def foreign() -> list[BaseNode]:
    """Return nodes of every kind that kinsplit didn't split."""
    return [
        TextNode(
            id_="not a UUID",
            text="Loops repeat statements.",
            metadata={"subject": "cs", "level": 3, "tags": ["a", "b"], "nested": {"x": [1, 2.5, None]}},
            relationships={**SOURCE, NodeRelationship.CHILD: [RelatedNodeInfo(node_id="c", metadata={"y": 1})]},
            excluded_embed_metadata_keys=["tags"],
            excluded_llm_metadata_keys=["nested"],
            metadata_template="{key}={value}",
            start_char_idx=10,
            end_char_idx=34,
        ),
        TextNode(text="Sorting puts items in order.", metadata={"subject": "cs", "year": 2020}),
        ImageNode(id_="image", text="A picture of a cell.", image_path="cell.png", metadata={"subject": "bio"}),
        IndexNode(id_="pointer", text="Everything about cells.", index_id="cells", metadata={"subject": "bio"}),
        Node(id_="media", text_resource=MediaResource(text="A recording."), metadata={"subject": "arts"}),
        Document(id_="whole", text="A whole document.", metadata={"subject": "arts"}),
    ]


@pytest.fixture(params=["memory", "edge", "qdrant"])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return {"memory": "memory:", "edge": f"edge:{tmp_path}", "qdrant": "qdrant::memory:"}[request.param]


@pytest.fixture(scope="module")
def edge(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ChunkStore]:
    """A store that many tests share, since opening an embedded one takes longer than most of them."""
    schema = Schema("fake", HASH.dimension, Bm25Embedder().fingerprint, '{"name": "given", "parameters": {}}', "given")
    opened = open_store(f"edge:{tmp_path_factory.mktemp('edge')}", "c", schema)
    yield opened
    opened.close()


@pytest.fixture(params=["memory", "edge", "qdrant"])
def store(request: pytest.FixtureRequest) -> Iterator[KinsplitVectorStore]:
    addresses = {"memory": "memory:", "qdrant": "qdrant::memory:"}
    store = KinsplitVectorStore(addresses.get(request.param) or request.getfixturevalue("edge"))
    yield store
    store.clear()
    store.close()


@pytest.mark.parametrize(
    "make",
    [foreign, *(lambda name=name: node_parser(name)([Document(id_="d", text=TEXT, metadata={"subject": "cs"})])
      for name in ("sentence", "structure", "hierarchical"))],
    ids=["foreign", "sentence", "structure", "hierarchical"],
)  # fmt: skip
def test_nodes_come_back_equal(store: KinsplitVectorStore, make: Callable[[], list[BaseNode]]) -> None:
    nodes = embedded(make())

    assert store.add(nodes) == [node.node_id for node in nodes]

    found = store.get_nodes([node.node_id for node in nodes])
    assert without_vectors(found) == without_vectors(nodes)
    assert [node.ref_doc_id for node in found] == [node.ref_doc_id for node in nodes]
    assert [node.hash for node in found] == [node.hash for node in nodes]


def test_equal_texts_keep_vectors_of_their_own(store: KinsplitVectorStore) -> None:
    nodes = embedded([TextNode(id_=name, text="Same.", metadata={"about": name}) for name in ("cells", "loops")])
    store.add(nodes)

    for node in nodes:
        result = store.query(VectorStoreQuery(node.embedding, similarity_top_k=1))
        assert result.ids == [node.id_]
        assert result.similarities == pytest.approx([1.0], abs=1e-5)

    nodes[0].embedding = HASH.embed(["something else"])[0].tolist()
    store.add(nodes)
    assert store.query(VectorStoreQuery(nodes[0].embedding, similarity_top_k=1)).ids == ["cells"]


def test_adding_again_replaces_and_a_repeated_id_counts_once(store: KinsplitVectorStore) -> None:
    first, second = embedded([TextNode(id_="a", text="Old."), TextNode(id_="a", text="New.")])
    store.add([first])
    store.add([first, second])

    assert [node.get_content() for node in store.get_nodes()] == ["New."]


@pytest.mark.parametrize(
    ("vector", "rule"),
    [(None, "must be set"), ([float("nan")] * HASH.dimension, "finite"), ([1.0, 2.0], "must have 64 numbers")],
)
def test_the_error_of_a_wrong_embedding_names_the_node(
    store: KinsplitVectorStore, vector: list[float] | None, rule: str
) -> None:
    nodes = embedded([TextNode(id_="a", text="Owls hunt."), TextNode(id_="b", text="Owls sleep.")])
    nodes[1].embedding = vector
    with pytest.raises(InvalidParameterError, match=f"^embedding of 'b': .*{rule}"):
        store.add(nodes)
    assert store.count() == 0


def test_the_first_embedding_has_numbers_and_later_ones_as_many(store: KinsplitVectorStore) -> None:
    with pytest.raises(InvalidParameterError, match=r"^embedding of 'a': must have numbers"):
        KinsplitVectorStore("memory:").add([TextNode(id_="a", text="Owls hunt.", embedding=[])])
    store.add(embedded([TextNode(id_="a", text="Owls hunt.")]))
    with pytest.raises(InvalidParameterError, match=r"^embedding of 'b': must have 64 numbers"):
        store.add([TextNode(id_="b", text="Owls sleep.", embedding=[1.0, 2.0])])


def test_nodes_come_from_any_iterable(store: KinsplitVectorStore) -> None:
    nodes = embedded([TextNode(id_="a", text="Owls hunt."), TextNode(id_="b", text="Owls sleep.")])
    assert store.add(iter(nodes)) == ["a", "b"]  # type: ignore[arg-type]
    assert store.count() == 2
    with pytest.raises(InvalidParameterError, match=r"^nodes: must be several"):
        store.add(nodes[0])


def test_the_three_modes(store: KinsplitVectorStore) -> None:
    store.add(embedded([TextNode(id_="a", text="zebra crossing"), TextNode(id_="b", text="zebra zebra stripes")]))
    mode = VectorStoreQueryMode

    assert store.query(ask("zebra stripes", similarity_top_k=5, mode=mode.SPARSE)).ids == ["b", "a"]
    assert store.query(ask("crossing", similarity_top_k=5, mode=mode.SPARSE)).ids == ["a"]
    dense = store.query(ask("zebra crossing", similarity_top_k=2))
    assert dense.ids == ["a", "b"]
    for alpha, using in ((1.0, mode.DEFAULT), (0.0, mode.SPARSE)):
        query = ask("zebra stripes", similarity_top_k=1, mode=mode.HYBRID, alpha=alpha)
        assert store.query(query).ids == store.query(ask("zebra stripes", similarity_top_k=1, mode=using)).ids
    hybrid = store.query(ask("zebra", similarity_top_k=2, hybrid_top_k=1, mode=mode.HYBRID))
    assert len(hybrid.ids or []) == 1


@pytest.mark.filterwarnings("ignore::kinsplit.stores.filter_check.FilterWarning")
def test_filters(store: KinsplitVectorStore) -> None:
    nodes = embedded(foreign())
    store.add(nodes)

    def found(*filters: MetadataFilter, **options: Any) -> set[str]:
        kept = MetadataFilters(filters=list(filters), **options)
        result = store.query(ask("cells", similarity_top_k=10, filters=kept)).ids
        assert set(result or []) == {node.node_id for node in store.get_nodes(filters=kept)}
        return set(result or [])

    assert found(MetadataFilter(key="subject", value="bio")) == {"image", "pointer"}
    either = MetadataFilter(key="subject", value=["bio", "arts"], operator=FilterOperator.IN)
    assert found(either) == {"image", "pointer", "media", "whole"}
    assert found(MetadataFilter(key="tags", value=["b", "z"], operator=FilterOperator.ANY)) == {"not a UUID"}
    assert found(MetadataFilter(key="subject", value="cs"), MetadataFilter(key="year", value=2020)) == {
        nodes[1].node_id
    }
    nested = MetadataFilters(filters=[MetadataFilter(key="year", value=2020)])
    assert found(MetadataFilter(key="subject", value="cs"), nested) == {nodes[1].node_id}  # type: ignore[arg-type]
    everything = found()
    subjects = {node.node_id: node.metadata.get("subject") for node in nodes}
    years = {node.node_id: node.metadata.get("year") for node in nodes}
    assert found(MetadataFilter(key="year", value=2020, operator=FilterOperator.GTE)) == {
        id_ for id_, year in years.items() if isinstance(year, int) and year >= 2020
    }
    assert found(MetadataFilter(key="year", value=2020, operator=FilterOperator.LT)) == {
        id_ for id_, year in years.items() if isinstance(year, int) and year < 2020
    }
    no_cs = MetadataFilter(key="subject", value="cs", operator=FilterOperator.NE)
    assert found(no_cs) == {id_ for id_, subject in subjects.items() if subject != "cs"}
    assert found(MetadataFilter(key="subject", value=["cs", "bio"], operator=FilterOperator.NIN)) == {
        id_ for id_, subject in subjects.items() if subject not in ("cs", "bio")
    }
    assert found(MetadataFilter(key="tags", value="b", operator=FilterOperator.CONTAINS)) == {"not a UUID"}
    assert found(MetadataFilter(key="tags", value=["b", "z"], operator=FilterOperator.ALL)) == set()
    bio, arts = (MetadataFilter(key="subject", value=value) for value in ("bio", "arts"))
    assert found(bio, arts) == set()
    assert found(bio, arts, condition=FilterCondition.OR) == {"image", "pointer", "media", "whole"}
    neither = found(bio, arts, condition=FilterCondition.NOT)
    assert neither == everything - {"image", "pointer", "media", "whole"}
    inner = MetadataFilters(filters=[bio, arts], condition=FilterCondition.NOT)
    assert found(inner, no_cs) == {id_ for id_ in neither if subjects[id_] != "cs"}  # type: ignore[arg-type]
    assert (
        store.query(ask("cells", similarity_top_k=10, doc_ids=["book"], filters=MetadataFilters(filters=[bio]))).ids
        == []
    )
    assert store.query(ask("cells", similarity_top_k=10, doc_ids=["book"])).ids == ["not a UUID"]
    assert store.query(ask("cells", similarity_top_k=10, doc_ids=[])).ids == []


@pytest.mark.parametrize(
    "filters",
    [
        MetadataFilters(filters=[MetadataFilter(key="a", value=1, operator=FilterOperator.TEXT_MATCH)]),
        MetadataFilters(filters=[MetadataFilter(key="a", value="x", operator=FilterOperator.GT)]),
        MetadataFilters(filters=[MetadataFilter(key="a", value=["x"])]),
        MetadataFilters(filters=[MetadataFilter(key="a", value=[], operator=FilterOperator.ALL)]),
        reduce(lambda inner, _: MetadataFilters(filters=[inner]), range(2000), MetadataFilters(filters=[])),
    ],
    ids=["text", "bound", "list", "all", "deep"],
)
def test_what_a_store_cannot_filter_is_refused(filters: MetadataFilters) -> None:
    store = KinsplitVectorStore("memory:")
    store.add(embedded(foreign()))
    with pytest.raises(InvalidParameterError, match=r"filters|where"):
        store.query(ask("cells", filters=filters))


@pytest.mark.parametrize(
    ("query", "field"),
    [
        (ask("x", mode=VectorStoreQueryMode.SVM), "mode"),
        (ask("x", mode=VectorStoreQueryMode.MMR, mmr_threshold=2.0), "mmr_threshold"),
        (ask("x", mode=VectorStoreQueryMode.HYBRID, alpha=2.0), "alpha"),
        (VectorStoreQuery(query_str="x"), "query_embedding"),
        (VectorStoreQuery([0.0] * 64, mode=VectorStoreQueryMode.SPARSE), "query_str"),
        (VectorStoreQuery([1.0, 0.0]), "vector"),
        (VectorStoreQuery([float("nan")] * HASH.dimension), "vector"),
        (ask("x", similarity_top_k=0), "similarity_top_k"),
        (ask("x", node_ids="a"), "ids"),
    ],
)
def test_a_query_that_cannot_be_served_is_refused(query: VectorStoreQuery, field: str) -> None:
    store = KinsplitVectorStore("memory:")
    store.add(embedded(foreign()))
    with pytest.raises(InvalidParameterError) as caught:
        store.query(query)
    assert caught.value.field == field


def test_deleting(store: KinsplitVectorStore) -> None:
    nodes = embedded(foreign())
    store.add(nodes)
    for none in (None, MetadataFilters(filters=[]), MetadataFilters(filters=[MetadataFilters(filters=[])])):
        with pytest.raises(InvalidParameterError, match="clear"):
            store.delete_nodes(filters=none)
    store.delete_nodes([])
    assert len(store.get_nodes()) == len(nodes)

    store.delete("book")
    store.delete_nodes(["image", "nobody"])
    store.delete_nodes(filters=MetadataFilters(filters=[MetadataFilter(key="subject", value="arts")]))

    assert {node.node_id for node in store.get_nodes()} == {nodes[1].node_id, "pointer"}
    store.clear()
    assert store.get_nodes() == []


def test_what_a_framework_wrote_is_not_taken_for_damaged(store: KinsplitVectorStore) -> None:
    store.add(embedded([*foreign(), TextNode(id_="same-offsets", text="Same place.", relationships=SOURCE)]))
    assert store.client is not None
    assert verify(store.client) == []


def test_before_the_first_node_there_is_nothing_to_find(address: str) -> None:
    store = KinsplitVectorStore(address)
    assert store.query(ask("cells")).nodes == []
    assert store.get_nodes(["a"]) == []
    store.delete("a")
    store.clear()
    assert store.client is None


async def test_every_call_has_its_asynchronous_counterpart() -> None:
    nodes = embedded(foreign())
    for store in (KinsplitVectorStore("qdrant::memory:"), KinsplitVectorStore("memory:")):
        assert await store.async_add(nodes) == [node.node_id for node in nodes]
        result = await store.aquery(ask("cells", similarity_top_k=2, mode=VectorStoreQueryMode.HYBRID))
        assert result.ids
        assert without_vectors(await store.aget_nodes(["image"])) == without_vectors(nodes[2:3])
        await store.adelete("book")
        await store.adelete_nodes(["image"])
        assert {node.node_id for node in await store.aget_nodes()} == {n.node_id for n in nodes} - {
            "not a UUID",
            "image",
        }
        await store.aclear()
        assert await store.aget_nodes() == []


async def test_a_slow_store_does_not_keep_the_event_loop() -> None:
    store = KinsplitVectorStore("memory:")
    store.add(embedded(foreign()))
    assert store.client is not None
    search, threads = store.client.search, []

    def slow(queries: Any) -> Any:
        threads.append(threading.current_thread())
        time.sleep(0.3)
        return search(queries)

    store.client.search = slow  # type: ignore[method-assign]
    ticks, task = 0, asyncio.ensure_future(store.aquery(ask("cells")))
    while not task.done():
        await asyncio.sleep(0.02)
        ticks += 1
    assert ticks >= 5
    assert threads != [threading.main_thread()]


def test_in_a_vector_store_index_and_in_a_pipeline(store: KinsplitVectorStore) -> None:
    model = HashEmbedding()
    documents = [Document(id_="d", text=TEXT, metadata={"subject": "cs"})]
    parser = node_parser("sentence", chunk_size=20)
    pipeline = IngestionPipeline(transformations=[parser, model], vector_store=store, disable_cache=True)
    nodes = pipeline.run(documents=documents)
    pipeline.run(documents=documents)
    assert len(store.get_nodes()) == len(nodes), "adding again changes nothing"

    index = VectorStoreIndex.from_vector_store(store, embed_model=model, transformations=[parser])
    (hit,) = index.as_retriever(similarity_top_k=1).retrieve(nodes[1].get_content(metadata_mode=MetadataMode.EMBED))
    assert hit.node.node_id == nodes[1].node_id
    assert hit.node.text == TEXT[hit.node.start_char_idx : hit.node.end_char_idx]

    index.insert(Document(id_="e", text="Zebras have stripes."))
    hybrid = index.as_retriever(similarity_top_k=1, vector_store_query_mode="hybrid", alpha=0.5)
    assert hybrid.retrieve("zebras stripes")[0].node.ref_doc_id == "e"
    index.delete_ref_doc("d")
    assert {node.ref_doc_id for node in store.get_nodes()} == {"e"}


async def test_a_new_index_over_a_storage_context() -> None:
    nodes = node_parser("sentence", chunk_size=20)([Document(id_="d", text=TEXT)])
    context = StorageContext.from_defaults(vector_store=KinsplitVectorStore("memory:"))
    index = VectorStoreIndex(nodes, storage_context=context, embed_model=HashEmbedding())

    (hit,) = await index.as_retriever(similarity_top_k=1).aretrieve(nodes[0].text)
    assert hit.node.node_id == nodes[0].node_id


def test_it_reads_what_an_index_wrote() -> None:
    with Index("memory:", strategy="sentence", embedder=HASH) as index:
        index.add(CoreDocument("d", TEXT, {"subject": "cs"}))
        store = KinsplitVectorStore(index.store)
        made = node_parser("sentence")([Document(id_="d", text=TEXT, metadata={"subject": "cs"})])
        leaf = index.store.find({})[0]

        retriever = VectorStoreIndex.from_vector_store(store, embed_model=HashEmbedding()).as_retriever()
        hit = retriever.retrieve(leaf.text)[0].node

        assert (hit.node_id, hit.text) == (leaf.id, leaf.text)
        assert hit.ref_doc_id == "d"
        assert (hit.start_char_idx, hit.end_char_idx) == (leaf.start, leaf.end)
        assert hit.parent_node is not None
        assert [parent.node_id for parent in store.get_nodes([hit.parent_node.node_id])] == [leaf.parent_id]
        assert hit.get_content(MetadataMode.LLM) == made[0].get_content(MetadataMode.LLM)


def test_arguments_that_nobody_knows_are_refused() -> None:
    with pytest.raises(InvalidParameterError, match="colection"):
        KinsplitVectorStore("memory:", colection="c")
    with pytest.raises(InvalidParameterError, match="collection: must be letters and digits"):
        KinsplitVectorStore("memory:", collection="a/b")
    store = KinsplitVectorStore("memory:")
    with pytest.raises(InvalidParameterError, match="sparse_query_fn"):
        store.query(ask("cells"), sparse_query_fn=1)
    with pytest.raises(InvalidParameterError, match="nonsense"):
        store.add([], nonsense=1)


def test_it_is_rebuilt_from_its_fields(tmp_path: Path) -> None:
    store = KinsplitVectorStore(f"edge:{tmp_path}", collection="c", language=None)
    store.add(embedded(foreign()))
    store.close()
    for again in (pickle.loads(pickle.dumps(store)), KinsplitVectorStore.from_dict(store.to_dict())):
        assert len(again.get_nodes()) == len(foreign())
        assert again.client.schema.sparse.startswith("bm25:any")
        again.close()


def matching(key: str, operator: FilterOperator, value: str | None = None) -> MetadataFilters:
    return MetadataFilters(filters=[MetadataFilter(key=key, value=value, operator=operator)])


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        (matching("title", FilterOperator.TEXT_MATCH, "Cell"), {"a"}),
        (matching("title", FilterOperator.TEXT_MATCH_INSENSITIVE, "CELL"), {"a", "b"}),
        (matching("tags", FilterOperator.TEXT_MATCH, "iolog"), {"b"}),
        (matching("full_content", FilterOperator.TEXT_MATCH, "in order"), {"c"}),
        (matching("nothing", FilterOperator.TEXT_MATCH, "x"), set()),
        (matching("tags", FilterOperator.IS_EMPTY), {"a", "c", "d"}),
        (
            MetadataFilters(
                filters=[
                    matching("title", FilterOperator.TEXT_MATCH, "Cell"),
                    MetadataFilter(key="tags", value=None, operator=FilterOperator.IS_EMPTY),
                ],
                condition=FilterCondition.NOT,
            ),
            {"b"},
        ),
    ],
)
def test_filters_on_texts_and_on_what_is_missing(
    store: KinsplitVectorStore, filters: MetadataFilters, expected: set[str]
) -> None:
    nodes = [
        TextNode(id_="a", text="Cells divide.", metadata={"title": "The Cell", "tags": []}),
        TextNode(id_="b", text="Cells grow.", metadata={"title": "All cells", "tags": ["biology", "x"]}),
        TextNode(id_="c", text="Sorting puts items in order.", metadata={"title": "Sorting", "tags": None}),
        TextNode(id_="d", text="No title."),
    ]
    store.add(embedded(nodes))
    assert set(store.query(ask("cells", filters=filters, similarity_top_k=9)).ids or []) == expected
    assert {node.node_id for node in store.get_nodes(filters=filters)} == expected
    store.delete_nodes(filters=filters)
    assert {node.node_id for node in store.get_nodes()} == {"a", "b", "c", "d"} - expected


@pytest.mark.parametrize("many", [1, 1000], ids=["within ids", "ids of nearly all"])
@pytest.mark.parametrize("mode", ["default", "sparse", "hybrid", "mmr"])
def test_queries_within_ids(mode: str, many: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vector_store, "_MANY", many)
    store = KinsplitVectorStore("memory:")
    store.add(embedded([TextNode(id_=str(n), text=f"Cells divide in {n} parts.") for n in range(9)]))
    for ids, expected in ((["2", "5", "nobody"], {"2", "5"}), ([str(n) for n in range(9)], set("012345678"))):
        query = ask("cells divide", node_ids=ids, mode=VectorStoreQueryMode(mode), similarity_top_k=9)
        assert set(store.query(query).ids or []) == expected


async def test_mmr_is_llama_indexs_own(store: KinsplitVectorStore) -> None:
    vectors = np.random.default_rng(7).standard_normal((12, HASH.dimension)).tolist()
    nodes = [TextNode(id_=str(n), text=f"part {n}", embedding=vector) for n, vector in enumerate(vectors)]
    store.add(nodes)
    index = VectorStoreIndex.from_vector_store(store, embed_model=HashEmbedding())
    theirs = VectorStoreIndex(nodes, embed_model=HashEmbedding())
    for threshold in (0.3, 0.5, 1.0):  # At 0 all candidates tie for the first rank.
        options: dict[str, Any] = {"similarity_top_k": 4, "vector_store_query_mode": "mmr"}
        options["vector_store_kwargs"] = {"mmr_threshold": threshold}
        expected = [hit.node_id for hit in theirs.as_retriever(**options).retrieve("cells grow")]
        retriever = index.as_retriever(**options)
        assert [hit.node_id for hit in retriever.retrieve("cells grow")] == expected
        assert [hit.node_id for hit in await retriever.aretrieve("cells grow")] == expected
    with pytest.raises(InvalidParameterError, match="mmr_threshold: must be from 0 to 1"):
        store.query(ask("x", mode=VectorStoreQueryMode.MMR), mmr_threshold=2.0)


def test_nodes_come_back_with_their_embeddings(store: KinsplitVectorStore) -> None:
    nodes = embedded(foreign())
    store.add(nodes)
    for node, same in zip(nodes, store.get_nodes([node.node_id for node in nodes]), strict=True):
        cosine = np.dot(node.embedding, same.get_embedding()) / np.linalg.norm(node.embedding)
        assert cosine == pytest.approx(1.0, abs=1e-5)


@pytest.mark.parametrize("override", [False, True], ids=["index and image nodes", "store_nodes_override"])
async def test_an_index_with_nodes_of_every_kind_is_queried(store: KinsplitVectorStore, override: bool) -> None:
    nodes = [
        IndexNode(id_="pointer", text="About cells.", index_id="cells"),
        ImageNode(id_="image", text="A cell divides.", image_url="x.png"),
        TextNode(id_="text", text="Cells divide and cells grow."),
    ]
    context = StorageContext.from_defaults(vector_store=store)
    index = VectorStoreIndex(nodes, storage_context=context, embed_model=HashEmbedding(), store_nodes_override=override)
    again = VectorStoreIndex.from_vector_store(store, embed_model=HashEmbedding())

    # LlamaIndex requests only its index and image nodes if it has any; see `VectorStoreIndex.as_retriever`.
    expected = {"pointer", "image", "text"}
    retriever = index.as_retriever(similarity_top_k=9)
    assert {hit.node_id for hit in retriever.retrieve("cells")} == expected
    assert {hit.node_id for hit in await retriever.aretrieve("cells")} == expected
    found = {hit.node_id: hit.node for hit in again.as_retriever(similarity_top_k=9).retrieve("cells")}
    assert {id_: type(node) for id_, node in found.items()} == {node.node_id: type(node) for node in nodes}
