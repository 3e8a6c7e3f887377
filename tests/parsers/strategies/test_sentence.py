"""The strategy `sentence`: whole sentences with overlap in length or in sentences."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import assume, given

from kinsplit.chunk import Chunk, Document
from kinsplit.errors import InvalidParameterError
from kinsplit.parsers import create
from kinsplit.parsers.units.sentences import sentences
from kinsplit.spans import Heading
from kinsplit.text.blocks import blocks
from tests.generators import texts
from tests.parsers.contract import check_chunks

#: Sentences of 1 to 4 words, all of which are one token.
TEXT = "One. Two three. Four five six. Seven eight nine ten. One two. Three. Four five six. Seven. Eight nine. Ten."


def chunked(text: str, **parameters: Any) -> list[Chunk]:
    strategy, document = create("sentence", **parameters), Document("d", text)
    chunks = strategy.chunk(document)
    check_chunks(strategy, document, chunks)
    return chunks


def bounds(text: str) -> tuple[set[int], set[int]]:
    units = sentences(text, join_speech=False)
    return set(units.starts.tolist()), set(units.ends.tolist())


@pytest.mark.parametrize(
    ("unit", "size", "expected"),
    [
        ("word", 4, ["One. Two three.", "Four five six.", "Seven eight nine ten.", "One two. Three."]),
        ("character", 16, ["One. Two three.", "Four five six.", "Seven eight nine", "ten. One two."]),
        ("token", 5, ["One. Two three.", "Four five six.", "Seven eight nine ten.", "One two. Three."]),
    ],
)
def test_the_budget_is_counted_in_its_unit(unit: str, size: int, expected: list[str]) -> None:
    chunks = chunked(TEXT, unit=unit, chunk_size=size, chunk_overlap=0)
    assert [chunk.text for chunk in chunks][:4] == expected
    assert all((chunk.token_count is not None) == (unit == "token") for chunk in chunks)


def headed(text: str, *titles: str) -> Document:
    return Document("d", text, headings=tuple(Heading(at := text.index(t), at + len(t), 1, t) for t in titles))


@pytest.mark.parametrize(
    ("parameters", "expected"),
    [
        ({"chunk_size": 6}, ["Uno\n\nOne two three.", "Dos\n\nFour five.", "Tres\n\nSix seven eight.\n\nNine ten."]),
        # The chunk is full where a section ends.
        ({"chunk_size": 7}, ["Uno\n\nOne two three.\n\nDos\n\nFour five.", "Tres\n\nSix seven eight.\n\nNine ten."]),
        (
            {"chunk_size": 5, "chunk_overlap": 1},
            ["Uno\n\nOne two three.", "Dos\n\nFour five.", "Tres\n\nSix seven eight."],
        ),
        # A paragraph fills the chunk as well.
        ({"chunk_size": 12}, ["Uno\n\nOne two three.\n\nDos\n\nFour five.\n\nTres\n\nSix seven eight.", "Nine ten."]),
        # The rest fits, whatever begins in it.
        ({"chunk_size": 20}, ["Uno\n\nOne two three.\n\nDos\n\nFour five.\n\nTres\n\nSix seven eight.\n\nNine ten."]),
        (
            {"chunk_size": 20, "max_sentences": 3},
            ["Uno\n\nOne two three.\n\nDos", "Four five.\n\nTres\n\nSix seven eight.", "Nine ten."],
        ),
    ],
)
def test_a_chunk_ends_before_a_heading_if_it_is_half_full(parameters: dict[str, Any], expected: list[str]) -> None:
    document = headed(
        "Uno\n\nOne two three.\n\nDos\n\nFour five.\n\nTres\n\nSix seven eight.\n\nNine ten.", "Uno", "Dos", "Tres"
    )
    strategy = create("sentence", unit="word", **{"chunk_overlap": 0, **parameters})
    chunks = strategy.chunk(document)
    check_chunks(strategy, document, chunks)
    assert [chunk.text for chunk in chunks][: len(expected)] == expected


def test_a_short_section_is_not_a_chunk_of_its_own() -> None:
    document = headed("Uno\n\nOne.\n\nDos\n\nFour five six seven eight nine.\n\nTen.", "Uno", "Dos")
    chunks = create("sentence", unit="word", chunk_size=9, chunk_overlap=0).chunk(document)
    assert [chunk.text for chunk in chunks] == ["Uno\n\nOne.\n\nDos\n\nFour five six seven eight nine.", "Ten."]


def test_a_heading_that_the_text_does_not_contain_ends_no_chunk() -> None:
    document = Document("d", TEXT, headings=(Heading(5, 5, 1, "Title"), Heading(16, 16, 1, "Another")))
    strategy = create("sentence", unit="word", chunk_size=6, chunk_overlap=0)
    assert [c.text for c in strategy.chunk(document)] == [c.text for c in strategy.chunk(Document("d", TEXT))]


@pytest.mark.parametrize("unit", ["character", "word", "token"])
@pytest.mark.parametrize("size", [30, 60, 200])
def test_sentences_that_fit_stay_whole(unit: str, size: int) -> None:
    starts, ends = bounds(TEXT)
    for chunk in chunked(TEXT * 3, unit=unit, chunk_size=size):
        assert chunk.start % len(TEXT) in starts
        assert chunk.end % len(TEXT) in {e % len(TEXT) for e in ends}


def test_the_overlap_is_as_many_whole_sentences_as_it_allows() -> None:
    chunks = chunked(TEXT, unit="word", chunk_size=6, chunk_overlap=3)
    assert [chunk.text for chunk in chunks] == [
        "One. Two three. Four five six.",
        # "Four five six." would fit the overlap but leave no room for the next sentence.
        "Seven eight nine ten. One two.",
        "One two. Three. Four five six.",
        "Four five six. Seven. Eight nine.",
        "Seven. Eight nine. Ten.",
    ]
    for before, chunk in pairwise(chunks):
        shared = TEXT[chunk.start : before.end]
        assert len(shared.split()) <= 3
        assert chunk.overlap == len(shared)


@pytest.mark.parametrize("overlap", [1, 2])
def test_the_overlap_can_be_counted_in_sentences(overlap: int) -> None:
    chunks = chunked(TEXT, unit="word", chunk_size=9, overlap_sentences=overlap)
    units = sentences(TEXT)
    starts, ends = units.starts.tolist(), units.ends.tolist()
    for before, chunk in pairwise(chunks):
        shared = ends.index(before.end) - starts.index(chunk.start) + 1
        # Fewer only where the overlap would leave no room for anything new.
        assert 0 <= shared <= overlap
    assert any(chunk.overlap for chunk in chunks)


@pytest.mark.parametrize("most", [1, 2, 3])
def test_the_number_of_sentences_can_be_limited(most: int) -> None:
    chunks = chunked(TEXT, max_sentences=most, chunk_overlap=0)
    total = len(sentences(TEXT).starts)
    assert len(chunks) == -(-total // most)


def test_one_sentence_a_chunk_has_no_overlap() -> None:
    chunks = chunked(TEXT, max_sentences=1)
    assert len(chunks) == 10
    assert {chunk.overlap for chunk in chunks} == {0}


def test_a_sentence_longer_than_the_budget_is_cut_between_words_then_clusters() -> None:
    text = "Short one. This sentence has quite a few more words. " + "x" * 30 + ". End."
    chunks = chunked(text, unit="character", chunk_size=12, chunk_overlap=0)
    assert [chunk.text for chunk in chunks] == [
        "Short one.",
        "This",
        "sentence has",
        "quite a few",
        "more words.",
        "x" * 12,
        "x" * 12,
        "xxxxxx. End.",
    ]


def test_the_default_overlap_is_a_fifth_of_the_size() -> None:
    assert create("sentence").parameters["chunk_overlap"] == 100
    assert create("sentence", chunk_size=50).parameters["chunk_overlap"] == 10
    assert create("sentence", chunk_size=50, overlap_sentences=1).parameters["chunk_overlap"] == 0
    assert create("sentence", chunk_size=3).parameters["chunk_overlap"] == 0


@pytest.mark.parametrize(
    ("parameters", "field"),
    [
        ({"chunk_size": 10, "chunk_overlap": 10}, "chunk_overlap"),
        ({"chunk_overlap": 5, "overlap_sentences": 1}, "overlap_sentences"),
        ({"max_sentences": 2, "overlap_sentences": 2}, "overlap_sentences"),
        ({"max_sentences": 0}, "max_sentences"),
        ({"overlap_sentences": -1}, "overlap_sentences"),
        ({"unit": "byte"}, "unit"),
    ],
)
def test_contradictions_are_refused(parameters: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidParameterError) as caught:
        create("sentence", **parameters)
    assert caught.value.field == field


@given(texts())
def test_a_budget_without_bound_and_one_sentence_a_chunk_give_the_sentences(text: str) -> None:
    assume(all(block.kind == "paragraph" for block in blocks(text)))
    units = sentences(text, join_speech=False)
    spans = create("sentence", unit="character", chunk_size=10**9, max_sentences=1).split(text)
    assert spans == list(zip(units.starts.tolist(), units.ends.tolist(), strict=True))
