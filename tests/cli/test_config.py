"""`--config FILE` as the source of options that aren't given."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import Result

from kinsplit import Index, KinWeights
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
        (
            '[index]\nstrategy = "wrod"',
            "index.strategy: must be the name of a strategy (got 'wrod'). Did you mean 'word'?",
        ),
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


SEARCH = """
[search]
top_k = 1
window = 0
parents = true
weights = { bm25 = 1.0 }
[ask]
top_k = 2
"""


@pytest.fixture
def tables(cli: Cli, folder: Path) -> Path:
    assert cli("index", folder, "--embedder", "hash").exit_code == 0
    file = folder.parent / "own.toml"
    file.write_text('[index]\nembedder = "hash"\n' + SEARCH)
    return file


def test_a_search_takes_its_options_from_its_table(cli: Cli, tables: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[dict[str, Any]] = []
    own = Index.search

    def search(self: Index, query: str, **options: Any) -> Any:
        asked.append(options)
        return own(self, query, **options)

    monkeypatch.setattr(Index, "search", search)
    assert cli("search", "loop", "--config", tables).exit_code == 0
    assert (
        cli("search", "loop", "--config", tables, "--no-parents", "--top-k", "2", "--weight", "bm25=0").exit_code == 0
    )
    assert cli("ask", "loop?", "--config", tables).exit_code == 0
    assert cli("search", "loop", "--embedder", "hash").exit_code == 0
    weights = KinWeights(bm25=1.0)
    assert asked[0] == {"top_k": 1, "window": 0, "parents": True, "weights": weights}
    assert asked[1] == {"top_k": 2, "window": 0, "parents": False, "weights": KinWeights(bm25=0)}
    assert asked[2]["top_k"] == 2
    assert "window" not in asked[2]
    assert asked[3] == {}


def test_index_takes_the_options_of_adding_from_its_table(cli: Cli, folder: Path) -> None:
    file = folder.parent / "own.toml"
    file.write_text('[index]\nembedder = "hash"\nsubjects = ["math"]\nlimits = { size = "20 B" }\n')
    refused = cli("index", folder, "--config", file, "--json")
    assert refused.exit_code == 2
    assert "loops.txt" not in refused.stderr
    assert "alice.jsonl" in refused.stderr
    taken = cli("index", folder, "--config", file, "--subjects", "cs", "--limit", "size=1 MiB", "--json")
    assert taken.exit_code == 0
    assert [each["source_id"] for each in json.loads(taken.stdout)["documents"]] == [
        "course/cs/loops.txt",
        "course/cs/sorting.md",
    ]


def test_the_tables_are_listed_with_their_source(cli: Cli, tables: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = {row["variable"]: row for row in json.loads(cli("settings", "--config", tables, "--json").stdout)}
    shown = {
        name: (rows[name]["value"], rows[name]["set"]) for name in ("search.top_k", "ask.window", "index.embedder")
    }
    assert shown == {
        "search.top_k": ("1", f"in {tables}"),
        "ask.window": (None, None),
        "index.embedder": ("hash", f"in {tables}"),
    }
    assert rows["evaluate.ranker"]["value"] == "kin"
    assert rows["search.diversity"]["purpose"].startswith("Weight of unlikeness")
    monkeypatch.setenv("KINSPLIT_EMBEDDER", "bundled")
    rows = {row["variable"]: row for row in json.loads(cli("settings", "--config", tables, "--json").stdout)}
    assert rows["index.embedder"]["set"] == "KINSPLIT_EMBEDDER in the environment"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[search]\ntop_k = 0", "search.top_k: must be at least 1"),
        ("[search]\ntopk = 3", "search.topk: is not known here"),
        ("[search]\nfull = true", "search.full: is not known here"),
        ('[ask]\nranking = "bm25"', "ask.ranking: must be 'kin', 'hybrid', 'dense' or 'terms'"),
        ("[evaluate]\nbudget = 1000", "evaluate.budget: is not known here"),
        ('[index]\nlimits = { memory = "much" }', "index.limits.memory: must be a number of bytes"),
        ("[index]\nlimits = { pages = 1 }", "index.limits: must be size, text, memory or seconds"),
    ],
)
def test_a_wrong_option_of_a_table_is_named(cli: Cli, tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "wrong.toml").write_text(text)
    refused = cli("search", "loop", "--config", "wrong.toml")
    assert (refused.exit_code, refused.stderr.count("\n")) == (2, 1)
    assert f"wrong.toml: {message}" in refused.stderr


def test_an_embedder_that_is_named_is_that_of_a_strategy_by_meaning(cli: Cli, folder: Path) -> None:
    file = folder / "cs" / "loops.txt"
    options = ("--strategy", "semantic", "--set", "min_sentences=1")
    given = [
        json.loads(row)["chunk_id"] for row in cli("chunk", file, *options, "--embedder", "hash").stdout.splitlines()
    ]
    set_ = [
        json.loads(row)["chunk_id"]
        for row in cli("chunk", file, *options, "--set", "embedder=hash").stdout.splitlines()
    ]
    assert given == set_
    assert cli("index", file, *options, "--embedder", "hash").exit_code == 0
    with Index("edge:./kinsplit-data", embedder="hash") as index:
        assert [chunk.id for chunk in index.find({})] == given
    with Index("memory:", embedder="hash", strategy="semantic") as index:
        assert index.strategy.embedder == "hash"  # type: ignore[attr-defined]
