"""`kinsplit strategies`: what there is to choose from."""

from __future__ import annotations

import json
import types
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import typer
from rich.table import Table

from kinsplit.cli.options import AsJson
from kinsplit.cli.tables import listing
from kinsplit.cli.terminal import Terminal


def strategies(
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="Show this strategy's parameters.", show_default=False)
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List the strategies, or the parameters of one."""
    from kinsplit.parsers import names

    terminal = Terminal(as_json=as_json)
    if as_json:
        terminal.document([_describe(each) for each in names()] if name is None else _describe(name))
    elif name is None:
        terminal.table(_overview([_describe(each) for each in names()]))
        terminal.line("Parameters of one: kinsplit strategies NAME")
    else:
        strategy = _describe(name)
        terminal.line(f"{strategy['name']}: {strategy['summary']}. Defaults: {strategy['origin']}.")
        terminal.table(_parameters(strategy["parameters"]))


def _describe(name: str) -> dict[str, Any]:
    from kinsplit.parsers import parameters, strategy_class

    kind = strategy_class(name)
    return {
        "name": name,
        "summary": kind.summary,
        "origin": kind.origin,
        "parameters": [
            {"name": p.name, "default": p.default, "type": type_name(p.annotation), "description": p.description}
            for p in parameters(name)
        ],
    }


def _overview(described: list[dict[str, Any]]) -> Table:
    table = listing("Strategy", "What it does", "Where the defaults come from")
    for strategy in described:
        table.add_row(strategy["name"], strategy["summary"], strategy["origin"])
    return table


def _parameters(described: list[dict[str, Any]]) -> Table:
    table = listing("Parameter", "Default", "Type", "Meaning")
    for parameter in described:
        table.add_row(
            parameter["name"], default_text(parameter["default"]), parameter["type"], parameter["description"]
        )
    return table


def default_text(value: object) -> str:
    """Return a default as `--set` takes it."""
    return value if isinstance(value, str) else json.dumps(value, separators=(",", ":"))


def type_name(annotation: object) -> str:
    """Return an annotation in words: `int`, `keep | drop`, `list of int`."""
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return type_name(arguments[0])
    if origin is Literal:
        return " | ".join(map(str, arguments))
    if origin in (Union, types.UnionType):
        return " | ".join(map(type_name, arguments))
    if origin in (tuple, list):
        return f"list of {type_name(arguments[0])}"
    if annotation is Any:
        return "str"
    return "null" if annotation is type(None) else getattr(annotation, "__name__", str(annotation))
