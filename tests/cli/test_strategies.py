from __future__ import annotations

import json
from typing import Annotated, Any, Literal

import pytest

from kinsplit import parsers
from kinsplit.support.literals import default_text, type_name
from tests.cli.conftest import Cli
from tests.parsers.sized import WITHOUT_MODEL


def test_every_strategy_is_listed_with_what_it_does(cli: Cli) -> None:
    result = cli("strategies")

    lines = result.stdout.splitlines()
    assert result.exit_code == 0
    for name in parsers.names():
        kind = parsers.strategy_class(name)
        (line,) = (line for line in lines if line.startswith(f"{name} "))
        assert kind.summary in line
        assert kind.origin in cli("strategies", name).stdout


@pytest.mark.parametrize("name", parsers.names())
def test_every_parameter_of_a_strategy_is_listed_on_one_line_of_a_pipe(cli: Cli, name: str) -> None:
    lines = cli("strategies", name).stdout.splitlines()

    for parameter in parsers.describe(name)["parameters"]:
        (line,) = (line for line in lines if line.startswith(f"{parameter['name']} "))
        assert default_text(parameter["default"]) in line
        assert parameter["description"] in line


def test_json_lists_the_same_strategies_and_parameters(cli: Cli) -> None:
    everything = json.loads(cli("strategies", "--json").stdout)
    token = json.loads(cli("strategies", "token", "--json").stdout)

    assert [strategy["name"] for strategy in everything] == parsers.names()
    assert token in everything
    assert {"name": "stride", "default": 128, "type": "int"}.items() <= token["parameters"][2].items()


def test_a_default_can_be_given_back_to_set(cli: Cli, folder: object) -> None:
    for name in parsers.names():
        defaults = {p["name"]: p["default"] for p in parsers.describe(name)["parameters"]} | WITHOUT_MODEL.get(name, {})
        settings = [f"--set={parameter}={default_text(value)}" for parameter, value in defaults.items()]
        result = cli("chunk", folder, "--strategy", name, *settings)
        assert result.exit_code == 0, result.stderr


def test_an_unknown_strategy_is_refused_with_the_known_names(cli: Cli) -> None:
    result = cli("strategies", "magic")

    assert result.exit_code == 2
    assert result.stdout == ""
    assert "'magic'" in result.stderr
    assert "sentence" in result.stderr


@pytest.mark.parametrize(
    ("annotation", "words"),
    [
        (int, "int"),
        (Any, "str"),
        (Literal["keep", "drop"], "keep | drop"),
        (int | None, "int | null"),
        (tuple[Annotated[int, "positive"], ...], "list of int"),
        (Annotated[int, "positive"] | None, "int | null"),
    ],
)
def test_types_are_told_in_words(annotation: object, words: str) -> None:
    assert type_name(annotation) == words


def test_help_gives_flags_no_type(cli: Cli) -> None:
    for arguments in ((), ("index",), ("search",)):
        shown = cli(*arguments, "--help").stdout
        assert "--help" in shown
        assert "bool" not in shown.lower()
