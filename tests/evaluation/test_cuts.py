"""Counting of cuts inside what is whole, on the chunks of anybody."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given

from kinsplit.chunk import Document
from kinsplit.evaluation.splitters.specs import from_spec
from kinsplit.evaluation.statistics import PLACES, Cuts, count_cuts
from kinsplit.parsers import create, names
from kinsplit.parsers.packing.refine import Limit, Ruler
from kinsplit.spans import Span
from kinsplit.tokenizers import resolve
from tests.generators import texts
from tests.parsers.contract import limit_of
from tests.parsers.sized import plain

PROSE = "Owls hunt at night. Larks sing at dawn."
LIST = "- Owls hunt. They see well.\n- Larks sing."
TABLE = "| bird | time |\n|---|---|\n| owl | night |\n| lark | dawn |"
FENCE = "Look:\n\n```\none\ntwo\n```\n\nEnd."


def limit(size: int) -> Limit:
    return Limit(size, Ruler("character", resolve("bundled")))


def split(text: str, at: str, size: int | None = None, kind: str = "") -> Cuts:
    """Cut a text before the place marked by `‖` in a copy of it."""
    place = at.index("‖")
    assert at.replace("‖", "") == text
    chunks = [(Span(0, place),), (Span(place, len(text)),)]
    return count_cuts(Document("d", text, kind=kind), chunks, None if size is None else limit(size))  # type: ignore[arg-type]


def inside(cuts: Cuts) -> Mapping[str, int]:
    found = {name: count.all for name, count in cuts.inside.items() if count.all}
    assert found.pop("torn", 0) == (1 if found else 0)
    return found


@pytest.mark.parametrize(
    ("text", "at", "kind", "found"),
    [
        (PROSE, "Owls hunt at night.‖ Larks sing at dawn.", "", {}),
        (PROSE, "Owls hunt at night. ‖Larks sing at dawn.", "", {}),
        (PROSE, "Owls hunt ‖at night. Larks sing at dawn.", "", {"sentence": 1}),
        ("# Big owls\n\nThey hunt.", "# Big ‖owls\n\nThey hunt.", "", {"sentence": 1}),
        ("Hard-wrapped\nprose is one.", "Hard-wrapped\n‖prose is one.", "", {"sentence": 1}),
        (LIST, "- Owls hunt. They see well.\n‖- Larks sing.", "", {}),
        (LIST, "- Owls hunt. ‖They see well.\n- Larks sing.", "", {"item": 1}),
        (LIST, "- Owls hunt. They ‖see well.\n- Larks sing.", "", {"item": 1, "sentence": 1}),
        (TABLE, "| bird | time |\n|---|---|\n| owl | night |\n‖| lark | dawn |", "", {}),
        (TABLE, "| bird | time |\n|---|---|\n| owl | night |\n| lark ‖| dawn |", "", {"row": 1, "line": 1}),
        (FENCE, "Look:\n\n‖```\none\ntwo\n```\n\nEnd.", "", {}),
        (FENCE, "Look:\n\n```\none\n‖two\n```\n\nEnd.", "", {"fence": 1}),
        (FENCE, "Look:\n\n```\none\nt‖wo\n```\n\nEnd.", "", {"fence": 1, "line": 1}),
        ("x = owl(\n    3,\n)\ny = 4", "x = owl(\n    3,\n)\ny ‖= 4", "code", {"line": 1, "statement": 1}),
    ],
)
def test_a_cut_is_inside_all_that_it_tears(text: str, at: str, kind: str, found: dict[str, int]) -> None:
    assert inside(split(text, at, kind=kind)) == found


def test_what_is_longer_than_the_limit_has_to_be_cut() -> None:
    at = "Owls hunt ‖at night. Larks sing at dawn."

    assert split(PROSE, at).inside["sentence"] == (1, None)
    assert split(PROSE, at, 19).inside["sentence"] == (1, 1)
    assert split(PROSE, at, 18).inside["sentence"] == (1, 0)
    assert split(PROSE, at, 18).inside["item"] == (0, 0)


def test_an_item_that_is_too_long_is_judged_by_its_own_items() -> None:
    text = "- birds\n  - owls hunt\n  - larks sing\n- bees"

    assert split(text, "- birds\n  - owls hunt\n  ‖- larks sing\n- bees", 20).inside["item"] == (1, 0)
    assert split(text, "- birds\n  - owls ‖hunt\n  - larks sing\n- bees", 20).inside["item"] == (1, 1)
    assert split(text, "- birds\n  - owls ‖hunt\n  - larks sing\n- bees", 9).inside["item"] == (1, 0)


def test_each_place_counts_once_and_the_edges_of_the_text_dont() -> None:
    spans = [[Span(0, 9)], [Span(10, 19), Span(20, 39)], [Span(8, 21)]]

    found = count_cuts(Document("d", PROSE), spans)

    assert (found.places, found.inside["sentence"].all) == (4, 3)
    assert count_cuts(Document("d", f" \n{PROSE}\n"), [[Span(2, 42)], [Span(0, 41)]]).places == 0
    assert count_cuts(Document("d", ""), []) == Cuts()._replace(inside=dict.fromkeys(PLACES, (0, None)))


def test_numbers_at_the_end_and_marks_at_the_start_of_chunks_are_counted() -> None:
    law = "1. The rent is paid. 2. The house is kept."
    note = "Owls hunt.[1] Larks sing."

    assert split(law, "1. The rent is paid. 2. ‖The house is kept.").enumerators == 1
    assert split(law, "1. The rent is paid. ‖2. The house is kept.").enumerators == 0
    assert split(note, "Owls hunt.‖[1] Larks sing.").marks == 1
    assert split(note, "Owls hunt.[1] ‖Larks sing.").marks == 0


def test_the_cuts_of_two_documents_add_up() -> None:
    at = "Owls hunt ‖at night. Larks sing at dawn."
    one, two = split(PROSE, at, 19), split(PROSE, at, 18)

    assert (one + two).places == 2
    assert (one + two).inside["sentence"] == (2, 1)
    assert (one + split(PROSE, at)).inside["sentence"] == (2, None)
    assert sum([one, two], Cuts()) == one + two


@pytest.mark.parametrize("name", names())
def test_a_strategy_has_the_limit_of_its_leaves(name: str) -> None:
    strategy = plain(name)
    own = strategy.limit
    assert own is not None
    assert (own.size, own.ruler.unit) == limit_of(strategy, 0)


@pytest.mark.parametrize(
    ("spec", "found"),
    [
        ("langchain:RecursiveCharacterTextSplitter:chunk_size=80,chunk_overlap=0", (80, "character")),
        (
            "langchain:RecursiveCharacterTextSplitter:chunk_size=80,chunk_overlap=0,length_function=tokens",
            (80, "token"),
        ),
        ("llama-index:SentenceSplitter:chunk_size=80,chunk_overlap=0", (80, "token")),
        ("python:tests.evaluation.test_cuts:halves", None),
        ("hierarchical:parent_size=90,child_size=30", (30, "character")),
        ("multigranular:chunk_sizes=[4,9]", (4, "word")),
    ],
)
def test_the_limit_is_the_one_that_a_specification_states(spec: str, found: tuple[int, str] | None) -> None:
    own = from_spec(spec).strategy.limit

    assert (None if own is None else (own.size, own.ruler.unit)) == found


def halves(text: str) -> list[str]:
    return [text[: len(text) // 2], text[len(text) // 2 :]]


@given(text=texts())
def test_any_text_can_be_judged(text: str) -> None:
    chunks = create("character", chunk_size=9, chunk_overlap=0).chunk(Document("d", text))

    found = count_cuts(Document("d", text), [chunk.spans for chunk in chunks], limit(9))

    assert all(0 <= (count.avoidable or 0) <= count.all <= found.places for count in found.inside.values())
    assert found.places <= max(0, 2 * len(chunks) - 1)
