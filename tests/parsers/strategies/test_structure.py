"""The strategy `structure`: blocks merged and split, never across a heading."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given

from kinsplit.chunk import Chunk, Document
from kinsplit.errors import InvalidParameterError
from kinsplit.parsers import create
from kinsplit.text.blocks import blocks
from tests.generators import strategy_parameters, texts
from tests.parsers.contract import check_chunks


def chunked(text: str, **parameters: Any) -> list[Chunk]:
    strategy, document = create("structure", **parameters), Document("d", text)
    chunks = strategy.chunk(document)
    check_chunks(strategy, document, chunks)
    return chunks


def shown(chunks: list[Chunk]) -> list[tuple[str, str]]:
    return [(chunk.context, chunk.text) for chunk in chunks]


def prose(words: int, sentence: int = 10) -> str:
    """Return a paragraph of a number of words in sentences of equal length."""
    numbered = [f"w{i}" for i in range(words)]
    return " ".join(" ".join(numbered[i : i + sentence]).capitalize() + "." for i in range(0, words, sentence))


def test_the_example_of_rag_eval() -> None:
    text = f"## Heading 1\n{prose(50)}\n\n{prose(100)}\n\n## Heading 2\n{prose(600)}\n"
    chunks = chunked(text, min_chunk_size=128, chunk_size=512)
    assert [chunk.context for chunk in chunks] == ["Heading 1", "Heading 2", "Heading 2"]
    assert [len(chunk.text.split()) for chunk in chunks] == [153, 503, 100]
    assert chunks == create("structure").chunk(Document("d", text)), "its sizes are the defaults"


def test_a_chunk_never_reaches_across_a_heading() -> None:
    text = "Intro.\n\n# A\n\nOne.\n\n## B\n\nTwo.\n\n<h2>C</h2>\n\nThree.\n\nTitle\n-----\n\nFour.\n\n== E ==\nFive.\n"
    assert shown(chunked(text)) == [
        ("", "Intro."),
        ("A", "# A\n\nOne."),
        ("A > B", "## B\n\nTwo."),
        ("A > C", "<h2>C</h2>\n\nThree."),
        ("A > Title", "Title\n-----\n\nFour."),
        ("A > E", "== E ==\nFive."),
    ]


def test_a_heading_stays_with_the_deeper_one_below_it() -> None:
    assert shown(chunked("# A\n## B\n\nText.\n\n# C\n")) == [("A > B", "# A\n## B\n\nText."), ("C", "# C")]


@given(text=texts(), parameters=strategy_parameters("structure"))
def test_no_heading_stands_in_the_middle_of_any_chunk(text: str, parameters: dict[str, Any]) -> None:
    chunks = create("structure", **parameters).chunk(Document("d", text))
    found = blocks(text)
    for before, block in pairwise(found):
        if block.kind == "heading" and before.kind != "heading":
            assert not any(chunk.start < block.start < chunk.end for chunk in chunks)


def test_short_paragraphs_are_merged_until_they_are_long_enough() -> None:
    text = "\n\n".join(prose(10) for _ in range(9))
    chunks = chunked(text, min_chunk_size=30, chunk_size=100)
    assert [len(chunk.text.split()) for chunk in chunks] == [30, 30, 30]


def test_without_a_least_size_each_paragraph_is_a_chunk() -> None:
    text = "One.\n\nTwo.\r\n\r\nThree\ngoes on.\n \n\nFour."
    chunks = chunked(text, min_chunk_size=0)
    assert [chunk.text for chunk in chunks] == ["One.", "Two.", "Three\ngoes on.", "Four."]


def test_a_short_last_paragraph_goes_with_the_one_before_if_there_is_room() -> None:
    text = f"{prose(40)}\n\n{prose(5, 5)}"
    assert len(chunked(text, min_chunk_size=30, chunk_size=60)) == 1
    assert len(chunked(text, min_chunk_size=30, chunk_size=44)) == 2


def test_a_long_paragraph_is_cut_between_sentences() -> None:
    text = prose(100)
    chunks = chunked(text, min_chunk_size=10, chunk_size=35)
    assert [len(chunk.text.split()) for chunk in chunks] == [30, 30, 30, 10]
    assert all(chunk.text.endswith(".") for chunk in chunks)


def test_text_without_structure_falls_back_to_paragraphs_and_sentences() -> None:
    text = f"{prose(20)}\n\n{prose(90)}\n\n{prose(20)}"
    chunks = chunked(text, min_chunk_size=15, chunk_size=40)
    assert {chunk.context for chunk in chunks} == {""}
    assert chunks[0].text == prose(20)
    assert chunks[-1].text.endswith(prose(20))
    assert len(chunked("word " * 200, chunk_size=50, min_chunk_size=0)) == 4


@pytest.mark.parametrize(
    "block",
    [
        "```python\ndef f():\n\n    # a comment\n\n    return 1\n```",
        "~~~\none\n\ntwo\n~~~",
        "- one\n- two\n\n- three\n  goes on",
        "| a | b |\n|---|---|\n| 1 | 2 |",
        "<pre>\none\n\ntwo\n</pre>",
    ],
)
def test_a_block_that_fits_is_kept_whole(block: str) -> None:
    text = f"Before it.\n\n{block}\n\nAfter it."
    for size in range(len(block.split()), 40):
        assert sum(block in chunk.text for chunk in chunked(text, chunk_size=size, min_chunk_size=0)) == 1


def test_a_long_list_is_cut_between_its_items() -> None:
    text = "\n".join(f"- item {i} has\n  two lines" for i in range(20))
    chunks = chunked(text, chunk_size=20, min_chunk_size=10)
    assert len(chunks) > 5
    assert all(chunk.text.startswith("- item") for chunk in chunks)


def test_a_long_item_is_cut_between_the_items_inside_it_however_deep() -> None:
    def items(depth: int) -> list[str]:
        if depth == 3:
            return []
        inner = [f"  {line}" for line in items(depth + 1)]
        return [line for _ in range(3) for line in (f"- depth {depth} {'word ' * 6}end", *inner)]

    text = "\n".join(items(0))
    # With what they hold, items of depth 0, 1 and 2 have 130, 40 and 10 words.
    for size, depths in ((15, 3), (40, 2), (150, 1)):
        chunks = chunked(text, chunk_size=size, min_chunk_size=0)
        assert all(chunk.text.startswith("- depth") and chunk.text.endswith("end") for chunk in chunks)
        assert {chunk.text[:9] for chunk in chunks} == {f"- depth {depth}" for depth in range(depths)}


def test_a_long_fence_is_cut_between_its_lines() -> None:
    text = "```\n" + "\n".join(f"line {i} of code" for i in range(40)) + "\n```"
    chunks = chunked(text, chunk_size=30, min_chunk_size=10)
    assert len(chunks) > 4
    assert all(chunk.text.startswith(("```", "line")) and chunk.text.endswith(("code", "```")) for chunk in chunks)


def test_the_later_parts_of_a_table_carry_header_and_delimiter_row() -> None:
    header = "| name | value |\n|:-----|------:|"
    text = "# T\n\n" + header + "\n" + "\n".join(f"| row{i} | {i} |" for i in range(30)) + "\n\nAfter.\n"
    first, *later, last = chunked(text, chunk_size=40, min_chunk_size=20)
    assert first.context == "T"
    assert last.text.endswith("After.")
    assert first.text.startswith(f"# T\n\n{header}\n| row0 | 0 |")
    assert len(later) > 2
    assert {chunk.context for chunk in later} == {f"T\n{header}"}
    assert all(row.startswith("| row") and row.endswith("|") for chunk in later for row in chunk.text.split("\n"))


def test_a_very_long_table_header_is_not_repeated_in_full() -> None:
    header = "|" + " column |" * 500
    text = header + "\n|" + "---|" * 500 + "\n" + "| x |\n" * 100
    chunks = chunked(text, chunk_size=60, min_chunk_size=0)
    assert max(len(chunk.context) for chunk in chunks) <= 1000


def test_a_very_long_line_is_no_heading_and_is_not_repeated() -> None:
    text = "# " + prose(300)
    assert {chunk.context for chunk in chunked(text, chunk_size=50)} == {""}


def test_the_hash_changes_with_the_context() -> None:
    (one,) = chunked("# A\n\nText.")[:1]
    below = [chunked(f"# {title}\n\nOne.\n\n## Same\n\nText.", min_chunk_size=0)[-1] for title in ("A", "B")]
    assert below[0].text == below[1].text == "## Same\n\nText."
    assert below[0].content_hash != below[1].content_hash
    assert one.context == "A"


@pytest.mark.parametrize("unit", ["character", "word", "token"])
def test_each_unit_limits_what_it_counts(unit: str) -> None:
    text = f"# A\n\n{prose(100)}\n\n## B\n\n{prose(30)}"
    chunks = chunked(text, chunk_size=80, unit=unit)
    assert len(chunks) > 1
    assert all((chunk.token_count is not None) == (unit == "token") for chunk in chunks)


def test_the_least_size_may_equal_the_greatest_but_not_exceed_it() -> None:
    create("structure", chunk_size=50, min_chunk_size=50)
    with pytest.raises(InvalidParameterError, match="min_chunk_size"):
        create("structure", chunk_size=50, min_chunk_size=51)


def test_the_least_size_is_a_quarter_unless_given() -> None:
    assert create("structure", chunk_size=100).parameters["min_chunk_size"] == 25


@pytest.mark.parametrize("gap", [" ", "\x0b", "\u2028"])
def test_a_paragraph_of_long_words_that_fits_is_not_cut(gap: str) -> None:
    paragraph = gap.join(["Responsibilities characteristics."] * 4)
    chunks = chunked(f"One two three.\n\n{paragraph}", unit="token", chunk_size=12, min_chunk_size=6)
    assert [chunk.text for chunk in chunks] == ["One two three.", paragraph]
    assert [chunk.token_count for chunk in chunks] == [4, 12]
