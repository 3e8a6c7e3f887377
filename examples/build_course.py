"""Build the PDF handouts and the notebooks of the sample course from their Markdown sources.

`course_sources/lecture_03.pdf.md` becomes `course/lecture_03.pdf`, `course_sources/lecture_04.ipynb.md` becomes
`course/lecture_04.ipynb`. The same sources always give the same bytes, so a rebuild appears in a diff only where the
text has changed. It needs reportlab (in the `dev` extra):

    python examples/build_course.py
"""

from __future__ import annotations

import ast
import contextlib
import html
import io
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

HERE = Path(__file__).parent
SOURCES = HERE / "course_sources"
TARGET = HERE / "course"
COURSE = "Introduction to Programming"


class Block(NamedTuple):
    """A block of a source: its kind (heading, code, list, table or paragraph), label and lines.

    The label is the level of a heading, the language of a code fence and the bullet type of a list.
    """

    kind: str
    label: str
    lines: list[str]


def blocks(source: str) -> Iterator[Block]:
    """Parse the Markdown dialect of the sources: ATX headings, backtick fences, flat lists, pipe tables."""
    lines = iter(source.splitlines())
    for line in lines:
        if fence := re.fullmatch(r"```(\w*)", line):
            body = []
            for code in lines:
                if code == "```":
                    break
                body.append(code)
            yield Block("code", fence[1], body)
        elif heading := re.fullmatch(r"(#{1,3}) (.+)", line):
            yield Block("heading", str(len(heading[1])), [heading[2]])
        elif line.strip():
            body = [line]
            for more in lines:
                if not more.strip():
                    break
                body.append(more)
            yield text_block(body)


def text_block(lines: list[str]) -> Block:
    """Return a list, table or paragraph, recognised by its first line, with wrapped lines joined."""
    if lines[0].startswith("|"):
        return Block("table", "", [line for line in lines if not re.fullmatch(r"[|\s:-]+", line)])
    if marker := re.match(r"(-|\d+\.) ", lines[0]):
        items = re.split(r"\n(?:-|\d+\.) ", "\n".join(lines)[marker.end() :])
        return Block("list", "bullet" if marker[1] == "-" else "1", [" ".join(item.split()) for item in items])
    return Block("paragraph", "", [" ".join(line.strip() for line in lines)])


def inline(text: str) -> str:
    """Convert `code`, **bold** and *italic* to the markup of reportlab's paragraphs."""
    parts = re.split(r"`([^`]+)`", text)
    prose = [re.sub(r"\*(.+?)\*", r"<i>\1</i>", re.sub(r"\*\*(.+?)\*\*", r"<b>\1</b>", html.escape(p))) for p in parts]
    code = [f'<font face="Courier">{html.escape(part, quote=False)}</font>' for part in parts]
    return "".join(code[i] if i % 2 else prose[i] for i in range(len(parts)))


def build_pdf(source: str, target: Path) -> None:
    """Build an A4 handout. The footer is drawn last, so it is also the last text of each page."""
    from reportlab.lib.pagesizes import A4
    from reportlab.lib.styles import getSampleStyleSheet
    from reportlab.lib.units import mm
    from reportlab.pdfgen.canvas import Canvas
    from reportlab.platypus import BaseDocTemplate, Frame, PageTemplate

    read = list(blocks(source))
    title = read[0].lines[0]

    def footer(canvas: Canvas, document: BaseDocTemplate) -> None:
        canvas.setFont("Helvetica", 8)
        canvas.drawString(22 * mm, 12 * mm, f"{COURSE} | {title}")
        canvas.drawRightString(A4[0] - 22 * mm, 12 * mm, f"Page {document.page}")

    document = BaseDocTemplate(
        str(target), pagesize=A4, title=title, author=COURSE, subject=COURSE, invariant=1, pageCompression=0
    )
    frame = Frame(20 * mm, 20 * mm, A4[0] - 40 * mm, A4[1] - 38 * mm)
    document.addPageTemplates(PageTemplate(frames=[frame], onPageEnd=footer))
    styles = getSampleStyleSheet()
    styles["BodyText"].fontSize, styles["BodyText"].leading = 10.5, 14.5
    styles["Code"].fontSize, styles["Code"].leading = 9, 11.5
    styles["Code"].leftIndent, styles["Code"].spaceBefore, styles["Code"].spaceAfter = 12, 6, 6
    document.build([flowable(block, styles) for block in read])


def flowable(block: Block, styles: Any) -> Any:  # reportlab has no types
    """Return the reportlab flowable of a block."""
    from reportlab.lib import colors
    from reportlab.platypus import ListFlowable, Paragraph, Preformatted, Table

    body = styles["BodyText"]
    match block.kind:
        case "heading":
            return Paragraph(inline(block.lines[0]), styles["Title" if block.label == "1" else f"Heading{block.label}"])
        case "code":
            return Preformatted("\n".join(block.lines), styles["Code"])
        case "list":
            items = [Paragraph(inline(item), body) for item in block.lines]
            numbers = {} if block.label == "bullet" else {"bulletFormat": "%s.", "bulletFontSize": body.fontSize}
            return ListFlowable(items, bulletType=block.label, **numbers)
        case "table":
            rows = [
                [Paragraph(inline(cell.strip()), body) for cell in row.strip("| ").split("|")] for row in block.lines
            ]
            style = [("GRID", (0, 0), (-1, -1), 0.5, colors.grey), ("VALIGN", (0, 0), (-1, -1), "TOP")]
            return Table(rows, style=style, repeatRows=1, spaceBefore=6, spaceAfter=6)
    return Paragraph(inline(block.lines[0]), body)


def build_notebook(source: str, target: Path) -> None:
    """Build a notebook: `python` fences become code cells, run in order; other text becomes Markdown cells."""
    cells: list[dict[str, Any]] = []
    namespace: dict[str, Any] = {"__name__": "__main__"}
    parts = re.split(r"^```python\n(.*?)^```\n", source, flags=re.MULTILINE | re.DOTALL)
    for position, part in enumerate(parts):
        if position % 2:
            count = position // 2 + 1
            outputs = run_cell(part, namespace, count)
            cells.append({"cell_type": "code", "execution_count": count, "outputs": outputs} | cell_body(part))
        else:
            sections = re.split(r"^(?=#{1,3} )", part, flags=re.MULTILINE)
            cells.extend({"cell_type": "markdown"} | cell_body(text) for text in sections if text.strip())
    named = [
        {"id": f"{target.stem.replace('_', '-')}-{number:02}"} | cell for number, cell in enumerate(cells, start=1)
    ]
    metadata = {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"file_extension": ".py", "mimetype": "text/x-python", "name": "python", "version": "3.11"},
    }
    notebook = {"cells": named, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}
    target.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def cell_body(text: str) -> dict[str, Any]:
    """Return the keys that every cell has."""
    return {"metadata": {}, "source": text.strip().splitlines(keepends=True)}


def run_cell(code: str, namespace: dict[str, Any], count: int) -> list[dict[str, Any]]:
    """Run a code cell and return its outputs as Jupyter does: printed text, then the value of a final expression."""
    tree = ast.parse(code)
    last = ast.Expression(tree.body.pop().value) if isinstance(tree.body[-1], ast.Expr) else None  # type: ignore[attr-defined]
    printed, value = io.StringIO(), None
    with contextlib.redirect_stdout(printed):
        exec(compile(tree, "<cell>", "exec"), namespace)  # noqa: S102 - the sources lie beside this script
        if last is not None:
            value = eval(compile(last, "<cell>", "eval"), namespace)  # noqa: S307
    outputs: list[dict[str, Any]] = []
    if printed.getvalue():
        text = printed.getvalue().splitlines(keepends=True)
        outputs.append({"name": "stdout", "output_type": "stream", "text": text})
    if value is not None:
        data = {"data": {"text/plain": [repr(value)]}, "execution_count": count, "metadata": {}}
        outputs.append({"output_type": "execute_result"} | data)
    return outputs


def main() -> None:
    """Build every target."""
    builders = {".pdf": build_pdf, ".ipynb": build_notebook}
    for path in sorted(SOURCES.glob("*.md")):
        target = TARGET / path.stem
        builders[target.suffix](path.read_text(encoding="utf-8"), target)
        print(target.relative_to(HERE))


if __name__ == "__main__":
    main()
