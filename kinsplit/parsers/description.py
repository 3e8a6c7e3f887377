"""A strategy in words, as the command line and the service show it."""

from __future__ import annotations

import json
import types
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from kinsplit.parsers.registry import parameters, strategy_class


def describe(name: str) -> dict[str, Any]:
    """Return name, summary, origin and parameter table of a strategy, as JSON has them.

    Args:
        name: One of `kinsplit.parsers.names()`.

    Raises:
        InvalidParameterError: No strategy has that name.
    """
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


def default_text(value: object) -> str:
    """Return a default as `--set` takes it."""
    return value if isinstance(value, str) else json.dumps(value, separators=(",", ":"))
