"""The code of rag_eval's guide, with another line of imports."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pytest

from kinsplit import Document, Index, create_strategy
from kinsplit.embedding import resolve
from kinsplit.evaluation.rag_eval import (
    EvaluationResult,
    FixedSizeChunker,
    MockEmbedder,
    MultigranularChunker,
    RAGEvaluator,
    SemanticChunker,
    StructureChunker,
)

TEXT = "## Machines\n\nNeural networks learn patterns. " * 20 + "\n\n## Birds\n\n" + "Owls hunt at night. " * 40


class EmbedsDocuments:
    """An embedder as the guide shows it."""

    def embed_documents(self, texts: Sequence[str]) -> list[list[float]]:
        return [[float(len(text)), 1.0] for text in texts]


def test_an_object_that_embeds_documents_alone_splits_and_searches() -> None:
    (chunk, *_) = create_strategy("cluster", embedder=EmbedsDocuments()).chunk(Document("d", "Owls hunt. Larks sing."))
    assert chunk.text.startswith("Owls hunt.")
    assert np.allclose(resolve(EmbedsDocuments()).embed_query("Owl"), np.array([3, 1]) / np.sqrt(10))
    with Index("memory:", embedder=EmbedsDocuments()) as index:
        index.add([Document("d", "Owls hunt. Larks sing.")])
        assert index.search("Who hunts?")[0].source_id == "d"


def test_the_mock_embedder_is_the_guides() -> None:
    vector = MockEmbedder(embedding_dim=128).embed_text("owl")
    assert len(vector) == 128
    assert vector[:32] == vector[32:64]
    assert -1 <= min(vector) < max(vector) <= 1


def test_the_four_chunkers_take_the_guides_parameters() -> None:
    strategies = {
        "fixed": FixedSizeChunker(chunk_size=50, chunk_overlap=5),
        "structure": StructureChunker(min_chunk_size=10, max_chunk_size=60),
        "semantic": SemanticChunker(embedder=MockEmbedder(), chunk_size=64, similarity_threshold=0.75),
        "multigranular": MultigranularChunker(granularities=[25, 50, 100]),
    }
    assert all(len(chunker.chunk(TEXT)) > 1 for chunker in strategies.values())


def test_the_guides_program_runs() -> None:
    chunks = FixedSizeChunker(chunk_size=10, chunk_overlap=2).chunk(TEXT)
    evaluator = RAGEvaluator(top_k=5, embedder="hash")
    for query in ["What do owls hunt?", "How do networks learn?"]:
        result = evaluator.evaluate(query, "fixed", chunks)
        assert 0 < result.relevancy < 1
        assert len(result.chunks) == 5
    summary = evaluator.summary()
    assert summary["fixed"].keys() == {"avg_response_time", "avg_relevancy", "avg_faithfulness", "count"}
    assert summary["fixed"]["count"] == 2


class Averaging(RAGEvaluator):
    """An evaluator with the measure that the guide adds."""

    def _my_custom_metric(self, query: str, chunks: Sequence[str]) -> float:
        total_length = sum(len(chunk) for chunk in chunks)
        return total_length / len(chunks) if chunks else 0.0

    def metrics(self, query: str, chunks: Sequence[str]) -> Mapping[str, float]:
        return {**super().metrics(query, chunks), "custom_metric": self._my_custom_metric(query, chunks)}


def test_a_measure_can_be_added() -> None:
    evaluator = Averaging(top_k=2, embedder="hash")
    result = evaluator.evaluate("owls", "mine", ["owls", "owls and larks", "nothing"])
    assert isinstance(result, EvaluationResult)
    assert result.measures["custom_metric"] == (len("owls") + len("owls and larks")) / 2
    assert evaluator.summary()["mine"]["avg_custom_metric"] == pytest.approx(9.0)
    assert evaluator.evaluate("owls", "none", []).chunks == []
