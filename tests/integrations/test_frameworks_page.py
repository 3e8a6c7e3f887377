"""The examples of docs/frameworks.md run in order, in one process."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

PAGE = (Path(__file__).parents[2] / "docs" / "frameworks.md").read_text(encoding="utf-8")


def test_the_examples_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    for code in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL):
        exec(code, names)
    *chunks, first, second = capsys.readouterr().out.splitlines()
    assert "'num_added': 10," in first
    assert "'num_added': 2," in second
    assert chunks == [
        "birds.pdf 1 1 'An owl hunts at night.'",
        "birds.pdf 1 2 'The owl and\\nthe lark are birds.'",
        "birds.pdf 2 2 'A lark sings.'",
    ]
    birds = [node for node in names["store"].get_nodes() if node.ref_doc_id == "birds.pdf"]
    assert {(node.metadata["page_start"], node.metadata["page_end"]) for node in birds} == {(1, 1), (1, 2)}
    assert names["store"].count() == 11 + len(birds)
