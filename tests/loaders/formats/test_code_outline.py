from __future__ import annotations

import itertools
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kinsplit.kinds import CODE
from kinsplit.loaders import discover, load
from kinsplit.loaders.formats import plain
from kinsplit.loaders.registry import ReaderWarning
from kinsplit.parsers import create
from kinsplit.text import grammars, outlines
from kinsplit.text.grammars import code_outline
from tests.loaders.helpers import document_of

_QUEUE = """// Queues, first in first out
import { log } from "./log.js";

/**
 * A queue 😀 of anything.
 */
export class Queue {
  // Adds an item.
  push(item) {
    this.items.push(item);
  }

  /* Takes
     the oldest item. */
  take() {
    const first = () => this.items.shift();
    return first();
  }
}

export const sum = (a, b) => {
  return a + b;
};

function* walk() { yield "class Not {}"; }
"""

_PARTS = {
    "bash": ("# hm\nfoo() { :; }\nfunction bar { :; }\n", ["function foo", "function bar"]),
    "c": (
        "#include <a.h>\nstatic int *area(int x) { return 0; }\nstruct point { int x; };\nint declared(void);\n",
        ["function area", "struct point"],
    ),
    "c_sharp": (
        "namespace N {\n class B {\n  public B() {}\n  [Test]\n  public int C() => 1;\n  int P { get; }\n }\n}\n",
        ["namespace N", "class B", "constructor B", "method C", "property P"],
    ),
    "cpp": (
        "namespace n {\nclass A {\n int f() { return 1; }\n};\nint A::g() {}\ntemplate<class T>\nT add(T a) {}\n}",
        ["namespace n", "class A", "function f", "function A::g", "function add"],
    ),
    "go": (
        "package a\nfunc (s *Stack) Push(x int) {}\ntype Stack struct {\n a int\n}\nfunc main() {}\n",
        ["func Stack.Push", "type Stack", "func main"],
    ),
    "java": (
        "class A {\n A() {}\n @Override\n void f() {}\n interface I { void g(); }\n}\nrecord R(int a) {}\n",
        ["class A", "constructor A", "method f", "interface I", "record R"],
    ),
    "javascript": (
        _QUEUE,
        ["class Queue", "method push", "method take", "function first", "function sum", "function walk"],
    ),
    "kotlin": ("class A {\n fun f() = 1\n}\nfun g() {}\nobject O {}\n", ["class A", "fun f", "fun g", "object O"]),
    "lua": ("function a.b() end\nlocal function c() end\n", ["function a.b", "function c"]),
    "php": ("<?php\nfunction f() {}\nclass A {\n function g() {}\n}\n", ["function f", "class A", "method g"]),
    "ruby": (
        "module M\n class A\n  def f; end\n  def self.g\n  end\n end\nend\n",
        ["module M", "class A", "def f", "def g"],
    ),
    "rust": (
        "/// doc\n#[test]\nfn f() {}\nimpl Foo for Bar<T> {\n fn g(&self) {}\n}\nmod m {\n fn h() {}\n}\n",
        ["fn f", "impl Bar<T>", "fn g", "mod m", "fn h"],
    ),
    "scala": ("object O {\n def f = 1\n}\nclass A\ntrait T\n", ["object O", "def f", "class A", "trait T"]),
    "swift": (
        "class A {\n init() {}\n func f() {}\n}\nprotocol P {}\nfunc g() {}\n",
        ["class A", "init", "func f", "protocol P", "func g"],
    ),
    "tsx": ("export const A = () => <div>é</div>;\n", ["function A"]),
    "typescript": (
        "interface I { a: number }\nabstract class B {\n f(): void {}\n p = () => 1\n}\nnamespace N {}\nenum E { A }\n",
        ["interface I", "class B", "method f", "method p", "namespace N", "enum E"],
    ),
}


@pytest.fixture(autouse=True)
def _grammars() -> None:
    pytest.importorskip("tree_sitter")


@pytest.mark.parametrize("language", _PARTS)
def test_the_parts_of_a_program_are_its_outline(language: str) -> None:
    text, titles = _PARTS[language]

    parts = code_outline(text, language) or ()

    assert [part.title for part in parts] == titles
    names = [title.split()[-1].split(".")[-1] for title in titles]
    assert all(name in text[part.start : part.end] for part, name in zip(parts, names, strict=True))


@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r"])
def test_offsets_are_those_of_the_unchanged_text(tmp_path: Path, line_end: str) -> None:
    text = _QUEUE.replace("\n", line_end)
    document = document_of(tmp_path / "queue.mjs", text)

    assert document.text == text
    assert [document.text[part.start : part.end].split()[0] for part in document.outline] == [
        *("export", "push(item)", "take()", "const", "export", "function*"),
    ]
    assert all(document.text[part.end - 1] in "};" for part in document.outline)


def test_chunks_are_methods_with_their_comments_under_the_path_to_them(tmp_path: Path) -> None:
    document = document_of(tmp_path / "queue.js", _QUEUE)

    chunks = create("structure", unit="character", chunk_size=130, min_chunk_size=20).chunk(document)

    starts = [(chunk.text.lstrip().partition("\n")[0], chunk.context) for chunk in chunks]
    assert starts == [
        ("// Queues, first in first out", "queue.js"),
        ("/**", "queue.js\nclass Queue"),
        ("// Adds an item.", "queue.js\nclass Queue > method push"),
        ("/* Takes", "queue.js\nclass Queue > method take"),
        ("export const sum = (a, b) => {", "queue.js\nfunction sum"),
        ('function* walk() { yield "class Not {}"; }', "queue.js\nfunction walk"),
    ]


@pytest.mark.parametrize(
    ("name", "before", "whole", "after"),
    [
        ("a.py", "def f1():\n    return 1 * 2\n\n\n", "@app.get(\n    '/x',\n)\ndef handler(a):\n    return a", "\n"),
        (
            "a.ts",
            "class A {\n  f1() { return 1 * 2; }\n\n",
            "@Get(\n    '/x',\n  )\n  handler() {\n    a;\n  }\n}  // end",
            "\n",
        ),
        ("a.rs", "fn f1() -> i32 { 1 * 2 }\n\n", '#[get(\n    "/x",\n)]\nfn handler() {\n    a\n}', "\n"),
        ("a.rb", "def f1\n  1 * 2\nend\n\n", "=begin\nWhy it is.\n=end\ndef handler(a)\n  a\nend", "\n"),
        ("a.js", "function f1() { 1 * 2 }\n\n", "/*\nWhy (so.\n*/\nfunction handler() {\n  a\n}", "\n"),
    ],
)
def test_what_stands_above_a_function_stays_with_it(
    tmp_path: Path, name: str, before: str, whole: str, after: str
) -> None:
    document = document_of(tmp_path / name, before + whole + after)

    assert whole in [chunk.text for chunk in create("structure", chunk_size=20, min_chunk_size=1).chunk(document)]


def test_code_with_mistakes_keeps_the_parts_that_can_be_read() -> None:
    text = "int sound(void) { return 1; }\n\nint broken( { ]]] )) \n\nint sound2(void) { return 2; }\n"

    parts = code_outline(text, "c")
    assert parts is not None
    assert parts[0].title == "function sound"


def test_minified_code_has_few_parts_and_is_read_at_once(tmp_path: Path) -> None:
    text = "".join(f"function f{n}(a){{return a+{n}}}" for n in range(20_000))

    document = document_of(tmp_path / "bundle.js", text)

    assert [part.title for part in document.outline] == ["function f0"]
    assert create("structure").chunk(document)


@pytest.mark.parametrize("text", ["{" * 50_000, "(" * 50_000, "function f( { ]]\n" * 500, "'" * 2_000, "\r" * 9])
def test_what_is_no_code_is_no_obstacle(text: str) -> None:
    assert code_outline(text, "javascript") is not None


def test_text_that_takes_too_long_is_read_without_an_outline(monkeypatch) -> None:
    monkeypatch.setattr(grammars, "_SECONDS", 0.0)

    reading = plain.read_code(b"function f() {}", "javascript")

    assert reading.contents[0].outline == ()
    assert reading.warnings == ("is split without regard to its functions, which took too long to find",)


def test_very_long_code_is_read_without_an_outline(monkeypatch) -> None:
    monkeypatch.setattr(outlines, "LARGEST", 30)
    monkeypatch.setattr(plain, "LARGEST", 30)

    reading = plain.read_code(b"void f() {}\n" * 3, "java")

    assert reading.contents[0].outline == ()
    assert reading.warnings == ("has more than 30 characters; it is split without regard to its functions",)


def test_without_grammars_code_is_text_which_one_line_tells(tmp_path: Path, monkeypatch) -> None:
    (tmp_path / "a.go").write_text("func f() {}")
    (tmp_path / "b.rs").write_text("fn f() {}")
    (tmp_path / "c.py").write_text("def f(): pass")
    for module in (plain, grammars):
        monkeypatch.setattr(module, "find_spec", lambda name: None)

    with pytest.warns(ReaderWarning, match=r"2 files of source code are split.*kinsplit\[code\]") as told:
        discover(tmp_path)

    assert len(told) == 1
    assert plain.read_code(b"func f() {}", "go").contents[0].outline == ()


_FRAGMENTS = [
    "function f(",
    ") {\n",
    "}\n",
    "class A {\n",
    "m() {",
    "é😀",
    "`",
    "/*",
    "*/",
    "\r",
    "#",
    "def ",
    "\n",
    ";",
]


@settings(max_examples=60)
@given(
    st.lists(st.sampled_from(_FRAGMENTS) | st.text(st.characters(exclude_categories=["Cs"]), max_size=3), max_size=20)
)
def test_whatever_the_text_parts_lie_apart_or_inside_one_another(pieces: list[str]) -> None:
    text = "".join(pieces)
    for language in ("javascript", "cpp", "ruby"):
        parts = code_outline(text, language)
        assert parts is not None
        assert list(parts) == sorted(parts, key=lambda part: (part.start, -part.end))
        assert all(0 <= part.start < part.end <= len(text) for part in parts)
        for before, after in itertools.combinations(parts, 2):
            assert after.start >= before.end or after.end <= before.end


def test_a_repository_is_loaded_by_language(tmp_path: Path) -> None:
    for language, (text, _) in _PARTS.items():
        (tmp_path / f"a{CODE[language][0]}").write_text(text)

    found = {loaded.path.suffix: loaded.documents[0] for loaded in load(tmp_path)}

    assert {suffix: [part.title for part in document.outline] for suffix, document in found.items()} == {
        CODE[language][0]: titles for language, (_, titles) in _PARTS.items()
    }
    assert {document.metadata["file_type"] for document in found.values()} == {"code"}
