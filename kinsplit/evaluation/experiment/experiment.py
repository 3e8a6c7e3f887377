"""Experiments: several strategies on one dataset, with everything else equal."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, Unpack, cast

from kinsplit.embedding import resolve as resolve_embedder
from kinsplit.embedding.cached import without_cache
from kinsplit.embedding.late_chunking import token_embedder
from kinsplit.embedding.protocol import Embedder, EmbeddingContext
from kinsplit.embedding.sparse import ANY, Bm25Embedder
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
from kinsplit.evaluation.results import Results
from kinsplit.evaluation.splitters.foreign import GivenChunks
from kinsplit.evaluation.splitters.specs import as_strategy
from kinsplit.index import Index
from kinsplit.keywords import EvaluationKeywords, SearchKeywords
from kinsplit.options import EvaluationOptions, SpanRule
from kinsplit.parsers import Strategy
from kinsplit.support.disk_cache import JsonCache
from kinsplit.support.environment import cache_folder
from kinsplit.tokenizers import resolve

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


class Experiment:
    """Strategies on one dataset, with one embedder, one ranker and one tokenizer for all.

    Args:
        dataset: The documents and questions.
        strategies: Splitters by label: strategies, anything that `kinsplit.evaluation.as_strategy` takes, or lists with
            the texts of chunks, in the order of the documents. All are converted to strategies. An open
            `kinsplit.Index` that holds exactly the documents of the dataset is searched where it is: its documents are
            neither split nor embedded, and its models are the defaults.
        **options: See `kinsplit.options.EvaluationOptions`. With the ranker "search" or "ask", also the options of
            `kinsplit.SearchOptions`, without `budget`, which the measures give; with "kin", `weights`.

    Attributes:
        dataset: The documents and questions.
        strategies: The strategies by label, the baseline first.
        options: The options.

    Raises:
        InvalidParameterError: A name or a value is not allowed, or the options don't fit together.

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

    def __init__(self, dataset: Dataset, strategies: Mapping[str, Any], **options: Unpack[EvaluationKeywords]) -> None:
        require(strategies, "strategies", "must have at least one", strategies, "Name one.")
        require(dataset.documents, "dataset", "must have documents", dataset.name, "Give some.")
        require(dataset.questions, "dataset", "must have questions", dataset.name, "Give some.")
        self.options, search = EvaluationOptions.part(options)
        self._ranker = rankers.create(self.options.ranker, cast("SearchKeywords", search))
        self._ranker_is_named = isinstance(self.options.ranker, str) and isinstance(search.get("rerank", ""), str)
        self.dataset = dataset
        if (first := self.options.baseline) is not None:
            known = f"Known: {', '.join(strategies)}."
            require(first in strategies, "baseline", "must be the label of a strategy", first, known)
            strategies = {first: strategies[first], **strategies}
        self._indexes = {label: one for label, one in strategies.items() if isinstance(one, Index)}
        self.strategies = {label: self._strategy(one) for label, one in strategies.items()}
        _ = self.setup  # Raise for a wrong name before any work is done.

    def _strategy(self, splitter: object) -> Strategy:
        if isinstance(splitter, Index):
            return splitter.strategy
        if isinstance(splitter, list | tuple) and all(isinstance(chunk, str) for chunk in splitter):
            splitter = GivenChunks(splitter, [document.text for document in self.dataset.documents])
        return as_strategy(splitter, tokenizer=self.options.tokenizer)

    @cached_property
    def setup(self) -> Setup:
        """The experiment with all names resolved."""
        options, index = self.options, next(iter(self._indexes.values()), None)
        embedding_context = options.embedding_context or (index.embedding_context if index else "headings")
        embedder = options.embedder or (index.embedder if index else "bundled")
        embedder = without_cache(resolve_embedder(embedder))
        if embedding_context == "late":
            token_embedder(embedder)
        bm25 = index.bm25 if index and options.language is None else Bm25Embedder(options.language or "english")
        for each in self._indexes.values():
            _check(each, embedder, bm25, embedding_context)
        headline = own_name(options.headline or (HEADLINE if self.dataset.labelled else UNLABELLED))
        return Setup(
            dataset=self.dataset,
            strategies=self.strategies,
            indexes=self._indexes,
            embedder=embedder,
            ranker=self._ranker,
            ranker_is_named=self._ranker_is_named,
            measures=self._measures(headline),
            headline=headline,
            top_k=options.top_k,
            embedding_context=embedding_context,
            language=bm25.language or ANY,
            bm25=bm25,
            tokenizer=resolve(options.tokenizer),
        )

    def _measures(self, headline: str) -> tuple[Measure, ...]:
        """Return the measures, including the headline."""
        options, given = self.options, MEASURES if self.options.measures is None else self.options.measures
        own = (cast("Measure", measure) for measure in given if not isinstance(measure, str))
        objects = {measure.name: measure for measure in own}
        names = [own_name(one) for one in given if isinstance(one, str)]
        if headline not in {*objects, *names}:
            names.insert(0, headline)
        rule = SpanRule(**{name: getattr(options, name) for name in SpanRule.model_fields})
        created = create_many(names, top_k=options.top_k, rule=rule, model=options.model) if names else ()
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
        cache = self.options.cache
        folder = cache_folder() if cache is True else Path(cache) if cache else None
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
