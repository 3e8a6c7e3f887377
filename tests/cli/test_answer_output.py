"""Text printed in pieces on a narrow terminal: words that fit are not broken, and nothing is lost."""

from __future__ import annotations

from io import StringIO
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from kinsplit.cli.output.answer import WrappingWriter

WIDTH = 20


def written(*pieces: str, is_terminal: bool = True) -> str:
    file = StringIO()
    flow = WrappingWriter(Console(file=file, width=WIDTH, force_terminal=is_terminal, color_system=None))
    for piece in pieces:
        flow.write(Text(piece))
    flow.end_word()
    return file.getvalue()


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (
            "A heap is a tree whose smallest item is on top [1].",
            "A heap is a tree\nwhose smallest item\nis on top [1].",
        ),
        ("one\n\n  two three", "one\n\n  two three"),
        ("x" * 25 + " y", "x" * 25 + "\ny"),
        ("so " + "x" * 45, "so\n" + "x" * 40 + "\n" + "x" * 5),
        ("堆是一种树。" * 3, "堆是一种树。堆是一种\n树。堆是一种树。"),
        ("a word of length 20 x", "a word of length 20\nx"),
    ],
)
def test_lines_are_broken_between_words_however_the_text_is_cut(text: str, shown: str) -> None:
    assert written(text) == shown
    assert written(*text) == shown
    assert written(text, is_terminal=False) == text


_TEXTS = st.lists(st.sampled_from(["heap", "x" * 30, " ", "  ", "\n", "[1]", ".", "堆", "🙂"])).map("".join)


@given(_TEXTS, st.lists(st.integers(0, 60), max_size=5))
def test_nothing_is_lost_and_no_line_is_too_long(text: str, cuts: list[int]) -> None:
    found = written(*(text[a:b] for a, b in pairwise([0, *sorted(cuts), len(text)])))
    assert found == written(text)
    assert "".join(found.split()) == "".join(text.split())
    for line in found.split("\n"):
        assert cell_len(line.rstrip()) <= WIDTH or " " not in line.strip()


def test_a_word_is_held_back_no_longer_than_until_its_end() -> None:
    file = StringIO()
    flow = WrappingWriter(Console(file=file, width=WIDTH, force_terminal=True, color_system=None))
    flow.write(Text("A heap is"))
    assert file.getvalue() == "A heap"
    flow.write(Text(" "))
    assert file.getvalue() == "A heap is"
    flow.write(Text("y" * 90))
    assert file.getvalue().count("y") == 80
