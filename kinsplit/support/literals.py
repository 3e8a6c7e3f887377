"""Parameters in text: values, as JSON if they parse as JSON, and types in words."""

from __future__ import annotations

import json
import re
import types
from typing import Annotated, Any, Literal, Union, get_args, get_origin

# Characters that would end or change an unquoted text.
_UNSAFE = re.compile(r"""^\s|\s$|[,"\[\]{}]""")


def read_value(text: str) -> Any:
    """Return the value of a text."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def write_value(value: Any) -> str:
    """Return the text of a value, safe between commas."""
    if isinstance(value, str) and read_value(value) == value and not _UNSAFE.search(value):
        return value
    return json.dumps(value, ensure_ascii=False)


def default_text(value: object) -> str:
    """Return a default in the syntax of `--set`."""
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
