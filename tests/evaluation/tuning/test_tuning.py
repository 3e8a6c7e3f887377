"""Tuning from documents and questions to a configuration file for `index`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from kinsplit.chunk import Document
from kinsplit.errors import InvalidParameterError
from kinsplit.evaluation.labels import Comparison, Dataset, Estimate, Label, Place, Question
from kinsplit.evaluation.tuning import Caps, Trial, Tuned, TuningLimits, tune
from kinsplit.indexing.configuration import Configuration
from kinsplit.parsers import default_strategy
from kinsplit.spans import Span

pytestmark = pytest.mark.filterwarnings("ignore::kinsplit.evaluation.tuning.tune.FewQuestionsWarning")
KINDS = "oak", "elm", "fir", "ash", "yew", "box"
ANIMALS = "owl", "bat", "fox", "elk", "ant", "eel"


def forest() -> Dataset:
    """Make a dataset of facts, each in its own section with a heading."""
    text, questions = "", []
    for kind in KINDS:
        for animal in ANIMALS:
            text += f"## The {kind} of the {animal}\n\n"
            fact = f"Here it grows for {len(text)} years, and is never cut."
            place = Place("forest", Span(len(text), len(text) + len(fact)))
            questions.append(
                Question(f"{kind}-{animal}", f"How old is the {kind} of the {animal}?", (Label((place,)),))
            )
            text += f"{fact}\n\n"
    return Dataset("forest", (Document("forest", text),), tuple(questions))


def tuned(tmp_path: Path, **options: object) -> Tuned:
    given = {"budget": 60, "embedder": "hash", "limits": TuningLimits(6, None), "cache": tmp_path, **options}
    return tune(forest(), **given)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def better(tmp_path_factory: pytest.TempPathFactory) -> tuple[Tuned, list[Trial]]:
    """What beats the default, and the trials that were told."""
    told: list[Trial] = []
    return tuned(tmp_path_factory.mktemp("cache"), strategies=["structure"], on_trial=told.append), told


def test_what_beats_the_default_is_the_choice(better: tuple[Tuned, list[Trial]]) -> None:
    found, told = better
    assert tuple(told) == found.found.trials
    assert (found.searched, found.held_out) == (18, 18)
    assert found.beats
    assert found.choice.name == "structure"
    assert found.comparison is not None
    assert found.comparison.difference.count == 18
    assert found.verdict.startswith("Its choice beats the library default on the held-out half by +")
    means = {estimate.mean for estimate in found.estimates.values()}
    assert max(means) - min(means) == pytest.approx(found.comparison.difference.mean)


def test_where_nothing_beats_the_default_it_is_the_choice(tmp_path: Path) -> None:
    found = tuned(tmp_path, strategies=["character"], caps=Caps(chunks=1))
    assert found.found.best is found.found.baseline
    assert found.comparison is None
    assert found.choice == default_strategy()
    assert found.verdict == "Nothing found beats the library default: none of 0 others is better on the searched half"


@pytest.mark.parametrize(
    ("low", "p_value", "beats"), [(0.01, 0.01, True), (0.0, 0.01, False), (0.01, 0.06, False), (-0.1, 0.5, False)]
)
def test_chance_must_not_explain_the_difference(
    better: tuple[Tuned, list[Trial]], low: float, p_value: float, beats: bool
) -> None:
    found, _ = better
    difference = Estimate(mean=0.1, low=low, high=0.3, count=18)
    assert isinstance(found.comparison, Comparison)
    told = replace(found, comparison=found.comparison.model_copy(update={"difference": difference, "p_value": p_value}))
    assert told.beats is beats
    assert (told.choice == default_strategy()) is not beats
    assert told.verdict.startswith("Its choice beats" if beats else "Nothing found beats")


def test_the_file_holds_the_choice_and_where_it_comes_from(tmp_path: Path) -> None:
    found = tuned(tmp_path / "cache", strategies=["structure"], embedding_context="none")
    file = tmp_path / "kinsplit.toml"
    found.configuration().write(file, found.remarks())
    index = Configuration.read(file).index
    assert index.splitter() == found.choice
    assert (index.embedder, index.embedding_context) == ("hash", "none")
    remarks = [line for line in file.read_text().splitlines() if line.startswith("# ")]
    assert remarks[0].startswith("# Written by kinsplit tune")
    assert remarks[-2:] == [f"# {found.verdict}", f"# {found.weights_verdict}"]


def test_another_run_finds_the_same_from_the_cache(tmp_path: Path) -> None:
    first, again = tuned(tmp_path), tuned(tmp_path)
    assert [trial.recall for trial in first.found.trials] == [trial.recall for trial in again.found.trials]
    assert first.choice == again.choice
    assert first.comparison == again.comparison
    assert {trial.strategy.name for trial in first.found.trials} - {"sentence"}


def test_the_cost_counts_what_boundaries_cost(tmp_path: Path) -> None:
    options = {"limits": TuningLimits(2, None), "caps": Caps(ratio=None)}
    word = tuned(tmp_path, strategies=["word"], embedding_context="none", **options).found.trials
    semantic = tuned(tmp_path, strategies=["semantic"], embedding_context="none", **options).found.trials
    assert all(trial.cost and trial.cost.ratio == pytest.approx(1.0, abs=0.5) for trial in word)
    assert all(trial.cost and trial.cost.ratio >= 1.9 for trial in semantic[1:])


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"strategies": ["words"]}, "strategy: must be the name of a strategy"),
        ({"strategies": ["llm"]}, "model: must be given for llm"),
        ({"model": "llama3"}, "model: must be one of ollama:MODEL"),
        ({"budget": 0}, "budget: must be at least 1"),
    ],
)
def test_wrong_options_are_refused(tmp_path: Path, options: dict[str, object], told: str) -> None:
    with pytest.raises(InvalidParameterError, match=told):
        tuned(tmp_path, **options)


def test_options_that_tuning_has_no_use_for_are_refused_with_the_reason(tmp_path: Path) -> None:
    with pytest.raises(InvalidParameterError, match="measures: is not used: recall within the budget"):
        tuned(tmp_path, measures=["MRR"])
    with pytest.raises(InvalidParameterError, match="colour: is not an option"):
        tuned(tmp_path, colour="red")
