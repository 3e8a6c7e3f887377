"""Reports of results: sentences, tables, plots, and one HTML page.

`page` and the charts need matplotlib and jinja2, which the extra "evaluation" installs; the terminal uses the others.
"""

from __future__ import annotations

from pathlib import Path

from kinsplit.evaluation.results import Results
from kinsplit.support.extras import needs


def write_report(results: Results, html: Path) -> list[Path]:
    """Write the HTML page of an evaluation and two plots of the chunks.

    Args:
        results: Results of the evaluation.
        html: Path of the page; `chunk_distributions.png` and `chunks_per_doc.png` are written to the same folder.

    Returns:
        Paths of the files, the page first. Equal results give equal files.

    Raises:
        InvalidParameterError: The results hold no strategy.
        MissingExtraError: matplotlib or jinja2 is not installed.
    """
    with needs("evaluation"):
        from kinsplit.evaluation.report.page import write
    return write(results, html)
