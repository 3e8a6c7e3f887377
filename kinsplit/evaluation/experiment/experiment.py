"""Experiments: several strategies on one dataset, with everything else equal."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from kinsplit.embedding import resolve as resolve_embedder
from kinsplit.embedding.cached import without_cache
from kinsplit.embedding.late_chunking import token_embedder
from kinsplit.embedding.protocol import Embedder, EmbeddingContext
from kinsplit.embedding.sparse import Bm25Embedder
from kinsplit.errors import InvalidParameterError, require
from kinsplit.evaluation.experiment import rankers
from kinsplit.evaluation.experiment.retrieval import Questions
from kinsplit.evaluation.experiment.strategy_run import (
    RECORDS,
    CountingCache,
    Setup,
    Step,
    StrategyOutcomes,
    StrategyPlan,
    StrategyRun,
)
from kinsplit.evaluation.experiment.summary import Summary
from kinsplit.evaluation.labels import Dataset
from kinsplit.evaluation.measures.protocol import Chunking, Measure
from kinsplit.evaluation.measures.registry import create_many, own_name
from kinsplit.evaluation.qrels.alignment import SC_QRELS, SpanRule
from kinsplit.evaluation.results import Results
from kinsplit.evaluation.splitters.foreign import GivenChunks
from kinsplit.evaluation.splitters.specs import as_strategy
from kinsplit.index import Index
from kinsplit.indexing.vectors import check_embedding_context
from kinsplit.parsers import Strategy
from kinsplit.support.disk_cache import JsonCache
from kinsplit.support.environment import cache_folder
from kinsplit.tokenizers import BUNDLED, resolve

#: The default measures; those that don't apply to a dataset are left out of its results.
MEASURES = (
    *(f"recall@{budget}t" for budget in (100, 250, 500, 1000, 2000, 4000)),
    *("P@5", "R@5", "MRR", "nDCG@10", "MAP", "AGS@5"),
    *("text_recall@5", "text_precision@5", "iou@5", "precision_omega"),
    *("seconds", "jaccard", "query_terms", "cosine"),
)
HEADLINE = "recall@1000t"
#: The default headline of a dataset without labels.
UNLABELLED = "query_terms"


@dataclass(frozen=True)
class Experiment:
    """Strategies on one dataset, with one embedder, one ranker and one tokenizer for all.

    Attributes:
        dataset: The documents and questions.
        strategies: Splitters by label, the baseline first: strategies, anything that
            `kinsplit.evaluation.as_strategy` takes, or lists with the texts of chunks, in the order of the documents.
            All are converted to strategies. An open `kinsplit.Index` that holds exactly the documents of the dataset is
            searched where it is: its documents are neither split nor embedded.
        embedder: Name of an embedder, an embedder of kinsplit, LlamaIndex or LangChain, or any object with
            `embed(texts)` or `embed_documents(texts)`.
        ranker: Name of a ranker (see `kinsplit.evaluation.ranker_names`), or a ranker.
        measures: Measures or their names; None for `MEASURES`. The headline is added if it is missing.
        headline: Name of the measure by which strategies are compared; None for recall@1000t, or query_terms for a
            dataset without labels.
        top_k: Number of chunks in results, and for measures without a number of their own.
        embedding_context: Kind of context that is embedded with a chunk's text; see
            `kinsplit.indexing.vectors.EmbeddingContext`.
        language: Language of the stop words and the stemmer of BM25, such as "german", or "any" for words as they are.
        tokenizer: Spec of the tokenizer that counts the tokens of budgets.
        rule: Rule that makes a chunk relevant to a label, for the rank measures.
        model: Language model that writes and judges answers, for the answer measures: anything that
            `kinsplit.language_models.resolve` takes.
        cache: Whether to cache vectors and outcomes in kinsplit's cache folder; or another folder for them. Runs with a
            strategy, a ranker or an embedder of the user's own class are not cached, since the class may change (an
            embedder can opt in, see `kinsplit.embedding.protocol.repeatable`).

    Example:
        >>> from kinsplit import Span, create_strategy
        >>> from kinsplit.evaluation import Dataset, Label, Place, Question
        >>> label = Label((Place(document.id, Span(47, 66)),))
        >>> dataset = Dataset("birds", (document,), (Question("q1", "When do larks sing?", (label,)),))
        >>> sentences = create_strategy("sentence", max_sentences=1)
        >>> results = Experiment(dataset, {"sentences": sentences}, embedder="hash", measures=["recall@20t"]).run()
        >>> results.strategies[0].measures["recall@20t"].mean
        1.0
    """

    dataset: Dataset
    strategies: Mapping[str, Any]
    embedder: object = "bundled"
    ranker: str | rankers.Ranker = "kin"
    measures: Sequence[str | Measure] | None = None
    headline: str | None = None
    top_k: int = 5
    embedding_context: str = "headings"
    language: str = "english"
    tokenizer: str = BUNDLED
    rule: SpanRule = SC_QRELS
    model: object = None
    cache: bool | Path = True
    _indexes: Mapping[str, Index] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        require(self.strategies, "strategies", "must have at least one", self.strategies, "Name one.")
        require(self.top_k >= 1, "top_k", "must be at least 1", self.top_k, "Ask for one chunk or more.")
        require(self.dataset.documents, "dataset", "must have documents", self.dataset.name, "Give some.")
        require(self.dataset.questions, "dataset", "must have questions", self.dataset.name, "Give some.")
        indexes = {label: one for label, one in self.strategies.items() if isinstance(one, Index)}
        object.__setattr__(self, "_indexes", indexes)
        object.__setattr__(self, "strategies", {label: self._strategy(one) for label, one in self.strategies.items()})
        _ = self.setup  # Raise for a wrong name before any work is done.

    def _strategy(self, splitter: object) -> Strategy:
        if isinstance(splitter, Index):
            return splitter.strategy
        if isinstance(splitter, list | tuple) and all(isinstance(chunk, str) for chunk in splitter):
            splitter = GivenChunks(splitter, [document.text for document in self.dataset.documents])
        return as_strategy(splitter, tokenizer=self.tokenizer)

    @cached_property
    def setup(self) -> Setup:
        """The experiment with all names resolved."""
        embedding_context = check_embedding_context(self.embedding_context)
        embedder = without_cache(resolve_embedder(self.embedder))
        if embedding_context == "late":
            token_embedder(embedder)
        bm25 = Bm25Embedder(self.language)
        for index in self._indexes.values():
            _check(index, embedder, bm25, embedding_context)
        headline = own_name(self.headline or (HEADLINE if self.dataset.labelled else UNLABELLED))
        return Setup(
            dataset=self.dataset,
            strategies=self.strategies,
            indexes=self._indexes,
            embedder=embedder,
            ranker=rankers.create(self.ranker) if isinstance(self.ranker, str) else self.ranker,
            ranker_is_named=isinstance(self.ranker, str),
            measures=self._measures(headline),
            headline=headline,
            top_k=self.top_k,
            embedding_context=embedding_context,
            language=self.language,
            bm25=bm25,
            tokenizer=resolve(self.tokenizer),
        )

    def _measures(self, headline: str) -> tuple[Measure, ...]:
        """Return the measures, including the headline."""
        given = MEASURES if self.measures is None else self.measures
        objects = {measure.name: measure for measure in given if not isinstance(measure, str)}
        names = [own_name(one) for one in given if isinstance(one, str)]
        if headline not in {*objects, *names}:
            names.insert(0, headline)
        created = create_many(names, top_k=self.top_k, rule=self.rule, model=self.model) if names else ()
        found = {measure.name: measure for measure in created} | objects
        if headline not in found:
            remedy = f"Take one of {', '.join(found)}."
            raise InvalidParameterError("headline", "must be the full name of a measure", headline, remedy)
        return tuple(found.values())

    def run(self, progress: Callable[[Step], None] | None = None) -> Results:
        """Split, embed, search and score.

        Vectors, chunks and rankings are cached as they are computed, so that an interrupted run continues where it
        stopped.

        Args:
            progress: Callback for each step.

        Raises:
            InvalidParameterError: A splitter fails, or returns something other than chunks.
        """
        summary = Summary(self.setup)
        for label, evidence in self.evidence(progress):
            summary.add(label, evidence)
        return summary.results()

    def evidence(self, progress: Callable[[Step], None] | None = None) -> Iterator[tuple[str, StrategyOutcomes]]:
        """Yield the label and the evidence of each strategy; see `run`."""
        with self._runs(progress) as runs:
            for run in runs:
                yield run.label, run.evidence()

    def plan(self) -> list[StrategyPlan]:
        """Return the work of a run for each strategy, without embedding or using a language model."""
        with self._runs() as runs:
            return [run.plan() for run in runs]

    def chunking(self, label: str) -> Chunking:
        """Return the chunks of one strategy; nothing is embedded except to find boundaries."""
        with self._runs() as runs:
            (found,) = (run for run in runs if run.label == label)
            return found.chunking()

    @contextlib.contextmanager
    def _runs(self, progress: Callable[[Step], None] | None = None) -> Iterator[list[StrategyRun]]:
        """Open the caches, and yield the run of each strategy."""
        folder = cache_folder() if self.cache is True else Path(self.cache) if self.cache else None
        setup = self.setup
        with contextlib.ExitStack() as stack:
            vectors = stack.enter_context(CountingCache(folder / "vectors")) if folder else None
            outcomes = JsonCache(folder / "outcomes" if folder else None, RECORDS, "Outcomes")
            stack.callback(outcomes.close)
            questions = Questions(setup.embedder, setup.bm25)
            yield [StrategyRun(setup, label, outcomes, vectors, questions, progress) for label in self.strategies]


def _check(index: Index, embedder: Embedder, bm25: Bm25Embedder, embedding_context: EmbeddingContext) -> None:
    """Check that a collection was made with the models of the experiment."""
    pairs = {
        "embedder": (index.embedder.fingerprint, embedder.fingerprint),
        "language": (index.bm25.fingerprint, bm25.fingerprint),
        "embedding_context": (index.embedding_context, embedding_context),
    }
    for name, (made, asked) in pairs.items():
        remedy = "Give the experiment that one; all collections and strategies in it share it."
        require(made == asked, name, f"must be that of the collection, {made}", asked, remedy)
