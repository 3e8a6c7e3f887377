"""A normalised text, and the way between it and its source."""

from __future__ import annotations

import unicodedata
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kinsplit.chunk import Span
from kinsplit.evaluation.normalised import SC_QRELS, Step, dashes, nfc, nfkc, normalise, quotes, spaces, strip
from tests.generators import texts
from tests.shared_data import shared_rows

STEPS: tuple[tuple[Step, ...], ...] = ((quotes,), (dashes,), (spaces,), (strip,), (nfc,), (nfkc,), SC_QRELS)


def test_spans_of_the_normalised_text_are_found_in_the_source() -> None:
    source = "  \u201cOh\u201d \u2014 said\r\n\tAlice\u2019s  cat.\n"
    made = normalise(source)
    assert made.text == '"Oh" - said Alice\'s cat.'
    at = made.text.index("said Alice's")
    span = made.to_source(Span(at, at + len("said Alice's")))
    assert source[span.start : span.end] == "said\r\n\tAlice\u2019s"
    assert made.from_source(span) == (at, at + len("said Alice's"))


def test_nothing_is_left_of_white_space_at_the_edge() -> None:
    made = normalise("  a  ")
    assert made.from_source(Span(0, 2)) is None
    assert made.from_source(Span(1, 4)) == (0, 1)
    assert normalise(" \n").text == ""
    assert normalise(" \n").from_source(Span(0, 2)) is None


def test_composed_characters_stand_for_all_their_parts() -> None:
    source = "cafe\u0301 \ufb01n"
    assert normalise(source, (nfc,)).to_source(Span(3, 4)) == (3, 5)
    made = normalise(source, (nfkc, quotes))
    assert made.text == "caf\u00e9 fin"
    assert made.to_source(Span(5, 6)) == made.to_source(Span(6, 7)) == (6, 7)
    assert made.from_source(Span(6, 7)) == (5, 7)


def test_every_occurrence_is_found() -> None:
    made = normalise("One  two. One\ntwo.", (spaces,))
    assert list(made.find("One two.")) == [(0, 9), (10, 18)]
    assert list(made.find("three")) == []
    assert list(made.find("")) == []


@pytest.mark.parametrize("steps", STEPS, ids=lambda steps: "+".join(step.__name__ for step in steps))
@given(text=texts(), data=st.data())
def test_there_and_back_covers_the_same_text(steps: tuple[Step, ...], text: str, data: st.DataObject) -> None:
    made = normalise(text, steps)
    assert len(made.text) == len(made.starts) == len(made.ends)
    assert all(0 <= start < end <= len(text) for start, end in zip(made.starts, made.ends, strict=True))
    assert all(a <= b for a, b in pairwise(made.starts))
    assert all(a <= b for a, b in pairwise(made.ends))
    if made.text:
        start = data.draw(st.integers(0, len(made.text) - 1))
        span = Span(start, data.draw(st.integers(start + 1, len(made.text))))
        there = made.to_source(span)
        back = made.from_source(there)
        assert back is not None
        assert back.start <= span.start
        assert back.end >= span.end
        # Once a span holds whole units of the source, the way is exact.
        assert made.to_source(back) == there
        assert made.from_source(there) == back


@given(text=texts())
def test_the_steps_do_what_python_does(text: str) -> None:
    plain = text.translate(str.maketrans("\u2018\u2019\u201c\u201d\u2013\u2014", "''\"\"--"))
    assert normalise(text).text == " ".join(plain.split())
    for step, form in ((nfc, "NFC"), (nfkc, "NFKC")):
        assert normalise(text, (step,)).text == unicodedata.normalize(form, text)


@given(text=texts())
def test_normalising_twice_changes_nothing(text: str) -> None:
    once = normalise(text).text
    again = normalise(once)
    assert again.text == once
    assert again.starts.tolist() == list(range(len(once)))


def test_alice_as_labelled_is_alice_as_printed() -> None:
    printed = {row["docid"]: normalise(row["text"]) for row in shared_rows("alice/docs_raw.jsonl")}
    assert {key: made.text for key, made in printed.items()} == {
        row["docid"]: row["text"] for row in shared_rows("alice/docs.jsonl")
    }
    rows = zip(shared_rows("alice/queries.jsonl"), shared_rows("alice/queries_raw.jsonl"), strict=True)
    number = 0
    for labelled, wanted in rows:
        made = printed[labelled["docid"]]
        for ours, theirs in zip(labelled["spans"], wanted["spans"], strict=True):
            assert made.to_source(Span(*ours)) == tuple(theirs)
            assert made.from_source(Span(*theirs)) == tuple(ours)
            number += 1
    assert number == 376
