"""Units of documents: what a chunk is made of, which boundary ends it, and what stands beside it."""

from __future__ import annotations

import pytest

from kinsplit import split
from kinsplit.chunk import Chunk, Document, Heading
from kinsplit.parsers import Strategy, create, default_strategy
from kinsplit.parsers.units.builder import KINDS, Level, document_sections, text_units

#: Strategies whose chunks are made of units, with small limits.
STRATEGIES: dict[str, Strategy] = {
    "default": default_strategy(),
    "sentence": create("sentence", unit="word", chunk_size=60, chunk_overlap=0),
    "hierarchical": create("hierarchical"),
    "semantic": create("semantic", embedder="hash", chunk_size=30, min_sentences=1),
    "structure": create("structure", chunk_size=20),
    "cluster": create("cluster", embedder="hash", chunk_size=200, passage_size=50),
    "llm": create("llm", model="none", chunk_size=20),
}


def units_of(text: str, kind: str = "") -> list[tuple[str, str, str]]:
    """Return level, kind and beginning of each unit."""
    document = Document("d", text, kind=kind)  # type: ignore[arg-type]
    units, levels, kinds = text_units(document, "en", document_sections(document))
    found = zip(units.spans(), levels.tolist(), kinds.tolist(), strict=True)
    return [(Level(level).name, KINDS[number], text[span.start : span.end]) for span, level, number in found]


def leaves(chunks: list[Chunk]) -> list[Chunk]:
    return [chunk for chunk in chunks if chunk.level == 0]


def test_each_kind_of_text_has_its_units() -> None:
    text = (
        "# Owls\n\nOwls hunt at night. They hear mice.\n\n- One. And more.\n- Two\n\n"
        "| a | b |\n|---|---|\n| 1 | 2 |\n| 3 | 4 |\n\n```python\na = 1\nb = 2\n```\n\n## Larks\nLarks sing."
    )
    assert units_of(text) == [
        ("SECTION", "heading", "# Owls"),
        ("BOUND", "sentence", "Owls hunt at night."),
        ("SENTENCE", "sentence", "They hear mice."),
        ("BLOCK", "list", "- One. And more."),
        ("ITEM", "list", "- Two"),
        ("BLOCK", "table", "| a | b |\n|---|---|\n| 1 | 2 |"),
        ("ITEM", "table", "| 3 | 4 |"),
        ("BLOCK", "fence", "```python\na = 1\nb = 2\n```"),
        ("SECTION", "heading", "## Larks"),
        ("BOUND", "sentence", "Larks sing."),
    ]


def test_a_break_of_a_wrapped_line_is_no_boundary() -> None:
    assert units_of("Owls hunt\nat night. They\nhear mice.") == [
        ("SECTION", "sentence", "Owls hunt\nat night."),
        ("SENTENCE", "sentence", "They\nhear mice."),
    ]


def test_a_document_says_what_its_lines_are() -> None:
    text = "Owls hunt at night\nThey hear mice"
    assert [kind for _, kind, _ in units_of(text)] == ["sentence"]
    assert [piece for _, _, piece in units_of(text, "records")] == text.split("\n")


@pytest.mark.parametrize("name", STRATEGIES)
def test_no_chunk_ends_with_the_number_of_the_next_clause(name: str) -> None:
    law = "\n\n".join(
        f"{i}. The tenant pays the rent on the first day of each month. Rent that is late bears interest.\n\n"
        f"{i}.1. The landlord keeps the house in repair. The tenant tells the landlord of damage."
        for i in range(1, 60)
    )
    chunks = leaves(STRATEGIES[name].chunk(law))
    assert len(chunks) > 5
    assert not [chunk.text for chunk in chunks if chunk.text.rpartition(" ")[2].rstrip(".").replace(".", "").isdigit()]


@pytest.mark.parametrize(
    ("text", "chunk_size", "expected"),
    [
        ("## Section A\n\nContent of section A.", 12, ["## Section A\n\nContent of section A."]),
        # The heading with the first sentence, since it doesn't fit with both.
        ("## A b\n\nOne two three. Four five six seven.", 8, ["## A b\n\nOne two three.", "Four five six seven."]),
        # With the first item, and with a row below its header.
        ("## A b\n\n- one two three\n- four five", 8, ["## A b\n\n- one two three", "- four five"]),
        # The fence is not cut for its heading, since it fits alone.
        ("## A b\n\n```\none two\nthree four\n```", 6, ["## A b", "```\none two\nthree four\n```"]),
    ],
)
def test_a_heading_stays_with_its_first_unit_if_they_fit(text: str, chunk_size: int, expected: list[str]) -> None:
    assert [chunk.text for chunk in split(text, "structure", chunk_size=chunk_size, min_chunk_size=1)] == expected
    if "```" not in text:
        found = split(text, "sentence", unit="word", chunk_size=chunk_size, chunk_overlap=0)
        assert [chunk.text for chunk in found] == expected


def test_children_are_whole_sentences_unless_one_is_too_long() -> None:
    long = "This one goes on and on, " * 9 + "and ends here."
    text = f"The first sentence is short. The second one is short, too. {long} The last one is short. " * 3
    children = [chunk.text for chunk in split(text, "hierarchical") if chunk.level == 0]
    assert all(child.startswith(("The ", "This ", "and ")) for child in children)
    assert not [child for child in children if child[-1] not in ".,"]


def test_a_paragraph_does_not_leave_a_chunk_half_empty_and_a_unit_is_not_torn_to_fill_one() -> None:
    words = "one two three four five six seven eight nine"
    text = f"Apples fell.\n\n{words} pears. {words} plums. {words} figs."
    found = [chunk.text for chunk in split(text, "sentence", unit="word", chunk_size=24, chunk_overlap=0)]
    assert found == [f"Apples fell.\n\n{words} pears. {words} plums.", f"{words} figs."]
    item = "- one two three four five six seven eight nine ten"
    found = [chunk.text for chunk in split(f"{item}\n{item}\n{item}", "sentence", unit="word", chunk_size=20)]
    assert found == [item] * 3


def test_a_sentence_over_the_limit_is_cut_at_its_semicolons_before_its_commas() -> None:
    text = "We may, if asked, use it to help; to call, write, or mail; and to sell, lend, or give it"
    found = [chunk.text for chunk in split(text, "sentence", unit="word", chunk_size=8, chunk_overlap=0)]
    assert found == ["We may, if asked, use it to help;", "to call, write, or mail;", "and to sell, lend, or give it"]


@pytest.mark.parametrize("name", STRATEGIES)
def test_what_a_chunk_continues_stands_beside_it(name: str) -> None:
    strategy = STRATEGIES[name]
    rows = [f"Person {i},engineer level {i % 7},{50_000 + i},City {i % 13},likes topic {i}" for i in range(60)]
    header = "name,role,salary,city,note"
    for chunk in leaves(strategy.chunk("\n".join([header, *rows]))):
        assert header in chunk.text or chunk.beside.header == header
        assert "salary" in chunk.text + chunk.context
    code = "```python\n" + "\n".join(f"value_{i} = compute(argument_{i}, other={i})" for i in range(120)) + "\n```"
    for chunk in leaves(strategy.chunk(code)):
        assert chunk.text.startswith("```python") or chunk.beside.language == "python"
        assert all(span.start == 0 or code[span.start - 1] == "\n" for span in chunk.spans)


def test_a_section_ends_a_chunk_that_is_half_full() -> None:
    text = "Uno\n\nOne two three.\n\nDos\n\nFour five. Six seven."
    headings = tuple(Heading(text.index(title), text.index(title) + 3, 1, title) for title in ("Uno", "Dos"))
    strategy = create("sentence", unit="word", chunk_size=8, chunk_overlap=0)
    found = [chunk.text for chunk in strategy.chunk(Document("d", text, headings=headings))]
    assert found == ["Uno\n\nOne two three.", "Dos\n\nFour five. Six seven."]
    assert [chunk.text for chunk in strategy.chunk(text)] == [
        "Uno\n\nOne two three.\n\nDos\n\nFour five.",
        "Six seven.",
    ]
