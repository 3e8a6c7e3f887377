"""Lines of code among prose, statements, and what stands above them."""

from __future__ import annotations

import textwrap

import pytest
from hypothesis import given

from kinsplit.text.blocks import blocks
from kinsplit.text.code import code_blocks, inner_lines, is_code, statement_starts, top_of
from kinsplit.text.graphemes import with_line_feeds
from tests.generators import Lines, programs, texts

CODE = {
    "Python": "def area(x):\n    return x * 2\n",
    "imports": "import os\nimport sys\nfrom pathlib import Path\n",
    "a loop": "for name in names:\n    total += count(name)\n    print(name, total)\n",
    "a docstring": 'def f(x):\n    """Return what it is.\n\n    It goes on and on.\n    """\n    return g(x)\n',
    "a session": ">>> x = 1\n>>> x + 1\n2\n",
    "JavaScript": "const a = require('a');\nfunction f(x) {\n  return x.map((y) => y + 1);\n}\n",
    "TypeScript": "export class A {\n  private x: number = 1;\n  f(): void {}\n}\n",
    "Java": "public class A {\n    private final int x = 1;\n\n    public int f() {\n        return x;\n    }\n}\n",
    "C": '#include <stdio.h>\n\nint main(void) {\n    printf("x");\n    return 0;\n}\n',
    "Go": "package main\n\nfunc main() {\n\tx := 1\n\tfmt.Println(x)\n}\n",
    "Rust": 'use std::io;\n\nfn main() {\n    let x = 1;\n    println!("{}", x);\n}\n',
    "Ruby": "class Foo < Bar\n  def initialize(a)\n    @a = a\n  end\nend\n",
    "shell": '#!/bin/sh\nset -e\nfor f in *; do\n  echo "$f"\ndone\n',
    "SQL": "SELECT a, b\nFROM t\nWHERE a = 1\nORDER BY b;\n",
    "insertions": "INSERT INTO t (a) VALUES (1);\nINSERT INTO t (a) VALUES (2);\n",
    "CSS": "h1,\n.a:hover {\n  color: #fff;\n  margin: 0;\n}\n",
    "an indented block": "    x = first(1)\n    y = other(x)\n    print(x, y)\n",
}
PROSE = {
    "hard-wrapped": "Owls (of which there are many) hunt at night;\nthe others, larks, sing at dawn.\n",
    "short lines": "It was (as they say) late;\nif not: too late.\nFor all of us, then.\n",
    "a poem": "Whose woods these are I think I know;\nHis house is in the village though;\n",
    "an address": "Jane Doe\n12 Main Street (rear)\n10115 Berlin\nGermany\n",
    "formulas": "f(x) = x + 1\ng(x) = 2x\nf(g(x)) = 2x + 1\n",
    "a law": "(a) the Company (as defined below);\n(b) the Buyer as of 2(a) hereof;\n(c) any other Person;\n",
    "capitals": "THE SOFTWARE IS PROVIDED AS IS\nAND WITHOUT ANY WARRANTY\nOR CONDITION OF ANY KIND\n",
    "keywords": "for the sake of it, we\nreturn to the house while\nothers import duties\n",
    "a dialogue": 'Ann: Where is it?\nBob: Here (I think).\nAnn: "Thanks!" she said.\n',
    "mail": "Dear Sir or Madam,\n\nplease find attached (1) a form;\n(2) a letter.\n\nYours,\nA.\n",
    "JSON": '{\n  "a": 1,\n  "b": [1, 2],\n  "c": {"d": "f(x);"}\n}\n',
    "YAML": "name: x\non:\n  push:\n    branches: [main]\njobs:\n  run: make\n",
    "TOML": '[project]\nname = "x"\nversion = "1"\ndependencies = ["a", "b"]\n',
    "CSV": "name,role,city\nAnn,engineer,Rome\nBob,cook,Oslo\n",
    "a log of calls": "2026-01-01 12:00:00 INFO main(x) => 3\n2026-01-01 12:00:01 ERROR Owl.hunt(x) == None;\n",
    "a stack trace": "12:00:00 ERROR it failed\n" + "    at com.owls.Owl.hunt(Owl.java:3)\n" * 9,
    "a log": "2026-01-01 12:00:00 INFO started in 3 s\n2026-01-01 12:00:01 ERROR failed (code 3)\n",
    "Markdown with a fence": "# T\n\n```python\nx = f(1)\ny = f(2)\nprint(x, y)\n```\n",
    "hard breaks": "this\\\nshould\\\nbe broken\\\nhere\n",
    "one line": "print(f(x));",
    "nothing": "",
}


@pytest.mark.parametrize("name", CODE)
def test_lines_that_are_code(name: str) -> None:
    assert is_code(CODE[name], 0, len(CODE[name]))
    assert {block.kind for block in blocks(CODE[name])} == {"code"}
    around = f"Some words before it.\n\n{CODE[name]}"
    assert is_code(around, around.index("\n\n") + 2, len(around))


@pytest.mark.parametrize("name", PROSE)
def test_lines_that_look_like_code_but_are_not(name: str) -> None:
    assert not is_code(PROSE[name], 0, len(PROSE[name]))
    assert "code" not in {block.kind for block in blocks(PROSE[name])}


def test_code_between_paragraphs_is_a_block_of_its_own() -> None:
    text = f"First, we write it.\n\n{CODE['a loop']}\nThen we run it, and that is\nall there is to it.\n"

    assert [block.kind for block in blocks(text)] == ["paragraph", "code", "paragraph"]


def test_headings_above_code_stay_headings() -> None:
    text = "# Notes\n\n## Read\n\nwith open(path) as file:\n    print(file.read())\n\n## Write\n\nfile.write(text)\n"

    assert [block.title for block in blocks(text) if block.kind == "heading"] == ["Notes", "Read", "Write"]
    assert {block.kind for block in blocks(text.replace("##", "#"))} == {"code"}


def statements(text: str) -> list[str]:
    start = len(text) - len(text.lstrip())
    starts = statement_starts(text, start, len(text))
    return [text[at:end].rstrip() for at, end in zip(starts, [*starts[1:], len(text)], strict=True)]


WHOLE = (
    "f(\n  a,\n  [b,\n\n  c],\n)",
    "x = [\n  1,\n  2,\n]",
    'x = f("(", \'[\', """\n)\n""")',
    "x = a + \\\n  b",
    "x = a +\n  b",
    "x = a\n  + b",
    "foo\n  .then(x => x)\n  .catch(() => {\n    d();\n  });",
    "foo()\n.bar()\n.baz();",
    "const s = `one (\ntwo`;",
    "/* one (\ntwo */\nx();",
    "# one (\n# two\n@app.get(\n  '/x',\n)\n@other\ndef f():\n  pass",
    "#[derive(\n  Debug,\n)]\npub struct A {\n  a: i32,\n}",
    "/// One (\n#[test]\nfn f() {\n  g();\n}",
    "=begin\nwhy (\n=end\ndef f\n  1\nend",
    "-- one (\nSELECT a,\nb\nFROM t\nWHERE a = 1\nAND b = 2;",
    "create table t (\n  a int,\n  b int\n);",
    "if (a &&\n    b) {\n  c();\n}",
    "int f()\n{\n  return 1;\n}",
    "if [ -f x ]; then\n  run\nfi",
    "while read x\ndo\n  run $x\ndone < file",
    "cat <<EOF\none (\nx = 1\nEOF",
    "run --one 1 \\\n  --two 2",
    "fn f<'a>(x: &'a str) -> &'a str {\n  x\n}",
    "[Test]\npublic void F() {\n  G();\n}",
    "template <typename T>\nT f(T x) {\n  return x;\n}",
    "describe('x', () => {\n  it('y', () => {\n    z();\n  });\n});",
    "f(a // b,\n  c)",
    "x = f(  # one (\n  a,  # two )\n)",
    "#id .a {\n  color: #fff;\n}",
)


@pytest.mark.parametrize("whole", WHOLE)
def test_one_statement(whole: str) -> None:
    assert statements(whole) == [whole]
    assert statements(f"x()\n{whole}\ny()\n") == ["x()", whole, "y()"]


@pytest.mark.parametrize("whole", [each for each in WHOLE if "EOF" not in each and "=begin" not in each])
def test_one_statement_inside_a_block(whole: str) -> None:
    inner = textwrap.indent(whole, "  ")

    assert statements(f"if z {{\n  x()\n{inner}\n}}\ny()") == ["if z {\n  x()", f"{inner.strip()}\n}}", "y()"]


@pytest.mark.parametrize(
    "apart",
    [
        ["def f(x):\n    a()", "    b()", "    if c:\n        d()", "    else:\n        e()", "    return 1"],
        ["class A:\n    def f(self):\n        pass", "def g(self):\n        pass"],
        ["void f() {\n  a();", "if (b) {\n    c();\n  } else {\n    d();", "e();\n  }\n}"],
        ["const a = {\n  b: 1,", "c: [\n    2,\n  ],\n};", "d();"],
        ["INSERT INTO t VALUES (1); -- one", "INSERT INTO t VALUES (2); -- two", "UPDATE t\nSET a = 1;", "COMMIT;"],
        ["SELECT a\nFROM t\n", "SELECT b\nFROM t"],
        ['f() {\n  echo "one" # say', "run \\\n    --two", "if x; then\n    y\n  fi\n}", "f"],
        ["class Foo\n  attr_reader :a", "def f\n    @a = 1", "@b = 2\n  end\nend"],
        ["h1 {\n  a: b;\n}", ".c {\n  d: e;\n}"],
        ["switch (x) {\ncase 1:\n  a();", "break;", "case 2:\n  b();\n}"],
        ["// about the file\n", "import a;", "import b;"],
        ["x = 1  # one,", "y = 2"],
        ["x--", "y++"],
        ["#id,\n.a {\n  b: c;\n}"],
        ["a = b // c", "d = 1"],
    ],
)
def test_statements_of_a_block(apart: list[str]) -> None:
    text = "".join(f"{each}\n" for each in apart)
    lines = [line for line in text.split("\n") if line]
    found = statements(text)

    assert "".join("".join(found).split()) == "".join("".join(lines).split())
    assert [each.split() for each in found] == [each.split() for each in apart]


@given(programs())
def test_statements_of_any_program(program: Lines) -> None:
    text, ranges = program
    start = ranges[0][0]

    assert statement_starts(text, start, len(text)) == [start for start, _ in ranges]


@given(texts())
def test_statements_of_any_text_begin_at_lines(text: str) -> None:
    text = with_line_feeds(text)
    start = len(text) - len(text.lstrip())
    starts = statement_starts(text, start, len(text))

    assert starts == sorted(set(starts))
    assert starts[:1] == ([start] if start < len(text) else [])
    for at in starts:
        assert not text[at].isspace()
        assert not text[text.rfind("\n", 0, at) + 1 : at].strip()
    assert "".join("".join(text[start:end].split()) for start, end in code_blocks(text)) == "".join(text.split())


def test_an_open_bracket_spoils_the_rest_of_its_line_only() -> None:
    text = "a(1)\nb(2,\ndef c():\n    d(3)\n    e(4)\nf(5)\n"

    assert statements(text) == ["a(1)", "b(2,", "def c():\n    d(3)\n    e(4)", "f(5)"]
    assert statements("{\n  f(1\n  }\ng(\n  2\n)\n") == ["{\n  f(1\n  }", "g(\n  2\n)"]


def test_a_very_long_statement_is_given_up_into_lines() -> None:
    tests = [f"  it('does {n}', () => {{\n    expect({n}).toBe({n});\n  }});" for n in range(80)]
    text = "\n".join(["describe('x', () => {", *tests, "});"])

    assert statements(text) == ["describe('x', () => {", *map(str.strip, tests[:-1]), f"{tests[-1].strip()}\n}});"]
    rows = ",\n".join(f"({n}, 'text of the row {n}')" for n in range(200))
    assert len(statements(f"INSERT INTO t VALUES\n{rows};")) == 201


def test_a_program_within_brackets_is_cut_at_its_functions_and_their_statements() -> None:
    short = "".join(f"  function f{n}() {{\n    g(\n      {n}\n    );\n  }}\n" for n in range(80))
    long = "  function h() {\n" + "".join(f"    g(\n      {n}\n    );\n" for n in range(300)) + "  }\n"

    found = statements(f"(function () {{\n{short}{long}}})();")
    assert found[0] == "(function () {"
    assert found[1:81] == [f"function f{n}() {{\n    g(\n      {n}\n    );\n  }}" for n in range(80)]
    assert found[81:381] == ["function h() {", *(f"g(\n      {n}\n    );" for n in range(299))]


def test_lines_inside_a_statement() -> None:
    text = "  f(\n    a,\n    [\n      b,\n    ],\n  )"

    assert [text[at:].split("\n")[0] for at in inner_lines(text, 2, len(text))] == ["a,", "["]
    assert inner_lines("f(a)", 0, 4) == []


def test_blocks_of_code_are_apart_where_a_blank_line_is_and_the_code_is_no_deeper() -> None:
    text = (
        "import a\n\nX = 1\nY = [\n    1,\n\n    2,\n]\n\n\nclass A:\n\n    # One\n    def f(self):\n        x = 1\n\n"
        "        return x\n\n    def g(self):\n        pass\n"
    )

    found = [text[start:end].partition("\n")[0] for start, end in code_blocks(text)]
    assert found == ["import a", "X = 1", "class A:", "def g(self):"]


@pytest.mark.parametrize(
    "above",
    [
        "",
        "# One (\n# two\n",
        "/**\n * One (\n */\n",
        "/* one\n   two */\n",
        "// one\n@Get(\n  '/x',\n)\n",
        "#[get(\n  '/x',\n)]\n",
        "=begin\nOne (\n=end\n",
        "-- one\n",
        "@one\n# two\n@three(4)\n",
    ],
)
def test_what_stands_above_a_line(above: str) -> None:
    before = "x()\n# not this\n\n"
    text = f"{before}{above}def f(): pass"
    at = text.index("f(): pass")

    assert top_of(text, 0, at) == len(before)
    wrapped = f"(function () {{\n{text}"
    assert wrapped[top_of(wrapped, 0, wrapped.index("f(): pass")) :] == "def f(): pass"  # a bracket is open around it
    assert top_of(text, at, at) == at
