"""Every Python block of README and docs runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from kinsplit import Index, embedding, language_models
from kinsplit.embedding import registry as embedders
from kinsplit.language_models import registry as models
from tests.snippets import PAGES, ROOT, blocks, run

#: Blocks that can't run here: most need a package or a server that tests don't have.
NOT_RUN = 3


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page)], ids=lambda page: page.name)
def test_the_blocks_of_a_page_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Models are replaced by fast ones, whatever their name; the quality of results is tested elsewhere.
    monkeypatch.setattr(embedders, "_shared", lambda spec: embedding.create("hash"))
    monkeypatch.setattr(models, "_shared", lambda spec, timeout: language_models.create("hash"))
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    for subject in ("cs", "math"):
        (tmp_path / "courses" / subject).mkdir(parents=True)
        (tmp_path / "courses" / subject / "notes.md").write_text(f"# Notes on {subject}\n\nA base case ends recursion.")
    monkeypatch.chdir(tmp_path)

    names = run(page)

    if isinstance(index := names.get("index"), Index):
        index.close()


def test_nearly_all_blocks_are_run() -> None:
    found = [block for page in PAGES for block in blocks(page) if block.kind != "setup"]
    left_out = [block.reason for block in found if block.reason is not None]
    assert len(left_out) == NOT_RUN, left_out
    # No fence of Python escapes the pattern, for example by being indented.
    fences = sum(page.read_text(encoding="utf-8").count("```py") for page in PAGES)
    assert len(found) == fences >= 50
