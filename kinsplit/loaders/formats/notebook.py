"""Jupyter notebooks as one Markdown text.

Cells are separated by a blank line. Markdown and raw cells are kept unchanged, except that a fence left open in a
Markdown cell ends with it, and that the text is read like a Markdown file; a code cell is put in a fence that is longer
than any run of backticks in it, with the notebook's language. Its results follow: Markdown as it is, tables of HTML as
pipe tables, and plain text, such as standard output without colours, in a `text` fence. Object addresses (`<Axes at
0x7f...>`), which change with every run, are left out. So are pictures, errors, standard error and results of more than
2,000 characters, which are counted in warnings.
"""

from __future__ import annotations

import json
import re
from typing import Any

from kinsplit.loaders.content import Format, LeftOut, Reading, UnreadableError
from kinsplit.loaders.decoding import decode
from kinsplit.loaders.formats.html import readable_html
from kinsplit.loaders.formats.markdown import with_front_matter
from kinsplit.loaders.markup.markdown import closed, fenced

_LONGEST_RESULT = 2_000  # characters; longer results are logs or data sets
_SHORTEST_RESULT = len(fenced("", "text"))
_TOO_LONG = f"of more than {_LONGEST_RESULT:,} characters"
# What stands for a result that is a picture, or has no text.
_STAND_IN = re.compile(r"\A```text\n<(?:Figure|IPython\.|PIL\.)|\A\Z")
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
    left_out = LeftOut()
    for cell in cells:
        text = _joined(cell.get("source")).strip("\n")
        if cell.get("cell_type") != "code":
            # An unclosed fence ends with its cell, as in Jupyter.
            blocks.append(closed(text) if cell.get("cell_type") == "markdown" else text)
            attached = cell.get("attachments")
            if attached and isinstance(attached, dict):
                left_out.add("picture", count=len(attached))
            continue
        blocks.append(fenced(text, language) if text.strip() else "")
        outputs = cell.get("outputs")
        given = [output for output in outputs if isinstance(output, dict)] if isinstance(outputs, list) else []
        results = [result for output in given if (result := _result(output, left_out)).strip()]
        for result in results:
            if len(result) - _SHORTEST_RESULT <= _LONGEST_RESULT:
                blocks.append(result)
            else:
                left_out.add(f"result {_TOO_LONG}", f"results {_TOO_LONG}")
    text = "\n\n".join(block for block in blocks if block.strip())
    return with_front_matter(text, (*warnings, *left_out.warnings))


def _result(output: dict[str, Any], left_out: LeftOut) -> str:
    """Return the text of an output, and count what is left out."""
    kind = output.get("output_type")
    if kind == "stream" and output.get("name") == "stdout":
        return _plain(output.get("text"))
    if kind in ("stream", "error"):
        left_out.add("standard-error output" if kind == "stream" else "error message")
    data = output.get("data")
    if kind not in ("execute_result", "display_data") or not isinstance(data, dict):
        return ""
    plain, html = _plain(data.get("text/plain")), _joined(data.get("text/html"))
    if any(str(name).startswith("image/") for name in data):
        left_out.add("picture")
        return "" if _STAND_IN.search(plain) else plain
    if markdown := _joined(data.get("text/markdown")):
        return closed(markdown.strip("\n"))
    if "<table" in html or _STAND_IN.search(plain):
        page = readable_html(html)
        left_out += page.left_out
        return page.text or _joined(data.get("text/latex"))
    return plain


def _plain(value: object) -> str:
    text = _COLOUR.sub("", _joined(value)).strip("\n")
    return fenced(text, "text") if text.strip() and not _ADDRESS.search(text) else ""


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
