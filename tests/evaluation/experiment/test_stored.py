"""Evaluation of collections where they lie."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from kinsplit import Document, Index
from kinsplit.embedding import resolve
from kinsplit.embedding.calibration import calibrate
from kinsplit.errors import InvalidParameterError
from kinsplit.evaluation import Dataset, Experiment
from kinsplit.evaluation.datasets import load
from kinsplit.evaluation.tuning import tune_weights
from kinsplit.evaluation.tuning.tune import FewQuestionsWarning
from kinsplit.parsers import create

COURSE = Path("examples/course")
#: Measures that are not times.
MEASURES = ("recall@100t", "recall@1000t", "P@5", "nDCG@10", "iou@5", "cosine", "jaccard", "query_terms")


class Counting:
    """An embedder that counts the documents that it embeds."""

    def __init__(self) -> None:
        self._embedder, self.texts = resolve("hash"), 0

    def embed(self, texts: Sequence[str], progress: Any = None) -> NDArray[np.float32]:
        self.texts += len(texts)
        return self._embedder.embed(texts, progress)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._embedder, name)


@pytest.fixture(scope="module")
def dataset() -> Dataset:
    whole = load([COURSE], [Path("examples/course_labels.jsonl")])
    return Dataset("course", whole.documents, whole.questions[:6])


STRATEGY = create("hierarchical", parent_size=1200, child_size=400)


@pytest.fixture(scope="module")
def address(dataset: Dataset, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Address of a store that was indexed from the files."""
    address = f"edge:{tmp_path_factory.mktemp('stored')}"
    with Index(address, collection="course", strategy=STRATEGY, embedder="hash") as index:
        assert not index.add(COURSE).failed
    return address


def test_the_figures_are_those_of_an_evaluation_from_files(address: str, dataset: Dataset) -> None:
    counting = Counting()
    # Both the ranking and the passages of a search.
    options: dict[str, Any] = {"ranker": "search", "measures": MEASURES, "cache": False}
    with Index(address, collection="course", embedder=counting, must_exist=True) as index:
        stored = Experiment(dataset, {"it": index}, embedder=counting, **options)
        found = stored.run()
    # No chunk, but the unrelated texts with which the closeness of passages is compared.
    assert counting.texts == 60
    expected = Experiment(dataset, {"it": STRATEGY}, embedder="hash", **options).run()
    ours, theirs = found.strategies[0], expected.strategies[0]
    assert ours.spec == theirs.spec
    assert ours.lengths == theirs.lengths
    assert ours.measures.keys() == theirs.measures.keys()
    for name, figure in ours.measures.items():
        assert figure.mean == pytest.approx(theirs.measures[name].mean, abs=1e-6), name


def test_a_collection_that_does_not_fit_is_refused(address: str, dataset: Dataset) -> None:
    with Index(address, collection="course", embedder="hash", must_exist=True) as index:
        fewer = Dataset("fewer", dataset.documents[:-1], dataset.questions)
        with pytest.raises(InvalidParameterError, match="no other documents, and has 1 more"):
            Experiment(fewer, {"it": index}, embedder="hash", cache=False).run()
        first, *others = dataset.documents
        changed = Dataset("changed", (type(first)(first.id, "!" + first.text), *others), dataset.questions)
        with pytest.raises(InvalidParameterError, match="another text"):
            Experiment(changed, {"it": index}, embedder="hash", cache=False).run()
        more = Dataset("more", (*dataset.documents, type(first)("new.md", "New.")), dataset.questions)
        with pytest.raises(InvalidParameterError, match=r"lacks 1 of .*new\.md"):
            Experiment(more, {"it": index}, embedder="hash", cache=False).run()
        with pytest.raises(InvalidParameterError, match="language: must be that of the collection"):
            Experiment(dataset, {"it": index}, embedder="hash", language="german")


def test_rows_are_found_under_the_ids_of_uploads(tmp_path: Path) -> None:
    texts = {"owl": "Owls hunt at night.", "lark": "Larks sing at dawn."}
    data = tmp_path / "data"
    data.mkdir()
    (data / "rows.jsonl").write_text("".join(json.dumps({"docid": k, "text": v}) + "\n" for k, v in texts.items()))
    question = {"query": "Who hunts?", "docid": "uploads/rows.jsonl#owl", "spans": [[0, 19]]}
    (tmp_path / "labels.jsonl").write_text(json.dumps(question))
    dataset = load(data / "rows.jsonl", tmp_path / "labels.jsonl")
    facts = {"file_path": "uploads/rows.jsonl"}
    uploaded = [Document(f"uploads/rows.jsonl#{docid}", text, facts) for docid, text in texts.items()]
    options: dict[str, Any] = {"embedder": "hash", "cache": False, "measures": ["recall@1000t", "P@5"]}
    for ranker in ("kin", "search"):
        with Index("memory:", collection=ranker, embedder="hash") as index:
            index.add(uploaded)
            found = Experiment(dataset, {"it": index}, ranker=ranker, **options).run().strategies[0].measures
            assert found["recall@1000t"].mean == 1
            index.add([Document("uploads/more.jsonl#owl", texts["owl"], {"file_path": "uploads/more.jsonl"})])
            both = "each document once, and has uploads/more.jsonl#owl and uploads/rows.jsonl#owl"
            with pytest.raises(InvalidParameterError, match=both):
                Experiment(dataset, {"it": index}, ranker=ranker, **options).run()


def test_weights_are_tuned_where_the_collection_lies(address: str, dataset: Dataset) -> None:
    counting = Counting()
    calibrate(counting)  # Once in a process, whatever is tuned.
    counting.texts = 0
    with (
        Index(address, collection="course", embedder=counting, must_exist=True) as index,
        pytest.warns(FewQuestionsWarning),
    ):
        found = tune_weights(dataset, index, embedder="hash")
    assert counting.texts == 0
    assert found.choice == STRATEGY
    assert found.searched + found.held_out == len(dataset.questions)
    assert found.configuration().index.strategy == "hierarchical"
    assert "only weights can be tuned" in found.verdict
