from __future__ import annotations

import json
from pathlib import Path

from tests.cli.conftest import COURSE, Cli
from tests.evaluation.made_results import results


def test_the_page_and_its_plots_are_written_and_named(cli: Cli, tmp_path: Path) -> None:
    results(strategies=1, documents=1, comparisons=[]).write(tmp_path / "results.json")

    plain = cli("report", "results.json")
    as_json = cli("report", "results.json", "--html", "new/page.html", "--json")

    names = ["chunk_distributions.png", "chunks_per_doc.png"]
    assert plain.stdout.splitlines() == [f"Wrote {name}" for name in ["report.html", *names]]
    assert json.loads(as_json.stdout) == {"files": [f"new/{name}" for name in ["page.html", *names]]}
    assert (tmp_path / "new" / "page.html").read_bytes() == (tmp_path / "report.html").read_bytes()
    assert (plain.stderr, as_json.stderr) == ("", "")


def test_another_file_is_refused_and_nothing_is_written(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "other.json").write_text('{"summary": {}, "results": []}')

    result = cli("report", "other.json")

    assert (result.exit_code, result.stdout) == (2, "")
    assert "must be a file that `kinsplit evaluate` wrote" in result.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["other.json"]


def test_the_sample_course_goes_from_questions_to_a_page(cli: Cli, tmp_path: Path) -> None:
    labels = tmp_path / "labels.jsonl"
    rows = (COURSE.parent / "course_labels.jsonl").read_text("utf-8").splitlines()[::3]
    labels.write_text("\n".join(rows), encoding="utf-8")
    chosen = ("--embedder", "hash", "--no-cache", "--strategy", "structure")
    assert cli("evaluate", "--docs", COURSE, "--queries", labels, "--output", "r.json", *chosen).exit_code == 0

    shown = json.loads(cli("show", "r.json", "--questions", "1", "--json").stdout)
    assert cli("report", "r.json").exit_code == 0

    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    labelled = {row["query"]: row["answers"] for row in map(json.loads, rows)}
    questions = shown["questions"]
    counts = questions["won_count"] + questions["lost_count"]
    assert [each["label"] for each in shown["strategies"]] == ["default", "structure"]
    assert (shown["comparisons"][0]["wins"], shown["comparisons"][0]["losses"]) == (
        questions["won_count"],
        questions["lost_count"],
    )
    assert shown["conclusion"][0] in page
    assert counts > 0
    for pair in [*questions["won"], *questions["lost"]]:
        assert [label[0]["text"] for label in pair["question"]["labels"]] == labelled[pair["question"]["text"]]
    assert "<mark>" in page.replace("<mark>marked</mark>", "")
