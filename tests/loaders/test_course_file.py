from __future__ import annotations

from pathlib import Path

import pytest

from kinsplit.index import Index
from kinsplit.loaders import discover, load

from .test_discovery import facts, ids, tree

OUTER = """
course = "6.0001"
subject = "cs"
title = "Introduction to Python"

[[files]]
match = "lec1*"
group_id = "lecture 1"

[[files]]
match = "lectures/lec1.md"
title = "What is Computation?"
"""


@pytest.fixture
def course(tmp_path: Path) -> Path:
    root = tree(tmp_path / "mit", "a/lectures/lec1.md", "a/lectures/lec1code.py", "a/lectures/lec2.md", "b/notes.md")
    (root / "a" / "course.toml").write_text(OUTER)
    return root


def test_a_course_file_holds_for_its_folder_and_all_below(course):
    found = facts(course)

    assert found["mit/a/lectures/lec1.md"] == {
        "file_path": "mit/a/lectures/lec1.md",
        "file_type": "markdown",
        "group_id": "lecture 1",
        "sibling_files": ["mit/a/lectures/lec1code.py"],
        "next_file": "mit/a/lectures/lec2.md",
        "course": "6.0001",
        "subject": "cs",
        "course_title": "Introduction to Python",
        "title": "What is Computation?",
    }
    assert found["mit/a/lectures/lec1code.py"]["sibling_files"] == ["mit/a/lectures/lec1.md"]
    assert found["mit/a/lectures/lec2.md"]["group_id"] == "lec2"
    assert "title" not in found["mit/a/lectures/lec2.md"]
    assert found["mit/b/notes.md"]["course"] == "b"


def test_an_inner_file_is_stronger_and_the_file_itself_is_no_material(course):
    (course / "a" / "lectures" / "course.toml").write_text('course = "6.100L"\n')

    found = facts(course)

    assert (found["mit/a/lectures/lec1.md"]["course"], found["mit/a/lectures/lec1.md"]["subject"]) == ("6.100L", "cs")
    assert not [name for name in ids(course) if name.endswith(".toml")]
    assert not discover(course).skipped


def test_it_also_holds_for_a_file_given_by_itself_and_for_subjects(course):
    (course / "course.toml").write_text('title = "All courses"\n')
    (course / "b" / "course.toml").write_text('course = "B"\n')

    assert facts(course / "b" / "notes.md")["b/notes.md"]["course"] == "B"
    found = facts(course, subjects=["b"])["mit/b/notes.md"]
    assert (found["course_title"], found["course"], found["subject"]) == ("All courses", "B", "b")


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("course = ", "is not a valid course file"),
        ("course = 6", "course: must be a valid string"),
        ("cuorse = 'x'", "cuorse: is not known here"),
        ("[[files]]\ntitle = 'x'", "files.0.match: is required"),
        ("files = 3", "files: must be a valid list"),
        ("[[files]]\nmatch = ''", "files.0.match: must have at least 1 character"),
        ("[[files]]\nmatch = '.'", 'files.0.match: must name files .*Write "\\*" for all'),
        ("x = " + "[" * 3000, "is not a valid course file"),
        ("\0", "is not a valid course file"),
        (" " * (2**20 + 1), "has more than 1,048,576 bytes"),
    ],
)
def test_a_broken_course_file_is_reported_and_the_rest_goes_on(course, content, reason):
    (course / "a" / "course.toml").write_text(content)

    results = {loaded.source.source_id: loaded for loaded in load(course)}

    with pytest.raises(Exception, match=reason):
        raise results.pop("mit/a/course.toml").error
    assert len(results) == 4
    assert not any(loaded.error for loaded in results.values())
    assert results["mit/a/lectures/lec1.md"].documents[0].metadata["course"] == "a"


def test_marks_line_ends_and_blanks_of_any_kind_are_read(course):
    text = "\ufeff[[files]]\r\nmatch = '*.md'\r\ntitle = '''\r\nTwo\r\n  lines'''\r\ngroup_id = \"a\\u0000b\"\r\n"
    (course / "course.toml").write_text(text, encoding="utf-8", newline="")

    found = facts(course)["mit/b/notes.md"]

    assert (found["title"], found["group_id"]) == ("Two lines", "a\ufffdb")


@pytest.mark.parametrize("encoding", ["utf-16", "cp1252"])
def test_a_course_file_in_another_encoding_is_one_error(course, encoding):
    (course / "course.toml").write_text("course = 'Größe'", encoding=encoding)

    (failed,) = [loaded for loaded in load(course) if loaded.error]

    assert "course.toml: is not a valid course file: 'utf-8' codec can't decode" in str(failed.error)


def test_a_broken_file_above_the_asked_subjects_is_reported_too(course):
    (course / "course.toml").write_text("course = ")

    failed = [source.source_id for source in discover(course, subjects=["a", "b"]).files if source.error]

    assert failed == ["mit/course.toml"]


def test_a_changed_course_file_updates_what_is_indexed_without_embedding(course):
    with Index("memory:", embedder="hash") as index:
        index.add(course)
        (course / "a" / "course.toml").write_text(OUTER.replace("6.0001", "6.100L"))
        report = index.add(course)
        found = index.search("x", where={"course": "6.100L"}, top_k=9)

    assert (report.updated, report.embedded) == (3, 0)
    assert len(found) > 0


REAL = (
    *(
        "algebra/lectures/one.md",
        "algebra/lectures/sorting/two.md",
        "algebra/exercises/3_1/ex1.md",
        "algebra/README.md",
    ),
    *("algebra/numpy/arrays/a.md", "botany/leaves.md", "botany/labs/week1/code/run.py", "chess/pages/a.md"),
    *("chess/code/b.py", "drawing/a.md", "6_0001/lecture_1.md", "6_0001/lecture_2.md", "6_0001/extra/more.md"),
)


def courses(*paths: Path, **options) -> dict[Path, str]:
    return {source.path: source.metadata["course"] for source in discover(list(paths), **options).files}


def test_a_folder_has_the_same_course_however_it_is_given(tmp_path):
    root = tree(tmp_path / "uni", *REAL)
    above = courses(root)

    assert {path.relative_to(root).parts[0] for path in above} == {*above.values()}
    assert all(path.relative_to(root).parts[0] == course for path, course in above.items())
    for given in [*root.rglob("*")]:
        assert courses(given) == {path: above[path] for path in above if path.is_relative_to(given)}
    assert (
        courses(*sorted(root.iterdir()))
        == courses(root, subjects=sorted(path.name for path in root.iterdir()))
        == above
    )


@pytest.mark.parametrize(
    ("names", "course"),
    [
        (("notes/a.md",), "notes"),
        (("docs/a.md", "Music/b.md", "Documents/c.md", "Pictures/d.md"), "docs"),
        (("Lectures/algebra/a.md", "Music/a.md", "Pictures/a.md"), "algebra"),
        (("2023/a.md", "2024/a.md"), "2023"),
        (("01 Sets/a.md", "02 Maps/a.md"), "home"),
        (("18.06/a.md", "18.01/a.md"), "18.06"),
    ],
)
def test_folders_that_others_have_too_are_no_course_around_them(tmp_path, names, course):
    root = tree(tmp_path / "home", *names)

    assert courses(root)[root / names[0]] == course


def test_a_course_file_holds_from_within(course):
    (course / "a" / "lectures" / "deep").mkdir()
    (course / "a" / "lectures" / "deep" / "x.md").write_text("X.")

    assert facts(course / "a" / "lectures" / "deep")["deep/x.md"]["course"] == "6.0001"
    assert facts(course / "a" / "lectures" / "lec1.md")["lectures/lec1.md"]["title"] == "What is Computation?"


def test_the_report_counts_the_files_of_each_course(course):
    with Index("memory:", embedder="hash") as index:
        assert index.add(course).courses == {"6.0001": 3, "b": 1}
