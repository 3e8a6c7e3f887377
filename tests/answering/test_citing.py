"""Markers found in a text, however it is cut."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kinsplit.answering.citing import Marker, MarkerReader


def read(*pieces: str) -> list[str | tuple[int, ...]]:
    """Return texts, joined where no marker stands between them, and the numbers of markers."""
    reader, found = MarkerReader(), []
    for part in [*(part for piece in pieces for part in reader.feed(piece)), *reader.finish()]:
        if isinstance(part, Marker):
            found.append(part.numbers)
        elif found and isinstance(found[-1], str):
            found[-1] += part
        else:
            found.append(part)
    return found


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("A heap is a tree [2].", ["A heap is a tree ", (2,), "."]),
        ("So it is [1][3]", ["So it is ", (1,), (3,)]),
        ("So it is [1, 3]; or [2;1] or [ 4 ]", ["So it is ", (1, 3), "; or ", (2, 1), " or ", (4,)]),
        ("[1-3] and [2–4]", [(1, 2, 3), " and ", (2, 3, 4)]),
        ("[3-1] and [1-999]", [(3, 1), " and ", (1, 999)]),
        ("[1, 1]", [(1,)]),
        ("[Passage 2] [source 1] [^3] 【4】", [(2,), " ", (1,), " ", (3,), " ", (4,)]),
        ("[0] and [99]", [(0,), " and ", (99,)]),
        ("[] [a] [1a] [1234] [1.5] [-1] [1", ["[] [a] [1a] [1234] [1.5] [-1] [1"]),
        ("[a link](x) and [x] done", ["[a link](x) and [x] done"]),
        ("`squares[2]` holds [2]", ["`squares[2]` holds ", (2,)]),
        ("``a`[1]`` [2]", ["``a`[1]`` ", (2,)]),
        ("```python\nx[1]\n\n`y[2]\n```\nso [3]", ["```python\nx[1]\n\n`y[2]\n```\nso ", (3,)]),
        ("~~~\nx[1]\n~~~\n~5 [3]", ["~~~\nx[1]\n~~~\n~5 ", (3,)]),
        ("it`s open [1]\n\nand here [2]", ["it`s open [1]\n\nand here ", (2,)]),
        ("", []),
    ],
)
def test_markers_are_told_from_text_however_it_is_cut(text: str, parts: list[object]) -> None:
    assert read(text) == parts
    assert read(*text) == parts
    for cut in range(len(text)):
        assert read(text[:cut], text[cut:]) == parts


@given(st.text(alphabet="[]12, -`~\na【】", max_size=40), st.lists(st.integers(0, 40), max_size=5))
def test_any_text_is_the_same_in_one_piece_and_in_many(text: str, cuts: list[int]) -> None:
    places = [0, *sorted(cuts), len(text)]
    assert read(*(text[a:b] for a, b in pairwise(places))) == read(text)


@given(st.text(alphabet="[]12, -`~\na【】", max_size=40))
def test_nothing_of_a_text_is_lost(text: str) -> None:
    reader = MarkerReader()
    parts = [*(part for piece in text for part in reader.feed(piece)), *reader.finish()]
    assert "".join(part.text if isinstance(part, Marker) else part for part in parts) == text


def test_what_can_not_become_a_marker_is_not_held_back() -> None:
    reader = MarkerReader()
    assert list(reader.feed("A heap [")) == ["A heap "]
    assert list(reader.feed("see below]")) == ["[see below]"]
    assert list(reader.feed(" and [1")) == [" and "]
    assert list(reader.feed("]")) == [Marker("[1]", (1,))]
