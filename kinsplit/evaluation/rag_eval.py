"""The names of `rag_eval`: code written for it runs with `from kinsplit.evaluation.rag_eval import ...`.

The chunkers are kinsplit's strategies; retrieval is by meaning. `Experiment` compares strategies by more than words.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any

from kinsplit.chunk import Document
from kinsplit.embedding import resolve
from kinsplit.evaluation.measures.words import jaccard_of, query_terms_of
from kinsplit.parsers import create

__all__ = [
    "EvaluationResult",
    "FixedSizeChunker",
    "MockEmbedder",
    "MultigranularChunker",
    "RAGEvaluator",
    "SemanticChunker",
    "StructureChunker",
]


class MockEmbedder:
    """Vectors from a hash of the whole text, which say nothing about its meaning: for tests.

    Args:
        embedding_dim: Dimension of the vectors.
    """

    def __init__(self, embedding_dim: int = 128) -> None:
        self.embedding_dim = embedding_dim

    def embed_text(self, text: str) -> list[float]:
        """Return the vector of a text."""
        digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
        return [digest[place % len(digest)] / 127.5 - 1 for place in range(self.embedding_dim)]

    def embed_documents(self, texts: Sequence[str]) -> list[list[float]]:
        """Return the vector of each text."""
        return [self.embed_text(text) for text in texts]


class _Chunker:
    def __init__(self, name: str, **parameters: Any) -> None:
        self.strategy = create(name, **parameters)

    def chunk(self, text: str) -> list[str]:
        """Return the texts of a document's chunks."""
        return [chunk.text for chunk in self.strategy.chunk(Document("text", text))]


class FixedSizeChunker(_Chunker):
    """The strategy `word`: windows of words."""

    def __init__(self, chunk_size: int = 256, chunk_overlap: int = 20) -> None:
        super().__init__("word", chunk_size=chunk_size, chunk_overlap=chunk_overlap)


class StructureChunker(_Chunker):
    """The strategy `structure`, with sizes in words."""

    def __init__(self, min_chunk_size: int = 128, max_chunk_size: int = 512) -> None:
        super().__init__("structure", unit="word", min_chunk_size=min_chunk_size, chunk_size=max_chunk_size)


class SemanticChunker(_Chunker):
    """The strategy `cluster`: passages on the same topic, gathered by a similarity relative to unrelated texts."""

    def __init__(self, embedder: object, chunk_size: int = 512, similarity_threshold: float = 0.75) -> None:
        super().__init__("cluster", embedder=embedder, passage_size=chunk_size, threshold=similarity_threshold)


class MultigranularChunker(_Chunker):
    """The strategy `multigranular`: several sizes at once."""

    def __init__(self, granularities: Sequence[int] = (256, 512, 1024)) -> None:
        super().__init__("multigranular", chunk_sizes=list(granularities))


class EvaluationResult:
    """The chunks retrieved for a question, and their measures.

    Args:
        query: The question.
        strategy: Name of the strategy.
        chunks: Texts of the retrieved chunks, best first.
        **measures: The measures, which become attributes; further ones may be added.
    """

    response_time: float
    relevancy: float
    faithfulness: float

    def __init__(self, query: str, strategy: str, chunks: Sequence[str], **measures: float) -> None:
        self.query, self.strategy, self.chunks, self.measures = query, strategy, list(chunks), measures
        vars(self).update(measures)


class RAGEvaluator:
    """Retrieves chunks and measures them by rag_eval's formulas.

    A subclass adds measures by extending `metrics`.

    Args:
        top_k: Number of chunks to retrieve.
        embedder: Embedding model of the retrieval, as `Index` takes it.
    """

    def __init__(self, top_k: int = 5, embedder: object = "bundled") -> None:
        self.top_k, self.embedder = top_k, resolve(embedder)
        self.results: list[EvaluationResult] = []

    def evaluate(self, query: str, strategy_name: str, chunks: Sequence[str]) -> EvaluationResult:
        """Retrieve the best of some chunks for a question, and measure them."""
        vectors = self.embedder.embed(list(chunks))
        start = time.perf_counter()
        order = (-(vectors @ self.embedder.embed_query(query))).argsort(kind="stable")[: self.top_k]
        seconds = time.perf_counter() - start
        retrieved = [chunks[place] for place in order]
        measured = {"response_time": seconds, **self.metrics(query, retrieved)}
        result = EvaluationResult(query, strategy_name, retrieved, **measured)
        self.results.append(result)
        return result

    def metrics(self, query: str, chunks: Sequence[str]) -> Mapping[str, float]:
        """Return the measures of retrieved chunks, by their names."""
        return {
            "relevancy": jaccard_of(query, chunks) or 0.0,
            "faithfulness": query_terms_of(query, chunks) or 0.0,
        }

    def summary(self) -> dict[str, dict[str, float]]:
        """Return the mean of each measure, as `avg_NAME`, and the number of questions, by strategy."""
        found: dict[str, list[EvaluationResult]] = {}
        for result in self.results:
            found.setdefault(result.strategy, []).append(result)
        return {
            strategy: {
                **{f"avg_{name}": fmean(each.measures[name] for each in own) for name in own[0].measures},
                "count": len(own),
            }
            for strategy, own in found.items()
        }
