"""Files as they occur; skipped where the shared data is absent."""

from __future__ import annotations

import json
import re

import pytest

from kinsplit.loaders import load

from .helpers import by_id, load_one, shared


def test_a_real_course_loads_whole():
    course = shared("course_mit_6.0001")

    results = list(load(course))
    documents = {document.id: document for loaded in results for document in loaded.documents}

    assert not any(loaded.error for loaded in results)
    (skipped,) = [loaded for loaded in results if any("skipped" in warning for warning in loaded.warnings)]
    assert skipped.path.name == "data__course.json"
    slides = documents["course_mit_6.0001/lectures/lecture_1.pdf"]
    assert len(slides.pages) == 35
    assert slides.metadata["sibling_files"] == ["course_mit_6.0001/lectures/lecture_1_code.py"]
    assert documents["course_mit_6.0001/lectures/lecture_1_code.py"].metadata["group_id"] == "lecture_1"
    assert documents["course_mit_6.0001/pages_md/syllabus.md"].metadata["title"] == "Syllabus"
    start = slides.text.index("WHAT DOES A COMPUTER DO")
    assert slides.page_range(start, start + 23) == (9, 9)
    assert not any(mark in document.text for document in documents.values() for mark in "\0\r\ufffe\x02")


def test_odd_text_files_follow_the_rules():
    folder = shared("robustness", "text_odd")

    results = {loaded.path.name: loaded for loaded in load(folder)}
    texts = {name: loaded.documents[0].text for name, loaded in results.items()}

    assert not any(loaded.error for loaded in results.values())
    for kind in ("utf-16", "utf-16-le", "utf-16-be", "utf-32"):
        assert texts[f"fake-text-{kind}.txt"].startswith("This is a test document to use for unit tests.")
    assert texts["umlauts-non-utf8.md"] == texts["umlauts-utf8.md"]
    assert [name for name, loaded in results.items() if "holds no text" in loaded.warnings] == [
        "empty.txt",
        "fake-text-all-whitespace.txt",
    ]
    for name in ("UDHR_first_article_all.txt", "book-war-and-peace-1225p.txt", "norwich-city.txt"):
        assert texts[name] == (folder / name).read_bytes().decode()


def test_a_long_filing_as_pdf_keeps_its_compound_words():
    (document,) = load_one(shared("tesla_10k", "fy2024", "tsla-20241231-gen.pdf")).documents

    assert len(document.pages) == 144
    assert {"lithium-ion", "top-ranked", "cyber-attacks", "15d-15", "Weighted-Average"} <= set(
        re.findall(r"[\w-]+", document.text)
    )
    assert document.pages == tuple(sorted(document.pages))
    assert all(document.text[start - 1] == "\n" for start in document.pages[1:])
    assert document.text.count("Table of Contents") < 5  # it heads 27 pages
    assert sum(f"\n{number}\n\n" in document.text for number in range(2, 140)) < 10  # page numbers


def test_slides_lose_their_footers_and_lists_their_titles():
    (document,) = load_one(shared("course_mit_6.0001", "lectures", "lecture_3.pdf")).documents

    assert document.text.count("6.0001 LECTURE") < 3  # of 21; on the first and the last page it stands elsewhere
    assert "LAST TIME\n\n▪ strings\n\n▪ branching" in document.text


def test_a_long_filing_as_html_loses_no_words():
    (document,) = load_one(shared("tesla_10k", "seed", "tesla_10K.html")).documents
    reference = shared("tesla_10k", "seed", "tesla_10k_2024.txt").read_text()

    words = set(re.findall(r"[a-z]{4,}", document.text.lower()))
    # The reference glues some neighbouring words together, so a few of its "words" are none.
    missing = [word for word in set(re.findall(r"\b[a-z]{4,12}\b", reference)) if word not in words]
    assert len(missing) < 20
    assert "| Total revenues | 204,242 | 116,744 | 111,943 |" in document.text
    assert document.metadata["title"] == "Form 10-K"


@pytest.mark.parametrize("name", ["alice/docs.jsonl", "legalbench_rag/privacy_qa/docs.jsonl", "xquad/th/docs.jsonl"])
def test_rows_of_labelled_sets_keep_every_code_point(name):
    path = shared(*name.split("/"))
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line]

    assert [(document.id, document.text) for document in load_one(path).documents] == [
        (row["docid"], row["text"]) for row in rows
    ]


def test_languages_with_equal_ids_are_not_mixed():
    results = list(load([shared("xquad", language) for language in ("de", "zh")]))

    assert [loaded.path.parent.name for loaded in results if loaded.documents] == ["de"]
    assert any("is also in" in str(loaded.error) for loaded in results)


def test_one_language_loads_by_id():
    assert len(by_id(shared("xquad", "hi", "docs.jsonl"))) == 48
