from __future__ import annotations

import ast
from pathlib import Path

import pytest

from kinsplit import parsers
from kinsplit.chunk import Document
from kinsplit.index import Index
from kinsplit.parsers import create
from kinsplit.text.python_code import python_outline
from tests.loaders.helpers import document_of

CODE = '''# A stack, last in first out
import sys

class Stack(object):
    """def not_one: a stack."""

    def push(self, x):
        self.items.append(x)

    def pop(self):
        def inner():
            return 1
        return self.items.pop()


@decorated
async def main(argv=(1,
2)):
    print("class Not:")

print(main)
'''


@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r"])
def test_classes_and_functions_are_the_outline_and_the_text_stays(tmp_path: Path, line_end: str) -> None:
    document = document_of(tmp_path / "stack.py", CODE.replace("\n", line_end))

    assert document.text == CODE.replace("\n", line_end)
    assert [(part.title, document.text[part.start : part.end].split()[-1]) for part in document.outline] == [
        ("class Stack", "self.items.pop()"),
        ("def push", "self.items.append(x)"),
        ("def pop", "self.items.pop()"),
        ("def inner", "1"),
        ("def main", 'Not:")'),
    ]
    assert all(document.text[part.start :].removeprefix("async ").startswith(part.title) for part in document.outline)


@pytest.mark.parametrize(
    "text", ["", "\n\n", "x = 1", "def", "class 3", "'''never closed", "def f(:\n", "\tdef a():\n  x\n b", "\f\n"]
)
def test_what_is_no_code_does_no_harm(text: str) -> None:
    assert all(0 <= part.start < part.end <= len(text) for part in python_outline(text))


def test_code_of_another_python_has_an_outline_too() -> None:
    assert [
        part.title for part in python_outline("def old(x):\n    print x\n    raise E, 'm'\n\nclass B:\n    exec x\n")
    ] == [
        "def old",
        "class B",
    ]


_SMALL = {
    "sentence": {"chunk_size": 8, "unit": "word"},
    "structure": {"chunk_size": 8, "unit": "word"},
    "word": {"chunk_size": 8},
    "hierarchical": {"parent_size": 200, "child_size": 60},
}


@pytest.mark.parametrize("strategy", _SMALL)
def test_chunks_tell_what_they_are_from(tmp_path: Path, strategy: str) -> None:
    document = document_of(tmp_path / "stack.py", CODE)

    chunks = create(strategy, **_SMALL[strategy]).chunk(document)

    assert all(document.text[chunk.start : chunk.end] == chunk.text for chunk in chunks)
    assert {chunk.beside.headings for chunk in chunks} == {()}
    assert all(chunk.context.startswith("stack.py") for chunk in chunks)
    pushing = next(chunk for chunk in reversed(chunks) if "items.append" in chunk.text)
    assert "class Stack" in pushing.context
    assert "def push" in pushing.context
    assert "A stack" not in pushing.context


def test_a_chunk_names_the_path_and_what_stands_beside_each_other() -> None:
    text = "".join(f"def f{n}():\n    return {n}\n\n" for n in range(9))
    document = Document("a/b.py", text, outline=python_outline(text))

    (whole,) = create("word", chunk_size=500).chunk(document)
    first = create("word", chunk_size=3).chunk(document)[0]

    assert whole.context == "b.py\ndef f0, def f1, def f2, def f3, def f4, def f5, ..."
    assert first.context == "b.py\ndef f0"


def test_a_search_finds_a_method_by_its_class(tmp_path: Path) -> None:
    (tmp_path / "stack.py").write_text(CODE)
    with Index("memory:", embedder="hash") as index:
        index.add(tmp_path / "stack.py")
        (passage,) = index.search("push", top_k=1)

    assert passage.context.startswith("stack.py")


def test_structure_cuts_at_functions_and_takes_no_comment_for_a_heading() -> None:
    bodies = [
        f"# Comment {n}\n@once\ndef f{n}(x):\n    def inner():\n        pass\n\n    return {n}\n" for n in range(6)
    ]
    text = "import sys\n\n" + "\n".join(bodies) + "\nprint(f1(2))\n"
    document = Document("a/b.py", text, outline=python_outline(text))

    chunks = create("structure", chunk_size=24, min_chunk_size=10).chunk(document)

    assert "".join("".join(chunk.text.split()) for chunk in chunks) == "".join(text.split())
    starts = [chunk.text.split("\n")[0] for chunk in chunks]
    assert starts[0] == "import sys"
    assert all(start.startswith(("# Comment", "import", "print")) for start in starts)
    assert all("Comment" not in chunk.context for chunk in chunks)
    assert len(chunks) > 3


def test_a_function_that_is_too_long_is_cut_inside() -> None:
    text = "def long():\n" + "".join(f"    step_{n}(1, 2, 3)\n\n" for n in range(30))
    document = Document("b.py", text, outline=python_outline(text))

    chunks = create("structure", chunk_size=12, min_chunk_size=3).chunk(document)

    assert len(chunks) > 5
    assert {chunk.context for chunk in chunks} == {"b.py\ndef long"}
    assert "".join("".join(chunk.text.split()) for chunk in chunks) == "".join(text.split())


def test_the_outline_agrees_with_pythons_own_parser() -> None:
    kinds = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
    for path in (Path(parsers.__file__).parent).glob("*.py"):
        text = path.read_text(encoding="utf-8")
        wanted = [(node.lineno, node.name) for node in ast.walk(ast.parse(text)) if isinstance(node, kinds)]
        found = [(text[: part.start].count("\n") + 1, part.title.split()[1]) for part in python_outline(text)]
        assert found == sorted(wanted)


@pytest.mark.parametrize("line", ["async", "def", "class", "async def", "def 3", "class 😀: pass", "async\\\n", "@"])
def test_a_line_that_only_begins_like_a_part_is_none(line):
    assert python_outline(f"{line}\ndef f():\n    pass\n")[-1].title == "def f"
    assert len(python_outline(f"{line}\ndef f():\n    pass\n")) == 1
