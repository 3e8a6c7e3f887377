"""The strategies' own words and parameter tables as one page of Markdown.

Run `python -m kinsplit.parsers.reference > docs/strategies.md` after a strategy or one of its parameters has changed.
"""

from __future__ import annotations

import inspect
import json
import sys
import textwrap
import types
from collections.abc import Mapping
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from kinsplit.parsers.registry import names, parameters, strategy_class


def describe(name: str) -> dict[str, Any]:
    """Return name, summary, origin and parameter table of a strategy, as JSON has them.

    Args:
        name: One of `kinsplit.parsers.names()`.

    Raises:
        InvalidParameterError: No strategy has that name.
    """
    kind = strategy_class(name)
    return {
        "name": kind.name,
        "summary": kind.summary,
        "origin": kind.origin,
        "parameters": [
            {"name": p.name, "default": p.default, "type": type_name(p.annotation), "description": p.description}
            for p in parameters(kind.name)
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


_HEAD = """\
# Strategies

What each strategy does and takes, in its own words; `python -m kinsplit.parsers.reference` prints this page. Each is
at once `create(NAME, ...)` in Python, `node_parser(NAME, ...)` for LlamaIndex, `text_splitter(NAME, ...)` for
LangChain, and `--strategy NAME --set key=value` on the command line, with the same parameters. Which one suits your
documents is a matter of [measuring](evaluation.md); [this](quality.md) is what each finds on eight labelled sets.
"""


def reference() -> str:
    """Return the page."""
    return "\n".join([_HEAD, *(_section(name) for name in names())])


def _section(name: str) -> str:
    described = describe(name)
    text, _, example = inspect.cleandoc(strategy_class(name).__doc__ or "").partition("\n\nExample:\n")
    rows = "\n".join(map(_row, described["parameters"]))
    return f"""\
## `{name}`

{text}

```pycon
{textwrap.dedent(example).strip()}
```

| parameter | default | type | meaning |
|---|---|---|---|
{rows}

The defaults come from: {described["origin"]}.
"""


def _row(parameter: Mapping[str, Any]) -> str:
    cells = [
        f"`{parameter['name']}`",
        f"`{default_text(parameter['default'])}`",
        parameter["type"],
        parameter["description"],
    ]
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


if __name__ == "__main__":
    sys.stdout.write(reference())
