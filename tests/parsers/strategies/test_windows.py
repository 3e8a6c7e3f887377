"""Windows of characters, words and tokens: their sizes, strides, overlaps and tails."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from kinsplit.chunk import Chunk, Document
from kinsplit.errors import InvalidParameterError
from kinsplit.parsers import create
from kinsplit.tokenizers import resolve
from tests.generators import texts
from tests.parsers.contract import check_chunks

WORDS = " ".join(["the cat sat on a mat and it was good"] * 10)


def chunked(name: str, text: str, **parameters: Any) -> list[Chunk]:
    strategy, document = create(name, **parameters), Document("d", text)
    chunks = strategy.chunk(document)
    check_chunks(strategy, document, chunks)
    return chunks


def spans(chunks: list[Chunk]) -> list[tuple[int, int]]:
    return [(chunk.start, chunk.end) for chunk in chunks]


@pytest.mark.parametrize(
    ("size", "overlap", "expected"),
    [
        (4, 0, [(0, 4), (4, 8), (8, 10)]),
        (4, 1, [(0, 4), (3, 7), (6, 10)]),
        (4, 3, [(0, 4), (1, 5), (2, 6), (3, 7), (4, 8), (5, 9), (6, 10)]),
        (10, 9, [(0, 10)]),
        (99, 0, [(0, 10)]),
    ],
)
def test_character_windows(size: int, overlap: int, expected: list[tuple[int, int]]) -> None:
    chunks = chunked("character", "abcdefghij", chunk_size=size, chunk_overlap=overlap)
    assert spans(chunks) == expected
    assert [chunk.overlap for chunk in chunks] == [0] + [overlap] * (len(expected) - 1)


def test_character_windows_keep_clusters_whole() -> None:
    family = "👩‍👩‍👧‍👦"
    assert len(family) == 7
    chunks = chunked("character", f"abcde{family}fgh", chunk_size=8, chunk_overlap=2)
    assert [chunk.text for chunk in chunks] == ["abcde", family + "f", "fgh"]


def test_character_windows_keep_white_space_and_drop_what_is_blank() -> None:
    chunks = chunked("character", "ab" + " " * 10 + "cd  ", chunk_size=4, chunk_overlap=0)
    assert [chunk.text for chunk in chunks] == ["ab  ", "cd"]


@given(st.text(st.characters(codec="ascii", exclude_characters="\r"), max_size=200), st.integers(2, 30), st.data())
def test_character_windows_of_ascii_begin_at_every_stride(text: str, size: int, data: st.DataObject) -> None:
    overlap = data.draw(st.integers(0, size - 1))
    for start, end in create("character", chunk_size=size, chunk_overlap=overlap).split(text):
        assert start % (size - overlap) == 0
        assert end == min(start + size, len(text.rstrip()))


@pytest.mark.parametrize(("size", "overlap"), [(1, 0), (3, 0), (3, 2), (7, 3), (500, 0)])
def test_word_windows(size: int, overlap: int) -> None:
    words = WORDS.split()
    expected = []
    for first in range(0, len(words), size - overlap):
        expected.append(" ".join(words[first : first + size]))
        if first + size >= len(words):
            break
    chunks = chunked("word", WORDS, chunk_size=size, chunk_overlap=overlap)
    assert [chunk.text for chunk in chunks] == expected


@pytest.mark.parametrize("name", ["character", "word", "token"])
@pytest.mark.parametrize("text", ["", "cat", WORDS, WORDS[:100]])
@pytest.mark.parametrize(("size", "overlap"), [(5, 0), (5, 4), (100, 30)])
def test_the_number_of_windows_is_known_before_they_are_made(name: str, text: str, size: int, overlap: int) -> None:
    strategy = create(name, chunk_size=size, chunk_overlap=overlap)
    assert strategy.expected_chunks(text) == len(strategy.split(text))


def test_word_windows_count_words_as_str_split_does() -> None:
    text = "a\u00a0b\u2003c\r\nd\x1ce\u3000f\u200bg"
    assert [chunk.text for chunk in chunked("word", text, chunk_size=1)] == text.split()


def test_word_windows_count_clusters_where_no_spaces_are_written() -> None:
    chunks = chunked("word", "今天天气很好。Hello สวัสดี", chunk_size=4)
    assert [chunk.text for chunk in chunks] == ["今天天气", "很好。Hello ส", "วัสดี"]


@pytest.mark.parametrize(("size", "stride"), [(10, 10), (10, 3), (10, 1), (32, 8)])
def test_token_windows_hold_the_tokens_they_say(size: int, stride: int) -> None:
    tokenizer = resolve("bundled")
    total = int(tokenizer.count([WORDS])[0])
    starts = [*tokenizer.starts([WORDS])[0].tolist(), len(WORDS) + 1]
    expected = []
    for first in range(0, total, stride):
        stop = min(first + size, total)
        expected.append((starts[first], starts[stop] - 1))
        if stop == total:
            break
    assert spans(chunked("token", WORDS, chunk_size=size, stride=stride)) == expected


def test_token_windows_say_how_long_they_are() -> None:
    chunks = chunked("token", WORDS, chunk_size=32, stride=8)
    assert {chunk.token_count for chunk in chunks[:-1]} == {32}


def test_a_dropped_tail_leaves_full_windows_only() -> None:
    kept = chunked("token", WORDS, chunk_size=32, stride=32)
    dropped = chunked("token", WORDS, chunk_size=32, stride=32, tail="drop")
    assert spans(dropped) == spans(kept)[: len(dropped)]
    assert len(dropped) == 100 // 32
    assert chunked("token", "too short", chunk_size=32, tail="drop") == []


@pytest.mark.parametrize(
    ("parameters", "stride"),
    [
        ({}, 128),
        ({"chunk_size": 100}, 25),
        ({"chunk_size": 3}, 1),
        ({"chunk_size": 100, "chunk_overlap": 30}, 70),
        ({"chunk_size": 100, "chunk_overlap": 0}, 100),
        ({"chunk_size": 100, "stride": 100}, 100),
        ({"chunk_size": 100, "stride": 70, "chunk_overlap": 30}, 70),
        ({"chunk_size": 100, "stride": None}, 25),
    ],
)
def test_the_stride_may_be_given_as_an_overlap(parameters: dict[str, Any], stride: int) -> None:
    strategy = create("token", **parameters)
    assert strategy.parameters["stride"] == stride
    assert create("token", **strategy.parameters) == strategy


@pytest.mark.parametrize(
    ("name", "parameters", "field"),
    [
        ("character", {"chunk_size": 10, "chunk_overlap": 10}, "chunk_overlap"),
        ("character", {"chunk_overlap": 600}, "chunk_overlap"),
        ("word", {"chunk_size": 5, "chunk_overlap": 7}, "chunk_overlap"),
        ("token", {"chunk_size": 5, "chunk_overlap": 5}, "chunk_overlap"),
        ("token", {"chunk_size": 5, "stride": 6}, "stride"),
        ("token", {"chunk_size": 5, "stride": 0}, "stride"),
        ("token", {"chunk_size": 5, "stride": 2, "chunk_overlap": 2}, "chunk_overlap"),
        ("token", {"tail": "cut"}, "tail"),
    ],
)
def test_contradictions_are_refused(name: str, parameters: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidParameterError) as caught:
        create(name, **parameters)
    assert caught.value.field == field


def test_the_default_overlap_of_characters_is_a_quarter() -> None:
    assert create("character").parameters["chunk_overlap"] == 150
    assert create("character", chunk_size=1000).parameters["chunk_overlap"] == 250
    assert create("character", chunk_size=3).parameters["chunk_overlap"] == 0


@given(texts(), st.integers(8, 60), st.data())
def test_a_token_window_shorter_than_its_size_is_the_last_or_stands_before_a_cut(
    text: str, size: int, data: st.DataObject
) -> None:
    stride = data.draw(st.integers(1, size))
    chunks = create("token", chunk_size=size, stride=stride).chunk(Document("d", text))
    counts = np.array([chunk.token_count for chunk in chunks])
    assert (counts <= size).all()
    # Every stride's worth of tokens begins a window, unless windows had to end early: there are never many more. A
    # part of an unknown word can be known.
    total = int(resolve("bundled").count([text])[0])
    assume(total == len(resolve("bundled").encode([text])[0]))
    assert len(chunks) <= total // stride + 2 + (counts < size).sum()


@pytest.mark.parametrize("name", ["character", "word", "token"])
def test_a_window_begins_where_its_overlap_says(name: str) -> None:
    chunks = chunked(name, WORDS, chunk_size=20, chunk_overlap=5)
    for before, chunk in pairwise(chunks):
        shared = WORDS[chunk.start : before.end]
        assert chunk.overlap == len(shared)
        length = len(shared) if name == "character" else len(shared.split())
        assert length == 5
