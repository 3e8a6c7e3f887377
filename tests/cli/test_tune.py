"""`kinsplit tune`: its output, its result file, and the use of that file by `index`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Cli
from tests.evaluation.tuning.test_tuning import forest

OPTIONS = "--embedder", "hash", "--budget", 60, "--trials", 4, "--strategies", "structure"


@pytest.fixture
def woods(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("KINSPLIT_CACHE", str(tmp_path / "cache"))
    dataset = forest()
    folder = tmp_path / "woods"
    folder.mkdir()
    (document,) = dataset.documents
    (folder / "docs.jsonl").write_text(json.dumps({"docid": document.id, "text": document.text}) + "\n")
    rows = (
        {"query_id": q.id, "query": q.text, "docid": document.id, "spans": [list(label.places[0].span or ())]}
        for q in dataset.questions
        for label in q.labels
    )
    (folder / "queries.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder


def test_the_choice_is_shown_and_written_for_index(cli: Cli, woods: Path) -> None:
    result = cli("tune", woods / "docs.jsonl", "--queries", woods / "queries.jsonl", *OPTIONS)
    assert result.exit_code == 0, result.stderr
    lines = result.stdout.splitlines()
    assert lines[0].split()[1] == "sentence:chunk_size=160,chunk_overlap=0"
    assert sum("structure:" in line and "chunks, " in line for line in lines) == 4
    assert "ended because all --trials are done. recall@60t:" in result.stdout
    assert any(line.startswith("Its choice beats the library default on the held-out half by +") for line in lines)
    assert "Only 18 questions are held out" in result.stderr

    indexed = cli("index", woods / "docs.jsonl", "--config", "kinsplit.toml", "--json")
    assert indexed.exit_code == 0, indexed.stderr
    assert json.loads(indexed.stdout)["added"] >= 36
    other = cli("index", woods / "docs.jsonl", "--embedder", "hash", "--strategy", "word")
    assert "was made with another model or strategy" in other.stderr


def test_json_holds_every_trial_and_the_verdict(cli: Cli, woods: Path) -> None:
    result = cli("tune", woods, *OPTIONS, "--output", "new/choice.toml", "--max-chunks", 60, "--json")
    report = json.loads(result.stdout)
    assert report["questions"] == {"searched": 18, "held_out": 18}
    assert report["ending"] in ("trials", "all tried")
    assert all((trial["recall"] is None) == (trial["refused"] is not None) for trial in report["trials"])
    assert report["beats_default"] == report["verdict"].startswith("Its choice beats")
    assert Path("new/choice.toml").read_text().startswith("# Written by kinsplit tune")
    assert Path(report["output"]).exists()


def test_a_file_written_by_hand_is_not_replaced(cli: Cli, woods: Path) -> None:
    Path("kinsplit.toml").write_text("[index]\n")
    result = cli("tune", woods, *OPTIONS)
    assert (result.exit_code, result.stdout) == (2, "")
    assert "--output: must be a new file, or one written by kinsplit tune" in result.stderr
    assert Path("kinsplit.toml").read_text() == "[index]\n"


def test_ctrl_c_reports_the_best_so_far(cli: Cli, woods: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from kinsplit.evaluation.tuning.trial import HalfBench

    recalls: list[float] = []
    recall = HalfBench.recall

    def interrupted(self: HalfBench, strategy: object) -> float:
        if len(recalls) == 2:
            raise KeyboardInterrupt
        recalls.append(recall(self, strategy))  # type: ignore[arg-type]
        return recalls[-1]

    monkeypatch.setattr(HalfBench, "recall", interrupted)
    result = cli("tune", woods, *OPTIONS)
    assert result.exit_code == 130
    assert "2 strategies measured, 0 rejected; ended because it was interrupted" in result.stdout
    assert "Written: kinsplit.toml" in result.stdout
    assert "Warning: Stopped." in result.stderr


def test_questions_without_labels_are_refused(cli: Cli, woods: Path) -> None:
    (woods / "queries.jsonl").unlink()
    (woods / "queries.json").write_text(json.dumps(["How old is the oak?", "How old is the elm?"]))
    result = cli("tune", woods / "docs.jsonl", "--queries", woods / "queries.json", *OPTIONS)
    assert (result.exit_code, result.stdout) == (2, "")
    assert "questions: must include at least two labelled ones" in result.stderr
    assert not Path("kinsplit.toml").exists()


def test_the_ranker_and_the_tokenizer_are_those_that_are_asked_for(cli: Cli, woods: Path) -> None:
    trials = ("--embedder", "hash", "--budget", 60, "--trials", 2, "--strategies", "sentence", "--json")
    result = cli("tune", woods, *trials, "--ranker", "dense")
    assert result.exit_code == 0, result.stderr
    found = json.loads(result.stdout)
    assert found["ranker"] == "dense"
    assert found["weights_verdict"] == "The weights of kin scoring stay, since the ranker was 'dense'"
    refused = cli("tune", woods, *trials, "--tokenizer", "nonsense:x", "--output", "new.toml")
    assert (refused.exit_code, "nonsense:x" in refused.stderr) == (2, True)
    refused = cli(
        "tune", woods, "--ranker", "dense", "--store", "memory:x", "--embedder", "hash", "--output", "new.toml"
    )
    assert (refused.exit_code, "--ranker: can't be given with --store" in refused.stderr) == (2, True)
