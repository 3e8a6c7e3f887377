"""The run of one strategy: split, embed and search, with cached results."""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cache, cached_property
from pathlib import Path
from typing import Any, NamedTuple, Self, cast

import numpy as np
from numpy.typing import NDArray

import kinsplit
from kinsplit.chunk import Beside, Chunk, Document, embedded_text
from kinsplit.embedding import Embedder, Progress, VectorCache, use_vector_cache
from kinsplit.embedding import resolve as resolve_embedder
from kinsplit.embedding.protocol import EmbeddingContext, repeatable
from kinsplit.embedding.sparse import Bm25Embedder
from kinsplit.evaluation.experiment.rankers import Ranker
from kinsplit.evaluation.experiment.retrieval import (
    Clock,
    Depth,
    QuestionRanking,
    Questions,
    index,
    read_chunks,
    split,
    stored_collection,
)
from kinsplit.evaluation.labels import Dataset
from kinsplit.evaluation.measures.protocol import Chunking, Measure, Outcome
from kinsplit.evaluation.splitters.foreign import UnlocatedWarning
from kinsplit.evaluation.statistics import ChunkingProfile
from kinsplit.index import Index
from kinsplit.parsers import Strategy
from kinsplit.parsers.base import Cost
from kinsplit.spans import Span
from kinsplit.support.disk_cache import JsonCache
from kinsplit.support.warnings import record_warnings
from kinsplit.tokenizers import Tokenizer

# At least 100 chunks and 4,000 tokens for all measures, so that adding a measure seldom changes the others.
_CHUNKS, _TOKENS = 100, 4000


@dataclass(frozen=True)
class Setup:
    """An experiment whose strategies, models and measures are objects."""

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
    language: str  # Language of the stop words and the stemmer of BM25.
    bm25: Bm25Embedder
    tokenizer: Tokenizer

    @cached_property
    def documents_hash(self) -> str:
        """A hash of the documents."""
        documents = self.dataset.documents
        return hashed([(d.id, d.text, d.metadata, d.outline, d.headings, d.kind, d.voices) for d in documents])

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
    """The work to do for one strategy."""

    label: str
    # Number of chunks to search; this and the next three are None if a model decides the boundaries.
    chunks: int | None
    tokens: int | None
    texts: int | None
    kept: int | None
    questions: int
    answered: int  # Number of questions with a cached ranking; if all have one, nothing is embedded.
    cost: Cost


@dataclass
class StrategyRecord:
    """The chunks and rankings of one strategy computed so far."""

    chunks: list[Chunk]
    split_seconds: float | None = None  # Wall time of splitting; None if vectors came from a cache.
    # Wall time of embedding; None before it is finished, or if vectors came from a cache.
    embed_seconds: float | None = None
    warnings: list[str] = field(default_factory=list)
    answers: dict[str, QuestionRanking] = field(default_factory=dict)

    @property
    def leaves(self) -> list[Chunk]:
        """The chunks that are searched."""
        return [chunk for chunk in self.chunks if chunk.level == 0]

    def to_json(self) -> dict[str, Any]:
        """Return the record without the documents' metadata."""
        return {
            **{f.name: getattr(self, f.name) for f in fields(self)},
            "chunks": [[*(getattr(each, name) for name in _KEPT), each.beside.to_dict()] for each in self.chunks],
            "answers": {key: [*answer[:-1], dict(answer.read)] for key, answer in self.answers.items()},
        }

    @classmethod
    def from_json(cls, kept: Mapping[str, Any], documents: Mapping[str, Document]) -> Self:
        """Return the record from a cached value."""
        chunks = [_chunk(dict(zip((*_KEPT, "beside"), row, strict=True)), documents) for row in kept["chunks"]]
        answers = {key: QuestionRanking(*answer) for key, answer in kept["answers"].items()}
        return cls(**{**kept, "chunks": chunks, "answers": answers})


_KEPT: Sequence[str] = [f.name for f in fields(Chunk) if f.name not in {"metadata", "beside"}]


def _chunk(row: dict[str, Any], documents: Mapping[str, Document]) -> Chunk:
    spans = tuple(Span(*span) for span in row["spans"])
    return Chunk(**{**row, "spans": spans, "beside": Beside.of(row)}, metadata=documents[row["source_id"]].metadata)


#: Maximum number of bytes of cached records on disk; the least recently used are removed first.
RECORDS = 1 << 29
#: The parts of kinsplit whose code affects retrieval.
_PARTS = (
    *("chunk.py", "identity.py", "spans.py", "indexing", "parsers", "embedding", "tokenizers", "stores", "retrieval"),
    *("evaluation/splitters", "evaluation/experiment"),
)


@cache
def code_version() -> str:
    """Return a hash of the code that affects retrieval, so that outcomes of older code are not used."""
    root, digest = Path(kinsplit.__file__).parent, hashlib.blake2b(digest_size=16)
    for part in _PARTS:
        path = root / part
        for file in sorted(path.rglob("*.py")) if path.is_dir() else [path]:
            digest.update(file.read_bytes())
    return f"{kinsplit.__version__} {digest.hexdigest()}"


def hashed(*parts: Any) -> str:
    """Return a hash of JSON values; other objects are hashed as their `str`."""
    data = json.dumps(parts, sort_keys=True, default=str)
    return hashlib.blake2b(data.encode(), digest_size=16).hexdigest()


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
    """The run of one strategy."""

    setup: Setup
    label: str
    outcomes: JsonCache
    vectors: CountingCache | None  # Cache of vectors; None for no cache.
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
            missing = [q.text for q in dataset.questions if hashed(q.text) not in record.answers]
            if missing and record.leaves:
                self._search(key, record, list(dict.fromkeys(missing)), embedder, clock)
            chunking = Chunking(dataset, tuple(record.leaves), setup.tokenizer)
            profile = ChunkingProfile(
                chunking,
                embedder.dimension,
                contexts=setup.embedding_context == "headings",
                split_seconds=record.split_seconds,
                embed_seconds=record.embed_seconds,
                limit=self.strategy.limit,
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
            answered = sum(hashed(q.text) in record.answers for q in questions) if record else 0
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
        found = self.outcomes.get(key.encode()) if key else None
        return StrategyRecord.from_json(found, self.setup.dataset.sources) if isinstance(found, dict) else None

    def _store(self, key: str | None, record: StrategyRecord) -> None:
        if key:
            self.outcomes.put(key.encode(), record.to_json())

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
            if self.label in setup.indexes:
                stored = setup.indexes[self.label]
                collection = stored_collection(stored, setup.dataset, record.leaves, setup.tokenizer)
            else:
                collection = index(record.chunks, self.strategy, setup, embedder, self._step("embed"))
                stack.callback(collection.store.close)
                if self._hits == before:
                    record.embed_seconds = clock.seconds
            stack.callback(self._store, key, record)
            for done, text in enumerate(texts, 1):
                question = self.questions.ask(text)
                record.answers[hashed(text)] = collection.answer(text, question, setup.ranker, setup.depth)
                if step:
                    step(done, len(texts))
        record.warnings.extend(text for text in map(str, raised) if text not in record.warnings)

    @property
    def _hits(self) -> int:
        """The cache hits so far."""
        return self.vectors.hits if self.vectors else 0

    def _step(self, stage: str) -> Progress | None:
        progress = self.progress
        return None if progress is None else lambda done, total: progress(Step(self.label, stage, done, total))


def _outcomes(chunking: Chunking, record: StrategyRecord) -> Iterator[Outcome]:
    for question in chunking.dataset.questions:
        answer = record.answers.get(hashed(question.text))
        if answer is None:  # The strategy made no chunks.
            yield Outcome(question, (), (), (), 0.0)
        else:
            ranking = tuple(chunking.chunks[position] for position in answer.positions)
            read = {
                int(budget): {source_id: tuple(Span(*span) for span in spans) for source_id, spans in found.items()}
                for budget, found in answer.read.items()
            }
            yield Outcome(question, ranking, answer.scores, answer.cosines, answer.seconds, read)
