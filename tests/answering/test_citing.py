"""Markers in a text, however it is cut into pieces."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kinsplit.answering.attempt import Marker, MarkerReader


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
        ("it`s open [1]\n- and here [2]", ["it`s open ", (1,), "\n- and here ", (2,)]),
        ("``so'' it is [1], `a`b[2]` too", ["``so'' it is ", (1,), ", `a`b", (2,), "` too"]),
        ("`a``b[1]`` [2]` [3]", ["`a``b[1]`` [2]` ", (3,)]),
        ("`" + "x" * 301 + "[1]`", ["`" + "x" * 301, (1,), "`"]),
        ("x[1] ``` y[2]", ["x", (1,), " ``` y[2]"]),
        ("````\nx[1]\n```\nx[2]\n~~~~\n`````\n[3]", ["````\nx[1]\n```\nx[2]\n~~~~\n`````\n", (3,)]),
        ("[[1]] ([2]) [[3], [4]]", ["[", (1,), "] (", (2,), ") [", (3,), ", ", (4,), "]"]),
        ("[1\u30012] [1\uff0c2] \uff3b3\uff3d [\u0663]", [(1, 2), " ", (1, 2), " ", (3,), " ", (3,)]),
        ("[1\u20113] [1\u20143]", [(1, 2, 3), " ", (1, 2, 3)]),
        ("[" + ", ".join(["passages  ^123"] * 10) + "]", [(123,)]),
        ("[1]\n\0", [(1,), "\n\0"]),
        ("", []),
    ],
)
def test_markers_are_separated_from_text_however_it_is_cut(text: str, parts: list[object]) -> None:
    assert read(text) == parts
    assert read(*text) == parts
    for cut in range(len(text)):
        assert read(text[:cut], text[cut:]) == parts


_PARTS = [*"[]12, -`~\na\0", "```", "~~~", "[1]", "`x`", "\u3010", "\u3011", "passage", "\u3001", "x" * 300]
_TEXTS = st.lists(st.sampled_from(_PARTS), max_size=15).map("".join)


@given(_TEXTS, st.lists(st.integers(0, 60), max_size=5))
def test_any_text_is_the_same_in_one_piece_and_in_many(text: str, cuts: list[int]) -> None:
    assert read(*(text[a:b] for a, b in pairwise([0, *sorted(cuts), len(text)]))) == read(text) == read(*text)


@given(_TEXTS)
def test_nothing_of_a_text_is_lost(text: str) -> None:
    reader = MarkerReader()
    parts = [*(part for piece in text for part in reader.feed(piece)), *reader.finish()]
    assert "".join(part.text if isinstance(part, Marker) else part for part in parts) == text
    assert all(part for part in parts)


@pytest.mark.parametrize("piece", ["[1 ", "`x", "1, ", "\n", "`a[1]` "])
def test_what_goes_on_for_ever_is_passed_on_nevertheless(piece: str) -> None:
    reader, length = MarkerReader(), 0
    for _ in range(2000):
        length += sum(len(part.text if isinstance(part, Marker) else part) for part in reader.feed(piece))
    assert length > 2000 * len(piece) - 1000


def test_what_can_not_become_a_marker_is_not_held_back() -> None:
    reader = MarkerReader()
    assert list(reader.feed("A heap [")) == ["A heap "]
    assert list(reader.feed("see below]")) == ["[see below]"]
    assert list(reader.feed(" and [1")) == [" and "]
    assert list(reader.feed("]")) == [Marker("[1]", (1,))]
