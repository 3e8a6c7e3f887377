"""Positions of parts of a source in its document, and the files related to a passage."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kinsplit import Index
from kinsplit.answering import ask
from kinsplit.answering.values import Citation
from kinsplit.chunk import Document, pages_of
from kinsplit.spans import Span
from tests.answering.helpers import Scripted, source


def test_a_place_in_the_text_is_one_in_the_document() -> None:
    one = source(1, "A heap is a tree.", start=100)
    assert one.locate(2, 6) == Span(102, 106)
    assert one.locate(0, 17) == Span(100, 117)


@pytest.mark.parametrize(
    ("part", "place"),
    [("first", Span(10, 15)), ("second", Span(50, 56)), ("irst\n\nsec", Span(11, 53)), ("\n\n", Span(10, 56))],
)
def test_a_place_in_slices_that_lie_apart_is_in_the_slice_touched(part: str, place: Span) -> None:
    apart = replace(source(1, "first\n\nsecond"), spans=(Span(10, 15), Span(50, 56)))
    at = apart.text.index(part)
    assert apart.locate(at, at + len(part)) == place


def test_the_chunk_of_a_place_is_the_one_that_holds_it() -> None:
    one, other = source(1, "A heap.", start=0), source(2, "A tree.", start=8)
    both = replace(one, chunks=(one.best, other.best), spans=(Span(0, 15),), text="A heap. A tree.")
    assert both.chunk_at(Span(10, 14)) is other.best
    assert both.chunk_at(Span(5, 10)) is one.best


def test_the_pages_of_a_citation_are_those_of_the_chunk_where_it_is_narrower() -> None:
    one = source(1, "A heap.", start=0)
    chunk = replace(one.best, metadata={"page_start": 4, "page_end": 4})
    paged = replace(one, best=chunk, chunks=(chunk,), pages=(3, 5))

    assert pages_of(one.best) is None
    assert Citation(1, Span(0, 3), paged, Span(0, 7), chunk).pages == (3, 5)
    assert Citation(1, Span(0, 3), paged, Span(2, 6), chunk).pages == (4, 4)
    assert Citation(9, Span(0, 3), None, None, None).pages is None


def test_files_beside_a_document_that_is_not_chunked_are_sources_of_their_own() -> None:
    texts = {"lecture_01.md": "Heaps are trees, says the lecture.", "lecture_01_code.py": "heap = [1, 2, 3]"}
    documents = [
        Document(name, text, {"sibling_files": [other for other in texts if other != name]})
        for name, text in texts.items()
    ]
    model = Scripted(["Heaps are trees, says the lecture [1]."])
    with Index("memory:", embedder="hash") as index:
        index.add(documents)
        found = ask(index, "What are heaps, says the lecture?", model, top_k=1)

    assert [(each.number, each.source_id) for each in found.sources] == list(enumerate(texts, 1))
    assert texts["lecture_01_code.py"] in model.prompts[0]
    assert found.verdict == "supported"
