"""The strategy `hierarchical`: children inside their parents, at any depth."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import pytest
from hypothesis import given

from kinsplit.chunk import Chunk, Document
from kinsplit.errors import InvalidParameterError
from kinsplit.parsers import create
from kinsplit.parsers.units.sentences import sentences
from tests.generators import strategy_parameters, texts
from tests.parsers.contract import check_chunks

TEXT = " ".join(f"Sentence {letter * 3} ends here." for letter in "abcdefghij")
MARKDOWN = f"Intro.\n\n# A\n\n{TEXT}\n\n## B\n\n{TEXT}\n\n# C\n\nShort.\n"


def chunked(text: str, **parameters: Any) -> dict[int, list[Chunk]]:
    strategy, document = create("hierarchical", **parameters), Document("d", text)
    chunks = strategy.chunk(document)
    check_chunks(strategy, document, chunks)
    levels = defaultdict(list)
    for chunk in chunks:
        levels[chunk.level].append(chunk)
    return levels


def test_children_are_listed_below_their_parents_and_made_of_sentences() -> None:
    levels = chunked(TEXT, parent_size=100, child_size=60)
    assert [chunk.text.count(".") for chunk in levels[0]] == [2, 2, 2, 2, 2]
    assert [chunk.text.count(".") for chunk in levels[1]] == [4, 4, 2]
    parents = [next(p.index for p in levels[1] if p.id == chunk.parent_id) for chunk in levels[0]]
    assert parents == [0, 0, 1, 1, 2]


def test_parents_come_first_and_have_no_parent() -> None:
    chunks = create("hierarchical", parent_size=100, child_size=60).chunk(Document("d", TEXT))
    assert [chunk.level for chunk in chunks] == [1, 1, 1, 0, 0, 0, 0, 0]
    assert {chunk.parent_id for chunk in chunks if chunk.level == 1} == {None}


def test_several_parent_sizes_make_several_levels() -> None:
    levels = chunked(TEXT * 4, parent_size=(600, 200, 100), child_size=60)
    assert sorted(levels) == [0, 1, 2, 3]
    for level in range(3):
        used = {chunk.parent_id for chunk in levels[level]}
        assert used == {chunk.id for chunk in levels[level + 1]}, "every parent has children"
    assert max(len(chunk.text) for chunk in levels[3]) <= 600


def test_the_children_of_a_parent_tile_it() -> None:
    levels = chunked(TEXT * 3, parent_size=200, child_size=70)
    for parent in levels[1]:
        own = [chunk for chunk in levels[0] if chunk.parent_id == parent.id]
        assert (own[0].start, own[-1].end) == (parent.start, parent.end)
        assert "".join("".join(chunk.text.split()) for chunk in own) == "".join(parent.text.split())


@pytest.mark.parametrize("unit", ["character", "word", "token"])
def test_each_level_is_limited_in_the_unit(unit: str) -> None:
    levels = chunked(MARKDOWN, unit=unit, parent_size=(80, 40), child_size=20)
    assert sorted(levels) == [0, 1, 2]
    assert len(levels[0]) > len(levels[1]) > len(levels[2]) > 1
    starts = set(sentences(MARKDOWN).starts.tolist())
    assert all(chunk.start in starts for chunk in levels[2])


def test_parents_may_follow_headings() -> None:
    levels = chunked(MARKDOWN, parent_size=1000, child_size=100, headings=True)
    assert [(chunk.context, chunk.text.split("\n")[0]) for chunk in levels[1]] == [
        ("", "Intro."),
        ("A", "# A"),
        ("A > B", "## B"),
        ("C", "# C"),
    ]
    for chunk in levels[0]:
        parent = next(p for p in levels[1] if p.id == chunk.parent_id)
        assert chunk.context == parent.context


def test_without_headings_there_is_no_context() -> None:
    levels = chunked(MARKDOWN, parent_size=1000, child_size=100)
    assert len(levels[1]) == 1
    assert {chunk.context for level in levels.values() for chunk in level} == {""}


def test_a_short_text_is_a_parent_with_one_child() -> None:
    levels = chunked("Only this.")
    assert [(level, chunk.text) for level in (1, 0) for chunk in levels[level]] == [
        (1, "Only this."),
        (0, "Only this."),
    ]
    assert levels[0][0].id != levels[1][0].id


@given(text=texts(), parameters=strategy_parameters("hierarchical"))
def test_every_chunk_below_the_top_has_a_parent_that_holds_it(text: str, parameters: dict[str, Any]) -> None:
    chunks = create("hierarchical", **parameters).chunk(Document("d", text))
    by_id = {chunk.id: chunk for chunk in chunks}
    top = len(parameters["parent_size"])
    for chunk in chunks:
        assert (chunk.parent_id is None) == (chunk.level == top)
        if chunk.parent_id:
            parent = by_id[chunk.parent_id]
            assert parent.level == chunk.level + 1
            assert parent.start <= chunk.start < chunk.end <= parent.end


@pytest.mark.parametrize(
    ("parameters", "field"),
    [
        ({"parent_size": 100, "child_size": 100}, "child_size"),
        ({"child_size": 1000}, "child_size"),
        ({"parent_size": (100, 200), "child_size": 10}, "parent_size"),
        ({"parent_size": (100, 100), "child_size": 10}, "parent_size"),
        ({"parent_size": ()}, "parent_size"),
        ({"parent_size": tuple(range(300, 283, -1)), "child_size": 10}, "parent_size"),
        ({"parent_size": 0}, "parent_size"),
        ({"child_size": 0}, "child_size"),
        ({"parent_size": "1000"}, "parent_size"),
    ],
)
def test_sizes_that_do_not_descend_are_refused(parameters: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidParameterError) as caught:
        create("hierarchical", **parameters)
    assert caught.value.field.split(".")[0] == field


def test_one_parent_size_needs_no_tuple() -> None:
    assert create("hierarchical", parent_size=500) == create("hierarchical", parent_size=(500,))


LONG = "Short one. " + "This sentence goes on " * 5 + "and ends. Then a short one. And another."


@pytest.mark.parametrize(("unit", "parent", "child"), [("character", 300, 40), ("word", 60, 8), ("token", 80, 8)])
def test_children_can_be_whole_sentences_longer_than_their_budget(unit: str, parent: int, child: int) -> None:
    cut = chunked(LONG, parent_size=parent, child_size=child, unit=unit)
    whole = chunked(LONG, parent_size=parent, child_size=child, unit=unit, children="sentence")
    assert not all(chunk.text.endswith(".") for chunk in cut[0])
    assert [chunk.text.count(".") for chunk in whole[0]] == [1, 1, 2]
    assert [chunk.text for chunk in cut[1]] == [chunk.text for chunk in whole[1]], "parents are the same"


def test_a_sentence_longer_than_its_parent_is_cut_for_both() -> None:
    levels = chunked(LONG, parent_size=60, child_size=40, children="sentence")
    assert max(len(chunk.text) for level in levels.values() for chunk in level) <= 60


@given(texts())
def test_children_of_whole_sentences_hold_as_many_as_fit(text: str) -> None:
    levels = chunked(text, parent_size=5000, child_size=30, children="sentence")
    found = sentences(text)
    starts, ends = set(found.starts.tolist()), set(found.ends.tolist())
    for chunk in levels[0]:
        assert chunk.start in starts
        assert chunk.end in ends
        assert len(chunk.text) <= 30 or sum(chunk.start <= start < chunk.end for start in starts) == 1
