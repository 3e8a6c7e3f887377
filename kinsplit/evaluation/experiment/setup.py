"""Setup of an experiment: every name resolved, read by the strategies' runs and by the summary."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from kinsplit.embedding import Embedder
from kinsplit.embedding.sparse import Bm25Embedder
from kinsplit.evaluation.experiment.outcome_cache import hashed
from kinsplit.evaluation.experiment.rankers import Ranker
from kinsplit.evaluation.experiment.retrieval import Depth
from kinsplit.evaluation.labels import Dataset
from kinsplit.evaluation.measures.protocol import Measure
from kinsplit.indexing.context import EmbeddingContext
from kinsplit.parsers import Strategy
from kinsplit.tokenizers import Tokenizer

# Rankings of 100 chunks and 4,000 tokens whatever the measures are, so that adding a measure seldom changes the others.
_CHUNKS, _TOKENS = 100, 4000


@dataclass(frozen=True)
class Setup:
    """An experiment whose strategies, models and measures are objects.

    Attributes:
        dataset: The documents and questions.
        strategies: Strategies by label; the first is the baseline.
        embedder: The embedding model, without a cache.
        ranker: The ranker.
        ranker_is_named: Whether the ranker was given by name, so that its name identifies its code.
        measures: The measures, the headline among them.
        headline: Name of the measure that strategies are compared by.
        top_k: Number of chunks that results show for each question.
        embedding_context: What is embedded besides a chunk's text.
        language: Language of the stop words and the stemmer of BM25.
        bm25: Weights the terms.
        tokenizer: Counts the tokens of budgets.
    """

    dataset: Dataset
    strategies: Mapping[str, Strategy]
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
        return hashed([(one.id, one.text, one.metadata, one.outline) for one in self.dataset.documents])

    @cached_property
    def depth(self) -> Depth:
        """How far rankings go: far enough for every measure."""
        names = " ".join(measure.name for measure in self.measures)
        budgets = [int(number) for number in re.findall(r"@(\d+)t\b", names)]
        cutoffs = [int(number) for number in re.findall(r"@(\d+)\b(?!t)", names)]
        return Depth(max(_CHUNKS, self.top_k, *cutoffs), max(_TOKENS, *budgets) if budgets else _TOKENS)
