"""Setup of an experiment, with all names resolved, for the strategies' runs and the summary."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from kinsplit.embedding import Embedder
from kinsplit.embedding.protocol import EmbeddingContext
from kinsplit.embedding.sparse import Bm25Embedder
from kinsplit.evaluation.experiment.rankers import Ranker
from kinsplit.evaluation.experiment.records import hashed
from kinsplit.evaluation.experiment.retrieval import Depth
from kinsplit.evaluation.labels import Dataset
from kinsplit.evaluation.measures.protocol import Measure
from kinsplit.index import Index
from kinsplit.parsers import Strategy
from kinsplit.parsers.base import Cost
from kinsplit.tokenizers import Tokenizer

# At least 100 chunks and 4,000 tokens for all measures, so that adding a measure seldom changes the others.
_CHUNKS, _TOKENS = 100, 4000


@dataclass(frozen=True)
class Setup:
    """An experiment whose strategies, models and measures are objects.

    Attributes:
        language: Language of the stop words and the stemmer of BM25.
    """

    dataset: Dataset
    strategies: Mapping[str, Strategy]
    indexes: Mapping[str, Index]
    embedder: Embedder
    ranker: Ranker
    ranker_is_named: bool
    measures: tuple[Measure, ...]
    headline: str
    top_k: int
    embedding_context: EmbeddingContext
    language: str
    bm25: Bm25Embedder
    tokenizer: Tokenizer

    @cached_property
    def documents_hash(self) -> str:
        """A hash of the documents."""
        return hashed([(one.id, one.text, one.metadata, one.outline, one.headings) for one in self.dataset.documents])

    @cached_property
    def depth(self) -> Depth:
        """The depth of rankings that suffices for all measures."""
        names = " ".join(measure.name for measure in self.measures)
        budgets = [int(number) for number in re.findall(r"@(\d+)t\b", names)]
        cutoffs = [int(number) for number in re.findall(r"@(\d+)\b(?!t)", names)]
        chunks, tokens = max(_CHUNKS, self.top_k, *cutoffs), max(_TOKENS, *budgets) if budgets else _TOKENS
        return Depth(chunks, tokens, tuple(sorted(budgets)) if self.ranker.passages else ())


@dataclass(frozen=True)
class StrategyPlan:
    """The work to do for one strategy.

    Attributes:
        chunks: Number of chunks to search; this and the next three are None if a model decides the boundaries.
        answered: Number of questions with a cached ranking; if all have one, nothing is embedded.
    """

    label: str
    chunks: int | None
    tokens: int | None
    texts: int | None
    kept: int | None
    questions: int
    answered: int
    cost: Cost
