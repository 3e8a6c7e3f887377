"""Pages that a loader has cut a file into become one document, in both frameworks."""

from __future__ import annotations

import asyncio
import copy
import pickle
import random
import warnings
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from langchain_core.documents import Document
from llama_index.core import Document as LlamaDocument
from llama_index.core import StorageContext, VectorStoreIndex
from llama_index.core.ingestion import IngestionPipeline
from llama_index.core.schema import MetadataMode, TextNode
from llama_index.core.storage.docstore import SimpleDocumentStore

from kinsplit.details import details
from kinsplit.errors import InvalidParameterError
from kinsplit.integrations import langchain, llama_index
from tests.shared_data import shared_path

PAGES = [
    "An owl hunts at night. It sees well. The owl and",
    "the lark are birds. A lark sings. It sings at dawn.",
    "",
    "Bats are no birds. They hunt at night.",
]
SPLIT: dict[str, Any] = {"chunk_size": 7, "unit": "word", "chunk_overlap": 0}


class Made(NamedTuple):
    """A chunk of either framework."""

    id: str
    text: str
    metadata: dict[str, Any]


def by_langchain(pages: Sequence[tuple[str, dict[str, Any]]], **options: Any) -> list[Made]:
    splitter = langchain.text_splitter("sentence", **SPLIT, **options)
    found = splitter.split_documents(Document(page_content=text, metadata=metadata) for text, metadata in pages)
    return [Made(str(each.id), each.page_content, each.metadata) for each in found]


def by_llama_index(pages: Sequence[tuple[str, dict[str, Any]]], **options: Any) -> list[Made]:
    parser = llama_index.node_parser("sentence", **SPLIT, **options)
    found = parser.get_nodes_from_documents([LlamaDocument(text=text, metadata=metadata) for text, metadata in pages])
    for node in found:
        assert (node.start_char_idx, node.end_char_idx) == (node.metadata["char_start"], node.metadata["char_end"])  # type: ignore[attr-defined]
        assert node.ref_doc_id == node.metadata["source_id"]
    return [Made(node.node_id, node.get_content(), node.metadata) for node in found]


Split = Callable[..., list[Made]]
both = pytest.mark.parametrize("split", [by_langchain, by_llama_index])

#: The metadata of page n, from 0, as loaders write them.
LOADERS: dict[str, Callable[[int], dict[str, Any]]] = {
    "PyPDFLoader": lambda n: {
        "source": "a.pdf",
        "total_pages": 4,
        "page": n,
        "page_label": ["i", "ii", "iii", "iv"][n],
    },
    "PyMuPDFLoader": lambda n: {"source": "a.pdf", "file_path": "a.pdf", "total_pages": 4, "page": n, "title": "T"},
    "older PyPDFLoader": lambda n: {"source": "a.pdf", "page": n},
    "Textract": lambda n: {"source": "a.pdf", "page": n + 1},
    "PDFReader": lambda n: {"page_label": str(n + 1), "file_name": "a.pdf"},
    "SimpleDirectoryReader": lambda n: {"page_label": str(n + 1), "file_name": "x.pdf", "file_path": "a.pdf"},
    "roman labels": lambda n: {"page_label": ["i", "ii", "1", "2"][n], "file_name": "x.pdf", "file_path": "a.pdf"},
    "repeated labels": lambda n: {"page_label": ["1", "2", "1", "2"][n], "file_path": "a.pdf"},
    "PyMuPDFReader": lambda n: {"total_pages": 4, "file_path": "a.pdf", "source": f"{n + 1}"},
    "LlamaParse": lambda n: {"page_number": n + 1, "file_name": "a.pdf"},
}


@both
@pytest.mark.parametrize("loader", LOADERS)
def test_pages_are_one_document(split: Split, loader: str) -> None:
    pages = [(text, LOADERS[loader](n)) for n, text in enumerate(PAGES)]
    before = copy.deepcopy(pages)
    chunks = split(pages)
    assert pages == before
    assert {chunk.metadata["source_id"] for chunk in chunks} == {"a.pdf"}
    assert [chunk.text for chunk in chunks] == [
        "An owl hunts at night.",
        "It sees well.",
        "The owl and\nthe lark are birds.",
        "A lark sings. It sings at dawn.",
        "Bats are no birds.",
        "They hunt at night.",
    ]
    ranges = [(chunk.metadata["page_start"], chunk.metadata["page_end"]) for chunk in chunks]
    assert ranges == [(1, 1), (1, 1), (1, 2), (2, 2), (4, 4), (4, 4)]
    for one, other in pairwise(chunks):
        assert (one.metadata["next_id"], other.metadata["prev_id"]) == (other.id, one.id)
    for chunk in chunks:
        metadata = chunk.metadata
        first, last = PAGES[metadata["page_start"] - 1], PAGES[metadata["page_end"] - 1]
        start, end = metadata["page_char_start"], metadata["page_char_end"]
        assert chunk.text.startswith(first[start:].rstrip() if first != last else first[start:end])
        assert chunk.text.endswith(last[:end] if first != last else last[start:end])
        own = LOADERS[loader](metadata["page_start"] - 1)
        assert {key: metadata[key] for key in own} == own, "the metadata of the page on which it starts"
        assert "joined_pages" not in metadata
    joined = "An owl hunts at night. It sees well. The owl and\nthe lark are birds. A lark sings. It sings at dawn.\n\n"
    for chunk in chunks[:4]:
        assert joined[chunk.metadata["char_start"] : chunk.metadata["char_end"]] == chunk.text


@both
def test_pages_in_any_order_of_several_files_and_other_documents(split: Split) -> None:
    def of(name: str) -> Iterator[tuple[str, dict[str, Any]]]:
        for n, text in enumerate(PAGES):
            yield text, {"source": name, "page": n, "total_pages": 4}

    expected = split(list(of("a.pdf"))) + split(list(of("b.pdf")))
    mixed = [*of("a.pdf"), *of("b.pdf")]
    random.Random(4).shuffle(mixed)
    other = ("A web page.", {"source": "https://example.org"})
    found = split([*mixed, other])
    in_order = sorted(found[:-1], key=lambda each: (each.metadata["source_id"], each.metadata["chunk_index"]))
    assert in_order == expected
    assert found[-1].text == "A web page."
    assert "page_start" not in found[-1].metadata


@both
def test_a_missing_page_is_skipped_and_the_others_keep_their_numbers(split: Split) -> None:
    pages = [(text, {"source": "a.pdf", "page": n, "total_pages": 4}) for n, text in enumerate(PAGES)]
    chunks = split([pages[0], pages[3]])
    assert [chunk.metadata["page_start"] for chunk in chunks] == [1, 1, 4, 4]
    assert {chunk.metadata["source_id"] for chunk in chunks} == {"a.pdf"}


@both
def test_pages_split_one_at_a_time_never_share_an_id(split: Split) -> None:
    pages = [(text, {"source": "a.pdf", "page": n, "total_pages": 4}) for n, text in enumerate(PAGES)]
    chunks = [chunk for page in pages for chunk in split([page])]
    assert len({chunk.id for chunk in chunks}) == len(chunks) == 6
    sources = list(dict.fromkeys(chunk.metadata["source_id"] for chunk in chunks))
    assert len(sources) == 3
    if split is by_langchain:
        assert sources == ["a.pdf", "a.pdf#page=2", "a.pdf#page=4"]


def test_an_index_updates_and_deletes_the_pages_that_were_inserted_one_by_one() -> None:
    store = llama_index.KinsplitVectorStore("memory:")
    index = VectorStoreIndex(
        [],
        storage_context=StorageContext.from_defaults(vector_store=store),
        embed_model=Numbered(),
        transformations=[llama_index.node_parser("sentence", **SPLIT)],
    )
    first, second = llama_pages()[:2]
    for page in (first, second):
        index.insert(page)
    assert {node.ref_doc_id for node in store.get_nodes()} == {first.doc_id, second.doc_id}
    assert {node.metadata["page_start"] for node in store.get_nodes()} == {1, 2}
    index.update_ref_doc(LlamaDocument(id_=second.doc_id, text="The lark sleeps.", metadata=second.metadata))
    index.delete_ref_doc(first.doc_id)
    assert [node.get_content() for node in store.get_nodes()] == ["The lark sleeps."]
    index.delete_ref_doc(second.doc_id)
    assert not store.get_nodes()


def test_joined_documents_have_the_id_of_the_file_however_many_pages_it_has() -> None:
    for number in (1, 2, 4):
        (joined,) = llama_index.join_pages(llama_pages()[:number])
        assert {node.ref_doc_id for node in llama_index.node_parser("sentence")([joined])} == {"a.pdf"}


@both
def test_a_page_that_is_given_twice_is_split_once(split: Split) -> None:
    pages = [(text, {"source": "a.pdf", "page": n}) for n, text in enumerate(PAGES)]
    assert split([*pages, pages[1], pages[0]]) == split(pages)
    assert len({chunk.metadata["source_id"] for chunk in split([pages[0], pages[0]])}) == 1
    assert len(split([*pages, pages[1]], join_pages=False)) > 6


@both
@pytest.mark.parametrize(
    "texts",
    [
        pytest.param(
            [("A part.", {"source": "a.pdf", "page": 0}), ("More.", {"source": "a.pdf", "page": 0})], id="parts"
        ),
        pytest.param([("A.", {"source": "a.pdf", "page_number": 1, "category": "Title"})], id="elements"),
        pytest.param([("A.", {"source": "a.csv", "row": 1}), ("B.", {"source": "a.csv", "row": 2})], id="rows"),
        pytest.param([("A.", {"page": 1}), ("B.", {"page": 2})], id="no source"),
        pytest.param([("A.", {"source": "a.pdf", "page": None})], id="no number"),
        pytest.param([("A.", {"source": "a.pdf", "page": 1}), ("B.", {"source": "a.pdf"})], id="a text beside a page"),
    ],
)
def test_other_texts_stay_as_they_are(split: Split, texts: list[tuple[str, dict[str, Any]]]) -> None:
    chunks = split(texts)
    assert len({chunk.metadata["source_id"] for chunk in chunks}) == len(texts)
    if len(texts) == 2 and "page" in texts[0][1] and "page" not in texts[1][1]:
        assert [chunk.metadata.get("page_start") for chunk in chunks] == [1, None]
    else:
        assert not any("page_start" in chunk.metadata for chunk in chunks)


@both
def test_the_option_off_leaves_pages_apart(split: Split) -> None:
    pages = [(text, {"source": "a.pdf", "page": n}) for n, text in enumerate(PAGES)]
    chunks = split(pages, join_pages=False)
    assert len({chunk.metadata["source_id"] for chunk in chunks}) == 3
    assert not any("page_start" in chunk.metadata for chunk in chunks)


def test_splitting_again_keeps_pages_and_offsets() -> None:
    pages = [Document(page_content=text, metadata={"source": "a.pdf", "page": n}) for n, text in enumerate(PAGES)]
    large = langchain.text_splitter("character", chunk_size=70, chunk_overlap=0).split_documents(pages)
    assert details(large[0])["page_breaks"] == [[2, 49]]
    small = langchain.text_splitter("word", chunk_size=2, chunk_overlap=0).split_documents(large)
    assert {chunk.metadata["source_id"] for chunk in small} == {"a.pdf"}
    for chunk in small:
        metadata = chunk.metadata
        text = PAGES[metadata["page_start"] - 1]
        if metadata["page_start"] == metadata["page_end"]:
            assert text[metadata["page_char_start"] : metadata["page_char_end"]] == chunk.page_content
            assert "page_breaks" not in metadata
    assert {chunk.metadata["page_start"] for chunk in small} == {1, 2, 4}


def test_asynchronous_transformation_pickles_and_representation() -> None:
    pages = [Document(page_content=text, metadata={"source": "a.pdf", "page": n}) for n, text in enumerate(PAGES)]
    splitter = langchain.text_splitter("sentence", **SPLIT)
    expected = splitter.split_documents(pages)
    assert asyncio.run(splitter.atransform_documents(pages)) == list(splitter.transform_documents(pages)) == expected
    off = langchain.text_splitter("sentence", join_pages=False, **SPLIT)
    assert pickle.loads(pickle.dumps(off)).split_documents(pages) == off.split_documents(pages) != expected
    assert "join_pages=False" in repr(off)
    assert splitter.split_documents(langchain.join_pages(pages)) == expected
    parser = llama_index.node_parser("sentence", join_pages=False, **SPLIT)
    for again in (pickle.loads(pickle.dumps(parser)), type(parser).from_dict(parser.to_dict()), parser.model_copy()):
        assert again.join_pages is False
        assert again.to_dict() == parser.to_dict()


def llama_pages() -> list[LlamaDocument]:
    return [
        LlamaDocument(
            text=text,
            metadata={"page_label": str(n + 1), "file_path": "a.pdf", "size": 7},
            excluded_embed_metadata_keys=["size"],
        )
        for n, text in enumerate(PAGES)
    ]


def test_nodes_inherit_from_pages_what_is_embedded_and_what_is_not() -> None:
    parser = llama_index.node_parser("sentence", **SPLIT)
    node = parser(llama_pages())[3]
    assert node.get_content(MetadataMode.EMBED) == "file_path: a.pdf\npage_label: 2\n\nA lark sings. It sings at dawn."
    assert "joined_pages" not in node.metadata
    bare = parser.model_copy(update={"include_metadata": False})(llama_pages())[3]
    assert "page_label" not in bare.metadata
    assert (bare.metadata["page_start"], bare.metadata["page_char_start"]) == (2, 20)
    part = TextNode(text="Cut from a page.", metadata={"page_label": "1", "file_path": "a.pdf"})
    assert [node.ref_doc_id for node in parser([part])] == [part.node_id]


def test_a_pipeline_with_a_docstore_takes_joined_documents() -> None:
    store = llama_index.KinsplitVectorStore("memory:")
    pipeline = IngestionPipeline(
        transformations=[llama_index.node_parser("sentence", **SPLIT), Numbered()],
        docstore=SimpleDocumentStore(),
        vector_store=store,
        disable_cache=True,
    )
    for pages in (llama_pages(), llama_pages(), llama_pages()[:2]):
        nodes = asyncio.run(pipeline.arun(documents=llama_index.join_pages(pages)))
    assert [node.metadata["page_start"] for node in nodes] == [1, 1, 1, 2]
    kept = store.get_nodes()
    assert sorted(node.node_id for node in kept) == sorted(node.node_id for node in nodes)
    assert {node.ref_doc_id for node in kept} == {"a.pdf"}
    (across,) = [node for node in kept if node.metadata["page_start"] != node.metadata["page_end"]]
    assert details(across)["page_breaks"] == [[2, 49]]


class Numbered(llama_index.CachedEmbedding):
    """Gives every node the same vector."""

    def __init__(self) -> None:
        from llama_index.core import MockEmbedding

        super().__init__(MockEmbedding(embed_dim=2), model_name="mock")

    def _get_text_embeddings(self, texts: list[str]) -> list[list[float]]:
        return [[1.0, 0.0] for _ in texts]

    async def _aget_text_embeddings(self, texts: list[str]) -> list[list[float]]:
        return self._get_text_embeddings(texts)


def problem_set() -> Path:
    return shared_path("course_mit_6.0001/psets/problem_set_4.pdf")


def load_by_langchain() -> list[tuple[str, dict[str, Any]]]:
    pytest.importorskip("pypdf")
    pytest.importorskip("langchain_community", exc_type=ImportError)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        from langchain_community.document_loaders import PyPDFLoader

        return [(page.page_content, page.metadata) for page in PyPDFLoader(str(problem_set())).load()]


def load_by_llama_index() -> list[tuple[str, dict[str, Any]]]:
    pytest.importorskip("pypdf")
    pytest.importorskip("llama_index.readers.file", exc_type=ImportError)
    from llama_index.core import SimpleDirectoryReader

    pages = SimpleDirectoryReader(input_files=[problem_set()]).load_data()
    return [(page.text, page.metadata) for page in pages]


@pytest.mark.parametrize(
    ("load", "split"), [(load_by_langchain, by_langchain), (load_by_llama_index, by_llama_index)], ids=["LC", "LI"]
)
def test_a_problem_set_by_stock_loaders_is_one_document(
    load: Callable[[], list[tuple[str, dict[str, Any]]]], split: Split
) -> None:
    pages = load()
    assert len(pages) == 10
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # Metadata longer than the chunks.
        chunks = split(pages)
    (source,) = {chunk.metadata["source_id"] for chunk in chunks}
    assert source.endswith("problem_set_4.pdf")
    for one, other in pairwise(chunks):
        assert (one.metadata["next_id"], other.metadata["prev_id"]) == (other.id, one.id)
    assert (chunks[0].metadata["prev_id"], chunks[-1].metadata["next_id"]) == ("", "")
    assert {chunk.metadata["page_start"] for chunk in chunks} | {chunk.metadata["page_end"] for chunk in chunks} == set(
        range(1, 11)
    )
    for chunk in chunks:
        first, last = chunk.metadata["page_start"], chunk.metadata["page_end"]
        start, end = chunk.metadata["page_char_start"], chunk.metadata["page_char_end"]
        texts = [text for text, _ in pages]
        if first == last:
            assert texts[first - 1][start:end] == chunk.text
        else:
            assert chunk.text.startswith(texts[first - 1][start:].rstrip())
            assert chunk.text.endswith(texts[last - 1][:end])
        assert chunk.metadata["page_label"] == str(first)


def test_a_metadata_key_gives_langchain_documents_their_ids() -> None:
    splitter = langchain.text_splitter("sentence", chunk_size=8, chunk_overlap=0, id_key="source")
    before, after = (
        splitter.split_documents([Document(page_content=text, metadata={"source": "birds.md"})])
        for text in ("An owl hunts at night. A lark sings.", "An owl hunts at night. A lark sings at dawn.")
    )
    assert [chunk.id for chunk in before] == [chunk.id for chunk in after]
    assert {chunk.metadata["source_id"] for chunk in before} == {"birds.md"}
    (own,) = splitter.split_documents([Document(id="own", page_content="Owls.", metadata={"source": "a.md"})])
    assert own.metadata["source_id"] == "own"
    (again,) = splitter.split_documents([own])
    assert again.metadata["source_id"] == "own"
    for metadata in ({}, {"source": ""}):
        with pytest.raises(InvalidParameterError, match="id_key: must be a metadata key of every document"):
            splitter.split_documents([Document(page_content="Owls.", metadata=metadata)])


def test_a_metadata_key_tells_files_of_the_same_path_apart() -> None:
    """As a service does that saves each upload under its name."""
    splitter = langchain.text_splitter("sentence", chunk_size=8, chunk_overlap=0, id_key="upload")
    first, second = (
        splitter.split_documents(
            Document(page_content=text, metadata={"source": "birds.pdf", "page": number, "upload": upload})
            for number, text in enumerate(("An owl hunts at night.", "A lark sings."))
        )
        for upload in (1, 2)
    )
    assert {chunk.metadata["source_id"] for chunk in first} == {"1"}
    assert {chunk.metadata["page_end"] for chunk in second} == {1, 2}
    assert not {chunk.id for chunk in first} & {chunk.id for chunk in second}
