"""Every Python block of README and docs runs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from kinsplit import Index
from tests.snippets import PAGES, ROOT, blocks, run

#: Blocks that can't run here: most need a package or a server that tests don't have.
NOT_RUN = 7


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page)], ids=lambda page: str(page.relative_to(ROOT)))
@pytest.mark.usefixtures("fast_models")
def test_the_blocks_of_a_page_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    for subject in ("cs", "math"):
        (tmp_path / "courses" / subject).mkdir(parents=True)
        (tmp_path / "courses" / subject / "notes.md").write_text(f"# Notes on {subject}\n\nA base case ends recursion.")
    monkeypatch.chdir(tmp_path)
    # A package's own page imports the package.
    monkeypatch.syspath_prepend(page.parent)

    names = run(page)

    for value in names.values():
        if isinstance(value, Index):
            value.close()


def test_nearly_all_blocks_are_run() -> None:
    found = [block for page in PAGES for block in blocks(page) if block.kind != "setup"]
    left_out = [block.reason for block in found if block.reason is not None]
    assert len(left_out) == NOT_RUN, left_out
    # No fence of Python escapes the pattern, for example by being indented.
    fences = sum(page.read_text(encoding="utf-8").count("```py") for page in PAGES)
    assert len(found) == fences >= 50


def test_the_tests_that_hold_the_security_exist() -> None:
    named = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", (ROOT / "docs" / "security.md").read_text(encoding="utf-8"))
    assert len(named) >= 30
    for file, test in named:
        assert f"def {test}(" in (ROOT / file).read_text(encoding="utf-8"), f"{file}::{test}"
