"""Headings of filings and numbered sections in plain text."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kinsplit.loaders.markup.headings import plain_headings

BODY = "The registrant states at length what this part of the form asks for. " * 5
ITEMS = [("1", "Business"), ("1A", "Risk Factors"), ("2", "Properties"), ("5", "Market"), ("7", "Discussion")]
CONTENTS = "PART I\n" + "".join(f"Item {number}. {title} {page}\n" for page, (number, title) in enumerate(ITEMS, 4))


def filing(heading: str = "ITEM {number}. {title}\n") -> str:
    sections = [
        ("PART II\n\n" if number == "5" else "") + heading.format(number=number, title=title) + f"\n{BODY}\n\n"
        for number, title in ITEMS
    ]
    return f"{CONTENTS}\n{BODY}\n\nPART I\n\n{''.join(sections)}"


@pytest.mark.parametrize(
    "heading",
    [
        "ITEM {number}. {title}\n",
        "Item {number}. | {title} |\n",
        "Item {number}.\n{title}\n",
        "13\fITEM {number} - {title}\n",
    ],
)
def test_the_items_of_a_filing_are_found_and_its_contents_are_not(heading: str) -> None:
    text = filing(heading)
    found = plain_headings(text)

    assert [one.title.upper() for one in found if one.level == 2] == [
        f"ITEM {number}. {title}".upper() for number, title in ITEMS
    ]
    assert [one.title for one in found if one.level == 1] == ["PART I", "PART II"]
    assert all(one.start > len(CONTENTS) for one in found)
    assert [text[one.start : one.start + 4].upper() for one in found if one.level == 2] == ["ITEM"] * len(ITEMS)


def test_references_to_items_are_no_headings() -> None:
    text = filing().replace("7. Discussion\n\n", "7. Discussion\n\nItem 1A, Risk Factors, and\nITEM 2. see above\n")

    assert len(plain_headings(text)) == len(ITEMS) + 2


def test_numbered_sections_nest_by_their_numbers() -> None:
    text = (
        "1 Introduction 1\n2 Method 2\n2.1 Data 2\n2.2 Model 3\n3 Results 5\n\n"
        f"1 Introduction\n\n{BODY}\n\n2 Method\n\n2.1 Data\n{BODY}\n\n2.2 Model\n{BODY}\n\n3 Results\n\n{BODY}"
    )

    assert [(one.level, one.title) for one in plain_headings(text)] == [
        (1, "1 Introduction"),
        (1, "2 Method"),
        (2, "2.1 Data"),
        (2, "2.2 Model"),
        (1, "3 Results"),
    ]


def test_a_skipped_number_is_no_heading() -> None:
    text = f"1. Scope\n\n{BODY}\n\n1.2 Terms\n\n{BODY}\n\n2. Method\n\n{BODY}\n\n3. Results\n\n{BODY}"

    assert [one.title for one in plain_headings(text)] == ["1. Scope", "2. Method", "3. Results"]


@pytest.mark.parametrize(
    "text",
    [
        "1. Wash the rice.\n\n2. Boil it\n\n3. Eat it\n\n4. Wash up\n",
        f"Item 7 of the agenda.\n\n{BODY}",
        "2024 Revenues\n\n2023 Revenues\n\n1.1 Million\n",
        "".join(f"{n} Bottles\n\n" for n in range(99, 0, -1)),
    ],
)
def test_other_texts_have_no_headings(text: str) -> None:
    assert plain_headings(text) == ()


PIECES = ["PART I\n", "ITEM 1.", "Item 1A. ", "2.1 A\n", "\n", " x", "9\f", "|", "\r", "B"]


@given(st.lists(st.sampled_from(PIECES), max_size=60))
def test_headings_ascend_within_any_text(pieces: list[str]) -> None:
    text = "".join(pieces)
    found = plain_headings(text)

    assert all(one.start < one.end <= len(text) and one.title for one in found)
    assert all(one.end <= after.start for one, after in pairwise(found))
