"""Labelled text is marked by offsets inside the retrieved text."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from kinsplit.evaluation.labels import AskedQuestion, RetrievedChunk, SourceText
from kinsplit.evaluation.report.tables import pieces

SOURCE = "one two one two one two 🐇 one two"


def hit(*spans: tuple[int, int], text: str | None = None, source: str = "d", separator: str = "\n\n") -> RetrievedChunk:
    found = separator.join(SOURCE[start:end] for start, end in spans) if text is None else text
    return RetrievedChunk(source_id=source, spans=spans, text=found, score=1.0)


def question(*spans: tuple[int, int], source: str = "d") -> AskedQuestion:
    labels = [[SourceText(source_id=source, spans=[span], text="")] for span in spans]
    return AskedQuestion(id="q", text="?", labels=labels)


def marked(hit: RetrievedChunk, question: AskedQuestion) -> list[str]:
    return [piece.text for piece in pieces(hit, question) if piece.marked]


def test_only_the_labelled_occurrence_is_marked() -> None:
    assert pieces(hit((0, 23)), question((8, 11))) == [
        ("one two ", False),
        ("one", True),
        (" two one two", False),
    ]


def test_labels_are_cut_where_the_chunk_ends_and_joined_where_they_touch() -> None:
    assert marked(hit((4, 20)), question((0, 7), (7, 11), (16, 30))) == ["two one", "one "]
    assert marked(hit((4, 20)), question((0, 4), (20, 30))) == []


def test_touching_without_overlap_is_no_hit_and_another_document_neither() -> None:
    assert marked(hit((0, 23), source="other"), question((8, 11))) == []
    assert marked(hit((0, 23)), question((8, 11), source="other")) == []


def test_offsets_count_code_points() -> None:
    assert marked(hit((20, 33)), question((24, 29))) == ["🐇 one"]


def test_chunks_of_several_spans_are_marked_in_each() -> None:
    assert marked(hit((0, 3), (16, 23)), question((0, 20))) == ["one", "one "]


def test_a_text_that_is_not_its_spans_is_not_marked() -> None:
    assert pieces(hit((0, 23), text="Context. one two"), question((0, 3))) == [("Context. one two", False)]
    assert pieces(hit((0, 3), text=""), question((0, 3))) == []


SPANS = st.tuples(st.integers(0, len(SOURCE)), st.integers(0, len(SOURCE))).map(lambda pair: tuple(sorted(pair)))


@given(SPANS, st.lists(SPANS, max_size=4))
def test_pieces_join_to_the_text_and_mark_exactly_the_labelled_characters(
    span: tuple[int, int], labelled: list[tuple[int, int]]
) -> None:
    found = pieces(hit(span), question(*labelled))
    flags = [piece.marked for piece in found for _ in piece.text]

    assert "".join(piece.text for piece in found) == SOURCE[span[0] : span[1]]
    assert flags == [any(start <= place < end for start, end in labelled) for place in range(*span)]
    assert all(first.marked != second.marked for first, second in pairwise(found))
