"""Writes the reference page of all strategies and their parameters, from docstrings and the registry.

Run `python docs/strategies.py` after a change to a strategy or a parameter.
"""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kinsplit.parsers.registry import describe, names, strategy_class
from kinsplit.support.literals import default_text

_HEAD = """\
# Strategies

Look up what each strategy does, with an example and all of its parameters. [Which strategy?](choose.md) helps to
choose. The same names and parameters work everywhere: `kinsplit.split(text, NAME, ...)` in Python, `node_parser(NAME,
...)` for LlamaIndex, `text_splitter(NAME, ...)` for LangChain, and `--strategy NAME --set key=value` on the command
line.
"""

_SIZES = """\
## Chunk size and overlap

The default sizes and overlaps of all strategies, with the unit in which they count unless you name another.
[Which strategy?](choose.md#chunk-size) says which size to take.

| strategy | unit | default chunk size | default overlap |
|---|---|---|---|
"""

_PROMISES = """\
## What every strategy promises

Every strategy keeps these promises, which property tests check in the core and through both frameworks:

1. `text[start:end]` is exactly the chunk; a chunk of `cluster` is the slices of its spans, joined by blank lines.
2. Apart from overlap, the chunks contain every character that is not white space exactly once. There are three
   exceptions: `token` with `tail="drop"` drops the tail; `multigranular` keeps a window that is the same at two
   sizes once; and in `cluster`, the `passage_overlap` tokens that two neighbouring passages share are in both
   chunks if the passages are in different chunks, which need not be neighbours. With `passage_overlap=0` nothing is
   repeated.
3. Starts never decrease; no chunk is empty or blank; blank text gives no chunks.
4. No chunk is longer than its limit. Text that is too long is cut between sentences, then words, then graphemes; a
   grapheme cluster is cut only if it does not fit by itself. In `hierarchical` the limit of a child is
   `child_size`; with `children="sentence"`, a single sentence that is longer than `child_size` may be as long as
   its parent's limit. Tokens are counted by the tokenizer, but a word that it does not know, such as a Thai phrase
   or a very long word, counts as one token for every four characters. A limit in tokens also limits the characters,
   to 100 per token.
5. The same input gives the same chunks in any process, batch or thread.
6. `prev_id` and `next_id` link the chunks of one level of one document in order; a child lies inside its parent.
7. Lone surrogates keep their offsets; they are counted, embedded and stored as U+FFFD.
"""


def generated() -> dict[Path, str]:
    """Return the content of the page, by its path."""
    page = Path(__file__).with_name("strategies.md")
    return {page: "\n".join([_HEAD, *(_section(name) for name in names()), _sizes(), _PROMISES])}


def _section(name: str) -> str:
    described = describe(name)
    docstring = inspect.cleandoc(strategy_class(name).__doc__ or "")
    text, _, example = docstring.partition("\n\nExample:\n")
    text, _, _ = text.partition("\n\nAttributes:\n")
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


def _sizes() -> str:
    """Return the section with the sizes and overlaps of all strategies."""
    rows = []
    for kind in map(strategy_class, names()):
        given = {name: info.default for name, info in kind.model_fields.items() if info.default is not None}
        own = {name: default_text(value).strip("[]").replace(",", ", ") for name, value in given.items()}
        sizes = [f"`{name}` {own[name]}" for name in own if name.endswith(("_size", "_sizes"))]
        overlaps = [f"`{name}` {own[name]}" for name in own if "overlap" in name or name == "stride"]
        rows.append(f"| `{kind.name}` | {own.get('unit', kind.counted)} | {', '.join(sizes)} | {', '.join(overlaps)} |")
    return _SIZES + "\n".join(rows) + "\n"


def _row(parameter: Mapping[str, Any]) -> str:
    cells = [
        f"`{parameter['name']}`",
        f"`{default_text(parameter['default'])}`",
        parameter["type"],
        parameter["description"],
    ]
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


if __name__ == "__main__":
    for path, content in generated().items():
        path.write_text(content, encoding="utf-8")
