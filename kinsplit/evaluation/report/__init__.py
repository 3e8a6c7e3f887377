"""Reports of results: sentences, tables, plots, and one HTML page.

`conclusion`, `scales`, `pairs` and `marking` need nothing but the results and serve the terminal too; `page` and the
plots need matplotlib and jinja2, which the extra "evaluation" brings.
"""

from __future__ import annotations

from pathlib import Path

from kinsplit.errors import MissingExtraError
from kinsplit.evaluation.results import Results


def write_report(results: Results, html: Path) -> list[Path]:
    """Write the page of an evaluation and its two plots of the chunks.

    Args:
        results: What the evaluation found out.
        html: The page; `chunk_distributions.png` and `chunks_per_doc.png` are written beside it.

    Returns:
        The files, the page first. Equal results give equal files.

    Raises:
        InvalidParameterError: The results hold no strategy.
        MissingExtraError: matplotlib or jinja2 is not installed.
    """
    try:
        from kinsplit.evaluation.report.page import write
    except ImportError as error:
        package = (error.name or "").partition(".")[0]
        if package not in ("jinja2", "matplotlib"):
            raise
        raise MissingExtraError(package, "evaluation") from error
    return write(results, html)
