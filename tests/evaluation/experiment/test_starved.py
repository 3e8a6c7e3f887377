"""Questions without a relevant chunk are reported in every comparison by rank measures."""

from __future__ import annotations

from tests.evaluation.experiment.test_experiment import ENOUGH, experiment

STRICT, LOOSE = {"span_coverage": 1.0, "chunk_coverage": 1.0}, {"span_coverage": 0.01, "chunk_coverage": 0.0}


def test_questions_without_a_relevant_chunk_are_told_where_ranks_are_measured() -> None:
    results = experiment(dataset=ENOUGH, measures=["recall@20t", "nDCG@10", "MRR"], **STRICT).run()

    (warning,) = results.warnings
    assert warning.startswith(f"Of {len(ENOUGH.questions)} labelled questions some have no relevant chunk")
    # Chunks of whole sentences hold exactly the labelled text; windows of words never do.
    assert f": {len(ENOUGH.questions)} with word. " in warning
    sentence, word = results.strategies
    assert sentence.measures["nDCG@10"].count == len(ENOUGH.questions)
    assert "nDCG@10" not in word.measures


def test_nothing_is_told_where_all_are_judged_or_no_ranks_are_measured() -> None:
    judged = experiment(dataset=ENOUGH, measures=["recall@20t", "nDCG@10"], **LOOSE).run()

    assert judged.warnings == []
    assert [strategy.measures["nDCG@10"].count for strategy in judged.strategies] == [len(ENOUGH.questions)] * 2
    assert experiment(dataset=ENOUGH, measures=["recall@20t"], **STRICT).run().warnings == []
