"""Text splitters inside LangChain: identity, `index()`, parent retrieval, tokenizers."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from itertools import pairwise
from typing import Any
from uuid import UUID

import pytest
from langchain_classic.retrievers import ParentDocumentRetriever
from langchain_core.documents import Document
from langchain_core.indexing import InMemoryRecordManager, index
from langchain_core.stores import InMemoryStore
from langchain_core.vectorstores import InMemoryVectorStore, VectorStore
from langchain_qdrant import QdrantVectorStore
from langchain_text_splitters import RecursiveCharacterTextSplitter
from qdrant_client import QdrantClient, models

from kinsplit.errors import InvalidParameterError, TokenizerError
from kinsplit.integrations.langchain import (
    ChunkKeys,
    KinsplitSentenceTextSplitter,
    KinsplitVectorStore,
    text_splitter,
)
from kinsplit.integrations.langchain import KinsplitTokenTextSplitter as TokenSplitter
from kinsplit.parsers import create
from tests.integrations.helpers import TEXT, small
from tests.integrations.test_langchain_store import HashEmbeddings

words = text_splitter("word", chunk_size=3)


def sources(documents: list[Document]) -> list[str]:
    return list(dict.fromkeys(document.metadata["source_id"] for document in documents))


def test_a_documents_id_is_the_source() -> None:
    found = words.split_documents([Document(id="./data/andrei.txt_1", page_content=TEXT, metadata={"source": "x"})])
    assert sources(found) == ["./data/andrei.txt_1"]
    assert found[0].metadata["source"] == "x"
    assert all(str(UUID(document.id)) == document.id for document in found)


def test_without_an_id_the_source_is_named_by_origin_and_text() -> None:
    pages = [Document(page_content=text, metadata={"source": "a.pdf"}) for text in ("Page one.", "Page two.")]
    together = words.split_documents(pages)
    assert len(sources(together)) == 2
    assert all(source.startswith("a.pdf#") for source in sources(together))
    one_at_a_time = [chunk for page in pages for chunk in words.split_documents([page])]
    assert one_at_a_time == together


def test_equal_texts_stay_apart() -> None:
    found = words.create_documents(["Same text.", "Same text."])
    assert len({document.id for document in found}) == len(found)
    assert len(sources(found)) == 2
    assert sources(found) == sources(words.create_documents(["Other."] + ["Same text."] * 2))[1:]


def test_two_documents_with_one_id_are_split_once_or_refused() -> None:
    one, two = Document(id="d", page_content="One. Two."), Document(id="e", page_content="One. Two.")
    assert words.split_documents([one, two, one]) == words.split_documents([one, two])
    chunks = words.split_documents([one])
    assert words.split_documents([*chunks, chunks[0]]) == words.split_documents(chunks)
    with pytest.raises(InvalidParameterError, match=r"documents: must have different ids.* at 0 and 2 .*'d'"):
        words.split_documents([one, two, Document(id="d", page_content="Two.")])


def test_replaced_metadata_keys_are_named_in_a_warning() -> None:
    with pytest.warns(UserWarning, match="'level'"):
        (chunk,) = words.create_documents(["One."], [{"level": "beginner"}])
    assert chunk.metadata["level"] == 0


def test_metadata_must_match_the_texts() -> None:
    with pytest.raises(InvalidParameterError, match=r"metadatas: must be as many as texts \(2\)"):
        words.create_documents(["One.", "Two."], [{}])
    first, second = words.create_documents(["One.", "Two."], [{"n": 1}, {"n": 2}])
    assert (first.metadata["n"], second.metadata["n"]) == (1, 2)


def test_metadata_are_copied_deep() -> None:
    first, second = words.create_documents(["One two three four."], [{"tags": ["x"]}])
    first.metadata["tags"].append("y")
    assert second.metadata["tags"] == ["x"]


def test_the_start_index_can_be_left_out() -> None:
    splitter = text_splitter("word", chunk_size=3, add_start_index=False)
    again = splitter.split_documents(words.create_documents([TEXT]))
    for document in (*splitter.create_documents([TEXT]), *again):
        assert not {"start_index", "end_index"} & set(document.metadata)


def test_wrong_parameters_are_refused_at_construction() -> None:
    with pytest.raises(InvalidParameterError, match='length_function: has no such meaning in "word"'):
        text_splitter("word", length_function=len)
    with pytest.raises(InvalidParameterError, match="strategy: must be the name of a strategy"):
        text_splitter("recursive")


def test_a_chunk_without_an_id_can_be_split_again() -> None:
    chunks = text_splitter("structure", **small("structure")).split_documents([Document(id="d", page_content=TEXT)])
    stripped = [Document(page_content=chunk.page_content, metadata=chunk.metadata) for chunk in chunks]
    found = words.split_documents(stripped)
    assert len({document.id for document in found}) == len(found)
    for document in found:
        place = document.metadata
        assert place["source_id"] == "d"
        assert document.page_content == TEXT[place["start_index"] : place["end_index"]]


def test_a_chunk_whose_text_was_changed_gives_no_offsets() -> None:
    (chunk, *_) = words.create_documents([TEXT])
    longer = Document(id=chunk.id, page_content=f"Title: {chunk.page_content}", metadata=chunk.metadata)
    for document in text_splitter("word", chunk_size=1).split_documents([longer]):
        assert "char_start" not in document.metadata
        assert not {"start_index", "end_index"} & set(document.metadata)


@pytest.mark.parametrize("parent", [None, "ours", "theirs"])
def test_parent_document_retrieval_finds_parents_and_loses_no_child(parent: str | None) -> None:
    theirs = RecursiveCharacterTextSplitter(chunk_size=80, chunk_overlap=0)
    ours = text_splitter("structure", chunk_size=12, min_chunk_size=3)
    store = InMemoryVectorStore(HashEmbeddings())
    retriever = ParentDocumentRetriever(
        vectorstore=store,
        docstore=InMemoryStore(),
        child_splitter=words,
        parent_splitter={None: None, "ours": ours, "theirs": theirs}[parent],
    )
    retriever.add_documents([Document(page_content=TEXT, metadata={"source": "a.md"})])
    children = [value["text"] for value in store.store.values()]
    assert sum(text.count("No.") for text in children) == TEXT.count("No.")
    assert {"doc_id", "source_id"} <= next(iter(store.store.values()))["metadata"].keys()
    (found, *_) = retriever.invoke("A class is")
    assert found.page_content in TEXT


class Indexed:
    """A vector store kept up to date by `index()`."""

    def __init__(self, store: VectorStore | None = None) -> None:
        self.store = store or InMemoryVectorStore(HashEmbeddings())
        self.records = InMemoryRecordManager(namespace="test")
        self.records.create_schema()
        self.keys = ChunkKeys(self.records, self.store)
        self.splitter = text_splitter("sentence", chunk_size=3, unit="word")

    def update(self, text: str, **metadata: Any) -> list[int]:
        """Index a text and return the numbers of chunks that were added, updated, skipped and deleted."""
        chunks = self.splitter.split_documents([Document(id="d", page_content=text, metadata=metadata)])
        options: dict[str, Any] = {"cleanup": "scoped_full", "source_id_key": "source_id", "key_encoder": self.keys}
        options["batch_size"] = 10
        return list(index(chunks, self.records, self.store, **options).values())

    def kept(self) -> list[Document]:
        found = self.store.similarity_search("x", k=99)
        return sorted(found, key=lambda document: document.metadata["chunk_index"])


NUMBERED = "".join(f"Sentence number {number:02}. " for number in range(25))


def _qdrant() -> VectorStore:
    client = QdrantClient(":memory:")
    client.create_collection("c", models.VectorParams(size=64, distance=models.Distance.COSINE))
    return QdrantVectorStore(client, "c", HashEmbeddings())


@pytest.mark.parametrize(
    "make",
    [
        pytest.param(lambda: InMemoryVectorStore(HashEmbeddings()), id="LangChain's own"),
        pytest.param(lambda: KinsplitVectorStore(HashEmbeddings(), "memory:"), id="kinsplit"),
        pytest.param(_qdrant, id="langchain_qdrant"),
    ],
)
def test_index_notices_edits_and_keeps_ids_and_links(make: Callable[[], VectorStore]) -> None:
    indexed = Indexed(make())
    assert indexed.update(NUMBERED) == [25, 0, 0, 0]
    assert indexed.update(NUMBERED) == [0, 0, 25, 0]

    edited = NUMBERED.replace("number 07", "numbre 07")
    assert indexed.update(edited) == [1, 0, 24, 0], "the one that changed"
    longer = edited.replace("number 20", "numeral 20")
    in_place = isinstance(indexed.store, KinsplitVectorStore)
    assert indexed.update(longer) == ([1, 0, 24, 0] if in_place else [5, 0, 20, 0]), "it, and those that moved"
    expected = [1, 0, 25, 0] if in_place else [2, 0, 24, 0]
    assert indexed.update(f"{longer}And one more.") == expected, "it, and the one that is linked to it"
    text = longer.replace("Sentence number 10. ", "")
    assert indexed.update(text)[3] == 2, "the last ones are gone"

    kept = indexed.kept()
    assert "".join(chunk.page_content for chunk in kept).replace(" ", "") == text.replace(" ", ""), "nothing is stale"
    for chunk in kept:
        assert chunk.page_content == text[chunk.metadata["char_start"] : chunk.metadata["char_end"]]
    for chunk, after in pairwise(kept[:11]):
        (found,) = indexed.store.get_by_ids([chunk.metadata["next_id"]])
        (back,) = indexed.store.get_by_ids([after.metadata["prev_id"]])
        assert (found.page_content, back.page_content) == (after.page_content, chunk.page_content)


def test_index_notices_other_metadata_and_chunks_that_the_store_has_lost() -> None:
    indexed = Indexed()
    assert indexed.update("One two three. Four five six.", year=2020, share=0.1) == [2, 0, 0, 0]
    assert indexed.update("One two three. Four five six.", year=2020, share=0.1) == [0, 0, 2, 0]
    assert indexed.update("One two three. Four five six.", year=2021, share=0.1) == [2, 0, 0, 0]
    indexed.store.delete([str(indexed.kept()[0].id)])
    assert indexed.update("One two three. Four five six.", year=2021, share=0.1) == [1, 0, 1, 0]
    assert indexed.update("One two three.", year=2021, share=0.1) == [1, 0, 0, 1], "no link leads to what is gone"
    assert [chunk.metadata["next_id"] for chunk in indexed.kept()] == [""]


def test_keys_are_the_ids_of_chunks_alone() -> None:
    keys = Indexed().keys
    (chunk,) = words.create_documents(["One."])
    assert keys(chunk) == chunk.id
    others = [
        Document(id="d", page_content="x"),
        Document(page_content=chunk.page_content, metadata=chunk.metadata),
        Document(id=chunk.id, page_content="On", metadata=chunk.metadata),
    ]
    for other in others:
        with pytest.raises(InvalidParameterError, match="must be a chunk from a kinsplit text splitter"):
            keys(other)


def test_the_overlap_of_token_windows_is_what_stride_leaves() -> None:
    assert text_splitter("token", chunk_size=512, stride=128)._chunk_overlap == 384
    assert text_splitter("token", chunk_size=100, stride=100)._chunk_overlap == 0


def test_from_tiktoken_encoder_counts_in_that_encoding() -> None:
    splitter = KinsplitSentenceTextSplitter.from_tiktoken_encoder("cl100k_base", chunk_size=10)
    assert splitter.strategy == create("sentence", tokenizer="tiktoken:cl100k_base", chunk_size=10)
    assert pickle.loads(pickle.dumps(splitter)).split_text(TEXT) == splitter.split_text(TEXT)
    assert TokenSplitter.from_tiktoken_encoder(model_name="gpt-4").strategy.tokenizer == "tiktoken:cl100k_base"
    structure = type(text_splitter("structure")).from_tiktoken_encoder("cl100k_base")
    assert structure.strategy.parameters["unit"] == "token"


def test_from_tiktoken_encoder_says_what_it_cannot_do() -> None:
    with pytest.raises(TokenizerError, match='"tiktoken:no_such" could not be loaded'):
        TokenSplitter.from_tiktoken_encoder("no_such")
    with pytest.raises(InvalidParameterError, match="model_name: must be known to tiktoken"):
        TokenSplitter.from_tiktoken_encoder(model_name="no-such-model")
    with pytest.raises(InvalidParameterError, match="allowed_special: must be left out"):
        TokenSplitter.from_tiktoken_encoder("cl100k_base", allowed_special="all")
    with pytest.raises(InvalidParameterError, match="disallowed_special: must be left out"):
        TokenSplitter.from_tiktoken_encoder("cl100k_base", disallowed_special={"<|endoftext|>"})
    with pytest.raises(InvalidParameterError, match="strategy: must be one that counts tokens"):
        type(text_splitter("character")).from_tiktoken_encoder("cl100k_base")


def test_from_huggingface_tokenizer_counts_with_it() -> None:
    from tokenizers import Tokenizer, models, pre_tokenizers

    transformers = pytest.importorskip("transformers")
    backend = Tokenizer(models.WordLevel({"[UNK]": 0}, unk_token="[UNK]"))
    backend.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_object=backend, unk_token="[UNK]")
    splitter = KinsplitSentenceTextSplitter.from_huggingface_tokenizer(tokenizer, chunk_size=6, chunk_overlap=0)
    texts = splitter.split_text(TEXT)
    assert len(texts) > 5
    assert max(len(text.split()) for text in texts) <= 6
    with pytest.raises(InvalidParameterError, match="can't be carried to another process"):
        pickle.dumps(splitter)
    with pytest.raises(InvalidParameterError, match="tokenizer: must be a fast tokenizer of transformers"):
        KinsplitSentenceTextSplitter.from_huggingface_tokenizer("bundled")
