"""The registry of strategies, their parameters, and strategies as values."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest

from kinsplit.chunk import Document
from kinsplit.errors import InvalidParameterError, KinsplitError
from kinsplit.parsers import Strategy, create, describe, names, strategy_class
from tests.parsers.sized import plain, sized

every_strategy = pytest.mark.parametrize("name", names())

#: The defaults of the systems that the strategies replace.
DEFAULTS: dict[str, dict[str, Any]] = {
    "character": {"chunk_size": 600, "chunk_overlap": 150},
    "word": {"chunk_size": 500, "chunk_overlap": 0},
    "token": {"chunk_size": 512, "stride": 128, "tail": "keep"},
    "sentence": {"chunk_size": 500, "chunk_overlap": 100, "unit": "token"},
    "structure": {"chunk_size": 512, "min_chunk_size": 128, "unit": "word"},
    "semantic": {"embedder": "bundled", "min_sentences": 3, "max_sentences": 20, "chunk_size": 500, "unit": "word"},
    "cluster": {"passage_size": 512, "passage_overlap": 50, "threshold": 0.75, "embedder": "bundled"},
    "hierarchical": {"parent_size": (1000,), "child_size": 200, "unit": "character"},
    "llm": {"model": "ollama:llama3", "chunk_size": 500, "unit": "word", "min_sentences": 1},
    "multigranular": {"chunk_sizes": (256, 512, 1024), "chunk_overlap": 0},
}


def test_the_strategies_are_listed_once() -> None:
    assert set(DEFAULTS) <= set(names())
    assert len(set(names())) == len(names())


@every_strategy
def test_a_strategy_knows_its_name_and_says_what_it_does(name: str) -> None:
    kind = strategy_class(name)
    assert issubclass(kind, Strategy)
    assert kind.name == name
    assert type(create(name)) is kind
    assert kind.summary
    assert kind.origin
    assert kind.__doc__


@every_strategy
def test_the_defaults_are_those_of_the_design(name: str) -> None:
    own = create(name).parameters
    assert DEFAULTS[name].items() <= own.items()
    assert own["tokenizer"] == "bundled"


@every_strategy
def test_every_parameter_is_described_and_its_default_is_true(name: str) -> None:
    table = describe(name)["parameters"]
    assert [row["name"] for row in table] == list(create(name).parameters)
    for row in table:
        assert row["description"].endswith(".")
        assert row["type"]
        assert create(name).parameters[row["name"]] == row["default"]


@every_strategy
def test_a_strategy_is_rebuilt_from_its_name_and_parameters(name: str) -> None:
    strategy = sized(name, 77)
    assert create(strategy.name, **strategy.parameters) == strategy
    again = create(name, **json.loads(json.dumps(strategy.parameters)))
    assert again == strategy
    assert again.fingerprint == strategy.fingerprint


@every_strategy
def test_a_strategy_is_a_value(name: str) -> None:
    one, same, other = sized(name, 77), sized(name, 77), sized(name, 78)
    assert one == same != other
    assert hash(one) == hash(same)
    assert {one: 1}[same] == 1
    assert one.fingerprint == same.fingerprint
    assert one == same, "also after something was cached"
    assert copy.copy(one) is copy.deepcopy(one) is one
    with pytest.raises(InvalidParameterError, match=f"be changed.*create_strategy\\(\"{name}\", tokenizer='other'\\)"):
        one.tokenizer = "other"


@every_strategy
def test_the_fingerprint_differs_whenever_a_parameter_does(name: str) -> None:
    strategies = [create(name), sized(name, 77), sized(name, 78), sized(name, 77, tokenizer="tiktoken:gpt2")]
    if "unit" in create(name).parameters:
        strategies += [create(name, unit="character"), create(name, unit="word"), create(name, unit="token")]
    distinct = {json.dumps(strategy.parameters): strategy.fingerprint for strategy in strategies}
    assert len(set(distinct.values())) == len(distinct) >= 4
    assert all(len(f) == 16 and set(f) <= set("0123456789abcdef") for f in distinct.values())


def test_fingerprints_differ_between_strategies() -> None:
    assert len({create(name).fingerprint for name in names()}) == len(names())
    assert create("character", chunk_size=9, chunk_overlap=0).fingerprint != create("word", chunk_size=9).fingerprint


def test_fingerprints_do_not_change_between_versions_by_accident() -> None:
    # They are part of every chunk's id: where this fails, stores have to be filled anew, and the changelog says so.
    assert create("word", chunk_size=5).fingerprint == "8b1bb6f21ca7b15b"


@pytest.mark.parametrize("name", ["", "Token", "semantics", "token ", 3, ["token"], {}])
def test_an_unknown_strategy_is_refused_with_the_known_ones(name: Any) -> None:
    for attempt in (create, describe, strategy_class):
        with pytest.raises(InvalidParameterError) as caught:
            attempt(name)
        error = caught.value
        assert (error.field, error.value) == ("strategy", name)
        assert all(known in error.remedy for known in names())


@every_strategy
def test_an_unknown_parameter_is_refused_with_the_known_ones(name: str) -> None:
    with pytest.raises(InvalidParameterError) as caught:
        create(name, chunk_sise=512)
    error = caught.value
    assert (error.field, error.value) == ("chunk_sise", 512)
    assert error.rule == f'is not a parameter of "{name}"'
    assert all(row["name"] in error.remedy for row in describe(name)["parameters"])


@pytest.mark.parametrize(
    ("given", "asked"),
    [({"splitter": "token"}, "Did you mean 'strategy'? "), ({"chunk_overlap": 20}, "")],
)
def test_only_a_text_is_meant_as_a_strategy(given: dict[str, Any], asked: str) -> None:
    with pytest.raises(InvalidParameterError) as caught:
        create("structure", **given)
    assert caught.value.remedy.startswith(f"{asked}Its parameters are: ")


def _sizes(name: str) -> list[str]:
    return [field for field in create(name).parameters if "size" in field or field in {"stride", "max_sentences"}]


@pytest.mark.parametrize(("name", "field"), [(name, field) for name in names() for field in _sizes(name)])
def test_a_size_that_is_none_is_refused_with_field_rule_value_and_remedy(name: str, field: str) -> None:
    values = [-1, "500", 2.5, True, 10**30, float("nan"), [1.5], object()]
    for value in values if field == "min_chunk_size" else [0, *values]:
        with pytest.raises(InvalidParameterError) as caught:
            create(name, **{field: value})
        error = caught.value
        assert isinstance(error, KinsplitError)
        assert isinstance(error, ValueError)
        assert error.field.split(".")[0] == field
        assert error.rule.startswith("must be")
        assert error.remedy.endswith(".")
        assert str(error).startswith(f"{error.field}: {error.rule} (got ")
        assert "pydantic" not in str(error)


@every_strategy
def test_a_batch_is_what_its_documents_are_alone(name: str) -> None:
    strategy = sized(name, 9)
    documents = [Document("a", "One two. Three four five."), Document("b", ""), Document("c", "今天天气很好。")]
    assert strategy.chunk_many(iter(documents)) == [strategy.chunk(document) for document in documents]
    assert strategy.chunk_many([]) == strategy.split_many([]) == []
    spans = [[(chunk.start, chunk.end) for chunk in chunks] for chunks in strategy.chunk_many(documents)]
    assert strategy.split_many([document.text for document in documents]) == spans


@every_strategy
def test_the_metadata_of_a_document_goes_to_its_chunks(name: str) -> None:
    document = Document("d", "One two. Three.", {"course": "cs"})
    assert all(chunk.metadata == {"course": "cs"} for chunk in plain(name).chunk(document))
