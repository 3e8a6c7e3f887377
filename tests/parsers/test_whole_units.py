"""What is whole and fits into a chunk by itself is never torn: ranges that generators of texts know."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kinsplit.chunk import Chunk, Document
from kinsplit.kinds import DocumentKind
from kinsplit.parsers import Strategy, create
from kinsplit.parsers.packing.refine import Ruler
from kinsplit.tokenizers import resolve
from tests.generators import RECORDS, WHOLE, Lines
from tests.parsers.contract import check_chunks, limit_of

#: Strategies by the size of a chunk in characters, or in a quarter as many tokens.
STRATEGIES: dict[str, Callable[[int], Strategy]] = {
    "default": lambda size: create("sentence", chunk_size=size // 4, chunk_overlap=size // 20),
    "sentence": lambda size: create("sentence", unit="character", chunk_size=size, chunk_overlap=0),
    "structure": lambda size: create("structure", unit="character", chunk_size=size),
    "hierarchical": lambda size: create("hierarchical", parent_size=3 * size, child_size=size),
    "semantic": lambda size: create("semantic", embedder="hash", unit="character", chunk_size=size),
    "cluster": lambda size: create("cluster", embedder="hash", chunk_size=size, passage_size=size // 4),
    "llm": lambda size: create("llm", model="none", unit="character", chunk_size=size),
}
#: What documents say that they are, where a few lines don't tell.
KINDS: dict[str, DocumentKind] = {"Python": "code", "JavaScript": "code"}


@pytest.mark.parametrize("kind", WHOLE)
def test_nothing_that_fits_is_torn(kind: str) -> None:
    @settings(max_examples=25)
    @given(text=WHOLE[kind](), size=st.integers(24, 160))
    def check(text: Lines, size: int) -> None:
        document = Document("d", text.text, kind=KINDS.get(kind, ""))
        if kind in RECORDS:
            text = Lines(text.text, joined(text))
        for name, make in STRATEGIES.items():
            strategy = make(size)
            chunks = strategy.chunk(document)
            check_chunks(strategy, document, chunks)
            found = [(chunk.text, text.text[slice(*whole)]) for chunk, whole in torn(strategy, chunks, text)]
            assert not found, f"{name}, {size}: {found[0]}"

    check()


def joined(text: Lines) -> list[tuple[int, int]]:
    """Return the ranges of records with what stands between them, such as a comma."""
    first = 0 if text.text[0] in "[{" else text.ranges[0][0]
    edges = [first, *(start for start, _ in text.ranges[1:]), len(text.text)]
    return [(start, start + len(text.text[start:stop].rstrip())) for start, stop in pairwise(edges)]


def torn(strategy: Strategy, chunks: list[Chunk], text: Lines) -> Iterator[tuple[Chunk, tuple[int, int]]]:
    """Yield each chunk that begins or ends inside a range that fits into a chunk of its level, and the range."""
    solid = [at for at, character in enumerate(text.text) if not character.isspace()]
    places = [(start, end, bisect_left(solid, start), bisect_left(solid, end)) for start, end in text.ranges]
    for chunk in chunks:
        limit, unit = limit_of(strategy, chunk.level)
        limit = strategy.parameters.get("passage_size", limit)
        ruler = Ruler(unit, resolve(strategy.tokenizer))
        edges = [bisect_left(solid, edge) for span in chunk.spans for edge in span]
        for start, end, first, stop in places:
            if any(first < edge < stop for edge in edges) and ruler.length(text.text[start:end]) <= limit:
                yield chunk, (start, end)


@pytest.mark.parametrize(
    ("text", "size", "expected"),
    [
        ("Before it.\n\n- birds\n  - owls\n  - larks", 32, ["Before it.", "- birds\n  - owls\n  - larks"]),
        ("- birds\n  - owls\n  - larks", 16, ["- birds\n  - owls", "- larks"]),
        ("Before it.\n\n| a | b |\n|---|---|\n| 1 | 2 |", 34, ["Before it.", "| a | b |\n|---|---|\n| 1 | 2 |"]),
        ("# A long title\n\n## Part\n\nThe owls hunt.", 24, ["# A long title", "## Part\n\nThe owls hunt."]),
    ],
)
def test_an_only_item_or_row_and_a_heading_are_whole(text: str, size: int, expected: list[str]) -> None:
    for name in ("sentence", "hierarchical", "semantic", "llm"):
        chunks = STRATEGIES[name](size).chunk(Document("d", text))
        assert [chunk.text for chunk in chunks if chunk.level == 0] == expected, name
