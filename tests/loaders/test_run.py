from __future__ import annotations

import pickle
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from kinsplit.errors import LoadError
from kinsplit.loaders import FORMATS, load, load_file, load_files, run, suffixes
from kinsplit.loaders.discovery import discover
from kinsplit.loaders.registry import format_of
from kinsplit.loaders.run import read_file

from .helpers import by_id, document_of, load_one, pdf


def test_text_and_code_are_taken_exactly(tmp_path):
    text = "line one.\r\n\tline two \u00a0\r\n\r\n# é 😀\n\n"

    for name in ("a.txt", "a.log", "a.rst", "a.md", "a.py", "a.rs"):
        document = document_of(tmp_path / name, text)
        assert document.text == text
        assert document.pages == ()
        assert document.id == f"{tmp_path.name}/{name}"


@pytest.mark.parametrize(
    ("name", "kind"), [("a.py", "code"), ("a.rs", "code"), ("a.sql", "code"), ("a.log", "records"), ("a.txt", "")]
)
def test_a_document_says_what_its_lines_are(tmp_path, name, kind):
    assert document_of(tmp_path / name, "Owls hunt").kind == kind


def test_nul_keeps_offsets_and_is_reported(tmp_path):
    (tmp_path / "a.txt").write_bytes(b"before\0after <|endoftext|>")

    loaded = load_one(tmp_path / "a.txt")

    assert loaded.documents[0].text == "before\ufffdafter <|endoftext|>"
    assert loaded.warnings == ("NUL characters or lone surrogates were replaced by U+FFFD: 1",)


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("---\ntitle: 'The title'\nuid: 3\n---\n# Other\n", "The title"),
        ("---\r\ntitle: Plain\r\n---\r\n", "Plain"),
        ("intro\n\n```\n# no\n```\n## No\n# C# and more ##\n", "C# and more"),
        ("~~~~\n~~~\n# no\n~~~~\n# Yes\n", "Yes"),
        ("no heading", None),
    ],
)
def test_titles_of_markdown(tmp_path, text, title):
    assert document_of(tmp_path / "a.md", text).metadata.get("title") == title


def test_a_coding_line_is_used_when_code_is_not_utf8(tmp_path):
    source = "#!/usr/bin/env python\n# -*- coding: koi8-r -*-\nprint('привет')\n"

    assert document_of(tmp_path / "a.py", source.encode("koi8-r")).text == source


def test_one_broken_file_is_reported_and_the_rest_go_on(tmp_path):
    (tmp_path / "a.md").write_text("# A")
    (tmp_path / "b.pdf").write_bytes(b"%PDF-broken")
    (tmp_path / "c.pdf").write_bytes(pdf(["x"], encrypt="secret"))
    (tmp_path / "d.json").write_text('{"docid": 3}')
    (tmp_path / "e.txt").write_bytes("größer".encode("latin-1"))
    (tmp_path / "f.txt").write_text("  \n")

    results = {loaded.path.name: loaded for loaded in load(tmp_path)}

    assert list(results) == ["a.md", "b.pdf", "c.pdf", "d.json", "e.txt", "f.txt"]
    assert [name for name, loaded in results.items() if loaded.error] == ["b.pdf", "c.pdf", "d.json"]
    assert all(name in str(results[name].error) for name in ("b.pdf", "c.pdf", "d.json"))
    assert all(not results[name].documents for name in ("b.pdf", "c.pdf", "d.json"))
    assert len(results["e.txt"].warnings) == 1
    assert results["f.txt"].warnings == ("holds no text",)
    assert results["f.txt"].documents[0].text == "  \n"


def test_a_file_that_went_away_is_reported(tmp_path):
    (tmp_path / "a.md").write_text("a")
    (tmp_path / "b.md").write_text("b")
    found = discover(tmp_path)
    (tmp_path / "a.md").unlink()

    gone, there = load_files(found.files)

    assert "a.md: can't be read: No such file" in str(gone.error)
    assert there.documents[0].text == "b"
    with pytest.raises(LoadError):
        load_file(found.files[0])


@pytest.mark.parametrize(
    "failure", [AssertionError("never"), RecursionError(), UnicodeDecodeError("utf-8", b"\xff", 0, 1, "no")]
)
def test_whatever_a_reader_raises_is_an_error_that_names_the_file(tmp_path, monkeypatch, failure):
    def fail(data):
        raise failure

    (tmp_path / "a.py").write_text("a")
    monkeypatch.setattr(run, "format_of", lambda *given: replace(format_of(*given), read=fail))

    with pytest.raises(LoadError, match=rf"a\.py: makes the reader of code files fail: {re.escape(repr(failure))}"):
        read_file(tmp_path / "a.py", 10, given=True)


def test_two_files_with_one_docid_are_not_mixed(tmp_path):
    for language in ("de", "en"):
        (tmp_path / f"{language}.jsonl").write_text('{"docid": "super_bowl", "text": "x"}\n')

    german, english = load(tmp_path)

    assert german.documents[0].id == "super_bowl"
    assert english.documents == ()
    assert "'super_bowl' is also in" in str(english.error)
    assert "de.jsonl" in str(english.error)


def test_wrong_paths_are_errors_before_iterating(tmp_path):
    with pytest.raises(LoadError, match="doesn't exist"):
        load(tmp_path / "nowhere")


def test_documents_carry_the_facts_and_pickle(tmp_path):
    folder = tmp_path / "courses" / "cs" / "6_0001"
    folder.mkdir(parents=True)
    (folder / "lecture_10.md").write_text("# Sorting")
    (folder / "lecture_10_code.py").write_text("sorted([])")

    documents = by_id(tmp_path / "courses")

    assert documents["courses/cs/6_0001/lecture_10.md"].metadata == {
        "file_path": "courses/cs/6_0001/lecture_10.md",
        "file_type": "markdown",
        "group_id": "lecture_10",
        "sibling_files": ["courses/cs/6_0001/lecture_10_code.py"],
        "subject": "cs",
        "course": "6_0001",
        "title": "Sorting",
    }
    assert pickle.loads(pickle.dumps(documents)) == documents


def test_the_registry_lists_every_format_once():
    listed = [suffix for fmt in FORMATS for suffix in fmt.suffixes]

    assert sorted(listed) == list(suffixes())
    assert len(set(listed)) == len(listed)
    assert all(suffix.startswith(".") and suffix == suffix.lower() for suffix in listed)
    assert {fmt.name for fmt in FORMATS} == {
        *("text", "markdown", "html", "code", "pdf", "notebook", "json", "slides", "word", "epub", "transcript"),
        *("spreadsheet", "table", "mail", "rtf"),
    }
    assert {".txt", ".text", ".log", ".rst", ".md", ".markdown", ".html", ".htm", ".py", ".pdf", ".ipynb"} < set(listed)


def test_importing_loads_no_heavy_library():
    script = "import sys, kinsplit.loaders; print({'pypdfium2', 'charset_normalizer'} & set(sys.modules))"

    assert (
        subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout == "set()\n"
    )


def test_a_very_long_line_is_one_document(tmp_path):
    path = tmp_path / "long.txt"
    path.write_bytes(b"word \xc3\xa9 " * 1_000_000)

    (document,) = load_one(path).documents

    assert len(document.text) == 7_000_000


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("package.json", '{"name": "course", "version": "1.0.0"}'),
        ("tsconfig.json", '{\n  // with comments\n  "strict": true,\n}'),
        ("empty.json", ""),
        ("log.jsonl", '{"level": "info"}\n{"level": "warning"}\n'),
    ],
)
def test_json_made_for_another_purpose_is_skipped_in_a_folder_and_refused_by_name(tmp_path, name, data):
    (tmp_path / "a.md").write_text("a")
    (tmp_path / name).write_text(data)

    results = {loaded.path.name: loaded for loaded in load(tmp_path)}

    assert (results[name].error, results[name].documents) == (None, ())
    (warning,) = results[name].warnings
    assert warning.startswith("skipped, since it holds no rows of documents (")
    assert results["a.md"].documents[0].text == "a"
    for paths in ([tmp_path / name], [tmp_path, tmp_path / name]):
        (error,) = [loaded.error for loaded in load(paths) if loaded.error is not None]
        assert name in str(error)


@pytest.mark.parametrize("data", ['{"docid": "a", "text": "t"}\n{"docid": "b"}', '{"docid": "a", "te'])
def test_a_damaged_corpus_is_a_failure_in_a_folder_too(tmp_path, data):
    (tmp_path / "docs.jsonl").write_text(data)

    (loaded,) = load(tmp_path)

    assert "docs.jsonl: line" in str(loaded.error)


def test_a_sub_folder_that_cannot_be_listed_is_reported_and_the_rest_go_on(tmp_path, monkeypatch):
    for folder in ("a", "locked", "z"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "x.md").write_text(folder)
    listed = Path.iterdir

    def refuse(self):
        if self.name == "locked":
            raise PermissionError(13, "Permission denied", str(self))
        return listed(self)

    monkeypatch.setattr(Path, "iterdir", refuse)

    first, locked, last = load(tmp_path)

    assert (first.documents[0].text, last.documents[0].text) == ("a", "z")
    assert locked.source.source_id == f"{tmp_path.name}/locked"
    assert f"{tmp_path / 'locked'}: can't be listed: Permission denied" in str(locked.error)
