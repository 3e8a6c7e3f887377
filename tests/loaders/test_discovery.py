from __future__ import annotations

import os
import tracemalloc
from pathlib import Path

import pytest

from kinsplit.errors import InvalidParameterError, LoadError
from kinsplit.loaders import discover, load
from kinsplit.loaders.discovery import walk


def tree(root: Path, *names: str) -> Path:
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x")
    return root


def ids(*paths: Path | str, **options: list[str]) -> list[str]:
    return [source.source_id for source in discover(paths, **options).files]


def facts(path: Path, **options: list[str]) -> dict[str, dict]:
    return {source.source_id: dict(source.metadata) for source in discover(path, **options).files}


def test_ids_begin_with_the_given_folder_and_are_sorted(tmp_path):
    courses = tree(tmp_path / "courses", "z.md", "cs/a.md", "cs/6_0001/lecture_10.txt", "cs/6_0001/lecture_2.txt")

    assert ids(courses) == [
        "courses/cs/6_0001/lecture_10.txt",
        "courses/cs/6_0001/lecture_2.txt",
        "courses/cs/a.md",
        "courses/z.md",
    ]


def test_ids_do_not_depend_on_the_working_directory_or_the_spelling(tmp_path, monkeypatch):
    courses = tree(tmp_path / "courses", "cs/a.md")
    monkeypatch.chdir(courses)

    assert ids(".") == ids(courses) == ids(str(courses) + "/") == ids(courses / "cs" / "..") == ["courses/cs/a.md"]
    assert ids("cs/a.md") == ids(courses / "cs" / "a.md") == ["cs/a.md"]


def test_a_single_path_needs_no_list(tmp_path):
    folder = tree(tmp_path / "notes", "a.md")

    assert [source.source_id for source in discover(str(folder)).files] == ["notes/a.md"]


def test_facts_of_a_file_in_a_group(tmp_path):
    folder = tree(
        tmp_path / "courses", "cs/6_0001/lecture_10.pdf", "cs/6_0001/lecture_10_code.py", "cs/6_0001/lecture_1.pdf"
    )

    found = facts(folder)

    assert found["courses/cs/6_0001/lecture_10_code.py"] == {
        "file_path": "courses/cs/6_0001/lecture_10_code.py",
        "file_type": "code",
        "group_id": "lecture_10",
        "sibling_files": ["courses/cs/6_0001/lecture_10.pdf"],
        "subject": "cs",
        "course": "6_0001",
    }
    assert found["courses/cs/6_0001/lecture_1.pdf"]["group_id"] == "lecture_1"
    assert found["courses/cs/6_0001/lecture_1.pdf"]["sibling_files"] == []


def test_a_group_is_the_shortest_prefix_and_stays_in_its_folder(tmp_path):
    folder = tree(
        tmp_path / "c", "a/w-1.md", "a/w-1-notes.md", "a/w-1-notes-more.py", "a/w-10.md", "b/w-1.txt", "a/w-1.png"
    )

    found = facts(folder)

    assert {found[f"c/a/{name}"]["group_id"] for name in ("w-1.md", "w-1-notes.md", "w-1-notes-more.py")} == {"w-1"}
    assert found["c/a/w-1.md"]["sibling_files"] == ["c/a/w-1-notes-more.py", "c/a/w-1-notes.md"]
    assert found["c/a/w-10.md"]["sibling_files"] == found["c/b/w-1.txt"]["sibling_files"] == []


def test_files_of_one_lecture_are_siblings_and_never_those_of_another(tmp_path):
    names = ("lecture_01.md", "lecture_01_code.py", "exercise_1.md", "solution 1.md", "lec2.pdf", "exercise_2.md")
    found = facts(tree(tmp_path / "c", *names, "ps1.md", "lecture_11.md", "exercise_3.md"))

    groups = {name: facts["group_id"] for name, facts in found.items()}
    assert groups == {
        **{f"c/{name}": "lecture_01" for name in names[:4]},
        **{f"c/{name}": "lec2" for name in names[4:]},
        "c/ps1.md": "ps1",
        "c/lecture_11.md": "lecture_11",
        "c/exercise_3.md": "exercise_3",
    }
    for name, own in found.items():
        assert own["sibling_files"] == sorted(
            other for other in groups if other != name and groups[other] == groups[name]
        )


def test_lectures_and_exercises_in_folders_of_their_own_are_siblings_by_number(tmp_path):
    names = (
        "lectures/01 Sets.pdf",
        "lectures/02 Maps.pdf",
        "exercises/ex1.md",
        "exercises/ex2.md",
        "lectures/intro.md",
    )
    root = tree(tmp_path / "c", *names, "solutions/ex1.md", "psets/ps1.md", "data/1.csv", "exercises/hints.md")

    found = {name: own["sibling_files"] for name, own in facts(root).items()}

    assert {name: others for name, others in found.items() if others} == {
        "c/lectures/01 Sets.pdf": ["c/exercises/ex1.md", "c/solutions/ex1.md"],
        "c/lectures/02 Maps.pdf": ["c/exercises/ex2.md"],
        "c/exercises/ex1.md": ["c/lectures/01 Sets.pdf", "c/solutions/ex1.md"],
        "c/exercises/ex2.md": ["c/lectures/02 Maps.pdf"],
        "c/solutions/ex1.md": ["c/exercises/ex1.md", "c/lectures/01 Sets.pdf"],
    }
    assert facts(root / "lectures")["lectures/01 Sets.pdf"]["sibling_files"] == []


def test_the_next_and_the_previous_file_of_a_series_are_named(tmp_path):
    names = ("lec2.md", "lec9.md", "lec10.md", "lec12.md", "lec2code.py", "lec9code.py", "note 08.md", "note 09.md")
    found = facts(tree(tmp_path / "c", *names, "note 10.md", "a.md", "x" + "1" * 40 + ".md"))

    assert {name: (own.get("previous_file"), own.get("next_file")) for name, own in found.items()} == {
        "c/lec2.md": (None, None),
        "c/lec9.md": (None, "c/lec10.md"),
        "c/lec10.md": ("c/lec9.md", "c/lec12.md"),
        "c/lec12.md": ("c/lec10.md", None),
        "c/lec2code.py": (None, None),
        "c/lec9code.py": (None, None),
        "c/note 08.md": (None, "c/note 09.md"),
        "c/note 09.md": ("c/note 08.md", "c/note 10.md"),
        "c/note 10.md": ("c/note 09.md", None),
        "c/a.md": (None, None),
        "c/x" + "1" * 40 + ".md": (None, None),
    }


def test_a_series_goes_on_in_another_format_and_keeps_its_own_if_it_can(tmp_path):
    names = ("lec1.md", "lec2.ipynb", "lec2.pdf", "lec3.pdf", "lec3.vtt", "lec2_code.py", "lec3_code.py")
    found = facts(tree(tmp_path / "c", *names))

    assert {name.removeprefix("c/"): own.get("next_file", "").removeprefix("c/") for name, own in found.items()} == {
        "lec1.md": "lec2.ipynb",
        "lec2.ipynb": "lec3.pdf",
        "lec2.pdf": "lec3.pdf",
        "lec3.pdf": "",
        "lec3.vtt": "",
        "lec2_code.py": "lec3_code.py",
        "lec3_code.py": "",
    }
    assert found["c/lec3.pdf"]["previous_file"] == "c/lec2.pdf"


def test_siblings_of_a_file_given_by_itself_come_from_its_folder(tmp_path):
    folder = tree(tmp_path / "cs", "lecture_10.pdf", "lecture_10_code.py", "other.md")

    assert facts(folder / "lecture_10.pdf") == {
        "cs/lecture_10.pdf": {
            "file_path": "cs/lecture_10.pdf",
            "file_type": "pdf",
            "group_id": "lecture_10",
            "sibling_files": ["cs/lecture_10_code.py"],
            "course": "cs",
        }
    }


def test_course_and_subject_by_depth(tmp_path):
    found = facts(tree(tmp_path / "root", "a.md", "one/a.md", "one/two/a.md", "one/two/three/a.md"))

    places = {key: (value.get("subject"), value.get("course")) for key, value in found.items()}
    assert places == {
        "root/a.md": (None, "root"),
        "root/one/a.md": (None, "one"),
        "root/one/two/a.md": ("one", "two"),
        "root/one/two/three/a.md": ("two", "three"),
    }


def test_subjects_limit_the_walk(tmp_path):
    root = tree(tmp_path / "data", "cs/a.md", "cs/6_0001/b.md", "math/c.md", "d.md")

    found = facts(root, subjects=["cs"])

    assert {key: (value["subject"], value.get("course")) for key, value in found.items()} == {
        "data/cs/a.md": ("cs", "cs"),
        "data/cs/6_0001/b.md": ("cs", "6_0001"),
    }
    assert ids(root, subjects=["math", "cs", "math"]) == ["data/cs/6_0001/b.md", "data/cs/a.md", "data/math/c.md"]


@pytest.mark.parametrize("subject", ["physics", "..", "cs/6_0001", "d.md", ""])
def test_a_missing_subject_is_named_with_those_there(tmp_path, subject):
    root = tree(tmp_path / "data", "cs/6_0001/b.md", "math/c.md", "d.md")

    with pytest.raises(LoadError) as caught:
        discover(root, subjects=[subject])

    assert repr(subject) in str(caught.value)
    assert "cs, math" in str(caught.value)


def test_subjects_of_a_file_are_refused(tmp_path):
    with pytest.raises(LoadError, match="is a file, and subjects are folders"):
        discover(tree(tmp_path, "a.md") / "a.md", subjects=["cs"])


def test_hidden_and_generated_folders_are_passed_over(tmp_path):
    root = tree(
        tmp_path / "r",
        "a.md",
        ".hidden.md",
        ".git/x.md",
        "__pycache__/x.py",
        "node_modules/x.js",
        ".venv/x.py",
        "b/.c/x.md",
    )

    found = discover(root)

    assert [source.source_id for source in found.files] == ["r/a.md"]
    assert found.skipped == ()


def test_unknown_suffixes_in_a_folder_are_skipped_and_listed(tmp_path):
    root = tree(tmp_path / "r", "a.MD", "b.png", "sub/c.zip", "LICENSE")

    found = discover(root)

    assert [source.source_id for source in found.files] == ["r/a.MD"]
    assert found.skipped == (root / "LICENSE", root / "b.png", root / "sub" / "c.zip")


def test_an_unknown_suffix_given_by_itself_is_an_error_with_the_known_ones(tmp_path):
    with pytest.raises(LoadError, match=r"b\.png: has an unknown suffix.*\.ipynb.*\.pdf"):
        discover(tree(tmp_path, "b.png") / "b.png")


def test_a_hidden_file_given_by_itself_is_taken(tmp_path):
    assert ids(tree(tmp_path / "r", ".notes.md") / ".notes.md") == ["r/.notes.md"]


def test_a_missing_path_is_an_error(tmp_path):
    with pytest.raises(LoadError, match="nowhere: doesn't exist"):
        discover([tmp_path / "nowhere"])


@pytest.mark.parametrize("names", [[], ["b.png"], [".hidden.md"]])
def test_a_folder_without_loadable_files_is_an_error(tmp_path, names):
    root = tmp_path / "empty"
    root.mkdir()
    tree(root, *names)

    with pytest.raises(LoadError, match="empty: holds no file that can be loaded"):
        discover(root)


@pytest.mark.parametrize("paths", [[], "", (), [".", ""]])
def test_no_path_is_an_error(paths):
    with pytest.raises(InvalidParameterError, match="paths"):
        discover(paths)


def test_a_path_that_cannot_be_reached_is_an_error(tmp_path):
    with pytest.raises(LoadError, match="can't be reached"):
        discover(tmp_path / ("x" * 5000))


def test_a_folder_that_cannot_be_listed_is_an_error(tmp_path, monkeypatch):
    def refuse(self):
        raise PermissionError(13, "Permission denied", str(self))

    tree(tmp_path / "r", "a.md")
    monkeypatch.setattr(Path, "iterdir", refuse)

    for subjects in ([], ["cs"]):
        with pytest.raises(LoadError, match="r: can't be listed: Permission denied"):
            discover(tmp_path / "r", subjects=subjects)


def test_two_files_of_one_id_name_both_and_the_remedy(tmp_path):
    first, second = tree(tmp_path / "a" / "cs", "x.md"), tree(tmp_path / "b" / "cs", "x.md")

    with pytest.raises(LoadError) as caught:
        discover([first, second])

    assert str(first / "x.md") in str(caught.value)
    assert str(second / "x.md") in str(caught.value)
    assert "folder that holds both" in str(caught.value)
    assert ids(tmp_path / "a", tmp_path / "b") == ["a/cs/x.md", "b/cs/x.md"]


def test_a_file_given_twice_is_taken_once(tmp_path):
    root = tree(tmp_path / "courses", "cs/x.md", "cs/y.md")

    assert ids(root, root / "cs" / "x.md", root) == ["courses/cs/x.md", "courses/cs/y.md"]
    assert ids(root / "cs" / "x.md", root / "cs" / "x.md") == ["cs/x.md"]


def test_links_to_folders_end_and_are_listed_and_links_to_files_are_taken(tmp_path):
    root = tree(tmp_path / "r", "a.md", "sub/b.md")
    (root / "sub" / "up").symlink_to(root, target_is_directory=True)
    (root / "self").symlink_to(root / "self")
    (root / "c.md").symlink_to(root / "a.md")
    (root / "gone.md").symlink_to(root / "nowhere.md")

    found = discover(root)

    assert [source.source_id for source in found.files] == ["r/a.md", "r/c.md", "r/gone.md", "r/sub/b.md"]
    assert found.skipped == (root / "self", root / "sub" / "up")


@pytest.mark.parametrize("name", ["gone.md", "gone", "gone.png"])
@pytest.mark.parametrize("target", ["nowhere.md", "itself"])
def test_a_link_that_leads_nowhere_is_one_error_and_the_rest_go_on(tmp_path, name, target):
    root = tree(tmp_path / "r", "a.md", "z.md")
    (root / name).symlink_to(root / (name if target == "itself" else target))

    results = list(load([root / "a.md", root / name, root / "z.md"]))

    assert [loaded.source.source_id for loaded in results] == ["r/a.md", f"r/{name}", "r/z.md"]
    assert [loaded.error is None for loaded in results] == [True, False, True]
    assert str(results[1].error).startswith(f"{root / name}: is a link to '")
    assert results[1].source.resolved.parent == root
    in_folder = {loaded.path.name: loaded.error for loaded in load(root)}
    assert (str(in_folder.get(name)) == str(results[1].error)) == (name == "gone.md")
    with pytest.raises(LoadError, match="doesn't exist"):
        load([root / "a.md", root / "misspelt.md"])


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no FIFOs here")
def test_a_fifo_is_never_opened(tmp_path):
    root = tree(tmp_path / "r", "a.md")
    os.mkfifo(root / "pipe.txt")

    assert discover(root).skipped == (root / "pipe.txt",)
    with pytest.raises(LoadError, match="neither a file nor a folder"):
        discover(root / "pipe.txt")


def test_file_names_that_are_not_utf8_give_valid_ids_of_their_own(tmp_path):
    root = tmp_path / "r"
    root.mkdir()
    try:
        for name in (b"caf\xe9.md", b"caf\xe8.md"):
            (root / os.fsdecode(name)).write_text("x")
    except OSError:
        pytest.skip("this file system takes UTF-8 names only")

    first, second = discover(root).files

    assert [first.source_id, second.source_id] == ["r/caf\\xe8.md", "r/caf\\xe9.md"]
    assert second.metadata["group_id"] == "caf\\xe9"


def test_a_file_that_cannot_be_looked_at_is_reported_alone(tmp_path, monkeypatch):
    root = tree(tmp_path / "r", "a.md", "link.md", "link.png")
    looked_at = Path.stat

    def refuse(self, *, follow_symlinks=True):
        if self.stem == "link":
            raise PermissionError(13, "Permission denied", str(self))
        return looked_at(self, follow_symlinks=follow_symlinks)

    monkeypatch.setattr(Path, "stat", refuse)

    found = discover(root)

    assert [source.source_id for source in found.files] == ["r/a.md", "r/link.md"]
    assert found.skipped == (root / "link.png",)
    with pytest.raises(LoadError, match="has no folder for the subject 'link'"):
        discover(root, subjects=["link"])


def test_a_walk_holds_only_the_names_of_one_folder(tmp_path):
    def peak(number):
        folder = tree(tmp_path / str(number), *(f"document {at}.md" for at in range(number)))
        return min(measured(folder, number) for _ in range(3))  # Python's table of interned strings may grow once.

    def measured(folder, number):
        tracemalloc.start()
        assert sum(1 for part in walk(folder) for _ in part.files) == number
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return most

    # With their paths and facts, the files take 1,200 bytes each.
    assert (peak(4_000) - peak(400)) / 3_600 < 400
