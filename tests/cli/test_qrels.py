from __future__ import annotations

import json
from pathlib import Path

import pytest

from kinsplit.evaluation.qrels import read_embeddings, read_qrels
from tests.cli.conftest import Cli
from tests.shared_data import shared_path

TEXT = "A loop repeats. A class is a plan of objects. Recursion calls itself. " * 3
SMALL = "small=sentence:chunk_size=9,chunk_overlap=0"
LARGE = "large=character:chunk_size=1000,chunk_overlap=0"


@pytest.fixture
def labelled(tmp_path: Path) -> Path:
    folder = tmp_path / "labelled"
    folder.mkdir()
    (folder / "docs.jsonl").write_text(json.dumps({"docid": "d", "text": TEXT}) + "\n")
    start = TEXT.index("A class")
    rows = [
        {"query_id": "q1", "query": "What is a class?", "docid": "d", "spans": [[start, start + 29]]},
        {"query_id": "q2", "query": "What does a loop do?", "docid": "d", "spans": [[0, 15]]},
    ]
    (folder / "queries.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder


def test_qrels_a_manifest_and_vectors_are_written(cli: Cli, labelled: Path) -> None:
    result = cli("qrels", labelled, "--strategy", SMALL, "--embedder", "hash:16", "--json")
    assert result.exit_code == 0, result.output
    (report,) = json.loads(result.stdout)["chunkings"]
    assert report["files"] == [
        f"qrels/{name}" for name in ("qrels_small.txt", "chunks_small.jsonl", "embeddings_small.npz")
    ]
    assert (report["judged_questions"], report["labelled_questions"]) == (2, 2)
    rows = [json.loads(line) for line in Path("qrels/chunks_small.jsonl").read_text().splitlines()]
    relevant = {asked: list(chunks) for asked, chunks in read_qrels(Path("qrels/qrels_small.txt")).items()}
    texts = {row["chunk_id"]: row["text"] for row in rows}
    assert [[texts[name] for name in relevant[asked]] for asked in ("q1", "q2")] == [
        ["A class is a plan of objects."],
        ["A loop repeats."],
    ]
    embeddings = read_embeddings(Path("qrels/embeddings_small.npz"))
    assert embeddings.ids == list(texts)
    assert embeddings.vectors.shape == (len(rows), 16)


def test_a_manifest_gives_the_qrels_of_the_chunks_that_it_was_written_of(cli: Cli, labelled: Path) -> None:
    assert cli("qrels", labelled, "--strategy", SMALL).exit_code == 0
    result = cli("qrels", labelled, "--manifest", "qrels/chunks_small.jsonl", "--output", "again")
    assert result.exit_code == 0, result.output
    for name in ("qrels_small.txt", "chunks_small.jsonl"):
        assert Path("again", name).read_bytes() == Path("qrels", name).read_bytes()


def test_the_rows_of_the_chunk_command_give_qrels(cli: Cli, labelled: Path) -> None:
    done = cli("chunk", labelled / "docs.jsonl", "--set", "chunk_size=9", "--output", "rows.jsonl")
    assert done.exit_code == 0, done.output
    result = cli("qrels", labelled, "--manifest", "rows.jsonl", "--json")
    assert json.loads(result.stdout)["chunkings"][0]["judged_questions"] == 2


def test_large_chunks_are_warned_about(cli: Cli, labelled: Path) -> None:
    result = cli("qrels", labelled, "--strategy", SMALL, "--strategy", LARGE)
    assert result.exit_code == 0
    assert "Of 2 labelled questions some have no relevant chunk" in result.stderr
    assert ": 2 with large. " in result.stderr
    assert Path("qrels/qrels_large.txt").read_text() == ""
    assert "2 of 2 questions" in result.stdout


def test_thresholds_are_shown_and_nothing_is_written(cli: Cli, labelled: Path) -> None:
    result = cli("qrels", labelled, "--strategy", SMALL, "--strategy", LARGE, "--tune")
    assert result.exit_code == 0, result.output
    assert "a relevant chunk in every chunking: --span-coverage 1 --chunk-coverage 0.05" in result.stdout
    report = json.loads(cli("qrels", labelled, "--strategy", LARGE, "--tune", "--json").stdout)
    assert report["best"] == {"span_coverage": 1.0, "chunk_coverage": 0.05}
    assert {
        "span_coverage": 0.85,
        "chunk_coverage": 0.5,
        "judged": {LARGE[:5]: 0},
        "relevant": {LARGE[:5]: 0},
    } in report["trials"]
    assert not Path("qrels").exists()


def test_no_thresholds_may_be_loose_enough(cli: Cli, labelled: Path) -> None:
    rows = [{"original_doc_id": "d", "chunk_id": "c", "start": 16, "end": 20}]
    Path("few.jsonl").write_text(json.dumps(rows[0]))
    result = cli("qrels", labelled, "--manifest", "few.jsonl", "--tune")
    assert "No thresholds give 95% of the questions a relevant chunk" in result.stdout


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--span-coverage", "0"], "span_coverage: must be greater than 0"),
        (["--coverage-level", "0.5"], "coverage_levels: must rise"),
        (["--strategy", SMALL, "--strategy", SMALL], "label: must be unique"),
        (["--strategy", "a/b=sentence", "--strategy", "a:b=sentence"], "strategy"),
        (["--strategy", "a/b=sentence", "--strategy", "a b=sentence"], "label: must differ from the others"),
        (["--strategy", "nonsense"], "strategy: must name a splitter"),
        (["--embedder", "nonsense"], "embedder: must be one of"),
        (["--tune", "--least", "2"], "least: must be above 0"),
    ],
)
def test_what_makes_no_sense_is_one_clear_line(cli: Cli, labelled: Path, options: list[str], message: str) -> None:
    result = cli("qrels", labelled, *options)
    assert result.exit_code == 2
    assert message in result.stderr
    assert result.stderr.count("\n") == 1


def test_questions_without_labels_are_refused(cli: Cli, labelled: Path) -> None:
    Path("plain.json").write_text(json.dumps(["What is a class?"]))
    result = cli("qrels", labelled / "docs.jsonl", "--queries", "plain.json")
    assert result.exit_code == 2
    assert "queries: must have labels" in result.stderr


def test_the_folder_of_sc_qrels_gives_the_qrels_that_it_holds(cli: Cli) -> None:
    folder = shared_path("alice/sc_qrels")
    names = "BGE512T_S128", "CHARBLOCK1000_NOV0", "CHARWIN500_OV50", "SENT"
    manifests = [f"--manifest={folder}/chunk_manifests/chunks_{name}.jsonl" for name in names]
    result = cli("qrels", folder, *manifests, "--normalise", "sc-qrels")
    assert result.exit_code == 0, result.output
    for name in names:
        assert Path(f"qrels/qrels_{name}.txt").read_bytes() == (folder / "qrels" / f"qrels_{name}.txt").read_bytes()
    refused = cli("qrels", folder, *manifests)
    assert refused.exit_code == 2
    assert "normalise the documents too: --normalise sc-qrels" in " ".join(refused.stderr.split())
