"""The HTML page: one file that makes no network requests and can be printed."""

from __future__ import annotations

import base64
import hashlib
from importlib.resources import files
from pathlib import Path
from typing import Any

from jinja2 import Environment, FunctionLoader, StrictUndefined

from kinsplit.errors import require
from kinsplit.evaluation.report import charts, tables
from kinsplit.evaluation.report.charts import drawn, png, svg
from kinsplit.evaluation.results import Results
from kinsplit.markup.html import printable

_TEMPLATES = files(__package__) / "templates"


def write(results: Results, html: Path) -> list[Path]:
    """Write the page and its two plots; see `kinsplit.evaluation.report.write_report`."""
    require(results.strategies, "results", "must hold a strategy", str(html), "Run the evaluation again.")
    plots: dict[str, str] = {}
    pictures: dict[str, bytes] = {}
    for name, (height, draw) in charts.SIZES.items():
        with drawn(height(results)) as figure:
            draw(figure, results)
            pictures[name] = png(figure)
            plots[name] = svg(figure, name.partition(".")[0])
    written = {html.name: _render(results, plots).encode(), **pictures}
    html.parent.mkdir(parents=True, exist_ok=True)
    paths = [html.parent / name for name in written]
    for path, content in zip(paths, written.values(), strict=True):
        path.write_bytes(content)
    return paths


def _render(results: Results, plots: dict[str, str]) -> str:
    environment = Environment(
        loader=FunctionLoader(_read),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_printable,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals.update(results=results, charts=charts, tables=tables)
    script = _read("sort.js")
    return environment.get_template("page.html").render(
        plots=plots,
        style=_read("page.css"),
        script=script,
        script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
    )


def _read(name: str) -> str:
    return (_TEMPLATES / name).read_text(encoding="utf-8")


def _printable(value: Any) -> Any:
    return printable(value) if isinstance(value, str) else value
