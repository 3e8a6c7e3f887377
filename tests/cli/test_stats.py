"""`kinsplit stats`: sizes and cuts of chunks, without questions."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Cli

LIST = "\n".join(f"- Owl number {number} hunts at night. It sees well." for number in range(20))
SPLIT = "--strategy", "whole=sentence:chunk_size=40,chunk_overlap=0", "--strategy", "torn=character:chunk_size=70"


@pytest.fixture
def birds(tmp_path: Path) -> Path:
    (tmp_path / "birds.md").write_text(f"# Owls\n\n{LIST}\n")
    return tmp_path / "birds.md"


def test_each_strategy_has_its_sizes_and_cuts(cli: Cli, birds: Path) -> None:
    whole, torn = json.loads(cli("stats", birds, *SPLIT, "--json").stdout).values()

    assert (whole["item_cuts"], whole["sentence_cuts"], whole["coverage"]) == (0, 0, 1)
    assert 0.5 < whole["fill"] <= 1
    assert whole["cuts"] == whole["chunks"] - 1
    assert whole["p10_tokens"] <= whole["p50_tokens"] <= whole["p90_tokens"] <= whole["max_tokens"] <= 40
    assert torn["item_cuts"] >= torn["item_cuts_avoidable"] == torn["item_cuts"] > 5
    assert "bytes_stored" not in torn


def test_the_tables_show_avoidable_cuts_of_all(cli: Cli, birds: Path) -> None:
    birds.write_text("```\n" + "one\n" * 40 + "```\n\nThe end.\n")
    lines = cli("stats", birds, *SPLIT).stdout.splitlines()

    assert any(line.split()[:3] == ["Strategy", "chunks", "average_tokens"] for line in lines)
    assert any("0 of" in line and line.startswith("whole") for line in lines)


def test_the_default_strategy_is_described_and_a_wrong_one_refused(cli: Cli, birds: Path) -> None:
    assert list(json.loads(cli("stats", birds, "--json").stdout)) == ["default"]
    assert "must name a splitter" in cli("stats", birds, "--strategy", "magic").stderr
    assert cli("stats", "nowhere").exit_code == 2


def test_the_sizes_are_plotted(cli: Cli, birds: Path) -> None:
    shown = cli("stats", birds, *SPLIT, "--plots", "plots").stdout
    assert sum(line.startswith("|") for line in shown.splitlines()) == 2
    assert len(list((birds.parent / "plots").glob("*.png"))) == 2
