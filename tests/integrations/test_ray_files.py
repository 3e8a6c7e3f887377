"""Files of a run on Ray: the same as `discover` finds, in memory that doesn't grow with their number."""

from __future__ import annotations

import os
import shutil
import tracemalloc
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kinsplit import Index
from kinsplit.errors import KinsplitError, LoadError, WorkerError
from kinsplit.indexing.origins import find_duplicates, find_gone, new_files
from kinsplit.indexing.run import DuplicateWarning
from kinsplit.loaders import SourceFile, discover
from kinsplit.loaders.discovery import FileShard, collect, walk

pytest.importorskip("pyarrow", reason="pyarrow is not installed")
pytest.importorskip("ray", reason="ray is not installed")
from kinsplit.integrations.ray import file_systems, nodes, run
from kinsplit.integrations.ray.columns import pack, unpack
from kinsplit.integrations.ray.file_systems import TemporaryDict, find
from kinsplit.integrations.ray.stages import Load


@pytest.fixture
def courses(tmp_path: Path) -> Path:
    """Folders with groups, links, a file that nobody reads, and course files, one of which is broken."""
    folder = tmp_path / "courses"
    for name in ("z.md", "a.png", "cs/a.md", "cs/lecture_1.md", "cs/lecture_1_code.py", "math/week/b.txt", "math/é.md"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(f"About {name}.", encoding="utf-8")
    (folder / "cs" / "course.toml").write_text('[[files]]\nmatch = "a.md"\ntitle = "A"\n')
    (folder / "math" / "course.toml").write_text("broken")
    (folder / "math" / "linked.md").symlink_to(folder / "z.md")
    (folder / "math" / "gone.md").symlink_to(folder / "nowhere.md")
    return folder


@pytest.fixture
def bucket(courses: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Address of the same folders in an object store."""
    from pyarrow import fs

    (courses / "math" / "course.toml").unlink()
    shutil.copytree(courses, courses.parent / "bucket" / "courses", ignore_dangling_symlinks=True)
    system = fs.SubTreeFileSystem(str(courses.parent), fs.LocalFileSystem())
    monkeypatch.setattr(file_systems, "_open", lambda address: (system, address.removeprefix("s3://").rstrip("/")))
    return "s3://bucket/courses"


def comparable(files: Any) -> list[SourceFile]:
    """Return files whose errors are equal if they say the same."""
    return [replace(each, error=each.error and str(each.error)) for each in files]


@pytest.mark.parametrize(
    ("paths", "subjects"),
    [
        ([""], []),
        (["", "cs", "math"], []),
        (["cs", "math/week", ""], []),
        (["", "z.md", "math/gone.md"], []),
        (["math/gone.md", "cs/a.md", "cs/a.md", "math/é.md", "cs"], []),
        (["", ""], ["math", "cs", "math"]),
    ],
)
def test_the_files_of_a_run_are_those_that_discover_finds(courses: Path, paths: list[str], subjects: list[str]) -> None:
    places = [courses / path for path in paths]
    found, expected = find(places, subjects), discover(places, subjects=subjects)
    assert comparable(found.files) == comparable(expected.files)
    assert list(found.by_id) == [source.source_id for source in expected.files]
    assert (found.skipped, found.folders) == (expected.skipped, expected.folders)


def test_two_files_of_one_id_are_refused_as_discover_refuses_them(courses: Path, bucket: str) -> None:
    other = courses.parent / "other" / "cs"
    other.mkdir(parents=True)
    (other / "a.md").write_text("Another one.")
    errors = []
    for function in (find, discover):
        with pytest.raises(LoadError) as caught:
            function([courses / "cs", other])
        errors.append(str(caught.value))
    assert errors[0] == errors[1]
    with pytest.raises(LoadError, match=r"s3://bucket/courses/cs/a.md: would get the same id as .*/other/cs/a.md"):
        find([other, f"{bucket}/cs"])


def test_a_file_that_several_addresses_reach_belongs_to_the_first(courses: Path, bucket: str) -> None:
    expected = [each for each in discover(courses).files if each.error is None]
    found = find([bucket, f"{bucket}/cs", f"{bucket}/z.md"])
    assert list(found.by_id) == [source.source_id for source in expected]
    assert [source.source_id for source in found.files if source.given] == ["courses/z.md"]
    assert found.folders == ("courses", "cs")
    assert {source.address for source in found.files} == {f"s3://bucket/{source.source_id}" for source in expected}


def test_a_walk_lists_a_folder_only_when_it_gets_there(courses: Path) -> None:
    parts = walk(courses)
    taken = [next(parts), next(parts)]
    for name in ("cs/later.md", "too_late.md"):
        (courses / name).write_text("Later.")
    folders = [[source.source_id.rpartition("/") for source in part.files] for part in [*taken, *parts]]
    assert all(len({folder for folder, _, _ in each}) <= 1 for each in folders)
    names = {name for each in folders for _, _, name in each}
    assert "later.md" in names
    assert "too_late.md" not in names


def test_packs_hold_all_files_in_order_and_are_loaded(courses: Path) -> None:
    try:
        (courses / os.fsdecode(b"caf\xe9.md")).write_text("About coffee.")
    except OSError:
        pytest.skip("this file system takes UTF-8 names only")
    files = find(courses).files
    packs = [unpack(packed) for packed in pack(files, 4)]
    assert [len(each) for each in packs] == [3, 3, 2, 2]
    assert comparable(each for part in packs for each in part) == comparable(files)
    rows = [row for part in packs for table in Load().load(part) for row in table.to_pylist()]
    assert [row["id"] for row in rows] == [source.source_id for source in files]
    assert {row["id"] for row in rows if row["error"]} == {source.source_id for source in files if source.error}


def test_warnings_and_deletions_are_those_of_index_add(courses: Path) -> None:
    (courses / "math" / "course.toml").unlink()
    with Index("memory:", embedder="hash") as index:
        index.add(courses)
        (courses / "math" / "z.md").write_text("New.")
        (courses / "math" / "week" / "b.txt").unlink()
        warnings = []
        for function in (lambda: run._check(index, find(courses / "cs")), lambda: index.add(courses / "cs").warnings):
            with pytest.warns(DuplicateWarning, match="3 of the added files are in the collection already"):
                warnings.append(list(function()))
        assert warnings[0] == warnings[1]
        found = find(courses)
        assert run._check(index, found) == ()
        kept = {source.source_id for source in found.files}
        gone = find_gone(index.store, index.strategy.fingerprint, found.folders, found.by_id, kept)
        assert tuple(gone) == index.add(courses, prune=True).gone == ("courses/math/week/b.txt",)


class EmptyStore:
    """A store without documents."""

    def get(self, ids: Any) -> list[Any]:
        return []

    def sources(self, level: int) -> dict[str, int]:
        return {}


def test_the_memory_of_the_files_does_not_grow_with_their_number() -> None:
    store: Any = EmptyStore()

    def parts(number: int) -> Iterator[FileShard]:
        for folder in range(number // 100):
            names = [f"root/folder {folder}/document {at}.md" for at in range(100)]
            metadata = {"file_type": "markdown", "course": "root"}
            yield FileShard(
                SourceFile(Path("/data") / name, name, {"file_path": name, "sibling_files": [], **metadata})
                for name in names
            )

    def peak(number: int) -> int:
        files = TemporaryDict[SourceFile]()
        tracemalloc.start()
        collect(parts(number), files, TemporaryDict[str]())
        assert find_duplicates(store, "fingerprint", new_files(store, "fingerprint", files.values()), files) == {}
        assert find_gone(store, "fingerprint", ["root"], files, ()) == []
        packed = list(pack(files.values(), number // 200))
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert len(packed) == number // 200
        return most

    # In memory they take 700 bytes and more each; compressed, some 20. The lowest of three, since Python's table of
    # interned strings may grow in one of them.
    assert (min(peak(4_000) for _ in range(3)) - min(peak(1_000) for _ in range(3))) / 3_000 < 120


keys = st.text(st.characters(exclude_categories=()), max_size=3)


@given(st.lists(st.tuples(st.sampled_from(["set", "delete"]), keys, st.integers() | st.none())), keys)
def test_a_temporary_dict_is_a_dict_in_order(steps: list[tuple[str, str, int | None]], stranger: str) -> None:
    expected: dict[str, int | None] = {}
    made = TemporaryDict[int | None]()
    for step, key, value in steps:
        if step == "set":
            made[key] = expected[key] = value
        elif key in expected:
            del made[key], expected[key]
        else:
            with pytest.raises(KeyError):
                del made[key]
    assert list(made.items()) == sorted(expected.items(), key=lambda item: item[0])
    assert len(made) == len(expected)
    assert made.get(stranger, "none") == expected.get(stranger, "none")


def seen_at(other: Path, folder: Path) -> Any:
    """Return a function that sees another folder in place of one, as a node of a cluster would."""
    return lambda places: {place: nodes.look([place.replace(str(folder), str(other))])[0] for place in places}


def refusal_of(monkeypatch: pytest.MonkeyPatch, folder: Path, views: dict[str, Any]) -> KinsplitError | None:
    """Return the error of a run whose nodes see something or don't answer, if there is one."""

    def ask(places: list[str]) -> tuple[dict[str, Any], dict[str, str]]:
        answers = {name: view(places) for name, view in views.items() if not isinstance(view, str)}
        return answers, {name: view for name, view in views.items() if isinstance(view, str)}

    monkeypatch.setattr(nodes, "_ask", ask)
    try:
        nodes.check_nodes(find(folder))
    except KinsplitError as error:
        return error
    return None


def test_a_node_that_sees_other_files_is_named(courses: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    same, other, gone = (courses.parent / name for name in ("same", "other", "gone"))
    for copy in (same, other):
        shutil.copytree(courses, copy, symlinks=True)
    (other / "math" / "week" / "b.txt").write_text("About math/week/c.txt.")  # of the same length
    views = {"near": seen_at(same, courses), "far": seen_at(other, courses)}

    assert refusal_of(monkeypatch, courses, {"near": views["near"]}) is None
    error = refusal_of(monkeypatch, courses, views)
    assert isinstance(error, LoadError)
    assert error.path == str(courses / "math" / "week" / "b.txt")
    assert "on 1 of the 2 nodes of the Ray cluster: far: another file or version. Mount the same" in error.reason

    error = refusal_of(monkeypatch, courses, views | {f"n{n}": seen_at(gone, courses) for n in range(6)})
    assert str(error).startswith(f"{courses}: is missing or different on 7 of the 8 nodes of the Ray cluster: ")
    assert f"far: {courses}/math/week/b.txt: another file or version; n0: no such file or directory; " in str(error)
    assert "n3: no such file or directory; and 2 more. Mount the same folder" in str(error)

    error = refusal_of(monkeypatch, courses, views | {"hung": "no answer within 120 s"})
    assert isinstance(error, WorkerError)
    assert "on 1 of the 3 nodes of the Ray cluster: hung: no answer within 120 s. Install kinsplit" in str(error)


def test_a_file_that_changes_during_the_check_stops_nobody(courses: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def late(places: list[str]) -> dict[str, Any]:
        (courses / "z.md").write_text("About something else.")
        return dict(zip(places, nodes.look(places), strict=True))

    assert refusal_of(monkeypatch, courses, {"far": late}) is None


def test_the_nodes_are_asked_for_a_bounded_number_of_files(bucket: str, tmp_path: Path) -> None:
    many = tmp_path / "many"
    many.mkdir()
    for number in range(300):
        (many / f"{number}.md").write_text("A text.")
    places = nodes._sample(find([str(many / "*.md"), bucket]))
    assert 16 <= len(places) <= 116
    assert {sight.error for sight in nodes.look(places)} == {""}
    assert any(place.startswith(bucket) for place in places)
    assert nodes.look([f"{bucket}/gone.md"])[0].error.startswith("doesn't exist")
