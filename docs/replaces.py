"""Writes the page of the systems that kinsplit replaces, from the tests in tests/replaces.

Run `python docs/replaces.py` after a change to these tests.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

from tests.replaces import (  # noqa: E402
    test_course_search,
    test_notebook,
    test_rag_eval,
    test_sc_qrels,
    test_ten_k,
)
from tests.replaces.table import DIFFERS, MISSING, NOT_TESTED, RUNS, STATES, Row, Table  # noqa: E402

_TABLES = [module.TABLE for module in (test_sc_qrels, test_notebook, test_rag_eval, test_course_search, test_ten_k)]
_SOURCE = "https://github.com/kinsplit/kinsplit/blob/main/"

_HEAD = """\
# The systems that kinsplit replaces

Find the features of a system that you used before: kinsplit takes the place of five. The tables below go through the
document of each, feature by feature, and give the command or call that does the same here. Every row names the test
that shows it; a row without one says what it needs to run, or why the feature is missing. The last column says how
the services in that test ran:

- *for real*: nothing was replaced. Postgres, the bundled models and the service itself run in the tests.
- *recorded*: a server on the same machine answers what a real one answered: Ollama 0.13.5 with `all-minilm` and
  `gemma-3-270m`, or llama.cpp's server with `SmolLM2-135M-Instruct`, which speaks OpenAI's protocol. `make test-models`
  asks that model again.
- *as documented*: the server answers in the form that the documentation of OpenAI or of Wikipedia gives, errors and
  limits included, since the tests have neither a key nor a network.
- *stand-in*: the test chooses what a model says, within the protocol of the service.

The page is generated from these tests by `python docs/replaces.py`.
"""


def generated() -> dict[Path, str]:
    """Return the content of the page, by its path."""
    for table in _TABLES:
        for row in table.rows:
            row.check()
    parts = [_HEAD, *_summary(), *(line for table in _TABLES for line in _section(table))]
    return {ROOT / "docs" / "replaces.md": "\n".join(parts)}


def _summary() -> Iterator[str]:
    yield f"| system | {' | '.join((*STATES, 'features', *RUNS))} |"
    yield "|---" * (len(STATES) + len(RUNS) + 2) + "|"
    for table in _TABLES:
        yield f"| [{table.system}](#{_anchor(table.system)}) | {_counts(table.rows)} |"
    yield f"| all | {_counts([row for table in _TABLES for row in table.rows])} |\n"


def _counts(rows: list[Row]) -> str:
    states, runs = [row.state for row in rows], [row.ran for row in rows]
    return " | ".join(map(str, [*map(states.count, STATES), len(rows), *map(runs.count, RUNS)]))


def _anchor(title: str) -> str:
    return title.lower().replace(" ", "-")


def _section(table: Table) -> Iterator[str]:
    yield f"## {table.system}\n\n{table.summary}\n"
    for title, rows in groupby(table.rows, key=lambda row: row.section):
        yield f"### {title}\n\n| feature | here | state | run |\n|---|---|---|---|"
        for row in rows:
            yield (
                "| "
                + " | ".join(cell.replace("|", "\\|") for cell in (row.feature, row.here, _state(row), row.ran))
                + " |"
            )
        yield ""


def _state(row: Row) -> str:
    reason = {DIFFERS: row.differs, NOT_TESTED: f"needs {row.needs}", MISSING: row.missing}.get(row.state)
    state = f"{row.state}: {reason}" if reason else row.state
    path, _, name = row.proof.partition("::")
    return f"{state} ([`{name}`]({_SOURCE}{path}))" if path else state


if __name__ == "__main__":
    for path, content in generated().items():
        path.write_text(content, encoding="utf-8")
