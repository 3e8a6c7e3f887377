"""Jupyter notebooks as one Markdown text.

Cells are separated by a blank line. Markdown and raw cells are kept unchanged, except that a fence left open in a
Markdown cell ends with it; a code cell is put in a fence that is longer than any run of backticks in it, with the
notebook's language. Its plain-text results follow in a `text` fence: standard output and the value of the last line,
both without colours. Images, HTML, errors, standard error, object addresses (`<Figure at 0x7f...>`, which change with
every run) and results of more than 2,000 characters are left out; the latter are counted in a warning.
"""

from __future__ import annotations

import json
import re
from typing import Any

from kinsplit.loaders.content import Format, Reading, UnreadableError
from kinsplit.loaders.decoding import decode
from kinsplit.loaders.formats.markdown import closed, fenced, markdown_content, title_of

_LONGEST_RESULT = 2_000  # characters; longer results are logs or data sets
_COLOUR = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]")  # and other terminal control sequences
_ADDRESS = re.compile(r"\bat 0x[0-9a-fA-F]+>")


def read(data: bytes) -> Reading:
    """Return a notebook's cells as one Markdown text."""
    source, warnings = decode(data)
    try:
        notebook = json.loads(source)
    except (RecursionError, ValueError) as error:
        raise UnreadableError(f"is not a notebook: its JSON can't be read ({error}).") from error
    cells = notebook.get("cells") if isinstance(notebook, dict) else None
    if not isinstance(cells, list) or not all(isinstance(cell, dict) for cell in cells):
        reason = "has no list of cells, as notebooks of format 4 have"
        raise UnreadableError(f"{reason}. Convert an older one: jupyter nbconvert --to notebook")
    language = _language(notebook)
    blocks: list[str] = []
    too_long = 0
    for cell in cells:
        text = _joined(cell.get("source")).strip("\n")
        if cell.get("cell_type") != "code":
            # An unclosed fence ends with its cell, as in Jupyter.
            blocks.append(closed(text) if cell.get("cell_type") == "markdown" else text)
            continue
        blocks.append(fenced(text, language) if text.strip() else "")
        results = _results(cell)
        short = [result for result in results if len(result) <= _LONGEST_RESULT]
        too_long += len(results) - len(short)
        blocks += [fenced(result, "text") for result in short]
    if too_long:
        warnings = (*warnings, f"{too_long:,} results of more than {_LONGEST_RESULT:,} characters were left out")
    text = "\n\n".join(block for block in blocks if block.strip())
    return Reading((markdown_content(text, title_of(text)),), warnings)


def _results(cell: dict[str, Any]) -> list[str]:
    outputs = cell.get("outputs")
    given = [output for output in outputs if isinstance(output, dict)] if isinstance(outputs, list) else []
    results = [_COLOUR.sub("", _plain(output)) for output in given]
    return [result.strip("\n") for result in results if result.strip() and not _ADDRESS.search(result)]


def _plain(output: dict[str, Any]) -> str:
    if output.get("output_type") == "stream" and output.get("name") == "stdout":
        return _joined(output.get("text"))
    if output.get("output_type") == "execute_result" and isinstance(output.get("data"), dict):
        return _joined(output["data"].get("text/plain"))
    return ""


def _joined(value: object) -> str:
    """Return a multi-line string of the format, which may be a list of strings."""
    if isinstance(value, list):
        return "".join(line for line in value if isinstance(line, str))
    return value if isinstance(value, str) else ""


def _language(notebook: dict[str, Any]) -> str:
    metadata = notebook.get("metadata")
    for section, key in (("language_info", "name"), ("kernelspec", "language")):
        details = metadata.get(section) if isinstance(metadata, dict) else None
        name = details.get(key) if isinstance(details, dict) else None
        if isinstance(name, str) and re.fullmatch(r"[\w+#.-]+", name):
            return name
    return "python"


FORMAT = Format("notebook", (".ipynb",), "cells joined as Markdown, code in fences, plain-text results", read)
