"""The terminal: results to stdout, everything else to stderr."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, redirect_stdout
from typing import Any, TextIO

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from kinsplit.errors import inline

#: Width of output without a terminal: tables are neither folded nor cut.
_ENDLESS = 10_000
#: Maximum line length of prose on a wide terminal.
_READABLE = 100
_INDENT = "    "
# Numbers of the files that a process and those that it starts inherit.
_STDOUT, _STDERR = 1, 2
_REMEDIES: dict[type[OSError], str] = {
    FileNotFoundError: "Check the spelling, and the folder you are in.",
    IsADirectoryError: "Name a file.",
    PermissionError: "Choose a path that you may read and write.",
}
_ISSUES = "https://github.com/kinsplit/kinsplit/issues"

# Control characters in the text or name of a file could act on the terminal. JSON need not escape these: C1 controls,
# characters that change the text direction, and line separators.
_RAW_CONTROL = re.compile("[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
_LINE_END = re.compile(r"(?<!\s)\s*\n\s*")


def _escaped(control: re.Match[str]) -> str:
    return f"\\u{ord(control[0]):04x}"


class Terminal:
    """Writes to stdout and stderr, with colours on a terminal, or all as JSON; results and errors alone if quiet."""

    def __init__(self, *, as_json: bool, quiet: bool = False) -> None:
        self.as_json, self.quiet = as_json, quiet
        self.out = _Console(highlight=False, markup=False, emoji=False)
        self.err = _Console(highlight=False, markup=False, emoji=False, stderr=True)
        for console in (self.out, self.err):
            if not console.is_terminal and "COLUMNS" not in os.environ:
                console.width = _ENDLESS

    @property
    def screen(self) -> Console:
        """The console for progress bars: stdout if it is a terminal, so that bars and lines don't mix."""
        if self.quiet:
            return _Console(quiet=True, force_terminal=False)
        return self.out if self.out.is_terminal and not self.as_json else self.err

    @property
    def aside(self) -> Console:
        """The console for what is shown while nothing is written yet: stderr, unless quiet."""
        return self.screen if self.quiet else self.err

    @contextmanager
    def own_stdout(self) -> Iterator[None]:
        """Keep stdout to this terminal while the block runs: what others write there, and processes, goes to stderr."""
        stdout = sys.stdout
        stdout.flush()
        with open(os.dup(_STDOUT), "w", encoding=stdout.encoding, errors=stdout.errors) as kept:  # noqa: PTH123
            self.out.file = kept if _is_descriptor(stdout) else stdout
            os.dup2(_STDERR, _STDOUT)
            try:
                with redirect_stdout(sys.stderr):
                    yield
            finally:
                stdout.flush()  # Others may have kept the object, and written to its buffer.
                os.dup2(kept.fileno(), _STDOUT)
                self.out.file = stdout

    def table(self, table: Table) -> None:
        """Write a table to stdout."""
        self.out.print(table)

    def line(self, text: str | Text) -> None:
        """Write one line to stdout; line ends in it are escaped."""
        self.out.print(inline(text) if isinstance(text, str) else text, soft_wrap=True)

    def detail(self, text: str | Text) -> None:
        """Write a line on the way to the result to stdout, unless quiet."""
        if not self.quiet:
            self.line(text)

    def quote(self, text: Text, lines: int | None) -> None:
        """Write text to stdout, indented and wrapped, up to a number of lines; None for all."""
        wrapped = text.wrap(self.out, self.quote_width, overflow="fold")[:lines]
        while wrapped and not wrapped[-1].plain.strip():
            wrapped.pop()
        for line in wrapped:
            line.rstrip()
        self.lines(wrapped)

    @property
    def quote_width(self) -> int:
        """Maximum width of the lines of a quoted text, in cells."""
        return max(1, min(self.out.width, _READABLE) - len(_INDENT))

    def lines(self, lines: Iterable[Text]) -> None:
        """Write lines to stdout, indented."""
        for line in lines:
            self.line(Text(_INDENT) + line if line else line)

    def outcome(self, value: object, *shown: str | Text | Table) -> None:
        """Write a result to stdout: as one JSON value, or in lines and tables."""
        if self.as_json:
            self.document(value)
            return
        for each in shown:
            if isinstance(each, Table):
                self.table(each)
            else:
                self.line(each)

    def document(self, value: object) -> None:
        """Write one JSON value to stdout."""
        self.row(value, indent=2)

    def row(self, value: object, indent: int | None = None) -> None:
        """Write one JSON value to stdout in UTF-8, on one line unless indented."""
        line = _RAW_CONTROL.sub(_escaped, json.dumps(value, ensure_ascii=False, indent=indent)) + "\n"
        typer.get_binary_stream("stdout").write(line.encode("utf-8", "replace"))

    def warning(self, message: str) -> None:
        """Write a warning to stderr, unless quiet."""
        if not self.quiet:
            self._note("Warning:", "yellow", message, {"warning": message})

    def error(self, error: Exception) -> None:
        """Write an error to stderr."""
        described = describe_error(error)
        self._note("Error:", "bold red", described["message"], {"error": described})

    def defect(self, error: Exception) -> None:
        """Write to stderr that an unforeseen error is a bug in kinsplit, and how to report it."""
        described = describe_error(error)
        message = (
            f"This is a bug in kinsplit: {described['type']}: {described['message'].rstrip('.')}. "
            f"Please report it at {_ISSUES} with the command and its traceback, which "
            "KINSPLIT_TRACEBACK=1 shows."
        )
        self._note("Error:", "bold red", message, {"error": {**described, "message": message}})

    def _note(self, label: str, style: str, message: str, value: dict[str, Any]) -> None:
        if self.as_json:
            note = Text(json.dumps(value))
        else:
            note = Text.assemble((label, style), " ", inline(_LINE_END.sub(" ", message)))
        # A second console would overwrite the progress bar on the same terminal.
        console = self.screen if self.err.is_terminal and not self.quiet else self.err
        console.print(note, soft_wrap=True)


def _is_descriptor(stream: TextIO) -> bool:
    """Return whether a stream is the stdout of the process, and not a stream of a test in its place."""
    try:
        return stream.fileno() == _STDOUT
    except OSError:
        return False


def describe_error(error: Exception) -> dict[str, str]:
    """Return an error for `--json`, with its notes in one line, such as the node on which it arose."""
    message = " ".join([str(error), *(note for note in getattr(error, "__notes__", ()) if "\n" not in note)])
    if isinstance(error, OSError) and error.filename is not None:
        remedy = next((text for kind, text in _REMEDIES.items() if isinstance(error, kind)), "Choose another path.")
        message = f"{inline(str(error.filename))}: {error.strerror}. {remedy}"  # Without the error number.
    return {"type": type(error).__name__, "message": message}


class _Console(Console):
    def on_broken_pipe(self) -> None:
        """Leave the error to `command`, like any other."""
        raise  # Rich calls this while handling the BrokenPipeError.
