"""Programs are cut between statements, then at lines, by every strategy."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings

from kinsplit import Document, split
from tests.generators import Lines, programs
from tests.loaders.helpers import document_of

_SIZED: dict[str, dict[str, Any]] = {
    "sentence": {"chunk_overlap": 0},
    "structure": {"min_chunk_size": 0},
    "hierarchical": {},
    "semantic": {"embedder": "hash"},
    "llm": {"model": "none", "min_sentences": 1, "max_sentences": 3},
}


@pytest.mark.parametrize("strategy", _SIZED)
@settings(max_examples=40)
@given(programs())
def test_no_statement_is_torn(strategy: str, program: Lines) -> None:
    text, ranges = program
    longest = max(end - start for start, end in ranges)
    sizes = (
        {"parent_size": 4 * longest, "child_size": longest} if strategy == "hierarchical" else {"chunk_size": longest}
    )

    chunks = split(Document("a.py", text, kind="code"), strategy, unit="character", **sizes, **_SIZED[strategy])

    assert {chunk.start for chunk in chunks} <= {start for start, _ in ranges}
    assert {chunk.end for chunk in chunks} <= {end for _, end in ranges}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (
            "a.py",
            "def f(x):\n" + "".join(f"    a_{i} = some_function(one={i}, two='{i}', three=[{i}])\n" for i in range(99)),
        ),
        ("a.sql", "".join(f"INSERT INTO t (a, b) VALUES ({i}, 'x {i}'); -- row {i}\n" for i in range(99))),
        ("a.sh", "f() {\n" + "".join(f'  echo "step {i}" # say {i}\n  run --n {i}\n' for i in range(99)) + "}\n"),
        (
            "a.js",
            "describe('x', () => {\n"
            + "".join(f"  it('{i}', () => {{\n    f({i});\n  }});\n" for i in range(99))
            + "});\n",
        ),
    ],
)
def test_a_long_function_is_cut_between_lines(tmp_path: Path, name: str, text: str) -> None:
    for document in (document_of(tmp_path / name, text), text):
        for strategy in ("sentence", "structure"):
            chunks = split(document, strategy, unit="token", chunk_size=120)
            assert len(chunks) > 9
            assert all(text[chunk.start - 1 : chunk.start].isspace() for chunk in chunks[1:])
            assert not any(text[text.rfind("\n", 0, chunk.start) + 1 : chunk.start].strip() for chunk in chunks)


def test_a_statement_that_is_too_long_is_cut_at_its_outermost_lines_first() -> None:
    tests = [f"  it('does {n}', () => {{\n    expect({n})\n      .toBe({n});\n  }});" for n in range(4)]
    text = "\n".join(["describe('x', () => {", *tests, "});"])

    found = split(text, "structure", unit="character", chunk_size=100, min_chunk_size=0)

    assert [chunk.text for chunk in found] == [
        f"describe('x', () => {{\n{tests[0]}",
        *(each.strip() for each in tests[1:-1]),
        f"{tests[-1].strip()}\n}});",
    ]
    assert all(before.end < after.start for before, after in pairwise(found))
