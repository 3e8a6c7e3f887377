"""The run of one strategy: split, embed and search, with cached results."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from kinsplit.chunk import embedded_text
from kinsplit.embedding import Embedder, Progress, VectorCache, use_vector_cache
from kinsplit.embedding import resolve as resolve_embedder
from kinsplit.embedding.protocol import repeatable
from kinsplit.evaluation.experiment.records import OutcomeCache, StrategyRecord, code_version, hashed
from kinsplit.evaluation.experiment.retrieval import (
    Clock,
    Questions,
    StrategyCollection,
    index,
    read_chunks,
    split,
    stored_collection,
)
from kinsplit.evaluation.experiment.setup import Setup, StrategyPlan
from kinsplit.evaluation.measures.protocol import Chunking, Outcome
from kinsplit.evaluation.splitters import UnlocatedWarning
from kinsplit.evaluation.statistics import ChunkingProfile
from kinsplit.parsers import Strategy
from kinsplit.parsers.base import Cost
from kinsplit.spans import Span
from kinsplit.support.warnings import record_warnings


class Step(NamedTuple):
    """Progress of one strategy's run."""

    label: str
    stage: str
    done: int
    total: int


@dataclass(frozen=True)
class StrategyOutcomes:
    """Chunks and rankings of one strategy."""

    profile: ChunkingProfile
    outcomes: tuple[Outcome, ...]
    warnings: tuple[str, ...]


class CountingCache(VectorCache):
    """A cache that counts its hits, since times that include hits are too short to report."""

    hits = 0

    def get(self, model: str, texts: Sequence[str], dimension: int | None) -> dict[str, NDArray[np.float32]]:
        """See `VectorCache.get`."""
        found = super().get(model, texts, dimension)
        self.hits += len(found)
        return found


@dataclass
class StrategyRun:
    """The run of one strategy.

    Attributes:
        vectors: Cache of vectors; None for no cache.
    """

    setup: Setup
    label: str
    outcomes: OutcomeCache
    vectors: CountingCache | None
    questions: Questions
    progress: Callable[[Step], None] | None = None

    @property
    def strategy(self) -> Strategy:
        """The strategy."""
        return self.setup.strategies[self.label]

    def evidence(self) -> StrategyOutcomes:
        """Return the evidence, computing what no earlier run has cached."""
        setup, dataset = self.setup, self.setup.dataset
        with use_vector_cache(self.vectors or False):
            clock = Clock(setup.embedder)
            # Token vectors aren't cached.
            embedder = cast("Embedder", clock) if setup.embedding_context == "late" else resolve_embedder(clock)
            key = self._key(embedder)
            record, key = self._load_or_split(key)
            missing = [q.text for q in dataset.questions if question_key(q.text) not in record.answers]
            if missing and record.leaves:
                self._search(key, record, list(dict.fromkeys(missing)), embedder, clock)
            chunking = Chunking(dataset, tuple(record.leaves), setup.tokenizer)
            profile = ChunkingProfile(
                chunking,
                embedder.dimension,
                contexts=setup.embedding_context == "headings",
                split_seconds=record.split_seconds,
                embed_seconds=record.embed_seconds,
            )
            return StrategyOutcomes(profile, tuple(_outcomes(chunking, record)), tuple(record.warnings))

    def chunking(self) -> Chunking:
        """Return the chunks, from the cache if possible."""
        with use_vector_cache(self.vectors or False):
            key = self._key(resolve_embedder(self.setup.embedder))
            record, _ = self._load_or_split(key)
        return Chunking(self.setup.dataset, tuple(record.leaves), self.setup.tokenizer)

    def plan(self) -> StrategyPlan:
        """Return the work of `evidence`; documents are split for it unless that takes a model of kinsplit."""
        setup, strategy = self.setup, self.strategy
        documents, questions = setup.dataset.documents, setup.dataset.questions
        with use_vector_cache(self.vectors or False):
            if self.label in setup.indexes:
                chunks = setup.indexes[self.label].count()
                return StrategyPlan(self.label, chunks, 0, 0, 0, len(questions), 0, Cost())
            embedder = resolve_embedder(setup.embedder)
            record = self._load(self._key(embedder))
            cost = Cost() if record else strategy.cost([document.text for document in documents])
            answered = sum(question_key(q.text) in record.answers for q in questions) if record else 0
            if record is None and (cost != Cost() or "embedder" in strategy.resources):
                return StrategyPlan(self.label, None, None, None, None, len(questions), answered, cost)
            leaves = record.leaves if record else [c for c in split(strategy, documents)[0] if c.level == 0]
            texts = [leaf.text if setup.embedding_context == "none" else embedded_text(leaf) for leaf in leaves]
            different = list(dict.fromkeys(texts))
            kept = 0
            if self.vectors and setup.embedding_context != "late" and repeatable(embedder):
                kept = len(self.vectors.get(embedder.fingerprint, different, embedder.dimension))
            tokens = int(setup.tokenizer.count(texts).sum()) if texts else 0
            return StrategyPlan(self.label, len(leaves), tokens, len(different), kept, len(questions), answered, cost)

    def _key(self, embedder: Embedder) -> str | None:
        """Return the cache key of the run; None if its parts can't be identified.

        A part named by a string behaves the same in every run. An object of the user's own class may change with its
        code, which no key reflects, so runs with such objects are not cached.
        """
        setup, strategy = self.setup, self.strategy
        if not (strategy.repeatable and setup.ranker_is_named and repeatable(embedder)):
            return None
        if self.label in setup.indexes:  # Its content may change.
            return None
        return hashed(
            code_version(),
            setup.documents_hash,
            strategy.fingerprint,
            embedder.fingerprint,
            setup.bm25.fingerprint,
            setup.ranker.name,
            setup.embedding_context,
            setup.tokenizer.name,
            setup.depth,
        )

    def _load(self, key: str | None) -> StrategyRecord | None:
        found = self.outcomes.get(key) if key else None
        return StrategyRecord.from_json(found, self.setup.dataset.sources) if found else None

    def _store(self, key: str | None, record: StrategyRecord) -> None:
        if key:
            self.outcomes.put(key, record.to_json())

    def _load_or_split(self, key: str | None) -> tuple[StrategyRecord, str | None]:
        """Return the record, and the key to cache it under."""
        record = self._load(key)
        return (record, key) if record else self._split(key)

    def _split(self, key: str | None) -> tuple[StrategyRecord, str | None]:
        """Return the chunks and the cache key, or None as the key if a model failed, since it may answer later."""
        if self.label in self.setup.indexes:
            return StrategyRecord(read_chunks(self.setup.indexes[self.label], self.setup.dataset)), key
        before = self._hits
        with record_warnings() as raised:
            chunks, seconds = split(self.strategy, self.setup.dataset.documents, self._step("split"))
        split_seconds = seconds if self._hits == before else None
        record = StrategyRecord(chunks, split_seconds=split_seconds, warnings=list(map(str, raised)))
        if not all(isinstance(one, UnlocatedWarning) for one in raised):
            key = None
        self._store(key, record)
        return record, key

    def _search(
        self, key: str | None, record: StrategyRecord, texts: Sequence[str], embedder: Embedder, clock: Clock
    ) -> None:
        """Embed the chunks and add the rankings of questions to the record, which is stored even if interrupted."""
        setup, step, before = self.setup, self._step("ask"), self._hits
        with record_warnings() as raised, contextlib.ExitStack() as stack:
            collection = self._collection(record, embedder)
            stack.enter_context(collection)
            if self._hits == before and self.label not in setup.indexes:
                record.embed_seconds = clock.seconds
            stack.callback(self._store, key, record)
            for done, text in enumerate(texts, 1):
                question = self.questions.ask(text)
                record.answers[question_key(text)] = collection.answer(text, question, setup.ranker, setup.depth)
                if step:
                    step(done, len(texts))
        record.warnings.extend(text for text in map(str, raised) if text not in record.warnings)

    def _collection(self, record: StrategyRecord, embedder: Embedder) -> StrategyCollection:
        """Return the collection, embedding the chunks unless they are indexed already."""
        setup = self.setup
        if self.label in setup.indexes:
            return stored_collection(setup.indexes[self.label], setup.dataset, record.leaves, setup.tokenizer)
        return index(
            record.chunks,
            setup.tokenizer,
            self.strategy,
            setup.dataset.documents,
            embedder,
            setup.bm25,
            setup.embedding_context,
            self._step("embed"),
        )

    @property
    def _hits(self) -> int:
        """The cache hits so far."""
        return self.vectors.hits if self.vectors else 0

    def _step(self, stage: str) -> Progress | None:
        progress = self.progress
        return None if progress is None else lambda done, total: progress(Step(self.label, stage, done, total))


def question_key(text: str) -> str:
    """Return the key of a question's ranking in a record."""
    return hashed(text)


def _outcomes(chunking: Chunking, record: StrategyRecord) -> Iterator[Outcome]:
    for question in chunking.dataset.questions:
        answer = record.answers.get(question_key(question.text))
        if answer is None:  # The strategy made no chunks.
            yield Outcome(question, (), (), (), 0.0)
        else:
            ranking = tuple(chunking.chunks[position] for position in answer.positions)
            read = {
                int(budget): {source_id: tuple(Span(*span) for span in spans) for source_id, spans in found.items()}
                for budget, found in answer.read.items()
            }
            yield Outcome(question, ranking, answer.scores, answer.cosines, answer.seconds, read)
