"""Markdown and source code as lines of a terminal."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

from rich.console import Console, ConsoleOptions, RenderResult
from rich.markdown import CodeBlock, Heading, Markdown, MarkdownElement
from rich.segment import Segment
from rich.syntax import Syntax
from rich.text import Text
from rich.theme import Theme

from kinsplit.errors import visible
from kinsplit.markup.source import Kind, opening, parser

#: Colours of the terminal's own palette, which its user has made legible.
_CODE = "ansi_light"
_THEME = Theme({"markdown.code": "cyan", "markdown.code_block": "cyan", "markdown.h1": "bold underline"})


def rendered(console: Console, width: int, text: str, kind: Kind, header: str, name: str) -> list[Text]:
    """Return a text as the lines of a terminal, without control characters."""
    if kind == "markdown":
        made: Any = _Markdown(opening(text, header) + text)
    elif kind == "code":
        made = _syntax(text, Syntax.guess_lexer(name))
    else:
        made = Text(visible(text), overflow="fold")
    with console.use_theme(_THEME):
        lines = console.render_lines(made, console.options.update(width=width, height=None), pad=False)
    shown = [Text.assemble(*_harmless(line)) for line in lines]
    for line in shown:
        line.rstrip()
    first = next((number for number, line in enumerate(shown) if line), 0)
    last = next((number for number, line in reversed(list(enumerate(shown))) if line), -1)
    return shown[first : last + 1]


def _harmless(line: list[Segment]) -> Iterator[tuple[str, Any]]:
    """Yield the texts of a line with their styles; a parser may have decoded characters that control a terminal."""
    for segment in line:
        if not segment.control:
            yield visible(segment.text).replace("\n", "\ufffd"), segment.style or ""


def _syntax(code: str, lexer: str) -> Syntax:
    return Syntax(visible(code), lexer, theme=_CODE, word_wrap=True, background_color="default")


class _Heading(Heading):
    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield self.text


class _CodeBlock(CodeBlock):
    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield _syntax(str(self.text).rstrip(), self.lexer_name)


_ELEMENTS = {"heading_open": _Heading, "fence": _CodeBlock, "code_block": _CodeBlock}


class _Markdown(Markdown):
    elements: ClassVar[dict[str, type[MarkdownElement]]] = {**Markdown.elements, **_ELEMENTS}

    def __init__(self, source: str) -> None:
        # The links' addresses are written out, since a terminal would open them unseen.
        super().__init__("", hyperlinks=False)
        self.parsed = parser().parse(source)
