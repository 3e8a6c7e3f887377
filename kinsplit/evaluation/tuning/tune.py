"""Tuning from end to end: halves, search, the test on held-out questions, and the verdict in words."""

from __future__ import annotations

import time
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np
from scipy.cluster.hierarchy import DisjointSet

import kinsplit
from kinsplit import language_models
from kinsplit.doors import COMMANDS
from kinsplit.embedding.sparse import ANY
from kinsplit.errors import InvalidParameterError, KinsplitWarning, require
from kinsplit.evaluation.labels import Comparison, Dataset, Estimate, Question
from kinsplit.evaluation.significance import SIGNIFICANT, compare, estimate
from kinsplit.evaluation.splitters.specs import spec_of
from kinsplit.evaluation.tuning.search import Sampler, SearchResult, TuningLimits, search
from kinsplit.evaluation.tuning.space import SPACES, needs
from kinsplit.evaluation.tuning.trial import Caps, HalfBench, Trial, choose
from kinsplit.index import Index
from kinsplit.indexing.configuration import Configuration, IndexSettings
from kinsplit.indexing.vectors import check_embedding_context
from kinsplit.options import EvaluationOptions, KinWeights
from kinsplit.parsers import Strategy, default_strategy, strategy_class

#: First line of each configuration that tuning writes.
SIGNATURE = "Written by kinsplit tune"
# Attributes of `Tuned` that are in its JSON as they are.
_SETTINGS = ("dataset", "measure", "embedder", "embedding_context", "language", "ranker", "seed")
# What the file states even if nothing else was asked for.
_DEFAULTS = {"embedder": "bundled", "embedding_context": "headings", "language": "english"}


@dataclass(frozen=True)
class Tuned:
    """The result of tuning.

    Attributes:
        dataset: Name of the dataset.
        measure: Name of the measure by which strategies were chosen.
        embedder: Spec of the embedding model.
        embedding_context: Kind of context that was embedded with a chunk's text.
        language: Language of BM25.
        seed: Seed of the halves and the search.
        searched: Number of questions of the search.
        held_out: Number of held-out questions.
        found: Trials on the searched half.
        estimates: Means of the baseline and of the best strategy over the held-out half, by spec.
        comparison: Comparison of the best strategy with the baseline on the held-out half; None if the baseline is
            the best.
        weights: The best weights of kin scoring on the searched half, with the choice of strategy.
        weighing: Comparison of these weights with the defaults on the held-out half; None if they are the defaults.
        indexed: Whether the questions were asked of a collection, whose strategy is the only one.
        ranker: Name of the ranker.
    """

    dataset: str
    measure: str
    embedder: str
    embedding_context: str
    language: str
    seed: int
    searched: int
    held_out: int
    found: SearchResult
    estimates: Mapping[str, Estimate]
    comparison: Comparison | None
    weights: KinWeights = field(default_factory=KinWeights)
    weighing: Comparison | None = None
    indexed: bool = False
    ranker: str = "kin"

    @property
    def beats(self) -> bool:
        """Whether the best strategy is significantly better than the baseline on the held-out half."""
        return _is_sure(self.comparison)

    @property
    def chosen_weights(self) -> KinWeights:
        """The best weights if they are significantly better than the defaults on the held-out half, or the defaults."""
        return self.weights if _is_sure(self.weighing) else KinWeights()

    @property
    def choice(self) -> Strategy:
        """The best strategy if it beats the baseline, otherwise the baseline."""
        return (self.found.best if self.beats else self.found.baseline).strategy

    @property
    def verdict(self) -> str:
        """The verdict in one sentence."""
        result = self.comparison
        if self.indexed:
            return "The collection's strategy stays: only weights can be tuned where it is indexed"
        if result is None:
            others = sum(trial.recall is not None for trial in self.found.trials) - 1
            return f"Nothing found beats the library default: none of {others:,} others is better on the searched half"
        size = _size(result)
        if self.beats:
            return f"Its choice beats the library default on the held-out half by {size}: {result.strategy}"
        return (
            "Nothing found beats the library default: the best one on the searched half differs from it on the "
            f"held-out half by {size}: {result.strategy}"
        )

    @property
    def weights_verdict(self) -> str:
        """The verdict on the weights of kin scoring in one sentence."""
        if self.ranker != "kin":
            return f"The weights of kin scoring stay, since the ranker was {self.ranker!r}"
        if self.weighing is None:
            return "No weights of kin scoring beat the defaults on the searched half"
        size = _size(self.weighing)
        found = ", ".join(f"{key} {value:g}" for key, value in self.weights.model_dump(exclude_defaults=True).items())
        if _is_sure(self.weighing):
            return f"Weights of kin scoring beat the defaults on the held-out half by {size}: {found}"
        return f"The default weights of kin scoring stay: the best ones differ on the held-out half by {size}: {found}"

    def configuration(self) -> Configuration:
        """Return the choice as a configuration for `kinsplit index --config`."""
        parameters = {key: value for key, value in self.choice.described.items() if value is not None}
        return Configuration(
            index=IndexSettings(
                strategy=self.choice.name,
                parameters=parameters,
                embedder=self.embedder,
                embedding_context=check_embedding_context(self.embedding_context),
                language=self.language,
                weights=None if (chosen := self.chosen_weights) == KinWeights() else chosen,
            )
        )

    def remarks(self) -> str:
        """Return the comment at the top of the configuration, which states its origin."""
        return "\n".join(
            [
                f"{SIGNATURE} {kinsplit.__version__} for {self.dataset!r}; use it with: kinsplit index --config FILE",
                f"{self.measure}, seed {self.seed}: {self.searched} questions to choose by, {self.held_out} held out,",
                f"{len(self.found.trials)} strategies tried.",
                self.verdict,
                self.weights_verdict,
            ]
        )

    def to_json(self) -> dict[str, Any]:
        """Return the result as JSON values."""
        return {
            **{name: getattr(self, name) for name in _SETTINGS},
            "questions": {"searched": self.searched, "held_out": self.held_out},
            "trials": [_described(trial) for trial in self.found.trials],
            "ending": self.found.ending,
            "baseline": spec_of(self.found.baseline.strategy),
            "best": spec_of(self.found.best.strategy),
            "held_out": {spec: estimate.model_dump(mode="json") for spec, estimate in self.estimates.items()},
            "comparison": self.comparison and self.comparison.model_dump(mode="json"),
            "beats_default": self.beats,
            "verdict": self.verdict,
            "weights_verdict": self.weights_verdict,
            "choice": {
                "strategy": self.choice.name,
                "parameters": self.choice.described,
                "weights": self.chosen_weights.model_dump(mode="json", exclude_defaults=True),
            },
        }


def _size(result: Comparison) -> str:
    gap = result.difference
    return f"{gap.mean:+.3f} [{gap.low:+.3f}, {gap.high:+.3f}], p = {result.p_value:.3f}"


def _is_sure(result: Comparison | None) -> bool:
    """Return whether a comparison shows a significant gain."""
    return result is not None and result.difference.low > 0 and result.p_value < SIGNIFICANT


def _described(trial: Trial) -> dict[str, Any]:
    return {
        "strategy": spec_of(trial.strategy),
        "recall": trial.recall,
        "cost": trial.cost and asdict(trial.cost),
        "refused": trial.refused or None,
        "seconds": round(trial.seconds, 3),
    }


#: Number of held-out questions below which only large differences are significant.
_FEW = 30


class FewQuestionsWarning(KinsplitWarning):
    """There are so few questions that only large differences are significant."""


def halves(dataset: Dataset, seed: int = 0) -> tuple[Dataset, Dataset]:
    """Divide the questions that have labels into those to search with and those held out.

    Identical questions and questions that share labelled text stay together, so that nothing leaks into the held-out
    half. Each document's questions are divided as evenly as that allows.

    Raises:
        InvalidParameterError: The questions can't be divided into two halves.
    """
    labelled = [question for question in dataset.questions if question.labels]
    together = _groups(labelled)
    rule = "must include at least two labelled ones that share no labelled text, so that one can be held out"
    require(len(together) >= 2, "questions", rule, len(labelled), "Label more of them.")
    sides = _divided(together, np.random.default_rng(seed))
    search, held_out = (replace(dataset, questions=tuple(q for q in labelled if q.id in side)) for side in sides)
    if len(held_out.questions) < _FEW:
        number = "1 question is" if len(held_out.questions) == 1 else f"{len(held_out.questions)} questions are"
        text = f"Only {number} held out, so only large differences can be told from chance."
        warnings.warn(FewQuestionsWarning(text), stacklevel=2)
    return search, held_out


def _groups(questions: Sequence[Question]) -> list[list[Question]]:
    """Return the groups of questions that have to stay together, ordered by their first question."""
    joined = DisjointSet(question.id for question in questions)
    for first, second in (*_same_texts(questions), *_sharing(questions)):
        joined.merge(first, second)
    groups: dict[str, list[Question]] = defaultdict(list)
    for question in questions:
        groups[joined[question.id]].append(question)
    return list(groups.values())


def _same_texts(questions: Iterable[Question]) -> Iterator[tuple[str, str]]:
    first: dict[str, str] = {}
    for question in questions:
        yield first.setdefault(" ".join(question.text.casefold().split()), question.id), question.id


def _sharing(questions: Iterable[Question]) -> Iterator[tuple[str, str]]:
    """Yield pairs that link all questions with overlapping labels; a whole document overlaps all of its text."""
    places = ((place, question.id) for question in questions for label in question.labels for place in label.places)
    placed = sorted((place.source_id, *(place.span or (0, float("inf"))), id_) for place, id_ in places)
    source, reached, last = "", 0.0, ""
    for source_id, start, end, id_ in placed:
        if source_id != source or start >= reached:
            source, reached, last = source_id, end, id_
            continue
        yield last, id_
        if end > reached:
            reached, last = end, id_


def _divided(groups: Sequence[list[Question]], random: np.random.Generator) -> tuple[set[str], set[str]]:
    """Assign each group, largest first, to the side with fewer questions on its document, or else fewer in total."""
    order = sorted(random.permutation(len(groups)), key=lambda number: -len(groups[number]))
    sides: tuple[set[str], set[str]] = set(), set()
    of_document: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for number in order:
        group = groups[number]
        counts = of_document[group[0].labels[0].places[0].source_id]
        side = min((0, 1), key=lambda side: (counts[side], len(sides[side])))
        sides[side].update(question.id for question in group)
        counts[side] += len(group)
    return sides


#: Default token budget of recall.
BUDGET = 1000


def tune(
    dataset: Dataset,
    *,
    budget: int = BUDGET,
    strategies: Sequence[str] = (),
    caps: Caps | None = None,
    limits: TuningLimits | None = None,
    seed: int = 0,
    on_trial: Callable[[Trial], None] | None = None,
    **options: Any,
) -> Tuned:
    """Search for the strategy that finds most of the labelled text within a token budget.

    Args:
        dataset: Documents and labelled questions.
        budget: Token budget of recall.
        strategies: Names of the strategies to search; by default all that need no language model, or all with `model`.
        caps: Upper limits of a strategy's cost; None for 2.5 embedded tokens per token of the documents.
        limits: Limits of the search; None for 60 trials or 10 minutes.
        seed: Seed of the halves and the search.
        on_trial: Callback for each finished trial.
        **options: See `kinsplit.options.EvaluationOptions`, without those of measures and the baseline. The embedder
            and the model are names; the model is that of strategies that need one. Weights of kin scoring are chosen if
            the ranker is "kin".

    Returns:
        The result, even after Ctrl-C once the first trial is finished.

    Raises:
        InvalidParameterError: A name or number is wrong, or the questions can't be divided into two halves.
        MissingExtraError: Optuna is not installed.
    """
    asked = _asked(budget, options)
    if asked["model"] is not None:
        language_models.check(asked["model"])
    spaces = {name: SPACES[name] for name in _names(strategies, asked["model"])}
    resources = {name: asked[name] for name in ("embedder", "model", "tokenizer")}
    benches = [HalfBench(half, f"recall@{budget}t", asked) for half in halves(dataset, seed)]
    sampler = Sampler(spaces, resources, seed)
    found = search(benches[0], sampler, default_strategy(), caps or Caps(), limits or TuningLimits(), on_trial)
    result = _tested(found, benches, asked["embedder"], seed)
    return result if found.ending == "stopped" or asked["ranker"] != "kin" else _with_weights(result, benches)


def _tested(found: SearchResult, benches: Sequence[HalfBench], embedder: str, seed: int) -> Tuned:
    """Compare the best strategy of a search with the baseline on the held-out half."""
    searched, held_out = benches
    both = (found.baseline.strategy, found.best.strategy)
    values = {spec_of(each): held_out.values(each) for each in both}
    return Tuned(
        dataset=held_out.dataset.name,
        measure=held_out.measure,
        embedder=embedder,
        embedding_context=held_out.options["embedding_context"],
        language=held_out.options["language"],
        seed=seed,
        searched=len(searched.dataset.questions),
        held_out=len(held_out.dataset.questions),
        found=found,
        estimates={label: estimate(own) for label, own in values.items()},
        comparison=next(iter(compare(held_out.measure, spec_of(both[0]), values)), None),
        indexed=held_out.index is not None,
        ranker=getattr(held_out.options["ranker"], "name", held_out.options["ranker"]),
    )


def _with_weights(result: Tuned, benches: Sequence[HalfBench]) -> Tuned:
    """Choose weights of kin scoring for the chosen strategy on the first half, and compare them on the second."""
    searched, held_out = (bench.weighing(result.choice) for bench in benches)
    chosen = choose(searched.recall)
    if chosen == KinWeights():
        return result
    values = {"default": held_out.values(KinWeights()), "chosen": held_out.values(chosen)}
    (comparison,) = compare(result.measure, "default", values)
    return replace(result, weights=chosen, weighing=comparison)


def _asked(budget: int, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options that tuning has, with all defaults."""
    require(budget >= 1, "budget", "must be at least 1", budget, f"Leave it out for {BUDGET}.")
    door = COMMANDS["tune"]
    for name, value in options.items():
        rule = f"is not used: {door.without[name]}" if name in door.without else "is not an option of tuning"
        require(name in door.fields(), name, rule, value, "Leave it out.")
    given = EvaluationOptions(**{**_DEFAULTS, **options})
    return {name: getattr(given, name) for name in door.fields()}


def _names(wanted: Sequence[str], model: str | None) -> list[str]:
    """Return the strategies to search, in the order of the registry; raise if one needs a model that is missing."""
    wanted = [strategy_class(name).name for name in wanted]
    for name in wanted:
        if model is None and "model" in needs(name):
            rule = f"must be given for {name}, which asks a language model"
            raise InvalidParameterError("model", rule, model, "Give for example 'ollama:llama3'.")
    return [name for name in SPACES if (name in wanted if wanted else model is not None or "model" not in needs(name))]


def tune_weights(dataset: Dataset, index: Index, *, budget: int = BUDGET, seed: int = 0, **options: Any) -> Tuned:
    """Choose weights of kin scoring for a collection, whose documents are neither split nor embedded.

    Its strategy and its model stay, since others need another collection.

    Args:
        dataset: The documents in the collection, and labelled questions.
        index: The collection.
        budget: Token budget of recall.
        seed: Seed of the halves.
        **options: See `tune`; the embedder, its context and the language are those of the collection.

    Returns:
        The result, with the collection's strategy as the only trial.

    Raises:
        InvalidParameterError: The collection holds other documents, or the questions can't be divided into two halves.
    """
    made = {"embedding_context": index.embedding_context, "language": index.bm25.language or ANY}
    asked = _asked(budget, {**made, **options})
    strategy, embedder = index.strategy, asked["embedder"]
    both = {**asked, "embedder": index.embedder, "cache": False}
    benches = [HalfBench(half, f"recall@{budget}t", both, index) for half in halves(dataset, seed)]
    begin = time.perf_counter()
    cost, recall = benches[0].cost(strategy), benches[0].recall(strategy)
    trial = Trial(strategy, cost, recall, "", time.perf_counter() - begin)
    return _with_weights(_tested(SearchResult((trial,), "all tried"), benches, embedder, seed), benches)
