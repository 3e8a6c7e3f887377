from __future__ import annotations

import json
from pathlib import Path

import pytest

from kinsplit.evaluation.experiment.experiment import Experiment
from kinsplit.evaluation.results import Results
from kinsplit.support.disk_cache import FILE
from tests.cli.conftest import Cli

TEXTS = {
    "loops.md": "# Loops\n\nA loop repeats what is in it. A while loop asks first whether it should.",
    "sorting.txt": "Merge sort halves a list, sorts both halves and merges them.\n\nQuick sort picks a pivot first.",
    "trees.txt": "A tree has a root and leaves.\n\nA leaf has no children. The root has no parent.",
}
ANSWERS = {
    "Which sort merges halves?": ("sorting.txt", "Merge sort halves a list, sorts both halves and merges them."),
    "Which loop asks first?": ("loops.md", "A while loop asks first whether it should."),
    "What has no children?": ("trees.txt", "A leaf has no children."),
}
HASH = ("--embedder", "hash")
SMALL = ("--strategy", "small=sentence:chunk_size=12,chunk_overlap=0", "--strategy", "words=word:chunk_size=6")


@pytest.fixture
def plain(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cli:
    """A folder in the layout of rag_eval: docs, and queries.json without labels."""
    monkeypatch.setenv("KINSPLIT_CACHE", str(tmp_path / "cache"))
    (tmp_path / "docs").mkdir()
    for name, text in TEXTS.items():
        (tmp_path / "docs" / name).write_text(text)
    (tmp_path / "queries.json").write_text(json.dumps({"queries": list(ANSWERS)}))
    return cli


@pytest.fixture
def labelled(plain: Cli, tmp_path: Path) -> Cli:
    """A folder with documents and labelled questions."""
    (tmp_path / "set").mkdir()
    documents = [{"docid": name, "text": text} for name, text in TEXTS.items()]
    questions = [
        {"query": question, "docid": name, "spans": [[start := TEXTS[name].index(answer), start + len(answer)]]}
        for question, (name, answer) in ANSWERS.items()
    ]
    for name, rows in (("docs", documents), ("queries", questions)):
        (tmp_path / "set" / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return plain


def test_a_collection_is_evaluated_where_it_lies(labelled: Cli, tmp_path: Path) -> None:
    made = labelled("index", "set/docs.jsonl", *HASH, "--strategy", "sentence", "--set", "chunk_size=12")
    assert made.exit_code == 0, made.stderr
    options = ("--docs", "set", *HASH, "--no-cache", "--json")
    stored = labelled("evaluate", "--store", "edge:./kinsplit-data", *options)
    assert stored.exit_code == 0, stored.stderr
    (found,) = json.loads(stored.stdout)["strategies"]
    from_files = labelled("evaluate", *options, "--strategy", found["spec"])
    others = {own["spec"]: own["measures"] for own in json.loads(from_files.stdout)["strategies"]}
    same = [name for name, figure in found["measures"].items() if name != "seconds" and figure["mean"] is not None]
    assert len(same) > 10
    for name in same:
        assert found["measures"][name]["mean"] == pytest.approx(others[found["spec"]][name]["mean"], abs=1e-6), name
    assert (found["label"], found["spec"].partition(":")[0]) == ("default", "sentence")
    asked = labelled("tune", "set", "--store", "edge:./kinsplit-data", *HASH, "--strategies", "word")
    assert (asked.exit_code, "its weights alone can be tuned there" in asked.stderr) == (2, True)
    wrong = labelled("evaluate", "--collection", "default", *options)
    assert (wrong.exit_code, "--store: is required with --collection" in wrong.stderr) == (2, True)


def test_rag_evals_command_needs_no_options(plain: Cli, tmp_path: Path) -> None:
    result = plain("evaluate", *HASH)

    assert result.exit_code == 0
    written = json.loads((tmp_path / "evaluation_results.json").read_text())
    labels = ["default", "fixed", "structure", "semantic", "multigranular"]
    assert list(written["summary"]) == labels
    assert {"avg_response_time", "avg_relevancy", "avg_faithfulness", "count"} <= set(written["summary"]["fixed"])
    assert written["summary"]["fixed"]["count"] == len(ANSWERS)
    assert len(written["results"]) == len(labels) * len(ANSWERS)
    first = written["results"][0]
    assert {"query", "strategy", "response_time", "relevancy", "faithfulness", "retrieved_chunks"} == set(first)
    assert "doesn't tell which strategy is better" in result.stderr
    assert "Only 3 questions" in result.stderr


def test_its_own_options_name_the_files(plain: Cli, tmp_path: Path) -> None:
    (tmp_path / "docs").rename(tmp_path / "mine")
    (tmp_path / "queries.json").rename(tmp_path / "asked.json")

    result = plain("evaluate", "--docs", "mine", "--queries", "asked.json", "--output", "out/mine.json", *HASH)

    assert result.exit_code == 0
    assert Results.read(tmp_path / "out" / "mine.json").setting.questions == len(ANSWERS)


def test_a_labelled_folder_is_compared_by_recall(labelled: Cli) -> None:
    result = labelled("evaluate", "--docs", "set", *SMALL, *HASH, "--headline", "recall@15t")

    lines = result.stdout.splitlines()
    assert result.exit_code == 0
    assert lines[0] == "No strategy is better than default beyond chance, by recall@15t."
    assert lines[3].split() == ["Strategy", "recall@15t", "(%)", "chunks"]
    assert [line.split()[0] for line in lines[4:7]] == ["default", "small", "words"]
    assert lines[8] == "Compared with default, question by question"
    assert lines[-1].startswith("3 questions, 3 documents; written to evaluation_results.json.")
    assert "have no labels" not in result.stderr


def test_the_baseline_can_be_another_one(labelled: Cli) -> None:
    options = ("--docs", "set", *SMALL, *HASH, "--measure", "recall@15t", "--headline", "recall@15t", "--json")
    shown = json.loads(labelled("evaluate", *options, "--baseline", "words").stdout)

    assert [strategy["label"] for strategy in shown["strategies"]] == ["words", "small"]
    assert [one["baseline"] for one in shown["comparisons"]] == ["words"]
    assert set(shown["strategies"][0]["measures"]) == {"recall@15t"}
    assert shown["output"] == "evaluation_results.json"
    assert "lengths" not in shown["strategies"][0]


def test_a_dry_run_writes_nothing_and_tells_what_is_kept(labelled: Cli, tmp_path: Path) -> None:
    options = ("evaluate", "--docs", "set", *SMALL, *HASH, "--json")
    before = json.loads(labelled(*options, "--dry-run").stdout)["strategies"]
    assert not (tmp_path / "evaluation_results.json").exists()

    labelled(*options)
    after = json.loads(labelled(*options, "--dry-run").stdout)["strategies"]

    assert [plan["answered"] for plan in before] == [0, 0, 0]
    assert [plan["answered"] for plan in after] == [3, 3, 3]
    assert [plan["kept"] for plan in after] == [plan["texts"] for plan in before]
    assert "0 of 3" in labelled("evaluate", "--docs", "set", *HASH, "--no-cache", "--dry-run").stdout


def test_without_a_cache_nothing_is_kept(labelled: Cli, tmp_path: Path) -> None:
    assert labelled("evaluate", "--docs", "set", *SMALL, *HASH, "--no-cache").exit_code == 0
    assert not (tmp_path / "cache").exists()


def test_outcomes_that_can_not_be_kept_are_told(labelled: Cli, tmp_path: Path) -> None:
    (tmp_path / "cache" / "outcomes").mkdir(parents=True)
    (tmp_path / "cache" / "outcomes" / FILE).write_text("no database " * 100)

    result = labelled("evaluate", "--docs", "set", *SMALL, *HASH)

    assert result.exit_code == 0
    assert "Outcomes are not kept: " in result.stderr


def test_what_was_done_before_an_interruption_is_kept(labelled: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    options = ("evaluate", "--docs", "set", *SMALL, *HASH)
    evidence = Experiment.evidence

    def stopped(experiment: Experiment, progress: object = None) -> object:
        found = evidence(experiment)
        yield next(found)
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(Experiment, "evidence", stopped)
        result = labelled(*options)
    plans = json.loads(labelled(*options, "--dry-run", "--json").stdout)["strategies"]

    assert result.exit_code == 130
    assert [plan["answered"] for plan in plans] == [3, 0, 0]


def test_another_strategy_may_be_called_default(labelled: Cli) -> None:
    result = labelled("evaluate", "--docs", "set", *SMALL, "--strategy", "default=word:chunk_size=9", *HASH, "--json")

    first, *_ = json.loads(result.stdout)["strategies"]
    assert (first["label"], first["spec"]) == ("default", "word:chunk_size=9")


def test_without_questions_it_is_said_what_is_missing(plain: Cli, tmp_path: Path) -> None:
    (tmp_path / "queries.json").unlink()
    result = plain("evaluate", *HASH)

    assert result.exit_code == 2
    assert "--queries: is required, since neither docs nor the current folder has questions" in result.stderr


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--docs", "nowhere"), "nowhere: doesn't exist"),
        (("--strategy", "nonsense"), "strategy: must name a splitter"),
        (("--strategy", "a=word", "--strategy", "a=token"), "strategy: must have a unique label"),
        (("--baseline", "b"), "baseline: must be the label of a strategy"),
        (("--output", "docs"), "--output: must be a file, not a folder (got 'docs')"),
        (("--output", "queries.json"), "--output: must not be an input file (got 'queries.json')"),
        (("--measure", "nonsense"), "measure: must be one of"),
        (("--ranker", "nonsense"), "ranker: must be the name of a ranker"),
        (("--embedder", "nonsense"), "embedder: must be one of"),
    ],
)
def test_what_is_wrong_is_one_line_and_nothing_is_written(
    plain: Cli, tmp_path: Path, options: tuple[str, ...], message: str
) -> None:
    result = plain("evaluate", *HASH, *options)

    assert result.exit_code == 2
    assert len(result.stderr.splitlines()) == 1
    assert message in result.stderr
    assert not (tmp_path / "evaluation_results.json").exists()


def test_the_passages_of_a_search_are_judged_with_its_options(labelled: Cli, tmp_path: Path) -> None:
    options = ("evaluate", "--docs", "set", *SMALL, *HASH, "--measure", "recall@15t", "--no-cache", "--json")
    searched = labelled(*options, "--ranker", "search", "--window", "2", "--context-share", "0.5")
    assert searched.exit_code == 0, searched.stderr
    assert json.loads(searched.stdout)["setting"]["ranker"] == "search(window=2, context_share=0.5)"
    table = '[evaluate]\nranker = "search"\nwindow = 2\ncontext_share = 0.5\ncoverage_levels = [0.9]\n'
    (tmp_path / "own.toml").write_text(table)
    from_file = labelled(*options, "--config", "own.toml")
    assert json.loads(from_file.stdout)["setting"]["ranker"] == "search(window=2, context_share=0.5)"
    given = labelled(*options, "--config", "own.toml", "--window", "1", "--ranker", "ask")
    assert json.loads(given.stdout)["setting"]["ranker"] == "ask(window=1, context_share=0.5)"
    refused = labelled(*options, "--window", "2")
    assert refused.exit_code == 2
    assert "window: is not used by the ranker 'kin' (got 2). Take the ranker 'search' or 'ask'" in refused.stderr
