"""Documents of other libraries: ids, metadata, texts and pages are kept exactly."""

from __future__ import annotations

from typing import Any

import pytest

from kinsplit import Document, InvalidParameterError, create_strategy

TEXT = "  Owls\r\nhunt \ud83e\udd89 at night.\n"


def test_a_langchain_document_gets_the_chunks_that_the_adapter_gives_it() -> None:
    documents = pytest.importorskip("langchain_core.documents")
    from kinsplit.integrations.langchain import text_splitter

    metadata = {"source": "owls.md", "year": 2024}
    for theirs in (
        documents.Document("Owls hunt. " * 9, id="a", metadata=metadata),
        documents.Document("Owls hunt. " * 9, metadata=metadata),
        documents.Document("Owls hunt. " * 9),
    ):
        ours = Document.from_langchain(theirs)
        assert (ours.text, ours.metadata) == (theirs.page_content, theirs.metadata)
        assert ours.metadata is not theirs.metadata
        ids = [chunk.id for chunk in create_strategy("word", chunk_size=4).chunk(ours)]
        assert ids == [found.id for found in text_splitter("word", chunk_size=4).split_documents([theirs])]


def test_a_llama_index_document_or_node_gets_the_chunks_that_the_adapter_gives_it() -> None:
    schema = pytest.importorskip("llama_index.core.schema")
    from kinsplit.integrations.llama_index import node_parser

    for theirs in (
        schema.Document(id_="owls.md", text="Owls hunt. " * 9, metadata={"year": 2024}),
        schema.TextNode(id_="owls.md", text="Owls hunt. " * 9, metadata={"year": 2024}),
    ):
        ours = Document.from_llama_index(theirs)
        assert ours == Document("owls.md", "Owls hunt. " * 9, {"year": 2024})
        ids = [chunk.id for chunk in create_strategy("word", chunk_size=4).chunk(ours)]
        assert ids == [node.node_id for node in node_parser("word", chunk_size=4)([theirs])]


@pytest.fixture
def docling() -> Any:
    """A report of five pages, of which the first two share a list, the third is empty, and the last has no text."""
    doc = pytest.importorskip("docling_core.types.doc")
    report = doc.DoclingDocument(name="report")
    box = doc.BoundingBox(l=0, t=0, r=1, b=1)
    on = {page: doc.ProvenanceItem(page_no=page, bbox=box, charspan=(0, 1)) for page in (1, 2, 4)}
    for page in range(1, 6):
        report.add_page(page, doc.Size(width=1, height=1))
    report.add_heading("Owls & larks", prov=on[1])
    birds = report.add_list_group()
    report.add_list_item("snowy_owl", parent=birds, prov=on[1])
    report.add_list_item("skylark", parent=birds, prov=on[2])
    report.add_text(doc.DocItemLabel.TEXT, "Gulls fish by day.", prov=on[4])
    return report


def test_a_docling_document_becomes_markdown_with_its_pages(docling: Any) -> None:
    document = Document.from_docling(docling)
    assert document.text == "## Owls & larks\n\n- snowy_owl\n\n- skylark\n\nGulls fish by day."
    assert (document.id, document.metadata) == ("report", {"title": "report"})
    pages = [
        document.page_range(document.text.index(word), document.text.index(word) + 1)
        for word in ("Owls", "snowy", "skylark", "Gulls")
    ]
    assert pages == [(1, 1), (1, 1), (2, 2), (4, 4)]
    assert document.pages == (0, 30, 41, 41, 59)
    (first, *_) = create_strategy("structure", unit="word", chunk_size=3).chunk(document)
    assert first.context == "Owls & larks"


def test_the_file_of_a_docling_document_names_it(docling: Any) -> None:
    from docling_core.types.doc.document import DocumentOrigin

    docling.origin = DocumentOrigin(mimetype="application/pdf", binary_hash=1, filename="report.pdf")
    document = Document.from_docling(docling)
    assert document.id == "report.pdf"
    assert document.metadata == {"title": "report", "file_type": "application/pdf", "file_path": "report.pdf"}
    assert Document.from_docling(docling, id="2024/report.pdf").id == "2024/report.pdf"


def test_a_docling_document_without_pages_has_none() -> None:
    doc = pytest.importorskip("docling_core.types.doc")
    letter = doc.DoclingDocument(name="letter")
    letter.add_text(doc.DocItemLabel.TEXT, "Dear owl,")
    assert Document.from_docling(letter) == Document("letter", "Dear owl,", {"title": "letter"})


def test_the_rows_of_a_dataset_become_documents() -> None:
    datasets = pytest.importorskip("datasets")
    rows = datasets.Dataset.from_list([{"id": n, "text": f"Owl {n}.", "year": 2020 + n} for n in range(3)])
    wanted = [Document(str(n), f"Owl {n}.", {"year": 2020 + n}) for n in range(3)]
    assert list(Document.from_dataset(rows)) == wanted
    assert list(Document.from_dataset(rows.to_iterable_dataset())) == wanted
    with pytest.raises(InvalidParameterError, match="Pass one of 'train'"):
        Document.from_dataset(datasets.DatasetDict(train=rows))


def test_rows_without_ids_are_named_by_their_texts() -> None:
    (document,) = Document.from_dataset([{"body": TEXT, "id": 7}], text="body", id=None)
    assert document == Document(Document.from_text(TEXT).id, TEXT, {"id": 7})


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Document.from_langchain("a text"), "document: must be a LangChain document"),
        (lambda: Document.from_llama_index(Document("a", "b")), "document: must be a LlamaIndex document or node"),
        (lambda: Document.from_docling(Document("a", "b")), "document: must be a DoclingDocument"),
        (lambda: list(Document.from_dataset([{"text": "a"}])), "id: must be a column .* Row 0 has: text. Pass id=None"),
        (lambda: list(Document.from_dataset([{"id": 1}])), "text: must be a column .* Row 0 has: id"),
        (lambda: list(Document.from_dataset([{"id": 1, "text": None}])), r"rows\[0\]\['text'\]: must be a text"),
    ],
)
def test_something_else_is_refused_by_name(call: Any, message: str) -> None:
    with pytest.raises(InvalidParameterError, match=message):
        call()
