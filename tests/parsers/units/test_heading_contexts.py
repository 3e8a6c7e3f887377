"""Contexts from the headings that a document brings with it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kinsplit.chunk import Document
from kinsplit.parsers import Strategy, create, default_strategy, names
from kinsplit.parsers.units.builder import HeadingContexts
from kinsplit.spans import Heading, Span

HEADINGS = (
    Heading(0, 0, 0, "Birds"),
    Heading(10, 15, 1, "Owls"),
    Heading(30, 34, 2, "Food"),
    Heading(60, 65, 1, "Larks"),
)
TEXT = (
    "Owls\n\nThey hunt at night, and they hunt well.\n\nFood\n\nMice, mostly. Voles, too.\n\n"
    "Larks\n\nThey sing at dawn, and all day."
)


@pytest.mark.parametrize(
    ("spans", "context"),
    [
        ([(0, 9)], "Birds"),
        ([(10, 30)], "Birds > Owls"),
        ([(25, 50)], "Birds > Owls > Food"),
        ([(20, 32)], "Birds > Owls"),
        ([(50, 71)], "Birds > Larks"),
        ([(50, 70)], "Birds"),
        ([(12, 20), (31, 40), (61, 62)], "Birds > Owls"),
        ([(65, 99)], "Birds > Larks"),
    ],
)
def test_the_innermost_section_with_more_than_half_of_a_chunk_names_it(
    spans: list[tuple[int, int]], context: str
) -> None:
    assert HeadingContexts(HEADINGS).of([Span(*span) for span in spans]).context == context


def document() -> Document:
    titles = (("Owls", 1), ("Food", 2), ("Larks", 1))
    found = [Heading(TEXT.index(title), TEXT.index(title) + len(title), level, title) for title, level in titles]
    return Document("birds.txt", TEXT, headings=(Heading(0, 0, 0, "Birds"), *found))


@pytest.mark.parametrize("name", [name for name in names() if name not in {"llm", "semantic", "cluster"}])
def test_every_strategy_names_the_sections(name: str) -> None:
    strategy = create(name)

    assert all(chunk.context.startswith("Birds") for chunk in strategy.chunk(document()))
    assert all(not chunk.context for chunk in strategy.chunk(TEXT)), "a text alone has none"


def test_headings_are_boundaries_of_the_strategies_that_keep_to_them() -> None:
    chunks = create("structure", unit="word", chunk_size=50, min_chunk_size=1).chunk(document())

    assert {(chunk.context, chunk.text.split()[0]) for chunk in chunks} >= {
        ("Birds > Owls", "Owls"),
        ("Birds > Owls > Food", "Food"),
        ("Birds > Larks", "Larks"),
    }
    assert len({chunk.context for chunk in chunks}) == 3


def test_markup_that_is_no_heading_in_the_file_is_none_in_its_chunks() -> None:
    found = Document("a.txt", "Title\n\n# not a heading\n\nText.", headings=(Heading(0, 5, 1, "Title"),))
    strategy: Strategy = create("structure", min_chunk_size=1, chunk_size=100)

    assert {chunk.context for chunk in strategy.chunk(found)} == {"Title"}


def test_another_heading_is_another_content() -> None:
    before, after = document(), replace(document(), headings=(Heading(0, 0, 0, "Animals"),))

    assert default_strategy().chunk(before)[0].content_hash != default_strategy().chunk(after)[0].content_hash
