"""Normalised texts and the maps to their sources."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kinsplit.chunk import Document, Moment, Voice
from kinsplit.errors import InvalidParameterError
from kinsplit.evaluation.datasets.normalised import normalise, normalised_dataset, normalised_document
from kinsplit.evaluation.labels import Dataset, Label, Place, Question
from kinsplit.spans import Part, Span
from tests.generators import texts
from tests.shared_data import shared_rows


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


def test_every_occurrence_is_found() -> None:
    made = normalise("One  two. One\ntwo.")
    assert list(made.find("One two.")) == [(0, 9), (10, 18)]
    assert list(made.find("three")) == []
    assert list(made.find("")) == []


@given(text=texts(), data=st.data())
def test_there_and_back_covers_the_same_text(text: str, data: st.DataObject) -> None:
    made = normalise(text)
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
        # For spans of whole units of the source, the map is exact in both directions.
        assert made.to_source(back) == there
        assert made.from_source(there) == back


@given(text=texts())
def test_the_steps_do_what_python_does(text: str) -> None:
    plain = text.translate(str.maketrans("\u2018\u2019\u201c\u201d\u2013\u2014", "''\"\"--"))
    assert normalise(text).text == " ".join(plain.split())


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


def test_pages_times_voices_and_parts_go_with_a_normalised_document() -> None:
    text = "  One \n\n two.\n\nThree."
    three = text.index("Three")
    document = Document(
        "d",
        text,
        pages=(0, three),
        times=(Moment(0, 0, 1), Moment(three, 1, 2)),
        outline=(Part(three, three + 5, "T"),),
        kind="records",
        voices=(Voice(three, "Ann"),),
    )
    made = normalised_document(document)
    assert made.text == "One two. Three."
    assert [made.text[page:][:3] for page in made.pages] == ["One", "Thr"]
    assert [made.text[moment.at :][:3] for moment in made.times] == ["One", "Thr"]
    assert [made.text[part.start : part.end] for part in made.outline] == ["Three"]
    assert [made.text[voice.at :] for voice in made.voices] == ["Three."]
    assert made.kind == "", "its lines are gone"


def test_labels_of_a_normalised_dataset_hold_the_same_text() -> None:
    document = Document("d", "He said  \u201cno\u201d \u2014\nand left.")
    start = document.text.index("\u201c")
    label = Label((Place("d", Span(start, len(document.text) - 1)), Place("d")))
    made = normalised_dataset(Dataset("n", (document,), (Question("q", "?", (label,)),)))
    said, whole = made.questions[0].labels[0].places
    assert said.span is not None
    assert made.documents[0].text[said.span.start : said.span.end] == '"no" - and left'
    assert whole == Place("d")
    blank = Question("q", "?", (Label((Place("d", Span(7, 9)),)),))
    assert normalised_dataset(Dataset("n", (document,), (blank,))).questions[0].labels[0].places[0].span == Span(7, 8)
    edge = Document("e", " a")
    with pytest.raises(InvalidParameterError, match="must leave something of every label"):
        normalised_dataset(Dataset("n", (edge,), (Question("q", "?", (Label((Place("e", Span(0, 1)),)),)),)))
