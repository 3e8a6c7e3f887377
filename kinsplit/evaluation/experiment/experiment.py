"""Experiments: several strategies on one dataset, with everything else equal, and the summary of their scores."""

from __future__ import annotations

import contextlib
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Unpack, cast

import kinsplit
from kinsplit.embedding import resolve as resolve_embedder
from kinsplit.embedding.cached import without_cache
from kinsplit.embedding.late_chunking import token_embedder
from kinsplit.embedding.protocol import Embedder, EmbeddingContext
from kinsplit.embedding.sparse import ANY, Bm25Embedder
from kinsplit.errors import InvalidParameterError, require
from kinsplit.evaluation import labels
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
from kinsplit.evaluation.labels import Dataset
from kinsplit.evaluation.measures.protocol import Chunking, Measure, Outcome
from kinsplit.evaluation.measures.ranks import RankMeasure
from kinsplit.evaluation.measures.registry import create_many, own_name
from kinsplit.evaluation.qrels import starved
from kinsplit.evaluation.results import Results
from kinsplit.evaluation.significance import compare, estimates
from kinsplit.evaluation.splitters.foreign import GivenChunks
from kinsplit.evaluation.splitters.specs import as_strategy, spec_of
from kinsplit.evaluation.statistics import notes, strategy_result
from kinsplit.index import Index
from kinsplit.keywords import EvaluationKeywords, SearchKeywords
from kinsplit.options import EvaluationOptions, SpanRule
from kinsplit.parsers import Strategy
from kinsplit.support.disk_cache import JsonCache
from kinsplit.support.environment import cache_folder
from kinsplit.support.warnings import record_warnings
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


#: Number of questions below which intervals are too wide to distinguish strategies.
FEWEST = 30


def cautions(
    dataset: labels.Dataset, measures: Sequence[Measure], headline: str, chunkings: Mapping[str, Chunking]
) -> Iterator[str]:
    """Yield the reasons why a comparison may be misleading, in sentences."""
    judged = sum(bool(question.labels) for question in dataset.questions)
    if not dataset.labelled:
        yield (
            f"No question has labels, so nothing shows whether the retrieved text answers it: {headline} doesn't tell "
            "which strategy is better. Label some questions, or let `kinsplit questions` write labelled ones."
        )
    elif judged < len(dataset.questions):
        yield f"{len(dataset.questions) - judged:,} of {len(dataset.questions):,} questions have no labels."
    if 0 < len(dataset.questions) < FEWEST:
        asked = "1 question" if len(dataset.questions) == 1 else f"{len(dataset.questions)} questions"
        yield f"Only {asked}: fewer than {FEWEST} seldom tell strategies apart."
    for rule in {measure.rule: None for measure in measures if isinstance(measure, RankMeasure)}:
        qrels = {label: chunking.alignment.qrels(dataset.questions, rule) for label, chunking in chunkings.items()}
        if caution := starved(dataset.questions, qrels):
            yield caution
    sentences: dict[str, list[str]] = {}
    for label, chunking in chunkings.items():
        for text in _of_chunks(chunking, headline):
            sentences.setdefault(text, []).append(label)
    for text, named in sentences.items():
        yield f"{', '.join(named)}: {text}"


def _of_chunks(chunking: Chunking, headline: str) -> Iterator[str]:
    """Yield the cautions about one strategy's chunks."""
    if not chunking.chunks:
        return
    single = sum(len(chunks) == 1 for chunks in chunking.by_source.values())
    if 2 * single > len(chunking.by_source):
        yield (
            f"{single:,} of {len(chunking.by_source):,} documents are one chunk, so the splitting makes no "
            "difference there. Use smaller chunks or longer documents."
        )
    if whole := _whole(chunking, headline):
        yield f"{headline} holds all {whole}, so it says nothing about the ranking. Use a smaller number."


def _whole(chunking: Chunking, headline: str) -> str:
    """Describe the amount of text if the headline looks at all of it, else return ""."""
    tokens, chunks = re.search(r"@(\d+)t$", headline), re.search(r"@(\d+)$", headline)
    if tokens and (total := sum(chunking.token_counts.values())) <= int(tokens[1]):
        return f"{total:,} tokens of the documents"
    if chunks and len(chunking.chunks) <= int(chunks[1]):
        return f"{len(chunking.chunks):,} chunks"
    return ""


#: Packages besides kinsplit that affect the numbers.
_PACKAGES = ("numpy", "scipy", "tokenizers", "qdrant-edge-py", "sentence-transformers", "openvino")


def _versions() -> dict[str, str]:
    """Return the versions of those that are installed."""
    found = {}
    for name in _PACKAGES:
        with suppress(PackageNotFoundError):
            found[name] = version(name)
    return found


class Summary:
    """Collector of an experiment's results, one strategy after the other."""

    def __init__(self, setup: Setup) -> None:
        self._setup = setup
        self._values: dict[str, dict[str, list[float | None]]] = {}
        self._strategies: list[labels.StrategyResult] = []
        self._results: list[labels.QuestionResult] = []
        self._chunkings: dict[str, Chunking] = {}
        self._warnings: list[str] = []

    def add(self, label: str, evidence: StrategyOutcomes) -> None:
        """Score the evidence of a strategy."""
        chunking = evidence.profile.chunking
        with record_warnings() as raised:
            values = {m.name: [_score(m, one, chunking) for one in evidence.outcomes] for m in self._setup.measures}
        self._values[label] = values
        self._chunkings[label] = chunking
        self._warnings += [f"{label}: {text}" for text in (*evidence.warnings, *map(str, raised))]
        spec = spec_of(self._setup.strategies[label])
        self._strategies.append(strategy_result(label, spec, evidence.profile, _means(values)))
        for number, outcome in enumerate(evidence.outcomes):
            own = {name: value for name, column in values.items() if (value := column[number]) is not None}
            ranked = zip(outcome.ranking[: self._setup.top_k], outcome.scores, strict=False)
            hits = [
                labels.RetrievedChunk(source_id=chunk.source_id, spans=chunk.spans, text=chunk.text, score=score)
                for chunk, score in ranked
            ]
            result = labels.QuestionResult(question_id=outcome.question.id, strategy=label, measures=own, hits=hits)
            self._results.append(result)

    def results(self) -> Results:
        """Return the results of all strategies."""
        setup = self._setup
        headline, dataset, strategies = setup.headline, setup.dataset, self._strategies
        (higher_is_better,) = {measure.higher_is_better for measure in setup.measures if measure.name == headline}
        values = {label: columns[headline] for label, columns in self._values.items()}
        measured = [m for m in setup.measures if any(m.name in own.measures for own in strategies)]
        return Results(
            setting=labels.SharedSettings(
                dataset=dataset.name,
                documents=len(dataset.documents),
                questions=len(dataset.questions),
                embedder=setup.embedder.name,
                ranker=setup.ranker.name,
                language=setup.language,
                tokenizer=setup.tokenizer.name,
                top_k=setup.top_k,
                headline=headline,
                versions={"kinsplit": kinsplit.__version__, **_versions()},
            ),
            strategies=strategies,
            questions=[self._asked(question) for question in dataset.questions],
            results=self._results,
            comparisons=compare(headline, next(iter(values)), values, higher_is_better=higher_is_better),
            warnings=[*self._warnings, *cautions(dataset, setup.measures, headline, self._chunkings)],
            notes=[labels.MeasureNote.model_validate(each, from_attributes=True) for each in measured],
            statistic_notes=notes(strategies),
        )

    def _asked(self, question: labels.Question) -> labels.AskedQuestion:
        texts = [[self._text(place) for place in label.places] for label in question.labels]
        return labels.AskedQuestion(id=question.id, text=question.text, labels=texts)

    def _text(self, place: labels.Place) -> labels.SourceText:
        spans = () if place.span is None else (place.span,)
        source = self._setup.dataset.sources[place.source_id].text
        text = "".join(source[start:end] for start, end in spans)
        return labels.SourceText(source_id=place.source_id, spans=spans, text=text)


def _score(measure: Measure, outcome: Outcome, chunking: Chunking) -> float | None:
    value = measure.score(outcome, chunking)
    remedy = f"Return None where {measure.name} doesn't apply to a question."
    require(value is None or math.isfinite(value), "measures", "must return finite numbers", value, remedy)
    return value


def _means(values: dict[str, list[float | None]]) -> dict[str, labels.Estimate]:
    table = [[float("nan") if value is None else value for value in column] for column in values.values()]
    rows = list(zip(*table, strict=True))
    return {name: mean for name, mean in zip(values, estimates(rows), strict=True) if mean is not None}
