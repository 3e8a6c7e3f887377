"""Documents as the most used loaders of both frameworks return them."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from langchain_core.documents import Document
from llama_index.core import SimpleDirectoryReader
from llama_index.core.schema import Document as LlamaDocument

from kinsplit.details import whole
from kinsplit.errors import InvalidParameterError
from kinsplit.integrations import langchain, llama_index


class Made(NamedTuple):
    """A chunk of either framework."""

    text: str
    metadata: dict[str, Any]


def by_langchain(documents: Sequence[tuple[str, dict[str, Any]]], **options: Any) -> list[Made]:
    splitter = langchain.text_splitter("structure", unit="word", chunk_size=9, **options)
    found = splitter.split_documents(Document(id="own", page_content=text, metadata=own) for text, own in documents)
    return [Made(each.page_content, each.metadata) for each in found]


def by_llama_index(documents: Sequence[tuple[str, dict[str, Any]]], **options: Any) -> list[Made]:
    parser = llama_index.node_parser("structure", unit="word", chunk_size=9, **options)
    found = parser([LlamaDocument(id_="own", text=text, metadata=own) for text, own in documents])
    return [Made(each.get_content(), each.metadata) for each in found]


Split = Callable[..., list[Made]]
both = pytest.mark.parametrize("split", [by_langchain, by_llama_index])


@both
def test_headings_of_markdown_pages_reach_the_next_page(split: Split) -> None:
    """As LlamaParse and pymupdf4llm return them."""
    pages = [
        "# Birds\n\n## Owls\n\nOwls hunt at night.",
        "They see well in the dark.\n\n## Larks\n\nLarks sing at dawn.",
    ]
    found = split([(text, {"page_number": n, "file_name": "a.pdf"}) for n, text in enumerate(pages, 1)])
    by_text = {made.text: made.metadata for made in found}
    assert by_text["They see well in the dark."]["context"] == "Birds > Owls"
    assert next(own for text, own in by_text.items() if "dawn" in text)["page_start"] == 2
    assert {made.metadata["source_id"] for made in found} == {"a.pdf"}


ELEMENTS = [
    ("Birds", "Title", {"category_depth": 0, "page_number": 1}),
    ("Owls", "Title", {"category_depth": 1, "page_number": 1}),
    ("Owls hunt at night.", "NarrativeText", {"page_number": 1}),
    ("snowy owl", "ListItem", {"page_number": 1}),
    ("barn owl", "ListItem", {"page_number": 2}),
    ("Larks", "Title", {"category_depth": 1, "page_number": 2}),
    ("Larks sing at dawn, high above the fields.", "NarrativeText", {"page_number": 2}),
]


def elements() -> list[tuple[str, dict[str, Any]]]:
    return [
        (text, {"source": "a.pdf", "filetype": "application/pdf", "element_id": f"e{n}", "category": category, **own})
        for n, (text, category, own) in enumerate(ELEMENTS)
    ]


@both
def test_elements_of_unstructured_are_one_document_with_headings(split: Split) -> None:
    found = split(elements())
    assert {made.metadata["source_id"] for made in found} == {"a.pdf#e0"}
    *_, last = found
    assert "Larks sing at dawn" in last.text
    assert whole(last.metadata)["beside"] if "# Larks" not in last.text else last.metadata["context"] == "Birds"
    assert (last.metadata["page_start"], last.metadata["page_end"]) == (2, 2)
    assert (found[0].metadata["page_start"], found[0].text.startswith("# Birds")) == (1, True)
    assert all(made.metadata["source"] == "a.pdf" for made in found)
    assert not any(key in made.metadata for made in found for key in ("element_id", "category", "joined_pages"))
    for one, other in itertools.pairwise(found):
        assert one.metadata["next_id"]
        assert other.metadata["prev_id"]
    # Without joining, or alone, or already chunked, elements stay what they are.
    alone = split(elements()[2:3])
    assert [made.metadata["source_id"] for made in alone] == ["own"]
    assert alone[0].metadata["element_id"] == "e2"


def test_elements_stay_apart_without_joining() -> None:
    documents = [Document(id=str(n), page_content=text, metadata=own) for n, (text, own) in enumerate(elements())]
    found = langchain.text_splitter("structure", join_pages=False).split_documents(documents)
    assert {chunk.metadata["source_id"] for chunk in found} == set("0123456")
    chunks = [Document(id=d.id, page_content=d.page_content, metadata={**d.metadata, "category": "CompositeElement"})
              for d in documents]  # fmt: skip
    found = langchain.text_splitter("structure").split_documents(chunks)
    assert {chunk.metadata["source_id"] for chunk in found} == set("0123456")


@pytest.fixture
def exported() -> str:
    doc = pytest.importorskip("docling_core.types.doc")
    report = doc.DoclingDocument(name="report")
    box = doc.BoundingBox(l=0, t=0, r=1, b=1)
    on = {page: doc.ProvenanceItem(page_no=page, bbox=box, charspan=(0, 1)) for page in (1, 2)}
    for page in (1, 2):
        report.add_page(page, doc.Size(width=1, height=1))
    report.add_title("Birds", prov=on[1])
    report.add_heading("Owls", prov=on[1])
    report.add_text(doc.DocItemLabel.TEXT, "Owls hunt at night, and some of them by day.", prov=on[1])
    cells = [
        doc.TableCell(text=text, start_row_offset_idx=row, end_row_offset_idx=row + 1,
                      start_col_offset_idx=column, end_col_offset_idx=column + 1)
        for row, texts in enumerate((("owl", "prey"), *(("snowy owl", f"lemming {n}") for n in range(6))))
        for column, text in enumerate(texts)
    ]  # fmt: skip
    report.add_table(doc.TableData(table_cells=cells, num_rows=7, num_cols=2), prov=on[2])
    return json.dumps(report.export_to_dict())


@both
@pytest.mark.parametrize("join_pages", [True, False])
def test_headings_tables_and_pages_are_read_from_doclings_json(split: Split, join_pages: bool, exported: str) -> None:
    found = split([(exported, {"course": "birds"})], join_pages=join_pages)
    assert not any("schema_name" in made.text or "self_ref" in made.text for made in found)
    assert {made.metadata["source_id"] for made in found} == {"own"}
    assert {made.metadata["course"] for made in found} == {"birds"}
    rows = [made for made in found if "lemming" in made.text]
    assert len(rows) > 1
    assert {made.metadata["page_start"] for made in rows} == {2}
    assert "prey" in rows[-1].metadata["context"]
    assert "Owls" in rows[-1].metadata["context"]


@both
def test_damaged_json_of_docling_is_an_error(split: Split, exported: str) -> None:
    with pytest.raises(InvalidParameterError, match="documents: must be the whole JSON of a Docling document"):
        split([(exported[:-9], {})])
    other = '{"schema_name": "Mine", "text": "Owls hunt."}'
    assert "".join(made.text for made in split([(other, {})])).count("Owls hunt.") == 1


def _pdf(path: Path) -> None:
    canvas = pytest.importorskip("reportlab.pdfgen.canvas").Canvas(str(path))
    for text in ("An owl hunts at night. The owl and", "the lark are birds. A lark sings."):
        canvas.drawString(72, 720, text)
        canvas.showPage()
    canvas.save()


def test_pages_of_pypdfloader_are_joined_under_the_path(tmp_path: Path) -> None:
    loaders = pytest.importorskip("langchain_community.document_loaders")
    _pdf(tmp_path / "birds.pdf")
    pages = loaders.PyPDFLoader(str(tmp_path / "birds.pdf")).load()
    found = langchain.text_splitter("sentence", chunk_size=9, chunk_overlap=0).split_documents(pages)
    assert {chunk.metadata["source_id"] for chunk in found} == {str(tmp_path / "birds.pdf")}
    assert any((chunk.metadata["page_start"], chunk.metadata["page_end"]) == (1, 2) for chunk in found)


def test_files_of_directoryloader_are_documents_of_their_own(tmp_path: Path) -> None:
    loaders = pytest.importorskip("langchain_community.document_loaders")
    for name in ("a.md", "b.md"):
        (tmp_path / name).write_text("# Birds\n\nOwls hunt at night.")
    documents = loaders.DirectoryLoader(str(tmp_path), glob="*.md", loader_cls=loaders.TextLoader).load()
    split = langchain.text_splitter("structure").split_documents
    first, second = split(documents), split(documents)
    assert [chunk.id for chunk in first] == [chunk.id for chunk in second]
    assert len({chunk.metadata["source_id"] for chunk in first}) == 2


def test_web_pages_keep_their_address_and_stay_the_same() -> None:
    """As WebBaseLoader returns them."""
    own = {"source": "https://example.org/birds", "title": "Birds", "language": "en"}
    split = langchain.text_splitter("sentence").split_documents
    first, second = (split([Document(page_content="Owls hunt at night.", metadata=own)]) for _ in range(2))
    assert [chunk.id for chunk in first] == [chunk.id for chunk in second]
    assert first[0].metadata["source"] == own["source"]


def test_files_of_simpledirectoryreader_keep_their_ids(tmp_path: Path) -> None:
    for name in ("a.md", "b.txt"):
        (tmp_path / name).write_text("# Birds\n\nOwls hunt at night.")
    read = SimpleDirectoryReader(str(tmp_path), filename_as_id=True)
    first, second = (llama_index.node_parser("structure")(read.load_data()) for _ in range(2))
    assert [node.node_id for node in first] == [node.node_id for node in second]
    assert {Path(str(node.ref_doc_id)).name.partition("_part")[0] for node in first} == {"a.md", "b.txt"}
