"""Scores from the evidence of siblings, parent and document."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from kinsplit import Document, Index
from kinsplit.errors import InvalidParameterError
from kinsplit.options import NO_KIN, KinWeights
from kinsplit.retrieval import SearchQuestion
from kinsplit.retrieval.rankings import find_evidence, rank_together
from kinsplit.retrieval.scoring import KinRankings, NamedRankings, OwnScores, score_with_kin, sibling_weight, trust
from kinsplit.stores import Entry

ALONE = NO_KIN.model_copy(update={"bm25": 0.5})


def entry(name: str, index: int = 0, *, source: str = "d", parent: str | None = None, tokens: int = 100) -> Entry:
    before, after = (f"{source}{i}" for i in (index - 1, index + 1))
    return Entry(name, source, index, 9, 0, parent, before if index else None, after, tokens, 400, (), "", ())


def evidence(*entries: Entry, **scores: dict[str, float]) -> KinRankings:
    kinds = ("dense", "bm25", "parent", "parent_dense", "document")
    return KinRankings({e.id: e for e in entries}, **{kind: scores.get(kind, {}) for kind in kinds})


def order(found: KinRankings, weights: KinWeights) -> list[str]:
    return [scored.entry.id for scored in score_with_kin(found, weights)]


def standard(values: Sequence[float]) -> NDArray[np.float64]:
    return (np.array(values) - np.mean(values)) / np.std(values)


def test_cosines_and_squared_terms_count_by_their_peaks_in_the_own_score() -> None:
    entries = [entry(f"d{i}", i) for i in range(3)]
    dense, terms = {"d0": 0.9, "d1": 0.5, "d2": 0.1}, {"d0": 1.0, "d1": 4.0, "d2": 2.0}

    found = {j.entry.id: j.score for j in score_with_kin(evidence(*entries, dense=dense, bm25=terms), ALONE)}

    cosines, squares = standard(list(dense.values())), standard([score**2 for score in terms.values()])
    own = standard(cosines * max(cosines) + 0.5 * squares * max(squares))
    assert found == pytest.approx(dict(zip(dense, own, strict=True)))


def test_a_ranking_counts_the_more_the_further_its_best_stands_out() -> None:
    entries = [entry(f"d{i}", i) for i in range(12)]
    dense = {f"d{i}": 0.5 + 0.01 * i for i in range(12)}
    clear, vague = {"d0": 9.0}, {f"d{i}": 9.0 for i in range(6)}

    assert order(evidence(*entries, dense=dense, bm25=clear), ALONE)[0] == "d0"
    assert order(evidence(*entries, dense=dense, bm25=vague), ALONE)[0] != "d5"


def test_a_sibling_that_is_no_candidate_counts_by_its_own_scores() -> None:
    pair = entry("d1", 1), entry("e1", 1, source="e")
    far = entry("f0", source="f")
    dense = {"d1": 0.5, "e1": 0.49, "f0": 0.1, "d0": 0.1, "d2": 0.1, "e0": 0.4, "e2": 0.4}

    found = evidence(*pair, far, dense=dense)

    assert order(found, NO_KIN) == ["d1", "e1", "f0"]
    assert order(found, NO_KIN.model_copy(update={"siblings": 0.3})) == ["e1", "d1", "f0"]


def test_the_best_chunk_of_a_document_speaks_for_its_other_chunks() -> None:
    entries = entry("d0"), entry("d5", 5), entry("e0", source="e")
    found = evidence(*entries, dense={"d0": 0.9, "d5": 0.4, "e0": 0.45})

    assert order(found, NO_KIN) == ["d0", "e0", "d5"]
    assert order(found, NO_KIN.model_copy(update={"best_chunk": 1.0})) == ["d0", "d5", "e0"]


@pytest.mark.parametrize(
    ("kind", "scores"),
    [
        ("parent", {"p1": 5.0, "p0": 1.0}),
        ("parent_dense", {"p1": 0.8, "p0": 0.1}),
        ("document", {"e": 5.0, "d": 1.0}),
    ],
)
def test_equal_chunks_differ_by_their_kin(kind: str, scores: dict[str, float]) -> None:
    pair = entry("a", source="d", parent="p0"), entry("b", source="e", parent="p1")
    found = evidence(*pair, dense={"a": 0.5, "b": 0.5}, **{kind: scores})

    assert order(found, NO_KIN) == ["a", "b"]
    assert order(found, NO_KIN.model_copy(update={kind: 0.1})) == ["b", "a"]


def test_a_chunk_between_good_ones_gains_on_one_between_bad_ones() -> None:
    row = [entry(f"d{i}", i) for i in range(3)] + [entry(f"e{i}", i, source="e") for i in range(3)]
    dense = {"d0": 0.1, "d1": 0.5, "d2": 0.1, "e0": 0.6, "e1": 0.5, "e2": 0.6}
    found = evidence(*row, dense=dense)

    assert order(found, NO_KIN).index("d1") < order(found, NO_KIN).index("e1")
    with_siblings = order(found, NO_KIN.model_copy(update={"siblings": 0.3}))
    assert with_siblings.index("e1") < with_siblings.index("d1")


def test_what_a_ranking_does_not_have_counts_as_its_worst() -> None:
    entries = [entry(f"d{i}", i) for i in range(3)]
    found = evidence(*entries, dense={"d0": 0.9, "d1": 0.2}, bm25={"d2": 1.0})

    (first, second, third) = score_with_kin(found, NO_KIN.model_copy(update={"bm25": 0.0}))
    assert (first.entry.id, second.score) == ("d0", third.score)
    assert "dense" not in {j.entry.id: j for j in (second, third)}["d2"].scores


@pytest.mark.parametrize(("tokens", "share"), [(50, 1.0), (100, 1.0), (200, 0.5), (1000, 0.1)])
def test_the_weight_of_siblings_falls_with_the_chunks_length(tokens: int, share: float) -> None:
    weights = KinWeights(siblings=0.4)

    assert sibling_weight([entry("a", tokens=tokens)], weights) == pytest.approx(0.4 * share)
    uncounted = entry("a")._replace(token_count=None, length=4 * tokens)
    assert sibling_weight([uncounted], weights) == pytest.approx(0.4 * share)


@given(st.lists(st.tuples(st.floats(-1, 1), st.floats(0, 30)), min_size=1, max_size=12))
def test_every_candidate_is_judged_once_with_finite_scores_best_first(scores: list[tuple[float, float]]) -> None:
    entries = [entry(f"d{i}", i, parent=f"p{i // 3}") for i in range(len(scores))]
    found = evidence(
        *entries,
        dense={f"d{i}": a for i, (a, _) in enumerate(scores)},
        bm25={f"d{i}": b for i, (_, b) in enumerate(scores) if b > 5},
        parent={"p0": 3.0},
        document={"d": 2.0},
    )

    judged = score_with_kin(found, KinWeights())

    assert sorted(j.entry.id for j in judged) == sorted(e.id for e in entries)
    assert all(np.isfinite(list(j.scores.values())).all() for j in judged)
    assert [j.score for j in judged] == sorted((j.score for j in judged), reverse=True)
    assert all(j.score == j.scores["kin"] for j in judged)


def scores(found: KinRankings, weights: KinWeights) -> dict[str, float]:
    return {scored.entry.id: scored.score for scored in score_with_kin(found, weights)}


def test_terms_say_the_less_the_fewer_of_the_words_the_best_chunk_has() -> None:
    entries = [entry(f"d{i}", i) for i in range(12)]
    found = evidence(
        *entries, dense={f"d{i}": 0.5 + 0.01 * i for i in range(12)}, bm25={"d0": 9.0}, document={"d": 9.0}
    )
    margins = []
    for share in (1.0, 0.5, 0.1, 0.0):
        own = scores(replace(found, share=share), ALONE)
        margins.append(own["d0"] - own["d11"])

    assert margins[0] > 0 > margins[2]
    assert margins[0] == margins[1] > margins[2] > margins[3]
    # By meaning alone, as if there were no terms.
    assert scores(replace(found, share=0.0), KinWeights()) == scores(replace(found, bm25={}, document={}), KinWeights())


def test_a_model_that_tells_nothing_apart_leaves_the_words_their_say() -> None:
    entries = [entry(f"d{i}", i) for i in range(12)]
    found = evidence(*entries, dense={f"d{i}": 0.5 for i in range(12)}, bm25={"d0": 9.0}, document={"d": 9.0})

    assert scores(replace(found, share=0.05), KinWeights()) == scores(found, KinWeights())


def test_words_count_less_if_a_model_that_knows_the_language_finds_something_else() -> None:
    entries = [entry(f"d{i}", i) for i in range(40)]
    dense = {f"d{i}": 0.5 - 0.01 * i for i in range(39)} | {"d39": 0.9}
    apart = evidence(*entries, dense=dense, bm25={"d20": 9.0, "d30": 4.0})
    agreed = evidence(*entries, dense=dense, bm25={"d39": 9.0, "d30": 4.0})

    def trusted(found: KinRankings, familiarity: float | None, **changes: object) -> float:
        asked = replace(found, share=0.2, familiarity=familiarity, **changes)  # type: ignore[arg-type]
        return trust(asked, OwnScores.of(asked.entries, asked.dense, asked.bm25))

    unknown, half, known = (trusted(apart, familiarity) for familiarity in (0.0, 0.5, 1.0))
    assert 0 < known < half < unknown
    # As without a calibration: what agrees, and what names a document.
    usual = trusted(apart, None)
    assert known < usual < unknown
    assert trusted(agreed, 1.0) == usual
    assert trusted(apart, 1.0, named=NamedRankings("d", {}, {})) == usual


def test_the_only_document_with_a_word_counts_no_more_among_more_candidates() -> None:
    def lead(number: int) -> float:
        entries = [entry(f"d{i}", source=f"d{i}") for i in range(number)]
        found = scores(evidence(*entries, document={"d0": 5.0}), NO_KIN.model_copy(update={"document": 1.0}))
        return found["d0"] - found["d1"]

    assert lead(4) < lead(40)
    assert lead(400) == pytest.approx(9.0, abs=0.2)


@pytest.mark.parametrize(
    "vague", ["How do I stop creatures nibbling my greens?", "something gnaws my plants, what stops it?"]
)
@pytest.mark.parametrize("options", [{}, {"weights": KinWeights(bm25=0.0)}, {"weights": NO_KIN}])
def test_one_rare_everyday_word_does_not_beat_meaning(vague: str, options: dict[str, Any]) -> None:
    tasks = ("likes cool weather.", "needs fine soil.", "tastes bitter when dry.", "plants stand well in half shade.")
    texts = {
        f"{crop}{i}": f"{crop} {task}" for crop in ("Kale", "Chard", "Endive", "Cress") for i, task in enumerate(tasks)
    }
    texts["slugs"] = "Slugs come out after dark and devour lettuce. Copper keeps them off the bed."
    texts["bus"] = "The bus to the seed fair stops at the mill and stops again at noon."
    with Index("memory:") as index:
        for name, text in texts.items():
            index.add(Document(name, text))
        best, *_ = index.search(vague, top_k=1, **options)
        (known, *_) = index.search("When does the bus to the fair stop at the mill?", top_k=1)
    assert (best.source_id, known.source_id) == ("slugs", "bus")


@pytest.mark.parametrize(
    ("asked", "share"),
    [
        ("warranty delivery", 1.0),
        ("warranty", 1.0),
        ("warranty zebra", 0.5),
        ("zebra giraffe", 0.0),
        ("the", 1.0),
        ("What is the AFP?", 1.0),  # Letters of a phrase that a chunk spells.
        ("an AFP for a zebra", 0.5),
        ("the GPS", 0.0),
        ("the net present value", 1.0),  # A phrase whose letters a chunk has, and whose words none has.
        ("is the net present value a zebra?", 0.5),
        ("a gross present value", 0.0),
    ],
)
def test_evidence_knows_the_share_of_the_words_that_one_chunk_has(asked: str, share: float) -> None:
    assert found_in(("Warranty and delivery.", "An advance fixed payment.", "The NPV.", "Liability."), asked).share == (
        pytest.approx(share, abs=0.1)
    )


def test_a_word_with_accents_counts_as_one() -> None:
    texts = "Die Gewährleistung endet.", "Die Zahlung.", "Die Haftung."
    assert found_in(texts, "Gewährleistung", language="german").share == pytest.approx(1.0)


def found_in(texts: Sequence[str], asked: str, **options: str) -> KinRankings:
    with Index("memory:", embedder="hash", **options) as index:  # type: ignore[arg-type]
        index.add(Document(text, text) for text in texts)
        question = SearchQuestion.of(asked, index.embedder.embed_query(asked), index.bm25)
        (found,) = rank_together(index.store, [find_evidence(index.store, question, KinWeights(), 10)])
    return found


def test_a_document_of_one_chunk_counts_its_words_once_and_those_of_its_name_too() -> None:
    entries = [entry(f"d{i}", source=f"d{i}")._replace(next_id=None) for i in range(9)]
    alone = evidence(*entries, bm25={"d0": 5.0}, document={"d0": 5.0})
    named = evidence(*entries, document={"d0": 5.0})
    kin = NO_KIN.model_copy(update={"document": 1.0})

    assert scores(alone, kin) == scores(alone, NO_KIN)
    assert scores(named, kin)["d0"] > scores(named, NO_KIN)["d0"]


def test_nothing_found_is_nothing() -> None:
    assert score_with_kin(evidence(), KinWeights()) == []


def test_a_wrong_weight_is_named() -> None:
    with pytest.raises(InvalidParameterError, match=r"siblings: must be at least 0 \(got -1\)"):
        KinWeights(siblings=-1)
    with pytest.raises(InvalidParameterError, match="sibling: is not known here"):
        KinWeights(sibling=1)  # type: ignore[call-arg]
