"""The strategy `multigranular`: windows of several sizes without duplicates."""

from __future__ import annotations

from typing import Any

import pytest

from kinsplit.chunk import Chunk, Document
from kinsplit.errors import InvalidParameterError
from kinsplit.parsers import create
from tests.parsers.contract import check_chunks


def words(count: int) -> str:
    return " ".join(f"w{i}" for i in range(count))


def chunked(text: str, **parameters: Any) -> list[Chunk]:
    strategy, document = create("multigranular", **parameters), Document("d", text)
    chunks = strategy.chunk(document)
    check_chunks(strategy, document, chunks)
    return chunks


def per_level(chunks: list[Chunk]) -> dict[int, int]:
    return {level: sum(chunk.level == level for chunk in chunks) for level in {chunk.level for chunk in chunks}}


def test_the_example_of_rag_eval_and_its_defaults() -> None:
    chunks = chunked(words(2000))
    assert per_level(chunks) == {0: 8, 1: 4, 2: 2}
    assert [len(chunk.text.split()) for chunk in chunks if chunk.level == 2] == [1024, 976]


def test_each_size_gives_the_windows_of_the_word_strategy() -> None:
    text = words(1000)
    chunks = chunked(text, chunk_sizes=(64, 128), chunk_overlap=8)
    for level, size in enumerate((64, 128)):
        windows = create("word", chunk_size=size, chunk_overlap=8).split(text)
        own = [(chunk.start, chunk.end) for chunk in chunks if chunk.level == level]
        assert set(own) <= set(windows)
        missing = set(windows) - set(own)
        assert missing <= {(chunk.start, chunk.end) for chunk in chunks if chunk.level < level}


def test_what_is_the_same_at_two_sizes_is_kept_once_at_the_smaller() -> None:
    chunks = chunked("one two three", chunk_sizes=(2, 4, 8))
    assert [(chunk.level, chunk.text) for chunk in chunks] == [(1, "one two three"), (0, "one two"), (0, "three")]
    chunks = chunked("one", chunk_sizes=(2, 4, 8))
    assert [(chunk.level, chunk.parent_id) for chunk in chunks] == [(0, None)]


def test_no_two_chunks_have_the_same_span() -> None:
    for total in (1, 63, 64, 65, 128, 200, 257):
        chunks = chunked(words(total), chunk_sizes=(64, 128, 256), chunk_overlap=3)
        assert len({(chunk.start, chunk.end) for chunk in chunks}) == len(chunks)


def test_windows_lie_inside_those_of_the_next_size() -> None:
    chunks = chunked(words(1024), chunk_sizes=(64, 128, 512))
    by_id = {chunk.id: chunk for chunk in chunks}
    for chunk in chunks:
        if chunk.level < 2:
            parent = by_id[chunk.parent_id or ""]
            assert parent.level == chunk.level + 1
            assert parent.start <= chunk.start < chunk.end <= parent.end
        else:
            assert chunk.parent_id is None


@pytest.mark.parametrize(
    ("parameters", "field"),
    [
        ({"chunk_sizes": ()}, "chunk_sizes"),
        ({"chunk_sizes": tuple(range(1, 18))}, "chunk_sizes"),
        ({"chunk_sizes": (512, 256)}, "chunk_sizes"),
        ({"chunk_sizes": (256, 256)}, "chunk_sizes"),
        ({"chunk_sizes": (0, 5)}, "chunk_sizes"),
        ({"chunk_sizes": (10, 20), "chunk_overlap": 10}, "chunk_overlap"),
        ({"chunk_sizes": 256}, "chunk_sizes"),
    ],
)
def test_sizes_that_do_not_ascend_are_refused(parameters: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidParameterError) as caught:
        create("multigranular", **parameters)
    assert caught.value.field.split(".")[0] == field
