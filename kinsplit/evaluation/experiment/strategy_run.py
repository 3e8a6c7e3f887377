"""The work on one strategy: split, embedded, asked; what is done is kept and not done again."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from kinsplit.chunk import embedded_text
from kinsplit.embedding import Embedder, Progress, VectorCache, use_vector_cache
from kinsplit.embedding import resolve as resolve_embedder
from kinsplit.embedding.cached import without_cache
from kinsplit.embedding.protocol import repeatable
from kinsplit.evaluation.experiment.outcome_cache import OutcomeCache, code_version, hashed
from kinsplit.evaluation.experiment.plan import Plan
from kinsplit.evaluation.experiment.records import Record
from kinsplit.evaluation.experiment.retrieval import Clock, Questions, index, split
from kinsplit.evaluation.measures.protocol import Chunking, Outcome
from kinsplit.evaluation.splitters import ForeignStrategy, UnlocatedWarning
from kinsplit.evaluation.statistics import Made
from kinsplit.indexing.embedding_context import check_embedding_context
from kinsplit.parsers import Strategy
from kinsplit.parsers.base import Cost
from kinsplit.support.warnings import record_warnings

if TYPE_CHECKING:
    from kinsplit.evaluation.experiment.experiment import Experiment


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


class CountingCache(VectorCache):
    """Counts the vectors that were there: what they save makes a time say nothing."""

    hits = 0

    def get(self, model: str, texts: Sequence[str], dimension: int) -> dict[str, NDArray[np.float32]]:
        """See `VectorCache.get`."""
        found = super().get(model, texts, dimension)
        self.hits += len(found)
        return found


@dataclass
class Work:
    """The work on one strategy."""

    experiment: Experiment
    label: str
    strategy: Strategy
    kept: OutcomeCache
    vectors: CountingCache | None
    questions: Questions
    progress: Callable[[Step], None] | None = None

    def evidence(self) -> Evidence:
        """Do what isn't done yet."""
        experiment, dataset = self.experiment, self.experiment.dataset
        with use_vector_cache(self.vectors or False):
            clock = Clock(without_cache(resolve_embedder(experiment.embedder)))
            # Vectors of tokens aren't kept.
            embedder = cast("Embedder", clock) if experiment.embedding_context == "late" else resolve_embedder(clock)
            key = self._key(embedder)
            record, key = self._known_or_split(key)
            missing = [q.text for q in dataset.questions if question_key(q.text) not in record.answers]
            if missing and record.leaves:
                self._ask(key, record, list(dict.fromkeys(missing)), embedder, clock)
            chunking = Chunking(dataset, tuple(record.leaves), experiment.counter)
            made = Made(
                chunking,
                embedder.dimension,
                contexts=experiment.embedding_context == "headings",
                split_seconds=record.split_seconds,
                embed_seconds=record.embed_seconds,
            )
            return Evidence(made, tuple(_outcomes(chunking, record)), tuple(record.warnings))

    def chunking(self) -> Chunking:
        """Split, unless that is done already."""
        with use_vector_cache(self.vectors or False):
            key = self._key(resolve_embedder(self.experiment.embedder))
            record, _ = self._known_or_split(key)
        return Chunking(self.experiment.dataset, tuple(record.leaves), self.experiment.counter)

    def plan(self) -> Plan:
        """Return what is to be done. Documents are split, unless that would ask a model of kinsplit's."""
        experiment, strategy = self.experiment, self.strategy
        documents, questions = experiment.dataset.documents, experiment.dataset.questions
        with use_vector_cache(self.vectors or False):
            embedder = resolve_embedder(experiment.embedder)
            record = self._known(self._key(embedder))
            cost = Cost() if record else strategy.cost([document.text for document in documents])
            answered = sum(question_key(q.text) in record.answers for q in questions) if record else 0
            if record is None and (cost != Cost() or "embedder" in strategy.resources):
                return Plan(self.label, None, None, None, None, len(questions), answered, cost)
            leaves = record.leaves if record else [c for c in split(strategy, documents)[0] if c.level == 0]
            own_text = experiment.embedding_context == "none"
            texts = [leaf.text if own_text else embedded_text(leaf) for leaf in leaves]
            different = list(dict.fromkeys(texts))
            kept = 0
            if self.vectors and experiment.embedding_context != "late" and repeatable(embedder):
                kept = len(self.vectors.get(embedder.fingerprint, different, embedder.dimension))
            tokens = int(experiment.counter.count(texts).sum()) if texts else 0
            return Plan(self.label, len(leaves), tokens, len(different), kept, len(questions), answered, cost)

    def _key(self, embedder: Embedder) -> str | None:
        """Return under what the work is kept; None where nothing tells it from other work.

        What is named by a string does the same each time. Objects of somebody's own classes change with their code,
        which isn't seen here, so what was made with them is made again in each run.
        """
        strategy, experiment = self.strategy, self.experiment
        named = all(isinstance(getattr(strategy, name), str) for name in strategy.resources if name != "splitter")
        is_own = type(strategy).__module__.startswith("kinsplit.")
        if not (named and is_own and isinstance(experiment.ranker, str) and repeatable(embedder)):
            return None
        if isinstance(strategy, ForeignStrategy) and not strategy.repeatable:
            return None
        return hashed(
            code_version(),
            experiment.documents_hash,
            strategy.fingerprint,
            embedder.fingerprint,
            experiment.bm25.fingerprint,
            experiment.rank_by.name,
            experiment.embedding_context,
            experiment.tokenizer,
            experiment.depth,
        )

    def _known(self, key: str | None) -> Record | None:
        found = self.kept.get(key) if key else None
        return Record.from_json(found, self.experiment.dataset.sources) if found else None

    def _keep(self, key: str | None, record: Record) -> None:
        if key:
            self.kept.put(key, record.to_json())

    def _known_or_split(self, key: str | None) -> tuple[Record, str | None]:
        """Return what is made, and under what it is kept from now on."""
        known = self._known(key)
        return (known, key) if known else self._split(key)

    def _split(self, key: str | None) -> tuple[Record, str | None]:
        """Return the chunks, and under what they are kept: not at all where a model failed that may answer later."""
        before = self._hits
        with record_warnings() as told:
            chunks, seconds = split(self.strategy, self.experiment.dataset.documents, self._step("split"))
        seconds_of_all = seconds if self._hits == before else None
        record = Record(chunks, split_seconds=seconds_of_all, warnings=list(map(str, told)))
        if not all(isinstance(one, UnlocatedWarning) for one in told):
            key = None
        self._keep(key, record)
        return record, key

    def _ask(self, key: str | None, record: Record, texts: Sequence[str], embedder: Embedder, clock: Clock) -> None:
        experiment, step, before = self.experiment, self._step("ask"), self._hits
        with record_warnings() as told, contextlib.ExitStack() as stack:
            collection = index(
                record.chunks,
                lambda texts: experiment.counter.count(texts).tolist(),
                self.strategy,
                experiment.dataset.documents,
                embedder,
                experiment.bm25,
                check_embedding_context(experiment.embedding_context),
                self._step("embed"),
            )
            stack.enter_context(collection)
            if self._hits == before:
                record.embed_seconds = clock.seconds
            stack.callback(self._keep, key, record)
            for done, text in enumerate(texts, 1):
                record.answers[question_key(text)] = collection.answer(
                    self.questions.ask(text), experiment.rank_by, experiment.depth
                )
                if step:
                    step(done, len(texts))
        record.warnings.extend(text for text in map(str, told) if text not in record.warnings)

    @property
    def _hits(self) -> int:
        """How many vectors came from the cache so far: a time with some among them says nothing."""
        return self.vectors.hits if self.vectors else 0

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
