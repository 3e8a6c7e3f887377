from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from typer.testing import Result

from kinsplit import loaders
from kinsplit.errors import EmbeddingError
from kinsplit.parsers import default_strategy
from kinsplit.support.disk_cache import FILE
from tests.cli.conftest import COURSE, Cli
from tests.loaders.helpers import pdf

HASH = ("--embedder", "hash")


def figures_of(result: Result) -> dict[str, str]:
    """Return the figures of the final table by name."""
    pairs = (line.split("  ", 1) for line in result.stdout.splitlines() if "  " in line)
    return {name: value.split()[0] for name, value in pairs}


def report_of(result: Result) -> dict[str, Any]:
    report: dict[str, Any] = json.loads(result.stdout)
    return report


def test_each_file_gets_a_line_and_the_end_a_table(cli: Cli, folder: Path) -> None:
    result = cli("index", folder, *HASH)

    assert result.exit_code == 0
    assert result.stderr == ""
    assert result.stdout.splitlines()[:3] == [
        "course/cs/loops.txt  Split into 1 chunk  +1",
        "course/cs/sorting.md  Split into 1 chunk  +1",
        "course/math/alice.jsonl  Split into 3 chunks of 3 documents  +3",
    ]
    figures = figures_of(result)
    assert [figures[name] for name in ("Added", "Updated", "Unchanged", "Deleted", "Embedded")] == list("50005")
    assert figures["Longer than the model's window"] == "0"
    assert float(figures["Seconds"]) >= 0


@pytest.mark.parametrize("command", [["chunk"], ["index", *HASH], ["index", *HASH, "--dry-run"]])
def test_a_file_over_a_limit_costs_a_line_and_the_others_are_taken(cli: Cli, folder: Path, command: list[str]) -> None:
    (folder / "cs" / "long.log").write_text("A loop. " * 1_000)
    result = cli(*command, folder, "--limit", "size=4KiB", "--limit", "seconds=100")

    assert result.exit_code == 1
    (line,) = result.stderr.splitlines()
    assert line == (
        f"Error: {folder}/cs/long.log: has 8,000 bytes, where at most 4,096 are read. Split it, or raise the limit "
        "'size'."
    )
    assert result.stdout


def test_changes_are_counted_for_each_file(cli: Cli, folder: Path) -> None:
    arguments = "index", folder, *HASH, "--strategy", "word", "--set", "chunk_size=4"
    cli(*arguments)
    loops = folder / "cs" / "loops.txt"
    loops.write_text(loops.read_text().replace("A loop repeats", "A LOOP repeats"))
    changed = cli(*arguments)
    loops.write_text("A LOOP repeats. A while loop asks first.")
    shortened = cli(*arguments)

    assert "course/cs/loops.txt  Split into 3 chunks  ~1 =2" in changed.stdout.splitlines()
    assert figures_of(changed)["Embedded"] == "1"
    # Every chunk stores the number of chunks; updating it needs no embedding.
    assert "course/cs/loops.txt  Split into 2 chunks  ~2 -1" in shortened.stdout.splitlines()
    assert figures_of(shortened)["Embedded"] == "0"


def test_json_reports_every_document_and_the_sums(cli: Cli, folder: Path) -> None:
    report = report_of(cli("index", folder, *HASH, "--json"))

    assert report["documents"][0]["source_id"] == "course/cs/loops.txt"
    for name in ("added", "updated", "unchanged", "deleted", "embedded", "windowed"):
        assert report[name] == sum(document[name] for document in report["documents"])
    assert report["failed"] == report["warnings"] == []


def test_what_a_file_s_reader_left_out_is_counted(cli: Cli, tmp_path: Path) -> None:
    page = tmp_path / "pages" / "birds.html"
    page.parent.mkdir()
    page.write_text("<p>Owls hunt.</p><img src=a><img src=b><p hidden>Not seen</p>")
    counted = ["1 hidden passage was left out", "2 pictures without a text were left out"]

    told = cli("index", page, *HASH).stderr.splitlines()
    page.write_text(page.read_text() + "<p>Larks sing.</p>")

    assert sorted(told) == [f"Warning: pages/birds.html: {what}" for what in counted]
    warnings = report_of(cli("index", page, "--json", *HASH))["warnings"]
    assert sorted(warnings) == [f"pages/birds.html: {what}" for what in counted]


def test_the_second_run_over_the_sample_course_embeds_nothing(cli: Cli) -> None:
    first = report_of(cli("index", COURSE, *HASH, "--json"))
    second = report_of(cli("index", COURSE, *HASH, "--json"))

    assert first["embedded"] == first["added"] > 100
    assert (second["embedded"], second["unchanged"]) == (0, first["added"])
    assert second["added"] == second["updated"] == second["deleted"] == 0


def test_after_one_paragraph_changes_only_the_changed_chunks_are_embedded(cli: Cli, tmp_path: Path) -> None:
    course = tmp_path / "markdown"
    course.mkdir()
    for path in COURSE.glob("*.md"):
        shutil.copy(path, course)
    before = hashes(course)
    cli("index", course, *HASH)
    lecture = course / "lecture_08.md"
    text = lecture.read_text()
    old = "You have been using objects all along."
    assert text.count(old) == 1
    lecture.write_text(text.replace(old, "You have used objects from the first day, knowingly or not."))
    changed = hashes(course) - before

    report = report_of(cli("index", course, *HASH, "--json"))

    assert 0 < len(changed) < 10 < report["unchanged"]
    assert report["embedded"] == len(changed)
    assert {d["source_id"] for d in report["documents"] if d["embedded"]} == {"markdown/lecture_08.md"}
    assert all(d["unchanged"] == d["chunks"] for d in report["documents"] if not d["embedded"])


def hashes(folder: Path) -> set[str]:
    """Return the content hashes of the chunks that the default strategy makes of a folder."""
    strategy = default_strategy()
    documents = [document for loaded in loaders.load(folder) for document in loaded.documents]
    return {chunk.content_hash for chunks in strategy.chunk_many(documents) for chunk in chunks}


def test_prune_deletes_what_is_gone_from_the_folder(cli: Cli, folder: Path) -> None:
    cli("index", folder, *HASH)
    (folder / "cs" / "loops.txt").unlink()

    kept = report_of(cli("index", folder, *HASH, "--json"))
    pruned = report_of(cli("index", folder, *HASH, "--prune", "--json"))

    assert (kept["deleted"], pruned["deleted"], pruned["pruned"]) == (0, 1, 1)


def test_bad_files_are_named_and_the_rest_is_indexed(cli: Cli, folder: Path) -> None:
    (folder / "broken.pdf").write_bytes(b"%PDF-1.7 and nothing more")
    (folder / "locked.pdf").write_bytes(pdf(["hidden"], encrypt="secret"))
    (folder / "package.json").write_text('{"name": "course"}')
    (folder / "empty.md").write_text("")

    result = cli("index", folder, *HASH)
    report = report_of(cli("index", folder, *HASH, "--json"))

    assert result.exit_code == 1
    assert [line.split(": ")[1].rsplit("/")[-1] for line in result.stderr.splitlines()] == [
        "broken.pdf",
        "empty.md",
        "locked.pdf",
        "package.json",
    ]
    assert "package.json: skipped, since it holds no rows of documents (row 1: docid is missing" in result.stderr
    assert figures_of(result)["Failed"] == "2"
    assert figures_of(result)["Added"] == "5"
    assert "course/empty.md  Split into 0 chunks" in result.stdout.splitlines()
    assert [failed["file"] for failed in report["failed"]] == [
        "course/broken.pdf",
        "course/locked.pdf",
    ]
    assert len(report["warnings"]) == 2


def test_a_collection_keeps_its_strategy_unless_another_is_asked_for(cli: Cli, folder: Path) -> None:
    cli("index", folder, *HASH, "--strategy", "word", "--set", "chunk_size=4")

    same = report_of(cli("index", folder, *HASH, "--json"))
    other = cli("index", folder, *HASH, "--strategy", "sentence")
    beside = report_of(cli("index", folder, *HASH, "--strategy", "sentence", "--collection", "other", "--json"))

    assert same["embedded"] == 0
    assert other.exit_code == 2
    assert "was made with another model or strategy" in other.stderr
    assert beside["embedded"] == 5


def test_wrong_stores_are_refused(cli: Cli, folder: Path) -> None:
    for arguments, message in (
        (["--store", "folder"], "store: must be one of edge:PATH, qdrant:URL"),
        (["--collection", "../up"], "collection: "),
        (["--embedder", "magic"], "embedder: must be one of bundled"),
        (["--store", "edge:course/cs/loops.txt"], "course/cs/loops.txt"),
    ):
        result = cli("index", folder, *HASH, *arguments)
        assert (result.exit_code, result.stdout) == (2, "")
        assert message in result.stderr
        assert result.stderr.count("\n") == 1


def test_a_document_with_a_character_over_the_limit_is_named_and_the_rest_is_indexed(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "texts").mkdir()
    (tmp_path / "texts" / "plain.txt").write_text("a b c")
    rows = '{"docid": "fine", "text": "x y"}', '{"docid": "long", "text": "x ꦗ"}'
    (tmp_path / "texts" / "rich.jsonl").write_text("\n".join(rows))
    # BERT's vocabulary lacks this letter; o200k encodes it as three tokens.
    words = "--set", "chunk_size=2", "--set", "chunk_overlap=0", "--set", "tokenizer=tiktoken:o200k_base"
    for command in (
        ("index", tmp_path / "texts", *HASH, "--strategy", "sentence", *words),
        ("chunk", tmp_path / "texts", "--strategy", "sentence", *words),
    ):
        result = cli(*command)
        assert result.exit_code == 1
        assert "plain.txt" in result.stdout
        assert "fine" in result.stdout or "of 1 document" in result.stdout or "rich.jsonl" in result.stdout
        (line,) = result.stderr.splitlines()
        assert "'long'" in line
        assert "'ꦗ' (U+A997)" in line
    assert figures_of(cli(*("index", tmp_path / "texts", *HASH)))["Failed"] == "1"


def test_vectors_are_kept_for_later_runs_if_asked(cli: Cli, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KINSPLIT_CACHE", str(folder.parent / "cache"))
    kept = folder.parent / "cache" / "vectors" / FILE
    assert cli("index", folder, "--embedder", "hash").exit_code == 0
    assert not kept.exists()
    assert cli("index", folder, "--embedder", "hash", "--collection", "other", "--cache").exit_code == 0
    assert kept.is_file()


def test_what_is_embedded_beside_the_text_can_be_chosen(cli: Cli, folder: Path) -> None:
    assert cli("index", folder, "--embedder", "hash", "--embedding-context", "none").exit_code == 0
    assert cli("index", folder, "--embedder", "hash").exit_code == 0
    refused = cli("index", folder, "--embedder", "hash", "--embedding-context", "late")
    assert refused.exit_code == 2
    assert "needs an embedder with vectors for tokens" in refused.stderr


def test_a_model_is_downloaded_ahead_of_the_bar(cli: Cli, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fetch(self: object) -> None:
        raise EmbeddingError("no hub")

    monkeypatch.setattr("kinsplit.embedding.bundled.BundledEmbedder.fetch", fetch)
    result = cli("index", folder)
    assert (result.exit_code, result.stderr) == (2, "Error: no hub\n")
