from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import Result

from kinsplit import loaders, parsers, split
from kinsplit.cli.output.index_report import chunk_name
from kinsplit.support.disk_cache import FILE
from kinsplit.tokenizers import resolve
from tests.cli.conftest import COURSE, Cli
from tests.loaders.helpers import pdf
from tests.parsers.sized import WITHOUT_MODEL
from tests.shared_data import shared_path

FIELDS = {
    "docid": str,
    "chunk_id": str,
    "chunk_name": str,
    "chunk_index": int,
    "total_chunks": int,
    "start": int,
    "end": int,
    "spans": list,
    "text": str,
    "token_count": int,
    "parent_id": str | None,
    "prev_id": str | None,
    "next_id": str | None,
    "level": int,
    "context": str,
    "beside": dict,
    "metadata": dict,
}


def rows_of(result: Result) -> list[dict[str, Any]]:
    return [json.loads(line) for line in result.stdout.split("\n") if line]


@pytest.fixture(scope="module")
def lectures(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, str]]:
    """A part of the sample course, with a file of each format, and its texts."""
    folder = tmp_path_factory.mktemp("part") / "course"
    folder.mkdir()
    for name in ("lecture_01.md", "lecture_01_code.py", "lecture_03.pdf", "lecture_04.ipynb", "lecture_08_notes.html"):
        shutil.copy(COURSE / name, folder)
    return folder, {d.id: d.text for loaded in loaders.load(folder) for d in loaded.documents}


@pytest.mark.parametrize("strategy", parsers.names())
def test_rows_have_exactly_the_documented_fields_and_are_slices_of_the_documents(
    cli: Cli, lectures: tuple[Path, dict[str, str]], strategy: str
) -> None:
    settings = [f"--set={name}={value}" for name, value in WITHOUT_MODEL.get(strategy, {}).items()]
    folder, texts = lectures
    result = cli("chunk", folder, "--strategy", strategy, *settings)

    rows = rows_of(result)
    assert result.exit_code == 0
    assert result.stderr == ""
    assert {row["docid"] for row in rows} == set(texts)
    for row in rows:
        assert list(row) == list(FIELDS)
        assert all(isinstance(row[name], kind) for name, kind in FIELDS.items())
        assert row["text"] == "\n\n".join(texts[row["docid"]][start:end] for start, end in row["spans"])
        assert (row["start"], row["end"]) == (row["spans"][0][0], row["spans"][-1][1])
        assert len(row["spans"]) == 1 or strategy == "cluster"
    assert len({row["chunk_name"] for row in rows}) == len(rows)
    assert len({row["chunk_id"] for row in rows}) == len(rows)
    kin = {row["chunk_id"] for row in rows} | {None}
    assert all({row["parent_id"], row["prev_id"], row["next_id"]} <= kin for row in rows)


def test_chunk_names_count_from_00_within_each_level(cli: Cli, folder: Path) -> None:
    arguments = "--strategy", "hierarchical", "--set", "parent_size=20", "--set", "child_size=12"
    rows = rows_of(cli("chunk", folder / "math", *arguments))

    names = [row["chunk_name"] for row in rows if row["docid"] == "alice:ch01"]
    assert "alice:ch01::chunk00" in names
    assert "alice:ch01::level1::chunk01" in names
    (chunk,) = split("A lark.")
    places = {(0, 7): "text::chunk07", (0, 123): "text::chunk123", (2, 0): "text::level2::chunk00"}
    for (level, index), name in places.items():
        assert chunk_name(replace(chunk, source_id="text", level=level, index=index)) == name


def test_tokens_are_counted_where_the_strategy_counts_something_else(cli: Cli, folder: Path) -> None:
    count = resolve("bundled").count
    for strategy in ("character", "sentence"):
        rows = rows_of(cli("chunk", folder, "--strategy", strategy))
        assert [row["token_count"] for row in rows] == count([row["text"] for row in rows]).tolist()


def test_settings_reach_the_strategy_as_json_or_as_text(cli: Cli, folder: Path) -> None:
    settings = "--set", "chunk_size=3", "--set", "unit=word", "--set", "language=en", "--set", "max_sentences=null"
    rows = rows_of(cli("chunk", folder, "--set", "chunk_overlap=0", *settings))
    nested = rows_of(cli("chunk", folder, "--strategy", "multigranular", "--set", "chunk_sizes=[2,4]"))

    assert max(len(row["text"].split()) for row in rows) == 3
    assert {len(row["text"].split()) for row in nested} >= {2, 4}


def test_output_gets_the_rows_and_stdout_a_summary(cli: Cli, folder: Path, tmp_path: Path) -> None:
    piped = cli("chunk", folder)
    result = cli("chunk", folder, "--output", "rows.jsonl")

    assert (tmp_path / "rows.jsonl").read_text() == piped.stdout
    assert result.exit_code == 0
    assert result.stdout.startswith("Split 5 documents into 5 chunks in ")
    characters = next(line.split() for line in result.stdout.splitlines() if line.startswith("Characters"))
    sizes = [len(row["text"]) for row in rows_of(piped)]
    assert characters == ["Characters", "5", f"{sum(sizes) / 5:.1f}", str(min(sizes)), str(max(sizes))]


def test_json_turns_the_summary_into_an_object(cli: Cli, folder: Path) -> None:
    result = cli("chunk", folder, "--strategy", "hierarchical", "--output", "rows.jsonl", "--json")

    summary = json.loads(result.stdout)
    assert (summary["files"], summary["documents"], summary["chunks"]) == (3, 5, 10)
    assert [level["level"] for level in summary["levels"]] == [0, 1]
    assert summary["levels"][0]["tokens"]["min"] >= 1
    assert summary["output"] == "rows.jsonl"
    assert summary["failed"] == []


def test_the_output_of_an_earlier_run_is_not_read_as_a_source(cli: Cli, folder: Path) -> None:
    output = folder / "rows.jsonl"
    first = cli("chunk", folder, "--output", output)
    second = cli("chunk", folder, "--output", output)

    assert (first.exit_code, second.exit_code) == (0, 0)
    assert len(output.read_text().splitlines()) == 5


def test_subjects_choose_the_folders(cli: Cli, folder: Path) -> None:
    rows = rows_of(cli("chunk", folder, "--subjects", "math"))
    both = rows_of(cli("chunk", folder, "--subjects", "math, cs"))

    assert {row["docid"] for row in rows} == {"alice:ch01", "alice:ch02", "alice:ch03"}
    assert len({row["docid"] for row in both}) == 5


def test_bad_files_are_named_and_the_rest_is_split(cli: Cli, folder: Path) -> None:
    (folder / "broken.pdf").write_bytes(b"%PDF-1.7 and nothing more")
    (folder / "locked.pdf").write_bytes(pdf(["hidden"], encrypt="secret"))
    (folder / "settings.json").write_text('{"theme": "dark"}')
    (folder / "latin.txt").write_bytes("Voilà, un café très chaud à l'été.".encode("latin-1"))
    good = {"course/cs/loops.txt", "course/cs/sorting.md", "course/latin.txt", *(f"alice:ch0{n}" for n in (1, 2, 3))}

    result = cli("chunk", folder)

    assert result.exit_code == 1
    assert {row["docid"] for row in rows_of(result)} == good
    lines = result.stderr.splitlines()
    for name in ("broken.pdf", "locked.pdf"):
        assert [line for line in lines if line.startswith(f"Error: {folder / name}: ")]
    for name in ("latin.txt", "settings.json"):
        assert [line for line in lines if line.startswith(f"Warning: course/{name}: ")]
    assert len(lines) == 4


def test_with_json_every_line_on_stderr_is_an_object(cli: Cli, folder: Path) -> None:
    (folder / "settings.json").write_text('{"docid": 3}')
    (folder / "empty.md").write_text("")

    result = cli("chunk", folder, "--json")

    warning, error = (json.loads(line) for line in result.stderr.splitlines())
    assert warning == {"warning": "course/empty.md: holds no text"}
    assert error["error"]["type"] == "LoadError"
    assert "settings.json" in error["error"]["message"]
    assert len(rows_of(result)) == 5


def test_when_every_file_fails_nothing_was_done(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "settings.json").write_text('{"theme": "dark"}')
    (tmp_path / "blank.txt").write_text(" \n")

    assert cli("chunk", "settings.json").exit_code == 2
    assert cli("chunk", "blank.txt").exit_code == 0


def test_an_output_that_cannot_be_written_is_one_line(cli: Cli, folder: Path) -> None:
    (folder.parent / "taken").touch()
    result = cli("chunk", folder, "--output", "taken/rows.jsonl")

    assert result.exit_code == 2
    assert result.stderr == "Error: taken: File exists. Choose another path.\n"


def test_the_folder_of_an_output_is_made(cli: Cli, folder: Path) -> None:
    assert cli("chunk", folder, "--output", "new/folder/rows.jsonl").exit_code == 0
    assert (folder.parent / "new" / "folder" / "rows.jsonl").read_text()


def test_vectors_are_kept_for_later_runs_if_asked(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KINSPLIT_CACHE", str(tmp_path / "cache"))
    (tmp_path / "tale.txt").write_text("A cat sleeps. " * 9 + "Rockets burn oxygen. " * 9)
    options = ("--strategy", "semantic", "--set", "embedder=hash", "--set", "min_sentences=1", "--cache")
    first, second = (cli("chunk", tmp_path / "tale.txt", *options) for _ in range(2))
    assert (first.exit_code, first.stdout) == (0, second.stdout)
    assert (tmp_path / "cache" / "vectors" / FILE).is_file()


def test_rows_hold_what_is_known_of_document_and_chunk(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "a.md").write_text(
        "# Loops\n\nA while loop repeats. It may never end.\n\n# Classes\n\nA class.\n"
    )
    settings = [f"--set={name}={value}" for name, value in WITHOUT_MODEL["semantic"].items()]
    more = "--set=min_sentences=1", "--set=max_sentences=2", "--set=threshold_kind=similarity", "--set=threshold=0.99"
    rows = rows_of(cli("chunk", "notes", "--strategy", "semantic", *settings, *more))
    assert {row["metadata"]["title"] for row in rows} == {"Loops"}
    assert {row["metadata"]["section"] for row in rows} == {"Loops", "Classes"}
    assert any("similarity_gap" in row["metadata"] for row in rows)
    assert rows[0]["metadata"].keys() >= {"file_path", "file_type", "course"}


@pytest.mark.parametrize(
    ("settings", "chunks"),
    [
        ("--strategy character --set chunk_size=500 --set chunk_overlap=50", 323),
        ("--strategy character --set chunk_size=1000 --set chunk_overlap=0", 148),
        ("--strategy sentence --set chunk_overlap=0 --set max_sentences=1", 1610),
    ],
)
def test_sc_qrels_documents_are_split_as_their_normalised_rows(cli: Cli, settings: str, chunks: int) -> None:
    stored, rows = shared_path("alice/sc_qrels/documents"), shared_path("alice/docs.jsonl")
    own = rows_of(cli("chunk", stored, "--normalise", "sc-qrels", *settings.split()))
    theirs = rows_of(cli("chunk", rows, *settings.split()))
    assert len(own) == chunks
    assert [(row["docid"], row["spans"], row["text"]) for row in own] == [
        (row["docid"], row["spans"], row["text"]) for row in theirs
    ]


def test_an_unknown_normalisation_is_an_error(cli: Cli, folder: Path) -> None:
    result = cli("chunk", folder, "--normalise", "nfc2")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "normalise: must name a normalisation (got 'nfc2'). Known: sc-qrels." in " ".join(result.stderr.split())
