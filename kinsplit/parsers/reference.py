"""The strategies' own words and parameter tables as one page of Markdown.

Run `python -m kinsplit.parsers.reference > docs/strategies.md` after a strategy or one of its parameters has changed.
"""

from __future__ import annotations

import inspect
import sys
import textwrap
from collections.abc import Mapping
from typing import Any

from kinsplit.parsers.description import default_text, describe
from kinsplit.parsers.registry import names, strategy_class

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
