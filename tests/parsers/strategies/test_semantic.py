"""The strategy `semantic`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from kinsplit.chunk import Document
from kinsplit.embedding.hashing import HashEmbedder
from kinsplit.errors import EmbeddingError, InvalidParameterError
from kinsplit.index import Index
from kinsplit.parsers import create
from kinsplit.parsers.similarity import THRESHOLDS
from kinsplit.parsers.strategies.semantic import SemanticStrategy

CATS = "Cats purr when cats are happy. Happy cats purr and purr. Cats that purr are happy cats. "
MONEY = "Stocks fell as rates rose. Rates rose and stocks fell. Falling stocks follow rising rates. "


class Recording(HashEmbedder):
    """Notes what it is asked to embed."""

    def __init__(self) -> None:
        super().__init__(64)
        self.calls: list[list[str]] = []

    def embed(self, texts: Sequence[str], progress: Any = None) -> np.ndarray:
        self.calls.append(list(texts))
        return super().embed(texts, progress)


class Equal(HashEmbedder):
    """Finds all texts alike."""

    def embed(self, texts: Sequence[str], progress: Any = None) -> np.ndarray:
        return np.full((len(texts), 64), 1 / 8, dtype=np.float32)


def semantic(**parameters: Any) -> SemanticStrategy:
    return SemanticStrategy(**{"embedder": "hash", **parameters})


def texts_of(strategy: SemanticStrategy, text: str) -> list[str]:
    return [chunk.text for chunk in strategy.chunk(Document("d", text))]


@pytest.mark.parametrize(
    ("kind", "more"),
    [
        ("adaptive", {}),
        ("similarity", {"threshold": 0.1}),
        ("percentile", {"threshold": 70.0, "window": 1}),
        ("deviation", {"window": 1}),
        ("interquartile", {"window": 1}),
        ("gradient", {"threshold": 70.0, "window": 1}),
    ],
)
def test_it_cuts_where_the_topic_changes(kind: str, more: dict[str, Any]) -> None:
    chunks = texts_of(semantic(threshold_kind=kind, **more), CATS + MONEY + CATS)
    assert chunks == [CATS.strip(), MONEY.strip(), CATS.strip()]


def test_an_absolute_threshold_alone_decides_where_no_limit_does() -> None:
    strategy = semantic(threshold_kind="similarity", threshold=0.999, min_sentences=1)
    assert len(texts_of(strategy, CATS)) == 3
    strategy = semantic(threshold_kind="similarity", threshold=-1.0, min_sentences=1)
    assert len(texts_of(strategy, CATS + MONEY)) == 1


@pytest.mark.parametrize("kind", sorted(THRESHOLDS))
@pytest.mark.parametrize("text", ["", "  \n", "\u00a0\u2003", "One sentence.", "One sentence. And two."])
def test_texts_that_can_only_be_one_chunk_cost_no_call(kind: str, text: str) -> None:
    embedder = Recording()
    chunks = texts_of(semantic(embedder=embedder, threshold_kind=kind), text)
    assert chunks == ([text.strip()] if text.strip() else [])
    assert embedder.calls == []


@pytest.mark.parametrize("kind", sorted(THRESHOLDS))
def test_two_sentences_and_equal_vectors_have_defined_results(kind: str) -> None:
    two = semantic(threshold_kind=kind, min_sentences=1, max_sentences=2)
    assert 1 <= len(texts_of(two, "Cats purr. Stocks fell.")) <= 2
    alike = semantic(embedder=Equal(), threshold_kind=kind, min_sentences=1, max_sentences=4)
    assert [text.count("No.") for text in texts_of(alike, "No. " * 8)] == [4, 4]


def test_a_sentence_is_embedded_once_however_often_it_comes_and_all_in_one_call() -> None:
    embedder = Recording()
    semantic(embedder=embedder, max_sentences=5).split_many(["No. Yes. " * 30, "", "Yes. Maybe. " * 30])
    assert embedder.calls == [["No.", "Yes.", "Maybe."]]


def test_a_budget_is_never_exceeded_and_a_long_sentence_is_cut_before_it_is_embedded() -> None:
    embedder = Recording()
    yaml = "key:\n" + "\n".join(f"  name_{i}: value {i}" for i in range(2000))
    strategy = semantic(embedder=embedder, chunk_size=90)
    for text in ("word " * 3000, yaml):
        for chunk in texts_of(strategy, text):
            assert len(chunk.split()) <= 90
    assert max(len(text.split()) for call in embedder.calls for text in call) <= 90


def test_no_text_longer_than_the_window_reaches_a_frameworks_embedder() -> None:
    class Foreign:
        """What LangChain calls an embedder."""

        def __init__(self) -> None:
            self.seen: list[str] = []

        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            self.seen += texts
            return HashEmbedder(8).embed(texts).tolist()

        def embed_query(self, text: str) -> list[float]:
            return self.embed_documents([text])[0]

    foreign = Foreign()
    strategy = semantic(embedder=foreign, chunk_size=3000, max_sentences=4, min_sentences=1)
    texts_of(strategy, "word " * 9000 + "cat. " * 9)
    assert foreign.seen
    assert max(len(text.split()) for text in foreign.seen) <= 512


@pytest.mark.parametrize(("least", "most"), [(1, 4), (3, 5), (2, 20)])
def test_numbers_of_sentences_are_kept(least: int, most: int) -> None:
    text = (CATS + MONEY) * 9
    numbers = [chunk.count(".") for chunk in texts_of(semantic(min_sentences=least, max_sentences=most), text)]
    assert sum(numbers) == 54
    assert all(least <= number <= most for number in numbers)


def test_a_remnant_joins_the_neighbour_that_it_resembles() -> None:
    rest = "Cats purr. "
    assert texts_of(semantic(), CATS + rest + MONEY) == [(CATS + rest).strip(), MONEY.strip()]
    rest = "Stocks fell as rates rose. "
    assert texts_of(semantic(), CATS + rest + MONEY) == [CATS.strip(), (rest + MONEY).strip()]


def test_overlap_repeats_whole_sentences_within_the_budget() -> None:
    document = Document("d", CATS + MONEY)
    first, second = semantic(overlap_sentences=1).chunk(document)
    assert second.text.startswith("Cats that purr are happy cats. Stocks")
    assert (first.overlap, second.overlap) == (0, len("Cats that purr are happy cats."))
    assert [chunk.overlap for chunk in semantic(overlap_sentences=1, chunk_size=18).chunk(document)] == [0, 0]


def test_metadata_say_the_section_and_how_large_the_gap_is() -> None:
    document = Document("d", f"# Cats\n\n{CATS}\n\n## Money\n\n{MONEY}", {"course": "zoo"})
    first, second = semantic().chunk(document)
    assert first.metadata == {"section": "Cats", "course": "zoo"}
    assert second.text.startswith("## Money")
    gap = second.metadata["similarity_gap"]
    assert second.metadata == {
        "section": "Cats > Money",
        "similarity_gap": gap,
        "course": "zoo",
    }
    assert 0.5 < gap <= 2
    assert [c.metadata for c in semantic().chunk(Document("d", CATS, {"section": "mine"}))] == [{"section": "mine"}]


def test_a_heading_stays_with_what_follows_it() -> None:
    text = f"{CATS}\n\n# On cats that purr and are happy cats\n\n{MONEY}"
    chunks = texts_of(semantic(), text)
    assert not any(chunk.endswith("happy cats") for chunk in chunks)


def test_a_unit_that_does_not_add_up_keeps_the_limit_too() -> None:
    strategy = semantic(unit="token", tokenizer=str.split, chunk_size=12, min_sentences=1)
    assert all(len(chunk.split()) <= 12 for chunk in texts_of(strategy, (CATS + MONEY) * 3))


@pytest.mark.parametrize(
    ("parameters", "field"),
    [
        ({"threshold_kind": "percentile", "threshold": 0.85}, "threshold"),
        ({"threshold_kind": "similarity", "threshold": 75.0}, "threshold"),
        ({"threshold_kind": "sharp"}, "threshold_kind"),
        ({"threshold": "high"}, "threshold"),
        ({"window": 2}, "window"),
        ({"min_sentences": 21}, "min_sentences"),
        ({"overlap_sentences": 20}, "overlap_sentences"),
        ({"max_sentences": 1001}, "max_sentences"),
        ({"embedder": 3}, "embedder"),
    ],
)
def test_bad_parameters_are_refused_with_their_name(parameters: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidParameterError) as caught:
        semantic(**parameters)
    assert caught.value.field == field


def test_thresholds_and_windows_follow_their_kind() -> None:
    for kind, threshold in THRESHOLDS.items():
        own = create("semantic", threshold_kind=kind).parameters
        assert (own["threshold"], own["window"]) == (
            threshold.default,
            threshold.window,
        )


def test_an_embedder_given_as_an_object_can_not_be_found_again() -> None:
    with Index("memory:", embedder="hash", strategy=semantic(embedder=Recording())) as index:
        index.add([Document("d", CATS + MONEY)])
        hit = index.search("stocks", top_k=1, window=0)[0].hits[0]
        assert hit.chunk.text == MONEY.strip()
        assert hit.chunk.metadata["similarity_gap"] > 0
        described = index.strategy.described["embedder"]
    assert described == "object:tests.parsers.strategies.test_semantic.Recording:hash:64"
    with pytest.raises(EmbeddingError, match="is a Python object"):
        semantic(embedder=described).split(CATS + MONEY)


def test_a_quoted_question_stays_with_its_verb() -> None:
    text = 'One asks "Can they think?" is replaced with another. ' * 4
    chunks = create("semantic", embedder="hash", min_sentences=1, unit="word", chunk_size=9).chunk(text)
    assert {chunk.text for chunk in chunks} == {text[:52]}
