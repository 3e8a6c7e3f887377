"""What stands beside a chunk's text: its fields, its context, and every form in which it is kept."""

from __future__ import annotations

import json
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kinsplit.chunk import Beside, Chunk, Document, Voice
from kinsplit.details import details, whole
from kinsplit.identity import content_hash
from kinsplit.integrations.shared.metadata import arrange
from kinsplit.integrations.shared.origins import TextOrigin
from kinsplit.integrations.shared.records import Item, from_chunk, to_chunk
from kinsplit.parsers import create
from kinsplit.parsers.base import Cut, Levels, Strategy
from kinsplit.retrieval import Candidate, join
from kinsplit.spans import Heading, Span
from kinsplit.stores.payload import from_payload, to_payload
from kinsplit.wire import chunk_row
from tests.loaders.helpers import document_of

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=9)
besides = st.builds(Beside, st.lists(texts, max_size=3).map(tuple), texts, texts, texts, texts, texts)
FULL = Beside(("Prices", "Milk > cheese"), "| a | b |\n|---|---|", "python", "Ann", "one.py\ndef f", "Of milk.")


def chunk_with(beside: Beside) -> Chunk:
    (chunk,) = create("word").chunk(Document("d", "One two."))
    return replace(chunk, beside=beside, content_hash=content_hash(chunk.text, beside.context))


def test_the_context_has_the_headings_first_and_the_header_next_to_the_text() -> None:
    assert FULL.context.split("\n") == [
        *(
            "Prices > Milk > cheese",
            "one.py",
            "def f",
            "Of milk.",
            "Speaker: Ann",
            "Language: python",
            "| a | b |",
            "|---|---|",
        )
    ]
    assert Beside(("A", "B")).context == "A > B"
    assert Beside(header="a,b").context == "a,b"
    assert Beside().context == ""


@given(besides)
def test_every_form_keeps_every_field(beside: Beside) -> None:
    chunk = chunk_with(beside)
    assert from_payload(chunk.id, to_payload(chunk)) == chunk
    assert Beside.of(json.loads(json.dumps(chunk_row(chunk)))) == beside
    assert Beside.of(whole(from_chunk(chunk).metadata)) == beside
    flat = from_chunk(chunk).metadata
    assert {type(value) for value in flat.values()} <= {str, int, float, bool}, "many stores take flat metadata only"


@pytest.mark.parametrize("beside", [FULL, Beside(("A",)), Beside(note="x"), Beside()])
def test_a_chunk_that_went_through_a_framework_is_equal(beside: Beside) -> None:
    chunk = chunk_with(beside)
    item = from_chunk(chunk)
    assert to_chunk(Item(item.id, item.text, item.metadata, item.source_id)).beside == beside
    assert item.metadata.get("context", "") == beside.context
    assert ("beside" in details(item)) == (beside != Beside())


@pytest.mark.parametrize(
    ("stated", "expected"),
    [
        ({"context": "By the sea"}, Beside(note="By the sea")),
        ({"context": "By the sea", "beside": "the sea"}, Beside(note="By the sea")),
        ({"context": 7, "beside": "7"}, Beside()),
        ({"context": "A", "beside": {"headings": ["A", 7], "note": None, "other": "x"}}, Beside(("A",))),
        ({"beside": {"headings": "A", "speaker": ["Ann"]}}, Beside()),
        ({}, Beside()),
    ],
)
def test_values_of_other_types_are_left_out(stated: dict[str, Any], expected: Beside) -> None:
    assert Beside.of(stated) == expected


@given(besides)
def test_the_fields_that_are_empty_are_left_out(beside: Beside) -> None:
    assert beside.to_dict().keys() == {field.name for field in fields(beside) if getattr(beside, field.name)}


@pytest.mark.parametrize(
    ("outer", "inner", "expected"),
    [
        (("A", "B"), (), ("A", "B")),
        ((), ("A", "B"), ("A", "B")),
        (("A", "B"), ("B",), ("A", "B")),
        (("A", "B"), ("B", "C"), ("A", "B", "C")),
        (("A", "B"), ("A", "B"), ("A", "B")),
        (("A",), ("B", "A"), ("A", "B", "A")),
    ],
)
def test_a_chunk_of_a_chunk_repeats_no_heading(
    outer: tuple[str, ...], inner: tuple[str, ...], expected: tuple[str, ...]
) -> None:
    chunk = chunk_with(Beside(inner, language="c"))
    origin = replace(TextOrigin.document("d", chunk.text), beside=Beside(outer, header="a,b", language="sql"))
    ((piece,),) = arrange("word", [origin], [chunk.text], [[chunk]], [()])
    found = Beside.of(piece.metadata)
    assert found == Beside(expected, header="a,b", language="c")
    assert piece.metadata["content_hash"] == content_hash(chunk.text, found.context)


class Rows(Strategy):
    """A strategy that says what stands beside its cuts."""

    headings: tuple[str, ...] | None = None

    def _cut(self, texts: Any) -> list[Levels]:
        found = [Span(at, at + 3) for at in range(0, len(texts[0]) - 2, 4)]
        return [[[Cut((s,), self.headings, header="a,b" * bool(s.start), language="csv") for s in found]]]


def test_cuts_say_the_header_and_the_language_and_may_say_the_headings() -> None:
    document = Document("d", "a,b\n1,2\n3,4", headings=(Heading(0, 0, 0, "Prices"),))
    assert [chunk.beside for chunk in Rows().chunk(document)] == [
        *(Beside(("Prices",), "", "csv"), Beside(("Prices",), "a,b", "csv"), Beside(("Prices",), "a,b", "csv"))
    ]
    assert [chunk.beside.headings for chunk in Rows(headings=("X", "Y")).chunk(document)] == [("X", "Y")] * 3
    assert [chunk.beside.headings for chunk in Rows(headings=()).chunk(document)] == [()] * 3


def test_a_chunk_within_a_turn_has_its_speaker_and_one_that_begins_it_has_not() -> None:
    text = "All are here.\n\nAnn: Hold it. We keep it, yes.\n\nBob: Cut it."
    voices = tuple(Voice(text.index(name), name) for name in ("Ann", "Bob"))
    chunks = create("word", chunk_size=3).chunk(Document("d", text, voices=voices))
    assert [(chunk.text, chunk.beside.speaker) for chunk in chunks] == [
        ("All are here.", ""),
        ("Ann: Hold it.", ""),
        ("We keep it,", "Ann"),
        ("yes.\n\nBob: Cut", "Ann"),
        ("it.", "Bob"),
    ]
    assert chunks[2].context == "Speaker: Ann"


def test_a_passage_has_the_headings_of_its_best_hit_and_continues_what_its_beginning_does() -> None:
    (one, two) = (replace(chunk, metadata={}) for chunk in create("word", chunk_size=2).chunk("a b c d"))
    one = replace(one, beside=Beside(("A",), "a,b", "csv", "Ann", "x"))
    two = replace(two, beside=Beside(("A", "B"), "c,d", "sql", "Bob", "y"))
    hits = [Candidate(two, 1.0), Candidate(one, 0.5)]
    assert join([one, two], hits).beside == Beside(("A", "B"), "a,b", "csv", "Ann", "y")
    assert join([two], hits[:1]).beside == two.beside
    later = join([one, two], hits, parts={one.id: (2, 3)})
    assert (later.text, later.beside) == ("b\n\nc d", Beside(("A", "B"), note="y"))


@pytest.mark.parametrize("name", ["sentence", "structure", "hierarchical", "word", "token", "character"])
def test_every_chunk_of_a_recording_names_who_speaks_its_first_words(name: str, tmp_path: Path) -> None:
    cues = (
        f"00:{second // 60:02}:{second % 60:02}.000 --> 00:{second // 60:02}:{second % 60:02}.900\n"
        f"<v {('Dana', 'Robin')[second // 25 % 2]}>Point {second} is that we hold the price for now.\n"
        for second in range(150)
    )
    document = document_of(tmp_path / "talk.vtt", "\n".join(["WEBVTT\n", *cues]))
    chunks = create(name).chunk(document)
    assert len(chunks) > 3
    for chunk in chunks:
        turn = document.text[: chunk.start].rpartition("\n\n")[0]
        speaker = document.text[len(turn) :].lstrip().partition(":")[0]
        assert (chunk.beside.speaker or chunk.text.partition(":")[0]) == speaker


@given(st.lists(st.integers(0, 60), unique=True).map(sorted), st.integers(1, 5))
def test_the_speaker_is_that_of_the_first_character(starts: list[int], size: int) -> None:
    text = "one two six ten " * 4
    voices = tuple(Voice(at, f"V{at}") for at in starts)
    for chunk in create("word", chunk_size=size).chunk(Document("d", text, voices=voices)):
        last = max((at for at in starts if at <= chunk.start), default=None)
        assert chunk.beside.speaker == ("" if last in (None, chunk.start) else f"V{last}")
