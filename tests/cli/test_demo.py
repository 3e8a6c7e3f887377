from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from kinsplit.cli.commands import sample as module
from tests.cli.conftest import COURSE, Cli


def test_the_demo_answers_every_question_rightly_and_embeds_once_without_network(cli: Cli) -> None:
    first = cli("demo")
    second = cli("demo", "--json")
    report = json.loads(second.stdout)

    assert first.exit_code == second.exit_code == 0
    assert "5 of 5 questions were answered from the right lecture." in first.stdout
    assert "Split into " in first.stdout
    assert "Embedded " in first.stdout
    assert report["index"]["embedded"] == 0
    assert [answer["right"] for answer in report["answers"]] == [True] * 5
    for answer in report["answers"]:
        assert answer["passages"][0]["metadata"]["group_id"] == answer["answer_in"]
        assert f"Correct: the answer is in {answer['answer_in']}." in first.stdout


def test_a_wrong_answer_is_told_and_makes_the_exit_code_1(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "birds.txt").write_text("Owls hunt at night.")
    questions = [{"question": "When do owls hunt?", "answer_in": group} for group in ("birds", "cats")]
    (tmp_path / "mine_questions.json").write_text(json.dumps(questions))

    result = cli("demo", "--course", "mine", "--embedder", "hash")
    again = cli("demo", "--course", "mine", "--embedder", "hash")

    assert result.exit_code == again.exit_code == 1
    assert "Nothing to embed: 1 chunk already indexed." in again.stdout
    assert "Correct: the answer is in birds." in result.stdout
    assert "Wrong: the answer is in cats." in result.stdout
    assert "1 of 2 questions were answered from the right lecture." in result.stdout


def test_a_course_that_is_not_there_is_told_before_its_questions_are_looked_for(cli: Cli) -> None:
    assert cli("demo", "--course", "nowhere").stderr.startswith("Error: nowhere: doesn't exist.")


def test_without_the_sample_course_the_error_says_where_it_is(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_PLACES", [Path("nowhere")])

    result = cli("demo")

    assert result.exit_code == 2
    assert result.stderr.startswith("Error: nowhere: the sample course is missing. Run: pip install")


@pytest.mark.parametrize("content", [None, "not JSON", '[{"question": "Why?"}]', "7"])
def test_questions_that_are_missing_or_broken_are_told(cli: Cli, tmp_path: Path, content: str | None) -> None:
    shutil.copytree(COURSE, tmp_path / "copy", ignore=shutil.ignore_patterns("*.pdf", "*.ipynb"))
    if content is not None:
        (tmp_path / "copy_questions.json").write_text(content)

    result = cli("demo", "--course", "copy", "--embedder", "hash")

    assert result.exit_code == 2
    assert "copy_questions.json" in result.stderr
    assert result.stderr.count("\n") == 1
    assert not (tmp_path / "kinsplit-data").exists()


def test_the_sample_is_written_once_and_replaces_nothing(cli: Cli, tmp_path: Path) -> None:
    assert cli("sample").stdout.split() == [
        f"examples/{name}" for name in ("course", "course_questions.json", "course_labels.jsonl")
    ]
    assert {path.name for path in Path("examples/course").iterdir()} == {path.name for path in COURSE.iterdir()}
    again = cli("sample")
    assert again.exit_code == 2
    assert again.stderr.startswith("Error: FOLDER: must not have the sample yet (got ")
    assert json.loads(cli("sample", "other", "--json").stdout)[0] == "other/course"
