"""The content of a collection, its integrity, and its copies."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from kinsplit.stores import open_store
from tests.cli.conftest import Cli
from tests.sparse import copy_sparse

HASH = ("--embedder", "hash")


@pytest.fixture
def indexed(cli: Cli, course_index: Path, tmp_path: Path) -> Cli:
    shutil.copytree(course_index, tmp_path, dirs_exist_ok=True, copy_function=copy_sparse)
    return cli


def test_info_tells_documents_and_their_chunks(indexed: Cli) -> None:
    described = json.loads(indexed("info", "--json").stdout)

    assert described["sources"]["course/cs/loops.txt"] == 3
    assert described["chunks"] == sum(described["sources"].values())
    assert described["documents"] == len(described["sources"]) <= described["parents"]
    assert described["schema"]["strategy"]["name"] == "structure"
    lines = indexed("info").stdout.splitlines()
    assert any(line.split() == ["course/cs/loops.txt", "3"] for line in lines)
    assert described["schema"]["embedding_context"] == "headings"
    assert any(line.split() == ["Embedding", "context", "headings"] for line in lines)


def test_verify_finds_a_chunk_that_is_gone(indexed: Cli) -> None:
    whole = indexed("verify")
    assert (whole.exit_code, "no problems" in whole.stdout) == (0, True)

    with open_store("edge:./kinsplit-data", "default") as store:
        (first, *_) = store.find({"source_id": "course/cs/loops.txt"})
        store.remove([first.id])
    broken = indexed("verify", "--json")

    assert broken.exit_code == 1
    problems = json.loads(broken.stdout)["problems"]
    assert {problem["source_id"] for problem in problems} == {"course/cs/loops.txt"}
    assert "course/cs/loops.txt: level 0" in indexed("verify").stdout


def test_verify_reads_a_models_files_instead(cli: Cli, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("KINSPLIT_CACHE", str(tmp_path / "models"))
    whole = cli("verify", "--model", "bundled")
    assert (whole.exit_code, whole.stdout.splitlines()[-1]) == (0, "bundled: all files intact.")

    monkeypatch.setattr("kinsplit.embedding.bundled.SHA256", "0" * 64)
    broken = cli("verify", "--model", "bundled", "--json")
    assert broken.exit_code == 1
    weights, tokenizer = json.loads(broken.stdout)["files"]
    assert weights["path"].endswith("model.safetensors")
    assert "expected 000" in weights["problem"]
    assert tokenizer["problem"] is None
    assert cli("verify", "--model", "hash").exit_code == 2


def test_delete_removes_a_document_with_its_parents(indexed: Cli) -> None:
    result = indexed("delete", "course/cs/loops.txt", "nowhere.txt")

    assert result.exit_code == 1
    assert "course/cs/loops.txt  Deleted 3 chunks" in result.stdout.splitlines()
    assert "nowhere.txt: no such document." in result.stderr
    assert "course/cs/loops.txt" not in json.loads(indexed("info", "--json").stdout)["sources"]
    assert indexed("verify").exit_code == 0
    assert indexed("delete", "nowhere.txt").exit_code == 2


def test_copy_moves_a_collection_without_a_model(indexed: Cli) -> None:
    result = indexed("copy", "edge:./kinsplit-data", "edge:./other", "--as", "twin")

    chunks = json.loads(indexed("info", "--json").stdout)["chunks"]
    assert result.stdout.splitlines() == [f"Copied 5 documents in {chunks} chunks."]
    assert json.loads(indexed("verify", "--json").stdout)["chunks"] == chunks
    ours, theirs = (
        json.loads(indexed("search", "merge sort", *HASH, *place, "--json").stdout)
        for place in ((), ("--store", "edge:./other", "--collection", "twin"))
    )
    assert ours == theirs
    again = json.loads(indexed("copy", "edge:./kinsplit-data", "edge:./other", "--as", "twin", "--json").stdout)
    assert again == {"documents": 5, "chunks": chunks, "skipped": 5}
    assert indexed("copy", "edge:./nowhere", "edge:./other").exit_code == 2


def test_a_backup_is_restored_under_any_name(indexed: Cli) -> None:
    pytest.importorskip("pyarrow")
    made = json.loads(indexed("backup", "default", "notes.parquet", "--json").stdout)
    assert (made["documents"], made["bytes"]) == (5, Path("notes.parquet").stat().st_size)
    taken = indexed("restore", "notes.parquet")
    assert (taken.exit_code, "--replace" in taken.stderr) == (2, True)
    assert indexed("restore", "notes.parquet", "--as", "twin").stdout == (
        f"Restored twin: 5 documents in {made['chunks']} chunks.\n"
    )
    assert indexed("verify", "--collection", "twin").exit_code == 0
    assert indexed("delete", "course/cs/loops.txt").exit_code == 0
    assert indexed("restore", "notes.parquet", "--replace").exit_code == 0
    names = [(each["name"], each["documents"]) for each in json.loads(indexed("collections", "--json").stdout)]
    assert names == [("default", 5), ("twin", 5)]
    assert indexed("backup", "nothing", "notes.parquet").exit_code == 2
    assert indexed("restore", "missing.parquet").exit_code == 2


def test_a_collection_is_not_copied_onto_itself(indexed: Cli) -> None:
    result = indexed("copy", "edge:./kinsplit-data", "edge:./kinsplit-data")

    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith("Error: TO: must differ from FROM (got 'edge:./kinsplit-data')")
    assert indexed("copy", "edge:./kinsplit-data", "edge:./kinsplit-data", "--as", "twin").exit_code == 0


def test_collections_are_listed_renamed_switched_and_dropped(indexed: Cli) -> None:
    assert indexed("copy", "edge:./kinsplit-data", "edge:./kinsplit-data", "--as", "twin").exit_code == 0
    assert indexed("delete", "course/cs/loops.txt", "--collection", "twin").exit_code == 0
    first, second = json.loads(indexed("collections", "--json").stdout)

    assert [first["name"], second["name"]] == ["default", "twin"]
    assert (first["documents"], second["documents"]) == (5, 4)
    assert first["schema"]["strategy"]["name"] == "structure"
    assert first["chunks"] - second["chunks"] == 3
    assert first["bytes"] > 1000
    lines = indexed("collections", "--store", "edge:./kinsplit-data").stdout.splitlines()
    assert lines[1].split()[:2] == ["default", "structure"]

    assert indexed("rename", "twin", "next").stdout == "Renamed twin to next.\n"
    assert indexed("switch", "default", "next").exit_code == 0
    assert json.loads(indexed("info", "--json").stdout)["documents"] == 4
    asked = indexed("drop", "next")
    assert asked.exit_code == 2
    assert "It deletes the collection next with 5 documents." in asked.stderr
    assert indexed("drop", "next", "--yes").stdout == "Dropped next with 5 documents.\n"
    assert [each["name"] for each in json.loads(indexed("collections", "--json").stdout)] == ["default"]
    assert indexed("drop", "next", "--yes").exit_code == 2
    assert indexed("collections", "--store", "memory:nothing").stdout == "There are no collections.\n"


def test_stores_lists_every_engine(cli: Cli) -> None:
    engines = json.loads(cli("stores", "--json").stdout)

    assert [engine["engine"] for engine in engines] == ["edge", "qdrant", "pgvector", "memory"]
    assert "edge:PATH" in cli("stores").stdout


def test_explain_shows_a_score_of_every_stage_for_every_hit(indexed: Cli) -> None:
    lines = indexed("search", "merge sort", *HASH, "--explain").stdout.splitlines()

    heading = next(line for line in lines if line.startswith("Result"))
    stages = ["dense", "bm25", "siblings", "parent", "document", "best", "chunk", "kin"]
    assert heading.split() == ["Result", "File", "Chunk", *stages]
    rows = lines[lines.index(heading) + 1 :]
    found = json.loads(indexed("search", "merge sort", *HASH, "--json").stdout)["passages"]
    assert len(rows) == sum(len(passage["hits"]) for passage in found)


def test_parents_are_shown_whole(indexed: Cli) -> None:
    found = json.loads(indexed("search", "while loop", *HASH, "--parents", "--top-k", "1", "--json").stdout)

    (passage,) = found["passages"]
    assert passage["text"] == "A loop repeats. A while loop asks first. A for loop counts."
    lines = indexed("search", "while loop", *HASH, "--parents", "--top-k", "1").stdout.splitlines()
    assert any(line.endswith("(parent 1/1)") for line in lines)


def test_a_reranker_that_needs_more_is_one_line(indexed: Cli) -> None:
    result = indexed("search", "loop", *HASH, "--rerank", "late")

    assert result.exit_code == 2
    assert "rerank: needs an embedder with vectors for tokens" in result.stderr


def test_delete_takes_a_filter(indexed: Cli) -> None:
    result = indexed("delete", "--where", "group_id=loops")
    assert result.exit_code == 0
    assert result.stdout == "course/cs/loops.txt  Deleted 3 chunks\n"
    assert "course/cs/loops.txt" not in json.loads(indexed("info", "--json").stdout)["sources"]
    assert indexed("verify").exit_code == 0
    again = indexed("delete", "--where", "group_id=loops")
    assert (again.exit_code, again.stdout) == (0, "Nothing found.\n")
    for wrong in (("delete",), ("search", "loop", *HASH)):
        near = indexed(*wrong, "--where", "file_type=Markdown")
        assert (near.exit_code, near.stdout) == (0, "Nothing found.\n")
        message = "Warning: where: no chunk has file_type = 'Markdown'. Did you mean 'markdown'?"
        assert " ".join(near.stderr.split()) == message
    for wrong in (("delete",), ("search", "loop", *HASH)):
        misspelt = indexed(*wrong, "--where", "file_tipe=text")
        assert misspelt.exit_code == 2
        assert (
            "where: must name fields that chunks have (got 'file_tipe'). Did you mean 'file_type'?" in misspelt.stderr
        )
    assert indexed("delete").exit_code == 2
