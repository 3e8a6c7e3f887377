"""Sentences of an answer, and the sources that each cites."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kinsplit.answering.attempt import Marker, MarkerReader
from kinsplit.answering.checking import claims
from kinsplit.answering.run import Draft
from tests.answering.helpers import source


def read(text: str) -> list[tuple[str, tuple[int, ...]]]:
    """Return the claims of an answer and the sources that they cite."""
    draft, reader = Draft("?", [source(1, "x")]), MarkerReader()
    for part in [*reader.feed(text), *reader.finish()]:
        draft.marker(part) if isinstance(part, Marker) else draft.piece(part)
    assert draft.text == text
    found = claims(draft.text, draft.citations)
    for claim in found:
        shown = text[claim.at.start : claim.at.end]
        for citation in claim.citations:
            shown = shown.replace(text[citation.at.start : citation.at.end], "")
        assert list(filter(str.isalnum, shown)) == list(filter(str.isalnum, claim.text))
    return [(claim.text, tuple(citation.number for citation in claim.citations)) for claim in found]


_PARTS = ["A heap ", "is a tree", ". ", "\n", "[1]", " [2]", "(", ")", "- ", "\0", "。", "堆", "**", "? "]


@given(st.lists(st.sampled_from(_PARTS)).map("".join))
def test_every_citation_behind_a_claim_belongs_to_one(text: str) -> None:
    found = read(f"A heap is a tree. {text}")
    assert sorted(number for _, numbers in found for number in numbers) == sorted(map(int, re.findall(r"\d", text)))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("A heap is a tree [1].", [("A heap is a tree.", (1,))]),
        ("A heap is a tree. [1] It is small. [2]", [("A heap is a tree.", (1,)), ("It is small.", (2,))]),
        ("A heap is a tree [1]. It is small.", [("A heap is a tree.", (1,)), ("It is small.", ())]),
        ("[2] A heap is a tree.", [("A heap is a tree.", (2,))]),
        ("In [1] a heap is a tree [2][3].", [("In a heap is a tree.", (1, 2, 3))]),
        ("- A heap is a tree [1]\n- It has a top [2]", [("A heap is a tree", (1,)), ("It has a top", (2,))]),
        ("1. A heap is a tree [1]\n2) It has a top", [("A heap is a tree", (1,)), ("It has a top", ())]),
        ("# A heap of things\n\nThere are three kinds of it:\n\nWhy is that so?", []),
        ("Yes [1]. No.", [("Yes.", (1,))]),
        ("It is so [1]:\n```\nh = [1, 2]\n```\nThat is all.", [("It is so:", (1,)), ("That is all.", ())]),
        ("A heap is a tree.\n[1]\n\n[1][2]", [("A heap is a tree.", (1, 1, 2))]),
        ("> A heap is a tree\n> [1]", [("A heap is a tree", (1,))]),
        ("A heap is a tree ([1]). It has a top [[2]].", [("A heap is a tree.", (1,)), ("It has a top.", (2,))]),
        ("A heap is a tree ([1], [2]; [3]) of f().", [("A heap is a tree of f().", (1, 2, 3))]),
        ("**Heaps.** A heap is a tree.", [("A heap is a tree.", ())]),
        ("堆是一种树。[1] 循环会重复。", [("堆是一种树。", (1,)), ("循环会重复。", ())]),
        ("ヒープは木である[1]。本当に？ はい。", [("ヒープは木である。", (1,))]),
        ("Куча это дерево. Да, это так.", [("Куча это дерево.", ()), ("Да, это так.", ())]),
        ("هل هذا صحيح الآن؟ الكومة هي شجرة.", [("الكومة هي شجرة.", ())]),
        ("- - - -\n| --- | --- | --- |", []),
        ("[1]", []),
        ("", []),
    ],
)  # fmt: skip
def test_markers_belong_to_the_sentence_that_they_stand_in_or_behind(text: str, expected: list[object]) -> None:
    assert read(text) == expected
