"""One dataset, several strategies, and everything else equal: the core of every comparison."""

from __future__ import annotations

import contextlib
import re
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from kinsplit.embedding import Embedder, Progress, VectorCache, keeping_vectors
from kinsplit.embedding import resolve as resolve_embedder
from kinsplit.embedding.cached import plain
from kinsplit.errors import InvalidParameterError, KinsplitWarning
from kinsplit.evaluation import rankers
from kinsplit.evaluation.labels import Dataset
from kinsplit.evaluation.measures.protocol import Chunking, Measure, Outcome
from kinsplit.evaluation.outcome_cache import OutcomeCache, code_version, hashed
from kinsplit.evaluation.records import Record
from kinsplit.evaluation.results import Results
from kinsplit.evaluation.retrieving import Clock, Depth, index, split
from kinsplit.evaluation.splitters import ForeignStrategy
from kinsplit.evaluation.statistics import Made
from kinsplit.folders import cache_folder
from kinsplit.parsers import Strategy
from kinsplit.surroundings import check_context
from kinsplit.tokenizers import BUNDLED, Tokenizer, resolve

#: The measures of an evaluation that names none; those that say nothing of a dataset are left out of its results.
MEASURES = (
    *(f"recall@{budget}t" for budget in (100, 250, 500, 1000, 2000, 4000)),
    *("P@5", "R@5", "MRR", "nDCG@10", "MAP", "AGS@5"),
    *("text_recall@5", "text_precision@5", "iou@5", "precision_omega"),
    *("seconds", "jaccard", "query_terms", "cosine"),
)
HEADLINE = "recall@1000t"
#: By which strategies are compared where nothing is labelled.
UNLABELLED = "query_terms"
# Rankings of 100 chunks or 4,000 tokens whatever is measured, so that a further measure changes no other one.
_CHUNKS, _TOKENS = 100, 4000


class Step(NamedTuple):
    """How far the work on one strategy is.

    Attributes:
        label: The strategy.
        stage: "split", "embed" or "ask".
        done: Documents or, of "ask", questions that are done.
        total: Of how many.
    """

    label: str
    stage: str
    done: int
    total: int


@dataclass(frozen=True)
class Evidence:
    """What one strategy made and retrieved.

    Attributes:
        made: The chunks, and what it took to make them.
        outcomes: One for each question.
        warnings: What was told while the work was done.
    """

    made: Made
    outcomes: tuple[Outcome, ...]
    warnings: tuple[str, ...]


@dataclass(frozen=True)
class Experiment:
    """Strategies on one dataset, with one embedder, one ranker and one tokenizer for all.

    Attributes:
        dataset: The documents and questions.
        strategies: By label; the first one is the baseline.
        embedder: A name, or an embedder of kinsplit, LlamaIndex or LangChain.
        ranker: A name of `kinsplit.evaluation.rankers.names()`, or a ranker.
        measures: Measures or their names; None for `MEASURES`. The headline is added where it is missing.
        headline: Name of the measure that strategies are compared by; None for recall@1000t, or query_terms where
            nothing is labelled.
        top_k: Chunks that a measure looks at that has no number of its own, and that results show.
        context: What is embedded of a chunk beside its text; see `kinsplit.surroundings.Context`.
        tokenizer: Counts the tokens of budgets.
        cache: Whether vectors and outcomes are kept in kinsplit's cache folder; or another folder for them.
    """

    dataset: Dataset
    strategies: Mapping[str, Strategy]
    embedder: object = "bundled"
    ranker: str | rankers.Ranker = "kin"
    measures: Sequence[str | Measure] | None = None
    headline: str | None = None
    top_k: int = 5
    context: str = "headings"
    tokenizer: str = BUNDLED
    cache: bool | Path = True

    def __post_init__(self) -> None:
        if not self.strategies:
            raise InvalidParameterError("strategies", "must have at least one", self.strategies, "Name one.")
        if self.top_k < 1:
            raise InvalidParameterError("top_k", "must be at least 1", self.top_k, "Ask for one chunk or more.")
        if not self.dataset.documents:
            raise InvalidParameterError("dataset", "must have documents", self.dataset.name, "Give some.")
        if not self.dataset.questions:
            raise InvalidParameterError("dataset", "must have questions", self.dataset.name, "Give some.")
        # What is wrong is found out here, before any work is done.
        check_context(self.context)
        _ = self.rank_by, self.counter, self.judges

    @cached_property
    def rank_by(self) -> rankers.Ranker:
        """The ranker."""
        return rankers.create(self.ranker) if isinstance(self.ranker, str) else self.ranker

    @cached_property
    def counter(self) -> Tokenizer:
        """The tokenizer."""
        return resolve(self.tokenizer)

    @cached_property
    def documents_hash(self) -> str:
        """Changes whenever the documents do."""
        return hashed([(document.id, document.text, document.metadata) for document in self.dataset.documents])

    @cached_property
    def headed_by(self) -> str:
        """Name of the headline measure."""
        return self.headline or (HEADLINE if self.dataset.labelled else UNLABELLED)

    @cached_property
    def judges(self) -> tuple[Measure, ...]:
        """The measures, the headline among them."""
        from kinsplit.evaluation.measures.registry import create_many

        given = MEASURES if self.measures is None else self.measures
        objects = {measure.name: measure for measure in given if not isinstance(measure, str)}
        wanted = [one for one in given if isinstance(one, str)]
        if self.headed_by not in {*objects, *wanted}:
            wanted.insert(0, self.headed_by)
        made = {measure.name: measure for measure in create_many(wanted, top_k=self.top_k)} if wanted else {}
        if self.headed_by not in {**made, **objects}:
            known = ", ".join({**made, **objects})
            rule = "must be the full name of a measure"
            raise InvalidParameterError("headline", rule, self.headed_by, f"Take one of {known}.")
        return (*made.values(), *objects.values())

    @cached_property
    def depth(self) -> Depth:
        """How far rankings go: far enough for every measure."""
        names = " ".join(measure.name for measure in self.judges)
        budgets = [int(number) for number in re.findall(r"@(\d+)t\b", names)]
        cutoffs = [int(number) for number in re.findall(r"@(\d+)\b(?!t)", names)]
        return Depth(max(_CHUNKS, self.top_k, *cutoffs), max(_TOKENS, *budgets) if budgets else _TOKENS)

    def run(self, progress: Callable[[Step], None] | None = None) -> Results:
        """Split, embed, ask and judge.

        Vectors are kept as they are made, chunks when a strategy has split, outcomes when it was asked, also when the
        run is stopped: another run goes on from there.

        Args:
            progress: Told of every step.

        Raises:
            InvalidParameterError: A splitter fails, or returns something else than chunks.
        """
        from kinsplit.evaluation.summary import Summary

        summary = Summary(self)
        for label, evidence in self.evidence(progress):
            summary.add(label, evidence)
        return summary.results()

    def evidence(self, progress: Callable[[Step], None] | None = None) -> Iterator[tuple[str, Evidence]]:
        """Yield what each strategy made and retrieved, with its label; see `run`."""
        with self._opened() as (kept, vectors):
            for label, strategy in self.strategies.items():
                work = _Work(self, label, strategy, kept, vectors, progress)
                yield label, work.evidence()

    @contextlib.contextmanager
    def _opened(self) -> Iterator[tuple[OutcomeCache, _CountingCache | None]]:
        folder = cache_folder() if self.cache is True else Path(self.cache) if self.cache else None
        with contextlib.ExitStack() as stack:
            vectors = stack.enter_context(_CountingCache(folder / "vectors")) if folder else None
            kept = OutcomeCache(folder / "outcomes" if folder else None)
            stack.callback(kept.close)
            yield kept, vectors


class _CountingCache(VectorCache):
    """Counts the vectors that were there: what they save makes a time say nothing."""

    hits = 0

    def get(self, model: str, texts: Sequence[str], dimension: int) -> dict[str, Any]:
        found = super().get(model, texts, dimension)
        self.hits += len(found)
        return found


@dataclass
class _Work:
    """The work on one strategy."""

    experiment: Experiment
    label: str
    strategy: Strategy
    kept: OutcomeCache
    vectors: _CountingCache | None
    progress: Callable[[Step], None] | None = None

    def evidence(self) -> Evidence:
        """Do what isn't done yet."""
        experiment, dataset = self.experiment, self.experiment.dataset
        with keeping_vectors(self.vectors or False):
            clock = Clock(plain(resolve_embedder(experiment.embedder)))
            embedder = resolve_embedder(clock)
            key = self._key(embedder)
            record = self._known(key) or self._split(key)
            missing = [q.text for q in dataset.questions if question_key(q.text) not in record.answers]
            if missing and record.leaves:
                self._ask(key, record, list(dict.fromkeys(missing)), embedder, clock)
            chunking = Chunking(dataset, tuple(record.leaves), experiment.counter)
            made = Made(
                chunking,
                embedder.dimension,
                contexts=experiment.context == "headings",
                split_seconds=record.split_seconds,
                embed_seconds=record.embed_seconds,
            )
            return Evidence(made, tuple(_outcomes(chunking, record)), tuple(record.warnings))

    def _key(self, embedder: Embedder) -> str | None:
        """Return under what the work is kept; None where nothing tells it from other work."""
        strategy, experiment = self.strategy, self.experiment
        named = all(isinstance(getattr(strategy, name), str) for name in strategy.resources if name != "splitter")
        if not named or (isinstance(strategy, ForeignStrategy) and not strategy.repeatable):
            return None
        return hashed(
            code_version(),
            experiment.documents_hash,
            strategy.fingerprint,
            embedder.fingerprint,
            experiment.rank_by.name,
            experiment.context,
            experiment.tokenizer,
            experiment.depth,
        )

    def _known(self, key: str | None) -> Record | None:
        found = self.kept.get(key) if key else None
        return Record.from_json(found, self.experiment.dataset.sources) if found else None

    def _keep(self, key: str | None, record: Record) -> None:
        if key:
            self.kept.put(key, record.to_json())

    def _split(self, key: str | None) -> Record:
        with self._timed() as fresh, _recorded() as told:
            chunks, seconds = split(self.strategy, self.experiment.dataset.documents, self._step("split"))
        record = Record(chunks, split_seconds=seconds if fresh() else None, warnings=told)
        self._keep(key, record)
        return record

    def _ask(self, key: str | None, record: Record, texts: Sequence[str], embedder: Embedder, clock: Clock) -> None:
        experiment, step = self.experiment, self._step("ask")
        with _recorded() as told, contextlib.ExitStack() as stack:
            with self._timed() as fresh:
                collection = index(
                    record.chunks,
                    lambda texts: experiment.counter.count(texts).tolist(),
                    self.strategy,
                    experiment.dataset.documents,
                    embedder,
                    check_context(experiment.context),
                    self._step("embed"),
                )
            stack.enter_context(collection)
            if fresh():
                record.embed_seconds = clock.seconds
            stack.callback(self._keep, key, record)
            for done, text in enumerate(texts, 1):
                record.answers[question_key(text)] = collection.ask(text, experiment.rank_by, experiment.depth)
                if step:
                    step(done, len(texts))
        record.warnings.extend(text for text in told if text not in record.warnings)

    @contextlib.contextmanager
    def _timed(self) -> Iterator[Callable[[], bool]]:
        """Yield what tells whether no vector came from the cache in the block."""
        before = self.vectors.hits if self.vectors else 0
        yield lambda: self.vectors is None or self.vectors.hits == before

    def _step(self, stage: str) -> Progress | None:
        progress = self.progress
        return None if progress is None else lambda done, total: progress(Step(self.label, stage, done, total))


def question_key(text: str) -> str:
    """Return under what the answer to a question is kept."""
    return hashed(text)


def _outcomes(chunking: Chunking, record: Record) -> Iterator[Outcome]:
    for question in chunking.dataset.questions:
        answer = record.answers.get(question_key(question.text))
        if answer is None:  # There is nothing that could be found.
            yield Outcome(question, (), (), (), 0.0)
        else:
            ranking = tuple(chunking.chunks[place] for place in answer.places)
            yield Outcome(question, ranking, answer.scores, answer.cosines, answer.seconds)


@contextlib.contextmanager
def _recorded() -> Iterator[list[str]]:
    """Yield a list that holds kinsplit's warnings once the block ends, each also given; others are given as usual."""
    told: list[str] = []
    found: list[warnings.WarningMessage] = []
    try:
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always", KinsplitWarning)
            yield told
    finally:
        own: dict[type[KinsplitWarning], list[KinsplitWarning]] = {}
        for one in found:
            if isinstance(one.message, KinsplitWarning):
                own.setdefault(type(one.message), []).append(one.message)
            else:
                warnings.warn_explicit(one.message, one.category, one.filename, one.lineno)
        combined = [message for kind, messages in own.items() for message in kind.combined(messages)]
        told.extend(dict.fromkeys(map(str, combined)))
        for message in combined:
            warnings.warn(message, stacklevel=3)
