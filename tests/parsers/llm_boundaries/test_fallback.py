"""Headings, lines that look like headings, and paragraphs."""

from __future__ import annotations

import pytest
from hypothesis import given

from kinsplit.chunk import Document
from kinsplit.parsers import create
from kinsplit.parsers.llm_boundaries import Outline, outline
from tests.generators import texts


def lines_of(text: str, found: Outline, numbers: list[int]) -> list[str]:
    starts = found.units.units.starts.tolist()
    return [text[starts[number] :].split("\n")[0] for number in numbers]


def headings_of(text: str) -> list[str]:
    found = outline(Document("", text), "en")
    return lines_of(text, found, found.headings)


def titles_of(text: str) -> list[str]:
    found = outline(Document("", text), "en")
    return lines_of(text, found, found.titles)


def paragraphs_of(text: str) -> list[str]:
    found = outline(Document("", text), "en")
    starts = found.units.units.starts.tolist()
    return [text[starts[number] :].split()[0] for number in found.paragraphs]


BODY = "\n\nThis is a paragraph. It has two sentences.\n\n"


@pytest.mark.parametrize("line", ["# Heading", "== Wiki ==", "Setext\n------", "<h2>HTML</h2>"])
def test_what_is_a_heading(line: str) -> None:
    assert headings_of(BODY + line + BODY) == [line.split("\n")[0]]
    assert titles_of(BODY + line + BODY) == []


@pytest.mark.parametrize(
    "line",
    [
        "Background and Motivation",
        "1.2 Results",
        "What is a loop?",
        "Stop!",
        "**Bold title**",
        "Überblick",
        "第二章",
        "CHAPTER II",
    ],
)
def test_what_looks_like_a_heading(line: str) -> None:
    assert titles_of(BODY + line + BODY) == [line]
    assert headings_of(BODY + line + BODY) == []


@pytest.mark.parametrize(
    "line",
    [
        "A short sentence.",
        "It has a list:",
        '"Really?" she asked him',
        "“Really?”",
        "– Never!",
        "and so it goes on",
        "12345",
        "A line that is much longer than any heading would be, since it goes on and on for more than eighty characters",
        "Two lines\nof a poem",
        "他说。",
        "- an item",
    ],
)
def test_what_is_none(line: str) -> None:
    assert headings_of(BODY + line + BODY) == titles_of(BODY + line + BODY) == []


def test_the_first_of_several_headings_begins_the_section() -> None:
    text = f"# Title\n\n# Part\n\nSubtitle{BODY}# Last words"
    assert headings_of(text) == ["# Title"]
    assert paragraphs_of(text) == ["#", "#"], "nothing is cut behind a heading"
    assert headings_of("# Only\n\n## Headings") == []


def test_lines_that_are_not_wrapped_are_paragraphs() -> None:
    long = "words " * 50 + "end."
    text = f"First {long}\nSecond {long}\nNext\nThird {long}"
    assert paragraphs_of(text) == ["First", "Second", "Next"]
    assert titles_of(text) == ["Next"]
    wrapped = "First words of a text\nthat is wrapped. Second\nsentence is here."
    assert paragraphs_of(wrapped) == ["First"]


def chunks_of(text: str, size: int) -> list[str]:
    return [text[start:end] for start, end in create("llm", model="none", chunk_size=size).split(text)]


PARAGRAPH = "It is one. It is two.\n\n"


@pytest.mark.parametrize("mark", ["# ", ""])
def test_short_paragraphs_are_merged_but_not_across_headings(mark: str) -> None:
    text = f"{mark}Cats\n\n{PARAGRAPH * 4}{mark}Dogs\n\n{PARAGRAPH * 2}"
    # Ten words are enough, and the rest of a section joins what came before.
    assert [chunk.strip("# ").split()[0] for chunk in chunks_of(text, 40)] == ["Cats", "It", "Dogs"]
    assert chunks_of(text, 100)[0].strip("# ").startswith("Cats")
    assert len(chunks_of(text, 100)) == (2 if mark else 1), "what only looks like a heading parts no short sections"


def test_the_lines_of_a_formula_are_no_sections() -> None:
    text = f"Let the heads be\n\nW\n\n  Q\n\n  ,\n\nX\n\nK\n\nthen. {PARAGRAPH * 3}"
    assert len(chunks_of(text, 100)) == 1


@given(text=texts())
def test_sentences_paragraphs_and_headings_are_in_order(text: str) -> None:
    found = outline(Document("", text), "auto")
    total = len(found.units.units.starts)
    assert found.paragraphs == sorted(set(found.paragraphs))
    assert found.headings == sorted(set(found.headings))
    assert {*found.headings, *found.titles} <= set(found.paragraphs) <= set(range(total))
    assert bool(total) == bool(found.paragraphs) == bool(text.strip())
    covered = "".join(text[s:e] for s, e in zip(found.units.units.starts, found.units.units.ends, strict=True))
    assert "".join(covered.split()) == "".join(text.split())
