from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kinsplit.errors import LoadError
from kinsplit.loaders.formats.notebook import read
from kinsplit.loaders.markup.markdown import fenced
from kinsplit.parsers import create
from tests.loaders.helpers import document_of, notebook


def markdown(source: str | list[str]) -> dict:
    return {"cell_type": "markdown", "metadata": {}, "source": source}


def code(source: str | list[str], *outputs: dict) -> dict:
    return {"cell_type": "code", "metadata": {}, "execution_count": 1, "source": source, "outputs": list(outputs)}


def printed(text: str | list[str], name: str = "stdout") -> dict:
    return {"output_type": "stream", "name": name, "text": text}


def value(text: str, kind: str = "execute_result", **data: str) -> dict:
    return {"output_type": kind, "metadata": {}, "data": {"text/plain": text, **data}}


def text_of(*cells: dict, **metadata: object) -> str:
    return read(notebook(*cells, **metadata).encode()).contents[0].text


def test_cells_in_order_as_one_text(tmp_path):
    document = document_of(
        tmp_path / "lecture_05.ipynb",
        notebook(
            markdown(["# Loops\n", "\n", "A *loop* repeats."]),
            code(["for i in range(2):\n", "    print(i)"], printed(["0\n", "1\n"])),
            code("  \n"),
            {"cell_type": "raw", "metadata": {}, "source": "raw text"},
            code("6 * 7", value("42")),
        ),
    )

    assert document.text == (
        "# Loops\n\nA *loop* repeats.\n\n```python\nfor i in range(2):\n    print(i)\n```\n\n```text\n0\n1\n```\n\n"
        "raw text\n\n```python\n6 * 7\n```\n\n```text\n42\n```"
    )
    assert document.metadata["title"] == "Loops"
    assert document.metadata["file_type"] == "notebook"


@pytest.mark.parametrize(
    "output",
    [
        printed("trace", name="stderr"),
        value("<Figure size 640x480 with 1 Axes>", kind="display_data", **{"image/png": "iVBOR"}),
        value("[<matplotlib.lines.Line2D at 0x7f2a10>]"),
        {"output_type": "error", "ename": "ValueError", "evalue": "trace", "traceback": ["trace"]},
    ],
)
def test_outputs_that_are_left_out(output):
    assert text_of(code("run()", output)) == "```python\nrun()\n```"


def test_what_is_left_out_is_counted():
    picture = value("<Figure size 640x480 with 1 Axes>", kind="display_data", **{"image/png": "iVBOR"})
    error = {"output_type": "error", "ename": "ValueError", "evalue": "trace", "traceback": ["trace"]}
    attached = {**markdown("![a](attachment:a.png)"), "attachments": {"a.png": {"image/png": "iVBOR"}}}

    reading = read(
        notebook(attached, code("run()", picture, error, printed("x", name="stderr"), printed("y"))).encode()
    )

    assert reading.warnings == (
        "2 pictures were left out",
        "1 error message was left out",
        "1 standard-error output was left out",
    )


@pytest.mark.parametrize("kind", ["execute_result", "display_data"])
@pytest.mark.parametrize(
    ("plain", "data", "shown"),
    [
        ("<IPython.core.display.Markdown object>", {"text/markdown": "**bold**"}, "**bold**"),
        ("<IPython.core.display.HTML object>", {"text/html": "<p>A <b>note</b></p>"}, "A note"),
        ("<IPython.core.display.Math object>", {"text/latex": "$x^2$"}, "$x^2$"),
        (
            "   a  ... z",
            {"text/html": "<table><tr><th><th>a<th>z<tr><th>0<td>1<td>2</table>"},
            "|  | a | z |\n| --- | --- | --- |\n| 0 | 1 | 2 |",
        ),
        ("42", {"text/html": "<b>42</b>"}, "```text\n42\n```"),
    ],
)
def test_the_richest_text_of_a_result_is_read(kind, plain, data, shown):
    assert text_of(code("f()", value(plain, kind, **data))) == f"```python\nf()\n```\n\n{shown}"


def test_front_matter_of_a_notebook_is_metadata():
    raw = {"cell_type": "raw", "source": "---\ntitle: Owls\ntags: [a]\n---"}

    (content,) = read(notebook(raw, markdown("# Top")).encode()).contents

    assert (content.text, content.title, content.metadata) == ("# Top", "Owls", {"tags": ["a"]})


def test_long_results_are_left_out_and_counted():
    reading = read(
        notebook(code("a", printed("x" * 2001)), code("b", printed("y" * 2000), printed("x" * 9999))).encode()
    )

    assert "x" not in reading.contents[0].text.replace("text", "")
    assert "y" * 2000 in reading.contents[0].text
    assert reading.warnings == ("2 results of more than 2,000 characters were left out",)


@pytest.mark.parametrize("metadata", [{"language_info": {"name": "julia"}}, {"kernelspec": {"language": "julia"}}])
def test_the_fence_names_the_notebooks_language(metadata):
    assert text_of(code("1"), **metadata) == "```julia\n1\n```"


@given(st.text(alphabet="`~a\n ", max_size=40))
def test_nothing_closes_a_fence_early(text):
    first, *inside, last = fenced(text, "python").split("\n")

    assert "\n".join(inside) == text
    assert re.fullmatch("`{3,}", last)
    assert first == f"{last}python"
    assert not any(re.match(rf" *{last}", line) for line in inside)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        ("{", "JSON can't be read"),
        ("[" * 100_000, "JSON can't be read"),
        ("[1]", "no list of cells"),
        ('{"worksheets": []}', "jupyter nbconvert"),
        ('{"cells": [1]}', "no list of cells"),
    ],
)
def test_what_is_no_notebook(tmp_path, data, reason):
    with pytest.raises(LoadError, match=rf"x\.ipynb: .*{reason}"):
        document_of(tmp_path / "x.ipynb", data)


def test_odd_fields_do_no_harm():
    cells = [
        {"cell_type": "code"},
        {"source": 3},
        {"cell_type": "code", "source": "1", "outputs": [1, {}, {"data": 2}]},
    ]

    assert text_of(*cells) == "```python\n1\n```"
    assert read(b'{"cells": [], "metadata": 3}').contents[0].text == ""


@pytest.mark.parametrize(("fence", "info"), [("```", "python"), ("~~~~", ""), ("````", "")])
def test_a_fence_that_was_never_closed_ends_with_its_cell(fence, info):
    broken = {"cell_type": "markdown", "source": f"As in\n{fence}{info}\nx = 1"}
    after = {"cell_type": "markdown", "source": "# Next"}

    assert text_of(broken, after) == f"As in\n{fence}{info}\nx = 1\n{fence}\n\n# Next"
    assert text_of({**broken, "source": f"{broken['source']}\n{fence}"}, after).count(fence) == 2


def test_colours_of_a_terminal_are_no_text():
    printed = {
        "output_type": "stream",
        "name": "stdout",
        "text": "\x1b[1;31mred\x1b[0m and \x1b[38;5;4mblue\x1b[m\x1b[2K",
    }

    assert text_of({"cell_type": "code", "source": "1", "outputs": [printed]}).endswith("text\nred and blue\n```")


@pytest.mark.parametrize("cell", [{}, {"cell_type": "raw", "source": []}, {"cell_type": "markdown", "source": None}])
def test_cells_without_a_source_are_nothing(cell):
    assert text_of(cell) == ""
    assert text_of(cell, {"cell_type": "raw", "source": ["a\n", "b"]}, cell) == "a\nb"


def test_cells_survive_as_structure(tmp_path):
    cells = [
        {"cell_type": "markdown", "source": "# Loops\n\n## While"},
        {"cell_type": "code", "source": "# no heading\nwhile True:\n\n    break", "outputs": []},
        {"cell_type": "markdown", "source": "## For\n\nIt counts."},
    ]
    document = document_of(tmp_path / "a.ipynb", notebook(*cells))

    chunks = create("structure", chunk_size=30, min_chunk_size=20).chunk(document)

    assert [chunk.context for chunk in chunks] == ["Loops > While", "Loops > For"]
    assert chunks[0].text.endswith("```python\n# no heading\nwhile True:\n\n    break\n```")
