"""Measures by name."""

from __future__ import annotations

from pathlib import Path

import pytest

from kinsplit.errors import InvalidParameterError
from kinsplit.evaluation.measures.answers import AnswerMeasure
from kinsplit.evaluation.measures.registry import ALIASES, create, create_many, descriptions, names


def example(pattern: str) -> str:
    return pattern.replace("[@k]", "@3").replace("@k", "@3").replace("@Nt", "@300t")


@pytest.mark.parametrize("pattern", names())
def test_every_pattern_makes_a_measure_of_that_name(pattern: str) -> None:
    measure = create(example(pattern), model="hash")
    assert measure.name == example(pattern)
    assert measure.description == descriptions()[pattern]
    assert isinstance(measure.higher_is_better, bool)


@pytest.mark.parametrize("name", [pattern.removesuffix("[@k]") for pattern in names() if pattern.endswith("[@k]")])
def test_a_number_may_be_left_out(name: str) -> None:
    assert create(name, top_k=7, model="hash").name == name
    # Without a number, rank measures look at the whole ranking.
    assert (create(name, model="hash") == create(name, top_k=7, model="hash")) == (name in {"MRR", "MAP", "nDCG"})


@pytest.mark.parametrize(("alias", "own"), ALIASES.items())
def test_an_alias_makes_the_measure_under_its_own_name(alias: str, own: str) -> None:
    known = [pattern for pattern in names() if pattern.partition("@")[0].removesuffix("[") == own]
    for pattern in known:
        number = example(pattern).removeprefix(own)
        assert create(alias + number) == create(own + number)
    assert known


@pytest.mark.parametrize("name", ["", "recall", "recall@", "recall@0t", "recall@10", "seconds@5", "jaccard@x", "f1@5"])
def test_an_unknown_name_is_one_error_that_lists_the_known_ones(name: str) -> None:
    with pytest.raises(InvalidParameterError, match=r"recall@Nt, .*jaccard\[@k\]"):
        create(name)


def test_the_documentation_names_every_measure_and_alias() -> None:
    text = (Path(__file__).parents[3] / "docs" / "measures.md").read_text(encoding="utf-8")
    assert [name for name in [*names(), *ALIASES] if f"`{name}`" not in text] == []


def test_several_measures_are_make_once_each_in_order() -> None:
    made = create_many(["recall@10t", "relevancy", "jaccard", "recall@5t"])
    assert [measure.name for measure in made] == ["recall@10t", "jaccard", "recall@5t"]
    with pytest.raises(InvalidParameterError, match="at least one"):
        create_many([])


def test_measures_of_answers_need_a_language_model_and_share_one() -> None:
    wanted = ["answer_faithfulness@3", "answer_relevance"]
    for make in (lambda: create(wanted[0]), lambda: create_many(wanted)):
        with pytest.raises(InvalidParameterError, match="model: must be given for answer_faithfulness@3"):
            make()
    with pytest.raises(InvalidParameterError, match="model: must be one of ollama:MODEL"):
        create(wanted[0], model="llama3")
    first, second = create_many(wanted, top_k=4, model="hash")
    assert isinstance(first, AnswerMeasure)
    assert isinstance(second, AnswerMeasure)
    assert first.client is second.client
    assert (first.name, first.k, second.name, second.k) == ("answer_faithfulness@3", 3, "answer_relevance", 4)
