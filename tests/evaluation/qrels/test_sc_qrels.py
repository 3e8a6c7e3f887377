"""Reproduction of the published results of SC-Qrels."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import ir_measures
import numpy as np
import pytest

from kinsplit.chunk import Chunk
from kinsplit.evaluation.datasets import load
from kinsplit.evaluation.labels import Dataset
from kinsplit.evaluation.measures.protocol import Chunking, Outcome
from kinsplit.evaluation.measures.registry import create_many
from kinsplit.evaluation.qrels import (
    SC_QRELS,
    Alignment,
    read_embeddings,
    read_manifest,
    read_qrels,
    tune_thresholds,
    write_qrels,
)
from tests.evaluation.making import Letters
from tests.shared_data import shared_path

#: Numbers of questions with a relevant chunk, and with at least half of a label in one chunk, by chunking.
CHUNKINGS = {
    "BGE512T_S128": (4, 118),
    "CHARBLOCK1000_NOV0": (7, 118),
    "CHARWIN500_OV50": (20, 118),
    "SENT": (83, 116),
}


def published(name: str) -> Path:
    return shared_path(f"alice/sc_qrels/{name}")


@pytest.fixture(scope="module")
def alice() -> Dataset:
    # The manifests refer to the normalised chapters, so load these instead of the stored ones.
    files = [published("annotations_merged_final.json"), published("questions_sme1.json")]
    return load(shared_path("alice/docs.jsonl"), files)


def manifest(name: str, dataset: Dataset) -> tuple[Chunk, ...]:
    return read_manifest(published(f"chunk_manifests/chunks_{name}.jsonl"), dataset)


@pytest.mark.parametrize("name", CHUNKINGS)
def test_the_published_qrels_are_reproduced_byte_by_byte(name: str, alice: Dataset, tmp_path: Path) -> None:
    path = published(f"qrels/qrels_{name}.txt")
    qrels = Alignment(manifest(name, alice)).qrels(alice.questions, SC_QRELS)
    assert qrels == read_qrels(path)
    assert len(qrels) == CHUNKINGS[name][0]
    write_qrels(tmp_path / "qrels.txt", qrels)
    assert (tmp_path / "qrels.txt").read_bytes() == path.read_bytes()


MEASURES = [
    *(f"{name}@{k}" for name in ("P", "R", "MRR", "MAP", "nDCG", "Success") for k in (1, 3, 5, 10, 20)),
    *("MRR", "MAP", "nDCG"),
]


def outcomes(run: Path, chunking: Chunking) -> Iterable[Outcome]:
    by_id = {chunk.id: chunk for chunk in chunking.chunks}
    hits = list(ir_measures.read_trec_run(str(run)))
    # As in trec_eval: by score in single precision, and by descending id where scores are equal.
    hits.sort(key=lambda hit: (np.float32(hit.score), hit.doc_id), reverse=True)
    for question in chunking.dataset.questions:
        own = [hit for hit in hits if hit.query_id == question.id]
        scores = [hit.score for hit in own]
        yield Outcome(question, [by_id[hit.doc_id] for hit in own], scores, scores, 0)


@pytest.mark.parametrize("name", CHUNKINGS)
def test_the_published_runs_score_as_ir_measures_scores_the_files(name: str, alice: Dataset) -> None:
    path = published(f"retriever_runs/run_BGE_DenseRun_{name}.txt")
    chunking = Chunking(alice, manifest(name, alice), Letters())
    measures = create_many(MEASURES)
    ours = {
        (measure.name.replace("MRR", "RR").replace("MAP", "AP"), outcome.question.id): value
        for outcome in outcomes(path, chunking)
        for measure in measures
        if (value := measure.score(outcome, chunking)) is not None
    }
    theirs = ir_measures.iter_calc(
        [ir_measures.parse_measure(measure.name.replace("MRR", "RR").replace("MAP", "AP")) for measure in measures],
        ir_measures.read_trec_qrels(str(published(f"qrels/qrels_{name}.txt"))),
        ir_measures.read_trec_run(str(path)),
    )
    assert ours == {(str(found.measure), found.query_id): found.value for found in theirs}
    assert len(ours) == CHUNKINGS[name][0] * len(MEASURES)


def test_one_rule_judges_all_questions_of_all_chunkings(alice: Dataset) -> None:
    alignments = [Alignment(manifest(name, alice)) for name in CHUNKINGS]
    tuning = tune_thresholds(alice.questions, alignments)
    judged = {(t.rule.span_coverage, t.rule.chunk_coverage): t.judged for t in tuning.trials}
    assert judged[0.85, 0.5] == tuple(few / 118 for few, _ in CHUNKINGS.values())
    assert judged[0.5, 0.0] == tuple(many / 118 for _, many in CHUNKINGS.values())
    assert tuning.best is not None
    assert min(judged[tuning.best.span_coverage, tuning.best.chunk_coverage]) >= 0.95


def test_the_published_embeddings_are_read() -> None:
    embeddings = read_embeddings(published("chunk_embeddings.npz"))
    assert embeddings.vectors.shape == (249, 1024)
    assert embeddings.ids[0] == "alice:ch01::chunk00"
    assert set(embeddings.source_ids) == {f"alice:ch{number:02}" for number in range(1, 13)}
