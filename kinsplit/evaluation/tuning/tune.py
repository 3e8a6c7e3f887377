"""Tuning from end to end: halves, search, and the test on held-out questions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from kinsplit import language_models
from kinsplit.errors import InvalidParameterError
from kinsplit.evaluation.labels import Dataset
from kinsplit.evaluation.significance import compare, estimate
from kinsplit.evaluation.splitters import spec_of
from kinsplit.evaluation.tuning.halves import halves
from kinsplit.evaluation.tuning.result import Tuned
from kinsplit.evaluation.tuning.sampler import Sampler
from kinsplit.evaluation.tuning.search import Limits, search
from kinsplit.evaluation.tuning.space import SPACES, needs
from kinsplit.evaluation.tuning.trial import Bench, Caps, Trial
from kinsplit.index import default_strategy
from kinsplit.parsers import strategy_class

#: Tokens of the budget that recall is measured at.
BUDGET = 1000


def tune(
    dataset: Dataset,
    *,
    budget: int = BUDGET,
    strategies: Sequence[str] = (),
    caps: Caps | None = None,
    limits: Limits | None = None,
    seed: int = 0,
    embedder: str = "bundled",
    embedding_context: str = "headings",
    language: str = "english",
    model: str | None = None,
    cache: bool | Path = True,
    on_trial: Callable[[Trial], None] | None = None,
) -> Tuned:
    """Search the strategy that finds most of what answers the questions within a budget of tokens.

    Args:
        dataset: Documents and labelled questions.
        budget: Tokens that are read of what was retrieved.
        strategies: Names of those to search; all that need no language model where none is named, and with a model all.
        caps: What a strategy may cost; None for 2.5 tokens embedded for each one of the documents.
        limits: When the search ends; None for 60 trials or 10 minutes.
        seed: Of the halves and the search.
        embedder: Spec of the embedding model.
        embedding_context: What is embedded of a chunk beside its text.
        language: Language of the term ranking's stop words and stemmer, or "any" for words as they are.
        model: Spec of a language model, for strategies that ask one.
        cache: Whether vectors and outcomes are kept in kinsplit's cache folder, so that another run goes on from there;
            or another folder for them.
        on_trial: Told of each trial when it is over.

    Returns:
        What was found; also after Ctrl-C, once the first trial is over.

    Raises:
        InvalidParameterError: A wrong name or number, or questions that don't fall into two halves.
        MissingExtraError: Optuna is not installed.
    """
    if budget < 1:
        raise InvalidParameterError("budget", "must be at least 1", budget, f"Leave it out for {BUDGET}.")
    if model is not None:
        language_models.check(model)
    resources = {"embedder": embedder, "model": model}
    spaces = {name: SPACES[name] for name in _names(strategies, model)}
    split, measure, baseline = halves(dataset, seed), f"recall@{budget}t", default_strategy()
    benches = [Bench(half, measure, embedder, embedding_context, language, cache) for half in split]
    found = search(benches[0], Sampler(spaces, resources, seed), baseline, caps or Caps(), limits or Limits(), on_trial)
    labels = {spec_of(strategy): strategy for strategy in (baseline, found.best.strategy)}
    values: dict[str, Sequence[float]] = {label: benches[1].values(strategy) for label, strategy in labels.items()}
    comparisons = compare(measure, spec_of(baseline), dict(values))
    return Tuned(
        dataset=dataset.name,
        measure=measure,
        embedder=embedder,
        embedding_context=embedding_context,
        language=language,
        seed=seed,
        searched=len(split.search.questions),
        held_out=len(split.held_out.questions),
        found=found,
        estimates={label: estimate(own) for label, own in values.items()},
        comparison=comparisons[0] if comparisons else None,
    )


def _names(wanted: Sequence[str], model: str | None) -> list[str]:
    """Return the strategies to search, in the order of the registry.

    Raises:
        InvalidParameterError: No strategy has one of the names, or it asks a language model and none is given.
    """
    wanted = [strategy_class(name).name for name in wanted]
    for name in wanted:
        if model is None and "model" in needs(name):
            rule = f"must be given for {name}, which asks a language model"
            raise InvalidParameterError("model", rule, model, "Give for example 'ollama:llama3'.")
    return [name for name in SPACES if (name in wanted if wanted else model is not None or "model" not in needs(name))]
