"""Tests of file ids, each for one file, and of pruning documents of missing files."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from kinsplit import Document, Index
from kinsplit.errors import LoadError
from kinsplit.indexing import run
from kinsplit.indexing.run import DuplicateWarning
from kinsplit.loaders import Discovery, Limits, Loaded, SourceFile, discover, load_files
from tests.index.helpers import RecordingEmbedder, open_index


def two_folders(tmp_path: Path) -> tuple[Path, Path]:
    for parent in ("a", "b"):
        (tmp_path / parent / "notes").mkdir(parents=True)
        (tmp_path / parent / "notes" / "x.md").write_text(f"The notes of {parent}.", encoding="utf-8")
    return tmp_path / "a" / "notes", tmp_path / "b" / "notes"


def write_rows(path: Path, **texts: str) -> Path:
    path.parent.mkdir(exist_ok=True)
    rows = [json.dumps({"docid": docid, "text": text}) for docid, text in texts.items()]
    path.write_text("\n".join(rows), encoding="utf-8")
    return path


def test_a_second_folder_of_the_same_name_is_refused_and_nothing_replaced(tmp_path: Path) -> None:
    first, second = two_folders(tmp_path)
    (second / "a.md").write_text("Only here.", encoding="utf-8")
    with open_index(tmp_path, RecordingEmbedder(), "sentence") as index:
        index.add(first)
        for again in (second, second / "x.md"):
            with pytest.raises(LoadError, match="would replace") as caught:
                index.add(again)
            assert str(first / "x.md") in str(caught.value)
            assert str(second / "x.md") in str(caught.value)
            assert "folder that holds both" in str(caught.value)
        assert list(index.store.sources()) == ["notes/x.md"]
        assert index.search("notes")[0].text == "The notes of a."
        with pytest.warns(DuplicateWarning, match="'a/notes/x.md' is also 'notes/x.md'"):
            assert index.add(tmp_path / "a").added > 0, "the folder above gives other ids"


def test_one_folder_by_several_ways_is_one_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first, _ = two_folders(tmp_path)
    (tmp_path / "link").mkdir()
    (tmp_path / "link" / "notes").symlink_to(first, target_is_directory=True)
    monkeypatch.chdir(first)
    with open_index(tmp_path, RecordingEmbedder(), "sentence") as index:
        index.add(first)
        for way in (".", "x.md", tmp_path / "link" / "notes"):
            again = index.add(way)
            assert again.unchanged > again.added + again.updated == 0


def test_a_project_that_moved_is_indexed_again_without_embedding(tmp_path: Path) -> None:
    first, _ = two_folders(tmp_path)
    embedder = RecordingEmbedder()
    with open_index(tmp_path, embedder, "sentence") as index:
        index.add(first)
        embedder.seen.clear()
        (tmp_path / "a").rename(tmp_path / "elsewhere")
        moved = index.add(tmp_path / "elsewhere" / "notes")
        assert (moved.embedded, moved.added, embedder.seen) == (0, 0, [])
        assert moved.updated > 0, "where it was read"
        assert index.add(tmp_path / "elsewhere" / "notes").updated == 0


def test_a_row_of_another_file_is_not_replaced_while_that_file_is_there(tmp_path: Path) -> None:
    first = write_rows(tmp_path / "a" / "a.jsonl", alice="Edition a.", bob="Kept.")
    second = write_rows(tmp_path / "b" / "b.jsonl", alice="Edition b.", carol="New.")
    with open_index(tmp_path, RecordingEmbedder(), "sentence") as index:
        index.add(first.parent)
        report = index.add(second.parent)
        (failed,) = report.failed
        assert (failed.source_id, report.documents) == ("b/b.jsonl", 0)
        assert f"'alice' would replace that of {first}" in str(failed.error)
        assert index.search("edition", where={"source_id": "alice"})[0].text == "Edition a."
        assert index.add(first.parent).unchanged == 2

        write_rows(first, bob="Kept.")
        assert index.add([first, second]).failed == (), "the row has moved"
        assert index.search("edition", where={"source_id": "alice"})[0].text == "Edition b."
        first.rename(first.with_name("c.jsonl"))
        assert index.add(first.parent).failed == (), "the file has moved"


def test_prune_deletes_what_is_gone_and_only_below_the_given_folder(tmp_path: Path, course: Path) -> None:
    with open_index(tmp_path, RecordingEmbedder()) as index:
        index.add([course, Document("elsewhere.txt", "Kept.")])
        (course / "lecture_02.md").unlink()
        kept = index.add(course)
        pruned = index.add(course, prune=True)

        assert kept.deleted == 0
        assert pruned.deleted == pruned.pruned > 0
        assert set(index.store.sources()) == {"course/lecture_01.md", "elsewhere.txt"}


@pytest.mark.parametrize("whole", [True, False])
def test_prune_deletes_the_rows_that_are_gone_from_their_file(tmp_path: Path, whole: bool) -> None:
    file = write_rows(tmp_path / "rows" / "a.jsonl", alice="One.", bob="Two.")
    with open_index(tmp_path, RecordingEmbedder(), "sentence") as index:
        index.add([file.parent, Document("dora", "Four.")])
        write_rows(file, alice="One.")
        assert index.add(file.parent).deleted == 0
        assert list(index.store.sources()) == ["alice", "bob", "dora"]
        assert index.add(file.parent if whole else file, prune=True).pruned == 1
        assert list(index.store.sources()) == ["alice", "dora"]


def test_prune_deletes_the_rows_of_a_file_that_is_gone_and_spares_those_of_a_broken_one(tmp_path: Path) -> None:
    folder = write_rows(tmp_path / "rows" / "a.jsonl", alice="One.").parent
    write_rows(folder / "b.jsonl", bob="Two.")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    write_rows(elsewhere / "rows" / "a.jsonl", carol="Three.")
    with open_index(tmp_path, RecordingEmbedder(), "sentence") as index:
        index.add(folder)
        index.add(elsewhere / "rows")
        (folder / "b.jsonl").write_text('{"docid": "bob", "text": 3}', encoding="utf-8")
        report = index.add(folder, prune=True)
        assert ([failed.source_id for failed in report.failed], report.pruned) == (["rows/b.jsonl"], 0)
        (folder / "b.jsonl").unlink()
        assert index.add(folder, prune=True).pruned == 1
        assert list(index.store.sources()) == ["alice", "carol"], "the other folder's are still there"


def test_prune_spares_what_another_folder_of_the_name_holds(tmp_path: Path) -> None:
    first, second = two_folders(tmp_path)
    (second / "x.md").rename(second / "y.md")
    with open_index(tmp_path, RecordingEmbedder(), "sentence") as index:
        index.add(first)
        index.add(second)
        assert index.add(first, prune=True).pruned == 0
        (second / "y.md").unlink()
        assert index.add(first, prune=True).pruned > 0
        assert list(index.store.sources()) == ["notes/x.md"]


def test_prune_spares_what_lies_below_a_folder_that_cannot_be_listed(
    tmp_path: Path, course: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (course / "week").mkdir()
    (course / "week" / "x.md").write_text("Still there.", encoding="utf-8")
    listed = Path.iterdir

    def refuse(self: Path) -> object:
        if self.name == "week":
            raise PermissionError(13, "Permission denied", str(self))
        return listed(self)

    with open_index(tmp_path, RecordingEmbedder(), "sentence") as index:
        index.add(course)
        # Only the folder itself can then show that the file still exists.
        monkeypatch.setattr("kinsplit.indexing.origins._exists", lambda _: False)
        monkeypatch.setattr(Path, "iterdir", refuse)
        report = index.add(course, prune=True)

    assert [failed.source_id for failed in report.failed] == ["course/week"]
    assert report.pruned == 0


def test_prune_knows_a_folder_behind_a_link_by_the_name_it_was_given(tmp_path: Path, course: Path) -> None:
    (tmp_path / "linked").symlink_to(course, target_is_directory=True)
    with open_index(tmp_path, RecordingEmbedder(), "sentence") as index:
        index.add(tmp_path / "linked")
        (course / "lecture_02.md").unlink()
        assert index.add(tmp_path / "linked", prune=True).pruned > 0
        assert list(index.store.sources()) == ["linked/lecture_01.md"]


def test_files_that_go_while_they_are_found_or_read_are_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = two_folders(tmp_path)
    rows, again = write_rows(first / "r.jsonl", row="first"), write_rows(second / "s.jsonl", row="second")
    with open_index(tmp_path, RecordingEmbedder(), "sentence") as index:
        index.add([first / "x.md", rows])

        def load_last(files: Iterable[SourceFile], limits: Limits) -> Iterator[Loaded]:
            for loaded in load_files(files, limits):
                loaded.path.unlink(missing_ok=True)
                yield loaded

        def find(*arguments: Any, **options: Any) -> Discovery:
            found = discover(*arguments, **options)
            (second / "x.md").unlink()
            return found

        monkeypatch.setattr(run, "load_files", load_last)
        monkeypatch.setattr(run, "discover", find)
        report = index.add([second / "x.md", again])

        assert not again.exists()
        assert [failure.source_id for failure in report.failed] == ["notes/s.jsonl", "notes/x.md"]
        assert "would replace" in str(report.failed[0].error)
        assert "can't be read: No such file" in str(report.failed[1].error)
        assert {passage.text for passage in index.search("first")} == {"first", "The notes of a."}


def test_files_with_names_that_are_not_utf8_are_indexed_once(tmp_path: Path) -> None:
    # Beside the store's folder, it would look like one course with it.
    folder = tmp_path / "texts" / "notes"
    folder.mkdir(parents=True)
    try:
        for name, text in ((b"caf\xe9.md", "About coffee."), (b"caf\xe8.md", "About tea.")):
            (folder / os.fsdecode(name)).write_text(text)
    except OSError:
        pytest.skip("this file system takes UTF-8 names only")
    with open_index(tmp_path, RecordingEmbedder(), "sentence") as index:
        assert index.add(folder).added == 2
        assert (index.add(folder).unchanged, list(index.store.sources(level=0))) == (
            2,
            ["notes/caf\\xe8.md", "notes/caf\\xe9.md"],
        )
        (folder / os.fsdecode(b"caf\xe9.md")).unlink()
        assert index.add(folder, prune=True).gone == ("notes/caf\\xe9.md",)


def test_rows_of_a_file_that_cannot_be_looked_at_are_not_pruned(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, _ = two_folders(tmp_path)
    write_rows(first / "r.jsonl", row="A row.")
    looked_at = Path.stat

    def refuse(self: Path, *, follow_symlinks: bool = True) -> os.stat_result:
        if self.name == "r.jsonl":
            raise PermissionError(13, "Permission denied", str(self))
        return looked_at(self, follow_symlinks=follow_symlinks)

    def refuse_reading(files: Iterable[SourceFile], limits: Limits) -> Iterator[Loaded]:
        return (Loaded(source, error=LoadError(source.path, "can't be read")) for source in files)

    with open_index(tmp_path, RecordingEmbedder(), "sentence") as index:
        index.add(first)
        monkeypatch.setattr(Path, "stat", refuse)
        monkeypatch.setattr(run, "load_files", refuse_reading)
        report = index.add(first, prune=True)

        assert sorted(failure.source_id for failure in report.failed) == ["notes/r.jsonl", "notes/x.md"]
        assert report.gone == ()
        assert sorted(index.store.sources(level=0)) == ["notes/x.md", "row"]


def test_a_file_that_is_there_under_another_id_is_said_once_with_the_remedy(tmp_path: Path) -> None:
    courses = tmp_path / "courses"
    for name in ("cs/a.md", "cs/week/b.md", "math/a.md"):
        (courses / name).parent.mkdir(parents=True, exist_ok=True)
        (courses / name).write_text(f"About {name}.", encoding="utf-8")
    with open_index(tmp_path, RecordingEmbedder(), "sentence") as index:
        assert index.add(courses).warnings == ()
        with pytest.warns(DuplicateWarning, match="2 of the added files are in the collection already") as caught:
            report = index.add(courses / "cs")
        assert report.warnings == (str(caught[0].message),)
        assert len(caught) == 1
        assert "'cs/a.md' is also 'courses/cs/a.md'" in report.warnings[0]
        assert report.added == 2
        # Files already known under these ids, or from other folders, cause no warning.
        assert index.add(courses / "cs").warnings == ()
        assert index.add(courses).warnings == ()
        (tmp_path / "other" / "math").mkdir(parents=True)
        (tmp_path / "other" / "math" / "a.md").write_text("Elsewhere.")
        assert index.add(tmp_path / "other").warnings == ()


@pytest.mark.parametrize("times", [1, 40])
def test_a_lecture_leads_to_its_code_and_to_the_next_one(tmp_path, times):
    root = tmp_path / "course"
    root.mkdir()
    (root / "lecture_1.md").write_text(
        "# Sorting\n\n" + "Bubble sort swaps neighbours until the list is sorted. " * times
    )
    (root / "lecture_1_code.py").write_text("def bubble(numbers):\n    return sorted(numbers)\n" * times)
    (root / "lecture_2.md").write_text("# Trees\n\nA tree has a root.")
    with Index("memory:", embedder="hash") as index:
        index.add(root)
        (passage,) = index.search("how does bubble sort swap neighbours?", top_k=1)

    assert (passage.chunks[0].total > 1) == (times > 1)
    assert (passage.source_id, passage.metadata["next_file"]) == ("course/lecture_1.md", "course/lecture_2.md")
    assert [chunk.source_id for chunk in passage.related] == ["course/lecture_1_code.py"]
