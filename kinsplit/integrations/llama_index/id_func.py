"""A user's own node ids: a function that survives being written down."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from importlib import import_module
from typing import Annotated

from llama_index.core.schema import BaseNode
from pydantic import BeforeValidator, PlainSerializer, WithJsonSchema


def _written(function: object) -> object:
    """Return "module:name" for a function that can be imported, and any other as it is."""
    name = f"{getattr(function, '__module__', '')}:{getattr(function, '__qualname__', '')}"
    try:
        return name if _found(name) is function else function
    except (ImportError, AttributeError, ValueError):
        return function


def _found(value: object) -> object:
    """Return the function that "module:name" means, and any other value as it is."""
    if not isinstance(value, str):
        return value
    module, _, path = value.partition(":")
    try:
        return reduce(getattr, path.split("."), import_module(module))
    except (ImportError, AttributeError) as error:
        raise ValueError(f"{value!r} can't be imported") from error


#: Makes the id of a node from its position and its document; None stands for kinsplit's own ids.
IdFunc = Annotated[
    Callable[[int, BaseNode], str] | None,
    BeforeValidator(_found),
    PlainSerializer(_written),
    WithJsonSchema({"anyOf": [{"type": "string"}, {"type": "null"}]}),
]
