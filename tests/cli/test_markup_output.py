"""Markdown and code on a terminal: rendered, complete, and unable to control it."""

from __future__ import annotations

import re

import pytest
from rich.console import Console

from kinsplit.markup.terminal import rendered
from tests.cli.conftest import Cli

CONSOLE = Console(force_terminal=True, width=80, color_system="standard")


def shown(text: str, width: int = 60, kind: str = "markdown", header: str = "", name: str = "a.md") -> list[str]:
    return [line.plain for line in rendered(CONSOLE, width, text, kind, header, name)]


def test_blocks_are_rendered_and_code_keeps_its_lines() -> None:
    lines = shown(
        "## Loops\n\nA **loop** repeats\nits `body`.\n\n- one\n- two\n\n```python\nwhile x:\n\n\n    step()\n```\n"
    )

    assert lines[:3] == ["Loops", "", "A loop repeats its body."]
    assert [line.strip(" •") for line in lines if "•" in line] == ["one", "two"]
    assert lines[-4:] == ["while x:", "", "", "    step()"]


def test_code_is_highlighted() -> None:
    (line,) = rendered(CONSOLE, 60, "def step(): return 1", "code", "", "a.py")
    assert {str(span.style.color.name) for span in line.spans if span.style.color} >= {"blue", "green"}


def test_a_text_from_the_middle_of_code_or_a_table_is_shown_as_such() -> None:
    assert shown("    step()\n    more()\n```\n\nAfterwards.") == ["    step()", "    more()", "", "Afterwards."]
    table = shown("| 1 | 2 |\n| 3 | 4 |", header="| eggs | milk |\n| --- | --- |")
    assert [line.split() for line in table if line.strip(" ─━")] == [["eggs", "milk"], ["1", "2"], ["3", "4"]]
    assert [line.split() for line in shown("| 1 | 2 |\n| 3 | 4 |") if line.strip(" ─━")] == [["1", "2"], ["3", "4"]]


def test_html_and_pictures_are_text_and_addresses_are_shown() -> None:
    text = " ".join(
        shown("<b>x</b> ![a map](http://example.org/m.png)\n[go](http://example.org)\n\n<script>y()</script>")
    )
    assert text == "<b>x</b> [picture: a map] go (http://example.org)  <script>y()</script>"


@pytest.mark.parametrize("kind", ["markdown", "code", "text"])
def test_nothing_in_a_text_controls_the_terminal(kind: str) -> None:
    hostile = (
        "a\x1b[2J \x9b2J \x07 &#27;[31m <http://x/%1b[2J%0A> [l](http://x/%1b '\x1b') `\x1b]0;t\x07`\n\n"
        "```x\x1b\n\x1b\n```"
    )
    lines = rendered(CONSOLE, 60, hostile, kind, "", "a.py")
    for line in lines:
        assert not re.search(r"[\x00-\x08\x0a-\x1f\x7f-\x9f]", line.plain)
        assert all(getattr(span.style, "link", None) is None for span in line.spans)
    assert "a\ufffd[2J" in lines[0].plain


@pytest.mark.parametrize("width", [1, 4, 20])
def test_deep_nesting_fits_any_width(width: int) -> None:
    nested = ">" * 30 + " deep\n\n" + "- " * 30 + "x\n\n" + "1. " * 30 + "y\n\n| a | b |\n|---|---|\n| c |"
    assert all(line for line in shown(nested, width) if line.strip())


@pytest.fixture
def on_terminal(cli: Cli, monkeypatch: pytest.MonkeyPatch, tmp_path) -> Cli:
    (tmp_path / "loops.md").write_text(
        "# Loops\n\nA **loop** repeats its body.\n\n```python\nwhile x:\n    step()\n```\n", encoding="utf-8"
    )
    cli("index", "loops.md", "--embedder", "hash")
    for name, value in {"FORCE_COLOR": "1", "TERM": "xterm", "COLUMNS": "60"}.items():
        monkeypatch.setenv(name, value)
    return cli


def test_search_renders_on_a_terminal_unless_told_not_to(on_terminal: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    command = "search", "loop", "--embedder", "hash"
    on_screen, whole, plain = on_terminal(*command), on_terminal(*command, "--full"), on_terminal(*command, "--plain")
    found = on_terminal(*command, "--json")
    monkeypatch.delenv("FORCE_COLOR")
    piped = on_terminal(*command)

    bare = [re.sub(r"\x1b\[[\d;]*m", "", result.stdout) for result in (on_screen, whole)]
    for text in bare:
        assert "    A loop repeats its body.\n" in text
        assert "```" not in text
    assert re.search(r"\x1b\[1;(?:\d+;)*33mloop", on_screen.stdout)  # The words of the query stand out.
    assert "```python" in plain.stdout
    assert "\x1b" not in piped.stdout + found.stdout
    assert "```python" in piped.stdout
    assert "**loop**" in found.stdout


def test_the_lines_with_the_words_of_the_query_are_shown(on_terminal: Cli, tmp_path) -> None:
    steps = "".join(f"- Item {number} is read.\n" for number in range(30)) + "- A heap is sorted.\n"
    (tmp_path / "heap.md").write_text(f"# Steps\n\n{steps}", encoding="utf-8")
    own = "--embedder", "hash", "--collection", "heap"
    on_terminal("index", "heap.md", *own, "--set", "chunk_size=900", "--strategy", "sentence")

    text = on_terminal("search", "heap", *own).stdout
    assert "…" in text
    assert "sorted" in text
    assert "Item 3 " not in text
