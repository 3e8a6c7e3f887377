"""What the rows of docs/replaces.md say is there."""

from __future__ import annotations

import re

import pytest

from kinsplit.cli.app import NAMES
from kinsplit.cli.app import _load as load
from kinsplit.parsers.registry import describe, names
from tests.replaces import test_course_search, test_notebook, test_rag_eval, test_sc_qrels, test_ten_k
from tests.replaces.table import MISSING, Table

ROWS = [
    row
    for module in (test_sc_qrels, test_notebook, test_rag_eval, test_course_search, test_ten_k)
    for row in module.TABLE.rows
]
OPTIONS = {name: {flag for param in load(name).params for flag in param.opts} for name in NAMES}
PARAMETERS = {parameter["name"] for name in names() for parameter in describe(name)["parameters"]}


def test_what_a_row_names_exists() -> None:
    for row in ROWS:
        for code in re.findall(r"`([^`]+)`", row.here):
            if code.startswith(("docker", "make", "python", "%pip", "pip")):
                continue
            command = re.search(r"\bkinsplit ([a-z][a-z-]*)", code)
            options = OPTIONS[command[1]] if command else {"--version"}.union(*OPTIONS.values())
            assert set(re.findall(r"(?<!\S)--[a-z-]+", code)) <= options, code
            assert set(re.findall(r"--set ([a-z_]+)=", code)) <= PARAMETERS, code


def test_a_row_without_proof_or_reason_is_refused() -> None:
    table = Table("system", "summary")
    for proof in ("", "tests/replaces/table.py::test_nothing", "tests/replaces/table.py::Row"):
        with pytest.raises(ValueError, match="no test proves 'feature'"):
            table.row("feature", "here", proof).check()
    table.row("feature", "here", needs="a server").check()


def test_a_row_whose_test_is_expected_to_fail_is_missing() -> None:
    row = Table("system", "summary").row("feature", "here")

    @row
    @pytest.mark.xfail(reason="not yet", strict=True)
    def test_it() -> None: ...

    row.check()
    assert (row.state, row.missing) == (MISSING, "not yet")


def test_a_row_says_how_the_services_of_its_test_ran() -> None:
    runs = {
        "tests/wire/test_recordings.py::test_a_model_of_ollama_embeds_and_tells_its_window": "recorded",
        "tests/wire/test_recordings.py::test_openai_embeds_and_counts_tokens": "as documented",
        "tests/replaces/test_notebook.py::test_a_model_of_ollama_chooses_the_boundaries": "stand-in",
        "tests/replaces/test_notebook.py::test_windows_of_600_characters_share_150": "for real",
    }
    for proof, run in runs.items():
        assert Table("system", "summary").row("feature", "here", proof).ran == run
    assert Table("system", "summary").row("feature", "here", needs="a server").ran == "not run"
