"""`kinsplit compare`: one question and every strategy."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Cli

TEXT = "A loop repeats. A class is a plan of objects. Recursion calls itself."
SPLIT = "--strategy", "small=sentence:chunk_size=9,chunk_overlap=0", "--strategy", "large=character:chunk_overlap=0"


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a.txt").write_text(TEXT)
    return tmp_path / "docs"


def test_each_strategy_shows_its_best_score_chunk_and_text(cli: Cli, docs: Path) -> None:
    asked = "compare", "What is a plan of objects?", *SPLIT, "--embedder", "hash"
    shown = cli(*asked)
    assert shown.exit_code == 0, shown.output
    strategies = json.loads(cli(*asked, "--json").stdout)["strategies"]
    assert list(strategies) == ["small", "large"]
    (small,), (large,) = strategies.values()
    assert small["text"] == "A class is a plan of objects."
    assert (small["docid"], small["chunk_id"]) == ("docs/a.txt", "docs/a.txt::chunk01")
    assert TEXT[small["start"] : small["end"]] == small["text"]
    assert large["text"] == TEXT
    assert small["score"] > large["score"]
    for label, (hit,) in strategies.items():
        assert f"{label}\nscore {hit['score']:.4f}, {hit['chunk_id']}, " in shown.stdout
        assert hit["text"] in " ".join(shown.stdout.split())


def test_more_chunks_can_be_asked_for_and_a_blank_question_cant(cli: Cli, docs: Path) -> None:
    asked = "--docs", docs, *SPLIT, "--embedder", "hash", "--top-k", "2", "--json"
    small, large = json.loads(cli("compare", "loops", *asked).stdout)["strategies"].values()
    assert (len(small), len(large)) == (2, 1)
    assert small[0]["score"] >= small[1]["score"]
    assert cli("compare", " ", *asked).exit_code == 2
