"""`--config FILE` as the source of options that aren't given."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import Result

from tests.cli.conftest import Cli

WORDS = (
    '[index]\nstrategy = "word"\nembedder = "hash"\nembedding_context = "none"\n[index.parameters]\nchunk_size = 4\n'
)


@pytest.fixture
def config(tmp_path: Path) -> Path:
    file = tmp_path / "kinsplit.toml"
    file.write_text(WORDS)
    return file


def chunks_of(result: Result) -> list[int]:
    assert result.exit_code == 0, result.stderr
    return [document["chunks"] for document in json.loads(result.stdout)["documents"]]


def test_index_takes_everything_from_the_file(cli: Cli, folder: Path, config: Path) -> None:
    from_file = chunks_of(cli("index", folder, "--config", config, "--json"))
    options = "--strategy", "word", "--set", "chunk_size=4", "--embedder", "hash", "--embedding-context", "none"
    # The same collection, which would reject another model, context or strategy.
    again = cli("index", folder, *options, "--json")
    assert from_file == chunks_of(again) == [3, 4, 2, 2, 2]
    assert json.loads(again.stdout)["embedded"] == 0


def test_options_go_before_the_file(cli: Cli, folder: Path, config: Path) -> None:
    def indexed(collection: str, *options: str) -> list[int]:
        arguments = "index", folder, "--config", config, "--collection", collection, *options, "--json"
        return chunks_of(cli(*arguments))

    assert indexed("size", "--set", "chunk_size=6") == [2, 3, 1, 1, 1]
    assert indexed("overlap", "--set", "chunk_overlap=2") == [5, 6, 2, 2, 2]
    # The file's parameters belong to the file's strategy.
    assert indexed("strategy", "--strategy", "sentence") == [1, 1, 1, 1, 1]
    assert indexed("same", "--strategy", "word") == [3, 4, 2, 2, 2]
    assert indexed("model", "--embedder", "hash:8") == [3, 4, 2, 2, 2]
    other = cli("index", folder, "--config", config, "--collection", "model")
    assert other.exit_code == 2
    assert "was made with another model" in other.stderr


def test_chunk_takes_the_strategy_from_the_file(cli: Cli, folder: Path, config: Path) -> None:
    rows = cli("chunk", folder / "cs" / "loops.txt", "--config", config).stdout.splitlines()
    bigger = cli("chunk", folder / "cs" / "loops.txt", "--config", config, "--set", "chunk_size=9").stdout.splitlines()
    assert [json.loads(row)["text"] for row in rows] == [
        "A loop repeats. A",
        "while loop asks first.",
        "A for loop counts.",
    ]
    assert len(bigger) == 2


@pytest.mark.parametrize("command", ["index", "chunk"])
def test_a_wrong_file_ends_in_one_line_and_nothing_is_written(cli: Cli, folder: Path, command: str) -> None:
    wrong = folder.parent / "wrong.toml"
    for text, message in (
        ('[index]\nstrategy = "wrod"', "index.strategy: must be the name of a strategy (got 'wrod'). Known"),
        ("[index", "is not valid TOML"),
        (None, "No such file"),
    ):
        if text is None:
            wrong.unlink()
        else:
            wrong.write_text(text)
        result = cli(command, folder, "--config", wrong)
        assert (result.exit_code, result.stdout) == (2, "")
        assert "wrong.toml: " in result.stderr
        assert message in result.stderr
        assert result.stderr.count("\n") == 1
    assert not (folder.parent / "kinsplit-data").exists()
