"""Headings, what looks like one, and paragraphs."""

from __future__ import annotations

import pytest
from hypothesis import given

from kinsplit.parsers import create
from kinsplit.parsers.rules import outline
from tests.generators import texts


def headings_of(text: str) -> list[str]:
    found = outline(text, "en")
    starts = found.sentences.starts.tolist()
    return [text[starts[number] :].split("\n")[0] for number in found.headings]


def paragraphs_of(text: str) -> list[str]:
    found = outline(text, "en")
    starts = found.sentences.starts.tolist()
    return [text[starts[number] :].split()[0] for number in found.paragraphs]


BODY = "\n\nThis is a paragraph. It has two sentences.\n\n"


@pytest.mark.parametrize(
    "line",
    [
        "# Heading",
        "== Wiki ==",
        "Setext\n------",
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
def test_what_is_a_heading_or_looks_like_one(line: str) -> None:
    assert headings_of(BODY + line + BODY) == [line.split("\n")[0]]


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
    assert headings_of(BODY + line + BODY) == []


def test_the_first_of_several_headings_begins_the_section() -> None:
    assert headings_of(f"Title\n\n# Part\n\n## Deeper{BODY}Last words") == ["Title"]


def test_lines_that_are_not_wrapped_are_paragraphs() -> None:
    long = "words " * 50 + "end."
    text = f"First {long}\nSecond {long}\nNext\nThird {long}"
    assert paragraphs_of(text) == ["First", "Second", "Next", "Third"]
    assert headings_of(text) == ["Next"]
    wrapped = "First words of a text\nthat is wrapped. Second\nsentence is here."
    assert paragraphs_of(wrapped) == ["First"]


def test_short_paragraphs_are_merged_but_not_across_headings() -> None:
    paragraph = "It is one. It is two.\n\n"
    text = f"Cats\n\n{paragraph * 4}Dogs\n\n{paragraph * 2}"
    spans = create("contextual", model="none", chunk_size=40).split(text)
    chunks = [text[start:end] for start, end in spans]
    # Ten words are enough, and the rest of a section joins what came before.
    assert [len(chunk.split()) for chunk in chunks] == [13, 12, 13]
    assert [chunk.split()[0] for chunk in chunks] == ["Cats", "It", "Dogs"]


@given(text=texts())
def test_sentences_paragraphs_and_headings_are_in_order(text: str) -> None:
    found = outline(text, "auto")
    total = len(found.sentences.starts)
    assert found.paragraphs == sorted(set(found.paragraphs))
    assert found.headings == sorted(set(found.headings))
    assert set(found.headings) <= set(found.paragraphs) <= set(range(total))
    assert bool(total) == bool(found.paragraphs) == bool(text.strip())
    covered = "".join(text[s:e] for s, e in zip(found.sentences.starts, found.sentences.ends, strict=True))
    assert "".join(covered.split()) == "".join(text.split())
