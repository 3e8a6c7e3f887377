"""Tests of opening an index with its collection's settings, or an error that names the difference."""

from __future__ import annotations

import asyncio
import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from kinsplit_testing import make_store

from kinsplit import Document, Index, KinWeights, create_strategy
from kinsplit.embedding import create
from kinsplit.errors import CollectionNotFoundError, InvalidParameterError, SchemaMismatchError, StoreError
from kinsplit.parsers import default_strategy
from kinsplit.stores import open_catalog
from tests.index.helpers import RecordingEmbedder, open_index


def test_an_index_opens_again_with_the_strategy_it_was_made_with(tmp_path: Path, course: Path) -> None:
    embedder = RecordingEmbedder()
    with open_index(tmp_path, embedder) as index:
        index.add(course)
        strategy = index.strategy
    with Index(f"edge:{tmp_path / 'data'}", collection="cs", embedder=embedder) as index:
        assert index.strategy == strategy
        assert index.add(course).embedded == 0


@pytest.mark.parametrize(
    ("spec", "stored"),
    [
        ("openai:m?base_url=http://127.0.0.1:9/v1&dimensions=3", "openai:m?base_url=...&dimensions=3"),
        ("openai:m?base_url=http://127.0.0.1:9/v1", "openai:m?base_url=..."),
        ("st:/models/mine?backend=torch", "st:.../mine?backend=torch"),
        ("st:./mine", "st:.../mine"),
        ("st:~/models/mine", "st:.../mine"),
        ("st:BAAI/bge-m3", "st:BAAI/bge-m3"),
        ("static:./table", "static:./table"),
    ],
)
def test_a_collection_stores_no_address_and_no_folder_with_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, spec: str, stored: str
) -> None:
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    address = f"edge:{tmp_path}"
    given = create_strategy("semantic", embedder=spec)
    with Index(address, strategy=given, embedder="hash") as index:
        make_store(address, "default", index.store.schema).close()
        kept = json.loads(index.store.schema.strategy)["parameters"]["embedder"]
        assert kept == stored
        assert (given.parameters["embedder"], given.described["embedder"]) == (spec, stored)
    with Index(address, strategy=given, embedder="hash") as index:  # The parameter is given again.
        assert index.strategy.parameters["embedder"] == spec
    with Index(address, embedder="hash") as index:
        assert index.strategy.parameters["embedder"] == stored
        assert index.strategy == given or stored != spec
        if stored != spec:
            with pytest.raises(InvalidParameterError, match=r"whose (address|path) is not stored"):
                index.add(Document("a", "Owls hunt at night. Larks sing at dawn. " * 3))
            assert index.count() == 0
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:7/v1")
    if "base_url" in stored:
        assert create(stored)._server.url == "http://127.0.0.1:7/v1"  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("strategy", "field", "spec"),
    [
        ("semantic", "embedder", "openai:m?base_url=http://evil.example/v1"),
        ("semantic", "embedder", "litellm:huggingface/https://evil.example/embed"),
        ("cluster", "embedder", "st:./course/model"),
        ("cluster", "embedder", "st:/tmp/model?backend=torch"),
        ("llm", "model", "openai:m?base_url=http://evil.example/v1"),
        ("llm", "model", "ollama:m?window=9&host=evil.example"),
    ],
)
def test_a_forged_collection_with_an_address_is_refused_by_name(
    tmp_path: Path, strategy: str, field: str, spec: str
) -> None:
    with Index("memory:", strategy=strategy, embedder="hash") as index:
        schema = index._schema(index.strategy)
    forged = json.loads(schema.strategy)
    forged["parameters"][field] = spec
    make_store(f"edge:{tmp_path}", "default", replace(schema, strategy=json.dumps(forged))).close()
    with pytest.raises(
        StoreError, match=rf"has an address, {field}={re.escape(repr(spec))}, which kinsplit never stores"
    ):
        Index(f"edge:{tmp_path}", embedder="hash")


def test_a_collection_keeps_the_weights_it_was_made_with(tmp_path: Path) -> None:
    weights = KinWeights(siblings=0.0, bm25=0.4)
    documents = [Document(f"{n}", f"Lark {n} sings. " * 90) for n in range(2)]
    with Index(f"edge:{tmp_path}", embedder="hash", weights=weights) as index:
        index.add(documents)
        own = index.search("lark")
    with Index(f"edge:{tmp_path}", embedder="hash") as index:
        assert index.weights == weights
        assert index.search("lark") == own
        assert "siblings" not in own[0].best.scores
        assert "siblings" in index.search("lark", weights=KinWeights())[0].best.scores
    with Index(f"edge:{tmp_path}", embedder="hash", weights=KinWeights(siblings=0.8)) as index:
        assert index.weights.siblings == 0.8
    with Index("memory:", embedder="hash") as index:
        assert index.weights == KinWeights()


def test_an_index_opens_again_with_the_language_it_was_made_with(tmp_path: Path) -> None:
    text = "Die alten Häuser stehen am Markt."
    with Index(f"edge:{tmp_path}", embedder="hash", language="german") as index:
        index.add(Document("d", text))
    for strategy in (None, default_strategy()):
        with Index(f"edge:{tmp_path}", strategy=strategy, embedder="hash") as index:
            assert index.bm25.language == "german"
            assert index.add(Document("d", text)).unchanged == 1
            assert index.search("eines Hauses")[0].scores["bm25"] > 0
    with pytest.raises(SchemaMismatchError, match="sparse"):
        Index(f"edge:{tmp_path}", embedder="hash", language="english")
    with Index("memory:", embedder="hash", language="any") as index:
        assert index.bm25.language is None


def test_chinese_and_thai_are_found_by_their_words_in_every_collection(tmp_path: Path) -> None:
    # Earlier bug: a clause without spaces was one term, which only the whole clause could find.
    texts = {"zh": "公园里的樱花在四月开放。", "th": "ดอกซากุระบานในเดือนเมษายน", "en": "Owls hunt at night."}
    with Index(f"edge:{tmp_path}", embedder="hash") as index:
        index.add([Document(name, text) for name, text in texts.items()])
        for question, name in (("樱花什么时候开？", "zh"), ("ซากุระบานเมื่อไหร่", "th"), ("When do owls hunt?", "en")):
            assert [hit.source_id for hit in index.search(question, ranking="terms")] == [name]


def test_another_strategy_or_model_is_refused(tmp_path: Path, course: Path) -> None:
    with open_index(tmp_path, RecordingEmbedder()) as index:
        index.add(course)
    with pytest.raises(SchemaMismatchError, match="strategy"):
        open_index(tmp_path, RecordingEmbedder(), "sentence")
    with pytest.raises(SchemaMismatchError, match="model"):
        Index(f"edge:{tmp_path / 'data'}", collection="cs", embedder="hash:32")
    with Index(f"edge:{tmp_path / 'data'}", collection="cs", embedder="hash") as index:
        assert index.search("classes")


def test_a_mismatch_names_only_what_differs(tmp_path: Path) -> None:
    from kinsplit.parsers import create as create_strategy

    with Index(f"edge:{tmp_path}", strategy="sentence", embedder="hash") as index:
        index.add(Document("d", "A loop repeats."))
    with pytest.raises(SchemaMismatchError) as caught:
        Index(
            f"edge:{tmp_path}", strategy=create_strategy("sentence", chunk_size=80, chunk_overlap=20), embedder="hash"
        )
    message = str(caught.value)
    assert "strategy.chunk_size is 500 there and 80 here; strategy.chunk_overlap is 100 there and 20 here." in message
    assert "{" not in message
    assert "tokenizer" not in message


def test_a_collection_that_a_vector_store_filled_is_named_as_such(tmp_path: Path) -> None:
    core = pytest.importorskip("llama_index.core.schema")
    from kinsplit.integrations.llama_index import KinsplitVectorStore

    address = f"edge:{tmp_path / 'data'}"
    store = KinsplitVectorStore(address, collection="cs")
    store.add([core.TextNode(text="A loop repeats.", embedding=create("hash").embed(["A loop repeats."])[0].tolist())])
    store.close()
    with pytest.raises(StoreError, match="filled by a framework's vector store"):
        Index(address, collection="cs", embedder="hash")


def test_an_index_that_could_not_open_unlocks_the_collection(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import kinsplit.index

    address = f"edge:{tmp_path / 'data'}"
    with Index(address, embedder="hash") as index:
        index.add(Document("d", "A loop repeats."))
    with monkeypatch.context() as patch:
        patch.setattr(kinsplit.index, "names", list)
        with pytest.raises(StoreError, match="no strategy") as caught:
            Index(address, embedder="hash")
    assert caught.traceback, "its frames, which keep the store alive"
    with Index(address, embedder="hash"):
        pass


@pytest.mark.parametrize("engine", ["edge", "memory", "qdrant"])
def test_searching_what_was_never_indexed_names_the_collections_there_are(tmp_path: Path, engine: str) -> None:
    address = f"{engine}:{tmp_path / 'data'}"
    for name in ("math", "cs"):
        with Index(address, collection=name, embedder="hash") as index:
            index.add(Document("d", "A loop repeats."))
    pattern = r"There is no collection 'nope' in .*, which has 'cs', 'math'\. Index documents into it first\."
    with pytest.raises(CollectionNotFoundError, match=pattern):
        Index(address, collection="nope", embedder="hash", must_exist=True)
    with Index(address, collection="nope", embedder="hash") as index:
        with pytest.raises(CollectionNotFoundError, match=pattern):
            index.search("loops")
        with pytest.raises(CollectionNotFoundError, match=pattern):
            asyncio.run(index.asearch("loops"))
        with open_catalog(address) as catalog:
            assert [each.name for each in catalog.collections()] == ["cs", "math"]
        index.add(Document("d", "A loop repeats."))
        assert index.search("loops")
        index.delete("d")
        assert index.search("loops") == [], "it was emptied"


def test_an_index_finds_what_another_one_added_to_its_new_collection() -> None:
    with Index("memory:shared-by-two", embedder="hash") as first, Index("memory:shared-by-two", embedder="hash") as two:
        two.add(Document("d", "A loop repeats."))
        assert first.search("loops")
