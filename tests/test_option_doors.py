"""Every option is behind every door, or the declaration says why not: what the doors themselves say is compared."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import tomlkit
from fastapi import FastAPI
from langchain_core.retrievers import BaseRetriever

import kinsplit.integrations.langchain as langchain
import kinsplit.integrations.llama_index as llama_index
from kinsplit import Document, Index, answering, create_strategy, keywords
from kinsplit.cli.app import _load
from kinsplit.doors import (
    BESIDE,
    COMMAND,
    COMMANDS,
    DOORS,
    FILE,
    HTTP,
    LANGCHAIN,
    MCP,
    PYTHON,
    Door,
)
from kinsplit.errors import InvalidParameterError
from kinsplit.evaluation import Dataset, Experiment, Question
from kinsplit.indexing.configuration import Configuration
from kinsplit.mcp import create_server
from kinsplit.server.routes import ask, search

#: What is asked, and of which collection; `render` says how the page shows it.
ARGUMENTS = {"q", "question", "strategy", "collection", "render"}
#: A value of each option that is not its default, as a settings file has it.
VALUES: Mapping[str, Any] = {
    "window": 2,
    "parents": True,
    "within_sections": True,
    "budget": 100,
    "context_share": 0.5,
    "top_k": 4,
    "candidates": 40,
    "ranking": "dense",
    "rerank": "late",
    "diversity": 0.5,
    "where": {"course": ["cs", "math"]},
    "level": "all",
    "weights": {"siblings": 0.3},
    "max_tokens": 100,
    "min_support": 0.6,
    "strategy": "word",
    "embedder": "hash",
    "embedding_context": "headings",
    "context_model": "ollama:llama3",
    "language": "german",
    "vector_cache": True,
    "subjects": ["cs"],
    "readers": ["docling"],
    "prune": True,
    "limits": {"memory": "4GiB"},
    "span_coverage": 0.5,
    "chunk_coverage": 0.1,
    "coverage_levels": [0.9, 1.0],
    "ranker": "search",
    "measures": ["MRR"],
    "headline": "MRR",
    "baseline": "a",
    "tokenizer": "tiktoken:cl100k_base",
    "model": "ollama:llama3",
    "cache": False,
}


#: Bounds in a JSON schema, and in a declaration.
BOUNDS = {"minimum": "ge", "maximum": "le", "exclusiveMaximum": "lt"}


class Offered(dict[str, dict[str, Any]]):
    """Options of a door by name, each with what the door says of it: default, description, minimum, maximum."""


def _keywords(*functions: Callable[..., Any]) -> Offered:
    found = Offered()
    for function in functions:
        *_, options = inspect.signature(function).parameters.values()
        assert options.kind is options.VAR_KEYWORD
        name = options.annotation.removeprefix("Unpack[").removesuffix("]")
        found |= {option: {} for option in vars(keywords)[name].__optional_keys__}
    return found


def _command(name: str) -> Offered:
    params = {param.name: param for param in _load(name).params if not param.hidden}
    return Offered({name: {"description": param.help.replace("\\[", "[")} for name, param in params.items()})


def _schemas(properties: Mapping[str, Any]) -> Offered:
    return Offered({name: _facts(schema) for name, schema in properties.items() if name not in ARGUMENTS})


def _facts(schema: Mapping[str, Any]) -> dict[str, Any]:
    bounds: dict[str, Any] = {}
    for each in schema.get("anyOf", [schema]):
        bounds |= {key: each[key] for key in BOUNDS if key in each}
    return {**bounds, "default": schema.get("default"), "description": schema.get("description", "")}


@cache
def _openapi() -> dict[str, Any]:
    app = FastAPI()
    app.include_router(search.router)
    app.include_router(ask.router)
    return app.openapi()


def _http(operation: str) -> Offered:
    if operation == "search":
        parameters = _openapi()["paths"]["/search"]["get"]["parameters"]
        return _schemas({each["name"]: {**each["schema"], **each} for each in parameters})
    body = _openapi()["paths"]["/ask"]["post"]["requestBody"]["content"]["application/json"]["schema"]["$ref"]
    return _schemas(_openapi()["components"]["schemas"][body.rpartition("/")[2]]["properties"])


@cache
def _tools() -> dict[str, Any]:
    nothing: Any = ()
    return {tool.name: tool.input_schema for tool in asyncio.run(create_server(nothing).list_tools())}


def _langchain() -> Offered:
    own = {"index", "k", "slim"}
    fields = langchain.KinsplitRetriever.model_fields.items()
    return Offered(
        {
            name: {"default": info.default, "description": info.description or ""}
            for name, info in fields
            if name not in own | BaseRetriever.model_fields.keys()
        }
    )


def offered(operation: str, door: str) -> Offered:
    """Return the options of a door, as the door itself tells them."""
    if door == PYTHON:
        index = Index.__init__, Index.add
        functions: Mapping[str, tuple[Callable[..., Any], ...]] = {
            "search": (Index.search,),
            "ask": (answering.ask,),
            "index": index,
            "evaluate": (Experiment.__init__,),
        }
        found = _keywords(*functions[operation])
        if operation == "evaluate":
            del found["budget"]  # Refused; see below.
        return found
    if door == FILE:
        fields = Configuration.model_fields[operation].annotation.model_fields  # type: ignore[union-attr]
        return Offered({name: {"default": info.default} for name, info in fields.items() if name != "parameters"})
    if door == COMMAND:
        beside = BESIDE.keys() - DOORS[operation][PYTHON].fields().keys()
        return Offered({name: facts for name, facts in _command(operation).items() if name not in beside})
    if door == HTTP:
        return _http(operation)
    if door == MCP:
        return _schemas(_tools()[operation]["properties"])
    return _langchain() if door == LANGCHAIN else _keywords(llama_index.KinsplitRetriever.__init__)


OPEN = [(operation, name) for operation, doors in DOORS.items() for name, door in doors.items() if not door.closed]


@pytest.mark.parametrize("door", [*COMMANDS.values(), *(door for doors in DOORS.values() for door in doors.values())])
def test_a_door_makes_exceptions_of_known_options_alone(door: Door) -> None:
    known = {name for model in door.models for name in model.model_fields}
    assert {*door.without, *door.most, *door.defaults} <= known
    assert bool(door.closed) != bool(door.models)


@pytest.mark.parametrize(("operation", "door"), OPEN)
def test_an_option_behind_one_door_is_behind_the_others_or_has_a_reason(operation: str, door: str) -> None:
    every = set().union(*(offered(operation, other) for of, other in OPEN if of == operation))
    lacking = every - offered(operation, door).keys()
    assert lacking == every & DOORS[operation][door].without.keys()


@pytest.mark.parametrize(("operation", "door"), OPEN)
def test_a_door_says_of_an_option_what_the_declaration_says(operation: str, door: str) -> None:
    declared = DOORS[operation][door].fields()
    for name, facts in offered(operation, door).items():
        info = declared[name]
        own_form = name in ("where", "rerank") and door in (HTTP, MCP)  # Described with the form that it has there.
        if "description" in facts and not own_form:
            assert facts["description"].startswith(info.description or "-"), name
        if "default" in facts and not info.default_factory and name not in ("weights", "limits"):
            assert (facts["default"] or None) == (info.default or None), name
        for key, bound in BOUNDS.items() if door in (HTTP, MCP) else ():
            tightest = [getattr(each, bound) for each in info.metadata if hasattr(each, bound)]
            assert not tightest or facts[key] == tightest[-1], name


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_has_the_options_of_its_door_and_parameters_with_a_reason(command: str) -> None:
    found = _command(command)
    assert COMMANDS[command].fields().keys() <= found.keys()
    assert found.keys() - COMMANDS[command].fields().keys() <= BESIDE.keys()
    for name, info in COMMANDS[command].fields().items():
        assert found[name]["description"].startswith(info.description or "-"), name


def test_every_parameter_with_a_reason_exists() -> None:
    assert BESIDE.keys() <= set().union(*(_command(command) for command in COMMANDS))


def test_a_closed_door_has_no_such_operation() -> None:
    closed = {(operation, name) for operation, doors in DOORS.items() for name, door in doors.items() if door.closed}
    paths = {path.strip("/") for path in _openapi()["paths"]}
    assert {operation for operation in DOORS if (operation, HTTP) not in closed} == paths
    assert {operation for operation in DOORS if (operation, MCP) not in closed} == paths & _tools().keys()
    assert not closed & {(operation, door) for operation in DOORS for door in (PYTHON, COMMAND, FILE)}


@pytest.mark.parametrize("table", DOORS)
def test_a_settings_file_takes_every_option(table: str, tmp_path: Path) -> None:
    names = DOORS[table][FILE].fields()
    file = tmp_path / "kinsplit.toml"
    file.write_text(tomlkit.dumps({table: {name: VALUES[name] for name in names}}), encoding="utf-8")
    read = Configuration.read(file).table(table)
    assert read.keys() == names.keys()
    for name, value in read.items():
        assert value != names[name].get_default(call_default_factory=True), name


def test_both_frameworks_and_python_search_with_the_same_options() -> None:
    with Index("memory:", embedder="hash", strategy=create_strategy("word", chunk_size=3)) as index:
        index.add(
            [Document("birds", "Owls hunt at night. Larks sing at dawn. Both of them are birds.", {"course": "cs"})]
        )
        given: Any = {"top_k": 1, "window": 0, "ranking": "terms", "where": {"course": "cs"}, "candidates": 2}
        (passage,) = index.search("larks", **given)
        (document,) = langchain.KinsplitRetriever(index, **given).invoke("larks")
        (node,) = llama_index.KinsplitRetriever(index, **given).retrieve("larks")
        assert passage.text == document.page_content == node.node.get_content()
        for wrong in ({"top_k": 0}, {"ranking": "bm25"}, {"diversity": 2}, {"colour": "red"}):
            calls = (index.search, lambda _, **bad: langchain.KinsplitRetriever(index, **bad))
            for call in (*calls, lambda _, **bad: llama_index.KinsplitRetriever(index, **bad)):
                with pytest.raises(InvalidParameterError, match=next(iter(wrong))):
                    call("larks", **wrong)


def test_an_evaluation_takes_options_of_its_searches() -> None:
    dataset = Dataset("birds", (Document("birds", "Owls hunt. Larks sing."),), (Question("1", "Who sings?"),))
    strategies: Any = {"a": create_strategy("word"), "b": create_strategy("sentence")}

    def made(**options: Any) -> Experiment:
        return Experiment(dataset, strategies, embedder="hash", cache=False, **options)

    assert made(ranker="search", window=2, ranking="terms").setup.ranker.name == "search(window=2, ranking=terms)"
    assert (
        made(weights=(keywords and VALUES and None) or __import__("kinsplit").KinWeights(bm25=1)).setup.ranker.name
        == "kin(bm25=1.0)"
    )
    assert list(made(baseline="b").strategies) == ["b", "a"]
    for options, message in (
        ({"window": 2}, "window: is not used by the ranker 'kin'"),
        ({"ranker": "search", "budget": 10}, "budget: can't be given"),
        ({"ranker": "search", "wndow": 2}, "wndow: is not an option of an evaluation"),
        ({"ranker": "search", "window": -1}, "window: must be at least 0"),
        ({"baseline": "c"}, "baseline: must be the label"),
    ):
        with pytest.raises(InvalidParameterError, match=message):
            made(**options)
