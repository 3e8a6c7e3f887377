from __future__ import annotations

import base64
import json
import random
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kinsplit.errors import MissingExtraError
from kinsplit.loaders.content import LeftOut
from kinsplit.loaders.formats.markdown import front_matter, read, without_data
from tests.loaders.helpers import document_of, load_one, notebook

YAML = """---
title: "Owls: a note"
status: published
updated: 2026-08-01
promote-to: null
tags: [owls, "42", night]
aliases:
  - Night birds
  - Strigiformes
version: 1.10
weight: 3
share: 0.5
draft: true
quoted: "true"
time: 12:30
octal: 012
answer: no
summary: >
  Owls hunt
  mice.
nested: {a: 1, b: [x]}
empty:
---

# Owls

They hunt."""


def test_yaml_becomes_metadata_and_no_text(tmp_path):
    document = document_of(tmp_path / "a.md", YAML)

    assert document.text == "# Owls\n\nThey hunt."
    stated = dict(document.metadata)
    for fact in ("file_path", "file_type", "group_id", "sibling_files", "course"):
        stated.pop(fact)
    assert stated == {
        "title": "Owls: a note",
        "status": "published",
        "updated": "2026-08-01",
        "tags": ["owls", "42", "night"],
        "aliases": ["Night birds", "Strigiformes"],
        "version": "1.10",
        "weight": 3,
        "share": 0.5,
        "draft": True,
        "quoted": "true",
        "time": "12:30",
        "octal": "012",
        "answer": "no",
        "summary": "Owls hunt mice.\n",
        "nested": {"a": 1, "b": ["x"]},
    }
    assert [heading.title for heading in document.headings] == ["Owls"]


def test_toml_becomes_metadata_and_no_text(tmp_path):
    toml = 'title = "Owls"\r\ndate = 2026-08-01T10:00:00Z\r\ntags = ["a", "b"]\r\n[params]\r\nshare = 0.5\r\n'

    document = document_of(tmp_path / "a.md", f"+++\r\n{toml}+++\r\nText.")

    assert document.text == "Text."
    assert {key: document.metadata[key] for key in ("title", "date", "tags", "params")} == {
        "title": "Owls",
        "date": "2026-08-01T10:00:00+00:00",
        "tags": ["a", "b"],
        "params": {"share": 0.5},
    }


@pytest.mark.parametrize(
    "text",
    [
        "---\n\nA break: and a colon.\n\n---\n",
        "---\nA sentence.\n---\nAnother.",
        "---\n- a list\n---\n",
        "---\ntitle: never ends\n",
        "+++\nno equals sign\n+++\n",
        "----\ntitle: x\n----\n",
        "text\n---\ntitle: x\n---\n",
        "",
        "---",
    ],
)
def test_a_thematic_break_is_no_front_matter(text):
    reading = read(text.encode())

    assert (reading.contents[0].text, reading.contents[0].metadata, reading.warnings) == (text, {}, ())


@pytest.mark.parametrize(
    "source",
    [
        "title: a: b",
        "title: [a",
        "a: &x [*x]",
        "a: &x [1]\nb: *x\nc: *x",
        "a: b\n? [a]\n: b",
        "title: \x01",
        "a: " + "[" * 999,
    ],
)
def test_malformed_front_matter_stays_text_with_a_warning(source):
    text = f"---\n{source}\n---\n\n# Title"
    reading = read(text.encode())

    assert (reading.contents[0].text, reading.contents[0].title) == (text, "Title")
    (warning,) = reading.warnings
    assert warning.startswith("has front matter that can't be read, and stays in the text: ")


@given(st.dictionaries(st.from_regex(r"[a-z]{1,8}", fullmatch=True), st.text(max_size=20) | st.integers(-99, 99)))
def test_what_json_writes_comes_back(fields):
    matter = "\n".join(f"{key}: {json.dumps(value)}" for key, value in fields.items())

    found = front_matter(f"---\n{matter}\n---\nText" if fields else "---\n# nothing\n---\nText")

    assert found == (fields, found.end, ())
    assert found.end > 0


@given(st.text("-+\n:a [&*]", max_size=30))
def test_no_beginning_makes_it_fail(text):
    read(f"---\n{text}".encode())


def test_names_that_kinsplit_uses_itself_are_told(tmp_path):
    path = tmp_path / "a.md"
    path.write_text(f"---\nlevel: 3\nfile_type: note\nauthor: Ann\ncourse: other\nlong: {'x' * 20_000}\n---\nText.")

    loaded = load_one(path)

    (document,) = loaded.documents
    assert (document.metadata["author"], document.metadata["file_type"]) == ("Ann", "markdown")
    assert not {"level", "long"} & document.metadata.keys()
    assert loaded.warnings == (
        "1 value of the metadata 'level', which kinsplit sets itself, was left out",
        "1 value of the metadata 'file_type', which kinsplit sets itself, was left out",
        "1 value of the metadata 'course', which kinsplit sets itself, was left out",
        "1 value of more than 10,000 characters of the metadata 'long' was left out",
    )


PACKED = base64.b64encode(random.Random(1).randbytes(6_000)).decode()
LINES = "\n".join(PACKED[at : at + 76] for at in range(0, len(PACKED), 76)) + "==\n"


@pytest.mark.parametrize(
    ("text", "kept", "kind"),
    [
        (f"A ![a chart](data:image/png;base64,{PACKED}) b", "A ![a chart]() b", "data: URI"),
        (f'A <img alt="x" src="data:image/png;base64,{LINES}"> b', 'A <img alt="x" src=""> b', "data: URI"),
        (f"[one]: data:image/svg+xml;charset=utf-8;base64,{PACKED}\nText", "[one]: \nText", "data: URI"),
        (f"url('data:font/woff2,{'%20(a)' * 90}') b", "url('') b", "data: URI"),
        (f'<img src="data:image/svg+xml;utf8,{"<path d=1 />" * 30}">', '<img src="">', "data: URI"),
        (f"A {PACKED} b", "A (base64) b", "block of base64"),
        (f"-----BEGIN-----\n{LINES}-----END-----", "-----BEGIN-----\n(base64)\n-----END-----", "block of base64"),
    ],
)
def test_files_written_out_are_left_out(text, kept, kind):
    left_out = LeftOut()

    assert without_data(text, left_out) == kept
    assert left_out.warnings == (f"1 {kind} was left out",)


@pytest.mark.parametrize(
    "text",
    [
        "`data:text/plain;base64,SGVsbG8=` is a URI",
        "ACGT" * 1000,
        "0123456789" * 1000,
        "deadbeef" * 500,
        "data:" * 30,
        "metadata: a, b, and c" + " word" * 300,
    ],
)
def test_what_is_no_file_stays(text):
    assert without_data(text, LeftOut()) == text


@pytest.mark.parametrize("piece", ["data:", '"data:a/b,', "A1b/", "data:a;b=c", "A1b\n", f"{'aB3' * 25}\n"])
def test_hostile_texts_take_no_time(piece):
    without_data(piece * (500_000 // len(piece)), LeftOut())


def test_pictures_in_markdown_and_notebooks_leave_their_names(tmp_path):
    cell = {"cell_type": "markdown", "metadata": {}, "source": [f"![y](data:image/png;base64,{PACKED})"]}
    (tmp_path / "a.md").write_text(f"# Pic\n\n![a chart](data:image/png;base64,{PACKED})\n\nAfter.\n")
    (tmp_path / "a.ipynb").write_text(notebook(cell))

    picture, book = load_one(tmp_path / "a.md"), load_one(tmp_path / "a.ipynb")

    assert picture.documents[0].text == "# Pic\n\n![a chart]()\n\nAfter.\n"
    assert book.documents[0].text == "![y]()"
    assert picture.warnings == book.warnings == ("1 data: URI was left out",)


def test_front_matter_in_yaml_names_the_extra_that_reads_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "yaml", None)

    with pytest.raises(MissingExtraError, match=r'^pyyaml is not installed. Run: pip install "kinsplit\[files\]"$'):
        front_matter("---\ntitle: Owls\n---\nText")
    assert front_matter("+++\ntitle = 'Owls'\n+++\nText").fields == {"title": "Owls"}
    assert front_matter("---\nText between breaks.\n---\nText").fields == {}
