"""One dataset, several strategies, and everything else equal: the core of every comparison."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from kinsplit.embedding import resolve as resolve_embedder
from kinsplit.embedding.cached import without_cache
from kinsplit.embedding.late_chunking import token_embedder
from kinsplit.embedding.sparse import Bm25Embedder
from kinsplit.errors import InvalidParameterError
from kinsplit.evaluation.experiment import rankers
from kinsplit.evaluation.experiment.outcome_cache import OutcomeCache, hashed
from kinsplit.evaluation.experiment.plan import Plan
from kinsplit.evaluation.experiment.retrieval import Depth, Questions
from kinsplit.evaluation.experiment.strategy_run import CountingCache, Evidence, Step, Work
from kinsplit.evaluation.labels import Dataset
from kinsplit.evaluation.measures.protocol import Chunking, Measure
from kinsplit.evaluation.qrels.rule import SC_QRELS, SpanRule
from kinsplit.evaluation.results import Results
from kinsplit.evaluation.splitters import GivenChunks, as_strategy
from kinsplit.indexing.embedding_context import check_embedding_context
from kinsplit.parsers import Strategy
from kinsplit.support.paths import cache_folder
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
# Rankings of 100 chunks and 4,000 tokens whatever is measured, so that a further measure seldom changes another one.
_CHUNKS, _TOKENS = 100, 4000


@dataclass(frozen=True)
class Experiment:
    """Strategies on one dataset, with one embedder, one ranker and one tokenizer for all.

    Attributes:
        dataset: The documents and questions.
        strategies: By label; the first one is the baseline. A strategy, any other splitter that
            `kinsplit.evaluation.splitters.as_strategy` takes, or a list of chunks' texts that were made elsewhere, in
            the order of the documents. Whatever is given, strategies are what the attribute holds.
        embedder: A name, an embedder of kinsplit, LlamaIndex or LangChain, or any object with `embed(texts)`.
        ranker: A name of `kinsplit.evaluation.experiment.rankers.names()`, or a ranker.
        measures: Measures or their names; None for `MEASURES`. The headline is added where it is missing.
        headline: Name of the measure that strategies are compared by; None for recall@1000t, or query_terms where
            nothing is labelled.
        top_k: Chunks that a measure looks at that has no number of its own, and that results show.
        embedding_context: What is embedded besides a chunk's text; see
            `kinsplit.indexing.embedding_context.EmbeddingContext`.
        language: Language of the stop words and the stemmer of BM25, such as "german", or "any" for words as they are.
        tokenizer: Counts the tokens of budgets.
        rule: Which chunks are relevant to a label, for the measures of ranks.
        model: Writes and judges answers, for the measures of answers; what `kinsplit.language_models.resolve` takes.
        cache: Whether vectors and outcomes are kept in kinsplit's cache folder; or another folder for them. What is
            made with a strategy, a ranker or an embedder of somebody's own class is not kept, since it changes with
            that class's code (an embedder can say otherwise, see `kinsplit.embedding.protocol.repeatable`).
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
        object.__setattr__(self, "strategies", {label: self._strategy(one) for label, one in self.strategies.items()})
        if check_embedding_context(self.embedding_context) == "late":
            token_embedder(without_cache(resolve_embedder(self.embedder)))
        _ = self.rank_by, self.bm25, self.counter, self.judges

    def _strategy(self, splitter: object) -> Strategy:
        if isinstance(splitter, list | tuple) and all(isinstance(chunk, str) for chunk in splitter):
            splitter = GivenChunks(splitter, [document.text for document in self.dataset.documents])
        return as_strategy(splitter, tokenizer=self.tokenizer)

    @cached_property
    def rank_by(self) -> rankers.Ranker:
        """The ranker."""
        return rankers.create(self.ranker) if isinstance(self.ranker, str) else self.ranker

    @cached_property
    def bm25(self) -> Bm25Embedder:
        """What weighs terms."""
        return Bm25Embedder(self.language)

    @cached_property
    def counter(self) -> Tokenizer:
        """The tokenizer."""
        return resolve(self.tokenizer)

    @cached_property
    def documents_hash(self) -> str:
        """Changes whenever the documents do."""
        return hashed([(one.id, one.text, one.metadata, one.outline) for one in self.dataset.documents])

    @cached_property
    def headed_by(self) -> str:
        """Name of the headline measure."""
        from kinsplit.evaluation.measures.registry import own_name

        return own_name(self.headline or (HEADLINE if self.dataset.labelled else UNLABELLED))

    @cached_property
    def judges(self) -> tuple[Measure, ...]:
        """The measures, the headline among them."""
        from kinsplit.evaluation.measures.registry import create_many, own_name

        given = MEASURES if self.measures is None else self.measures
        objects = {measure.name: measure for measure in given if not isinstance(measure, str)}
        wanted = [own_name(one) for one in given if isinstance(one, str)]
        if self.headed_by not in {*objects, *wanted}:
            wanted.insert(0, self.headed_by)
        created = create_many(wanted, top_k=self.top_k, rule=self.rule, model=self.model) if wanted else ()
        made = {measure.name: measure for measure in created}
        if self.headed_by not in {**made, **objects}:
            known = ", ".join({**made, **objects})
            needed = "must be the full name of a measure"
            raise InvalidParameterError("headline", needed, self.headed_by, f"Take one of {known}.")
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
        from kinsplit.evaluation.experiment.summary import Summary

        summary = Summary(self)
        for label, evidence in self.evidence(progress):
            summary.add(label, evidence)
        return summary.results()

    def evidence(self, progress: Callable[[Step], None] | None = None) -> Iterator[tuple[str, Evidence]]:
        """Yield what each strategy made and retrieved, with its label; see `run`."""
        questions = Questions(without_cache(resolve_embedder(self.embedder)), self.bm25)
        with self._opened() as (kept, vectors):
            for label, strategy in self.strategies.items():
                yield label, Work(self, label, strategy, kept, vectors, questions, progress).evidence()

    def plan(self) -> list[Plan]:
        """Return what a run would do for each strategy; nothing is embedded and no language model is asked."""
        questions = Questions(without_cache(resolve_embedder(self.embedder)), self.bm25)
        with self._opened() as (kept, vectors):
            works = (Work(self, *one, kept, vectors, questions) for one in self.strategies.items())
            return [work.plan() for work in works]

    def chunking(self, label: str) -> Chunking:
        """Return the chunks of one strategy; nothing is embedded but what it needs to find its boundaries."""
        questions = Questions(without_cache(resolve_embedder(self.embedder)), self.bm25)
        with self._opened() as (kept, vectors):
            return Work(self, label, self.strategies[label], kept, vectors, questions).chunking()

    @contextlib.contextmanager
    def _opened(self) -> Iterator[tuple[OutcomeCache, CountingCache | None]]:
        folder = cache_folder() if self.cache is True else Path(self.cache) if self.cache else None
        with contextlib.ExitStack() as stack:
            vectors = stack.enter_context(CountingCache(folder / "vectors")) if folder else None
            kept = OutcomeCache(folder / "outcomes" if folder else None)
            stack.callback(kept.close)
            yield kept, vectors
