"""Grapheme clusters and words."""

from __future__ import annotations

from unittest import mock

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from kinsplit.parsers.units import sentences
from kinsplit.parsers.units.sentences import clauses, runs, words
from kinsplit.text.graphemes import grapheme_floor
from tests.generators import texts

#: Letters of flags, and characters that hold on to what stands before or behind them.
_LETTERS = "🇩🇪🇫aक्ि한\u0301\u200d\u0600👩👍🏽\r\n "
_ROWS = st.one_of(st.sampled_from(_LETTERS), st.text("🇩🇪🇫", max_size=9), st.text("👍🏽\u200d\u0301", max_size=9))


@given(st.lists(_ROWS, max_size=20).map("".join))
def test_a_grapheme_floor_is_the_last_boundary_that_regex_finds(text: str) -> None:
    boundaries = [0, *(match.end() for match in regex.finditer(r"\X", text))]
    for at in range(len(text) + 1):
        assert grapheme_floor(text, at, 0) == max(boundary for boundary in boundaries if boundary <= at)


@given(texts(), st.integers(1, 9))
def test_words_are_the_same_whatever_the_pieces_in_which_they_are_found(text: str, size: int) -> None:
    for find in (runs, words):
        whole = find(text)
        with mock.patch.object(sentences, "_SEGMENT_PIECE", size):
            pieces = find(text)
        assert [offsets.tolist() for offsets in pieces] == [offsets.tolist() for offsets in whole]
    assert [text[start:end] for start, end in zip(*runs(text), strict=True)] == text.split()


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("ภาษาไทย ไม่เว้นวรรค", ["ภาษาไทย", "ไม่เว้นวรรค"]),
        ("中文没有空格，只有逗号、句号。", ["中文没有空格，", "只有逗号、", "句号。"]),
        ("Words have spaces, clauses have commas. ไทย", []),
        ("", []),
    ],
)
def test_clauses_are_those_of_scripts_without_spaces_between_words(text: str, found: list[str]) -> None:
    assert [text[start:end] for start, end in zip(*clauses(text), strict=True)] == found
