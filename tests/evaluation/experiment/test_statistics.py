from __future__ import annotations

from dataclasses import replace

import pytest

from kinsplit.chunk import Chunk, Document
from kinsplit.evaluation.labels import Dataset
from kinsplit.evaluation.measures.protocol import Chunking
from kinsplit.evaluation.splitters.specs import as_strategy
from kinsplit.evaluation.statistics import STATISTICS, ChunkingProfile, describe
from kinsplit.parsers import create
from kinsplit.parsers.packing.refine import Limit, Ruler
from kinsplit.tokenizers import resolve

TEXT = "Cats sleep all day. Dogs run.\n\nBirds well-fed sing."


def made(*spans: tuple[int, int], text: str = TEXT, contexts: bool = True) -> ChunkingProfile:
    chunks = as_strategy(lambda _: spans).chunk(Document("d", text))
    return of(chunks, text, contexts=contexts)


def of(chunks: list[Chunk], text: str, *, contexts: bool = True) -> ChunkingProfile:
    dataset = Dataset("made", (Document("d", text), Document("empty", "")), ())
    return ChunkingProfile(Chunking(dataset, tuple(chunks), resolve("bundled")), 8, contexts, None, 0.5)


def test_every_statistic_says_what_it_is() -> None:
    assert len({statistic.name for statistic in STATISTICS}) == len(STATISTICS)
    assert all(statistic.unit and statistic.description for statistic in STATISTICS)


def test_sizes_are_those_of_the_text() -> None:
    found = describe(made((0, 19), (20, 29)))

    assert (found["chunks"], found["documents"]) == (2, 1)
    assert (found["average_characters"], found["min_characters"], found["max_characters"]) == (14, 9, 19)
    assert (found["average_words"], found["min_words"], found["max_words"]) == (3, 2, 4)
    assert (found["average_tokens"], found["min_tokens"], found["max_tokens"]) == (4, 3, 5)  # The full stop is a token.


def test_what_has_no_value_is_left_out() -> None:
    found = describe(made((0, 19)))

    assert "split_seconds" not in found
    assert found["embed_seconds"] == 0.5
    assert "average_characters" not in describe(made())
    assert describe(made())["chunks"] == 0


@pytest.mark.parametrize(
    ("spans", "words", "places", "sentences"),
    [
        ([(0, 19), (20, 29), (31, 51)], 0, 2, 0),  # Each span is a sentence.
        ([(0, 20), (20, 31), (31, 51)], 0, 2, 0),  # White space belongs to no sentence.
        ([(0, 4), (5, 51)], 0, 1, 1),
        ([(0, 6), (6, 51)], 2, 1, 1),
        ([(0, 42), (42, 51)], 0, 1, 1),  # A cut at a hyphen cuts no word, though kinsplit's words include hyphens.
        ([(0, 18), (18, 51)], 0, 1, 1),  # Nor does a cut before a full stop, which belongs to its sentence.
        ([(0, 29)], 0, 1, 0),
    ],
)
def test_cuts_of_words_are_counted_by_chunk_and_others_by_place(
    spans: list[tuple[int, int]], words: int, places: int, sentences: int
) -> None:
    found = describe(made(*spans))

    assert found["mid_word"] * len(spans) == words
    assert (found["cuts"], found["sentence_cuts"]) == (places, sentences)
    assert "sentence_cuts_avoidable" not in found


def test_with_a_limit_fill_and_avoidable_cuts_are_known() -> None:
    profile = replace(made((0, 4), (5, 51)), limit=Limit(19, Ruler("character", resolve("bundled"))))
    found = describe(profile)

    assert found["fill"] == pytest.approx((4 + 46) / 2 / 19)
    assert (found["sentence_cuts"], found["sentence_cuts_avoidable"]) == (1, 1)
    assert (
        describe(replace(profile, limit=profile.limit and profile.limit._replace(size=18)))["sentence_cuts_avoidable"]
        == 0
    )


def test_between_the_graphemes_of_a_script_without_spaces_no_word_is_cut() -> None:
    assert describe(made((0, 3), (3, 6), text="我喜欢猫和狗"))["mid_word"] == 0


def test_a_chunk_of_several_places_is_cut_where_any_of_them_is() -> None:
    cluster = create("cluster", passage_size=2, passage_overlap=0, embedder="hash")
    text = "Cats eat dogs run cats eat"

    assert describe(of(cluster.chunk(Document("d", text)), text))["sentence_cuts"] == 2


def test_coverage_and_duplication_leave_white_space_out() -> None:
    text = "abc def\n\nghi"

    assert describe(made((0, 3), (4, 7), (9, 12), text=text))["coverage"] == 1
    assert describe(made((0, 7), text=text))["coverage"] == pytest.approx(6 / 9)
    assert describe(made((0, 7), (4, 12), text=text))["duplication"] == pytest.approx(12 / 9)
    assert describe(made((0, 3), (0, 3), text=text))["duplication"] == 2


def test_what_is_embedded_and_stored_holds_the_contexts() -> None:
    text = "# Big cats\n\nThey sleep."
    chunks = [chunk for chunk in create("structure").chunk(Document("d", text)) if chunk.level == 0]

    with_context, without = of(chunks, text), of(chunks, text, contexts=False)

    assert [chunk.context for chunk in chunks] == ["Big cats"]
    assert describe(with_context)["tokens_embedded"] == describe(without)["tokens_embedded"] + 2
    assert describe(with_context)["bytes_stored"] == len(chunks[0].text) + len("Big cats") + 8 * 4
