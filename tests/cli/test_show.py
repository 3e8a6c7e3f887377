from __future__ import annotations

import json
from pathlib import Path

import pytest

from kinsplit.evaluation.measures.registry import RAG_EVAL
from tests.cli.conftest import Cli
from tests.evaluation.made_results import HEADLINE, results


@pytest.fixture
def file(tmp_path: Path) -> Path:
    results().write(tmp_path / "results.json")
    return tmp_path / "results.json"


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """A results file in the format of `rag_eval`."""
    summary = {
        "fixed": {"avg_response_time": 0.0001, "avg_relevancy": 0.0174, "avg_faithfulness": 0.6944, "count": 3},
        "semantic": {"avg_response_time": 0.0002, "avg_relevancy": 0.1451, "avg_faithfulness": 0.3556, "count": 3},
    }
    row = {"query": "What?", "strategy": "fixed", **dict.fromkeys(RAG_EVAL, 0.5), "retrieved_chunks": ["a"]}
    (tmp_path / "old.json").write_text(json.dumps({"summary": summary, "results": [row]}), encoding="utf-8")
    return tmp_path / "old.json"


def test_the_conclusion_comes_first_and_warnings_go_to_stderr(cli: Cli, file: Path) -> None:
    result = cli("show", file)

    lines = result.stdout.splitlines()
    assert result.exit_code == 0
    assert lines[0] == "course: 5 documents, 12 questions, dense ranking by hash"
    assert lines[1].startswith("structure finds more than sentence: recall@1000t +6.0 points [2.9, 9.1], p = 0.004;")
    assert lines[2] == "Worse than sentence: token 512."
    assert result.stderr == f"Warning: {results().warnings[0]}\n"


def test_the_tables_hold_every_measure_statistic_and_comparison(cli: Cli, file: Path) -> None:
    lines = cli("show", file).stdout.splitlines()
    (head,) = (line for line in lines if "nDCG@10" in line)
    (best,) = (line for line in lines if "66.8*" in line)
    (chunks,) = (line for line in lines if "mid_word" in line)
    (worse,) = (line for line in lines if "-5.0 points" in line)

    assert head.split()[1:3] == [HEADLINE, "(%)"]
    assert "seconds (ms)" in head
    assert best.startswith("structure  66.8* [62.8, 70.8]")
    assert chunks.split() == ["Strategy", "chunks", "mean", "characters", "mid_word"]
    assert worse.split() == ["token", "512", "-5.0", "points", "[-8.1,", "-1.9]", "0.004", "worse", "6", "4", "2"]


@pytest.mark.parametrize("columns", [40, 80, 200])
def test_figures_are_never_folded_and_lines_never_too_long(
    cli: Cli, file: Path, monkeypatch: pytest.MonkeyPatch, columns: int
) -> None:
    wide = cli("show", file).stdout
    monkeypatch.setenv("COLUMNS", str(columns))
    narrow = cli("show", file).stdout

    tables = [line for line in narrow[narrow.index("Strategy") :].splitlines() if "Measures" not in line]
    assert max(len(line) for line in tables if not line.startswith("Compared")) <= columns
    for figure in ("66.8* [62.8, 70.8]", "-5.0 points [-8.1, -1.9]", "2.10 [1.70, 2.50]", "may be chance"):
        assert figure in wide
        assert figure in narrow


def test_single_questions_are_shown_with_what_was_retrieved(cli: Cli, file: Path) -> None:
    shown = cli("show", file, "--questions", "2").stdout
    lines = shown[shown.index("structure is better than sentence on 8 questions, by recall@1000t") :].splitlines()

    assert "structure is worse than sentence on 4 questions, by recall@1000t" in lines
    asked = [line for line in lines if line.startswith("q")]
    assert len(asked) == 4
    assert asked[0] == "q05 What does item 5 of the list hold?"
    assert "  structure: recall@1000t 1.000" in lines
    assert any(line.startswith("    1. course/lecture_01.md ") for line in lines)


def test_a_strategy_and_a_measure_can_be_chosen(cli: Cli, file: Path) -> None:
    shown = cli("show", file, "--strategy", "token 512", "--measure", HEADLINE, "--questions", "1").stdout

    assert "token 512 is better than sentence on" in shown
    assert "semantic" not in shown
    assert "nDCG@10" not in shown
    rows = [line.split()[0] for line in shown.splitlines() if line.startswith(("sentence", "token", "structure"))]
    assert rows.count("sentence") == 2
    assert rows.count("structure") == 1, "only in the conclusion"


def test_json_holds_the_numbers_and_questions_only_on_request(cli: Cli, file: Path) -> None:
    made = results()
    plain = json.loads(cli("show", file, "--json").stdout)
    asked = json.loads(cli("show", file, "--json", "--questions", "1", "--strategy", "structure").stdout)

    assert set(plain) == {"conclusion", "setting", "strategies", "comparisons", "warnings"}
    assert [each["label"] for each in plain["strategies"]] == [each.label for each in made.strategies]
    assert plain["strategies"][1]["measures"][HEADLINE] == made.strategies[1].measures[HEADLINE].model_dump()
    assert plain["comparisons"][0]["p_value"] == 0.004
    assert [each["label"] for each in asked["strategies"]] == ["sentence", "structure"]
    questions = asked["questions"]
    assert (questions["won_count"], questions["lost_count"], len(questions["won"])) == (8, 4, 1)
    won = questions["won"][0]
    assert won["structure"]["measures"][HEADLINE] > won["sentence"]["measures"][HEADLINE]
    assert won["question"]["labels"][0][0]["source_id"] == won["structure"]["hits"][0]["source_id"]


def test_a_file_of_rag_eval_is_shown_by_honest_names(cli: Cli, old: Path) -> None:
    shown = cli("show", old)
    lines = shown.stdout.splitlines()

    assert (shown.exit_code, shown.stderr) == (0, "")
    assert lines[0].startswith("This file is from rag_eval: it has no intervals")
    assert lines[3].split() == ["Strategy", "seconds", "jaccard", "query_terms", "questions"]
    assert lines[4].split() == ["fixed", "0.0001", "0.0174", "0.694", "3"]
    only = json.loads(cli("show", old, "--strategy", "semantic", "--json").stdout)
    means = {"seconds": 0.0002, "jaccard": 0.1451, "query_terms": 0.3556, "questions": 3}
    assert only == {"strategies": [{"label": "semantic", "measures": means}]}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["results.json", "--strategy", "none"], "--strategy: must be one of sentence, structure, token 512, semantic"),
        (["results.json", "--measure", "none"], "--measure: must be one of recall@1000t, "),
        (["results.json", "--strategy", "sentence", "--questions", "1"], "--strategy: must be one of structure"),
        (["old.json", "--questions", "1"], "--questions: needs a file written by `kinsplit evaluate`"),
        (["old.json", "--strategy", "none"], "--strategy: must be one of fixed, semantic"),
        (["absent.json"], "absent.json: No such file or directory. Check the spelling, and the folder you are in."),
        (["other.json"], "results: must be a file that `kinsplit evaluate` wrote"),
        (["text.json"], "results: must be a file that `kinsplit evaluate` wrote"),
        (["deep.json"], "results: must be a file that `kinsplit evaluate` wrote"),
    ],
)
def test_a_wrong_argument_is_one_line(
    cli: Cli, tmp_path: Path, file: Path, old: Path, arguments: list[str], message: str
) -> None:
    (tmp_path / "other.json").write_text('{"summary": [1]}')
    (tmp_path / "text.json").write_text("not JSON")
    (tmp_path / "deep.json").write_text("[" * 100_000)

    result = cli("show", *arguments)

    assert (result.exit_code, result.stdout) == (2, "")
    assert message in result.stderr
    assert result.stderr.count("\n") == 1


def test_one_strategy_has_no_questions_won(cli: Cli, tmp_path: Path) -> None:
    results(strategies=1, comparisons=[]).write(tmp_path / "one.json")

    assert "nothing to compare it with" in cli("show", "one.json").stdout
    assert "--questions: needs two strategies" in cli("show", "one.json", "--questions", "1").stderr


def test_a_text_acts_on_no_terminal(cli: Cli, tmp_path: Path) -> None:
    made = results()
    changed = made.strategies[1].model_copy(update={"label": "\x1b[31mred"})
    made.model_copy(update={"strategies": [made.strategies[0], changed]}).write(tmp_path / "results.json")

    shown = cli("show", "results.json").stdout
    assert "\x1b" not in shown
    assert r"\x1b[31mred" in shown
