"""Answers printed as they arrive, with coloured citations, followed by the checks and the sources."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from kinsplit.answering import CitationFound, Notice, TextPiece, collect
from kinsplit.cli.output.passages import QueryWords, score_table, show_text
from kinsplit.cli.output.tables import counted
from kinsplit.cli.output.terminal import Terminal
from kinsplit.errors import inline, visible

if TYPE_CHECKING:
    from kinsplit.answering import Answer, Check, Event, Source


_PARTS = re.compile(r"\n|[^\S\n]+|\S+")
# Longer words are written before they end, since Thai, for one, has no spaces.
_LONGEST = 40


class WrappingWriter:
    """Writes text to a console as it arrives, and wraps the lines of a terminal between words."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._space, self._word = "", Text()
        self._column = 0

    def write(self, text: Text) -> None:
        """Write a piece of text, but hold back its last word until the word ends."""
        if not self._console.is_terminal:
            self._print(text)
            return
        for part in _PARTS.finditer(text.plain):
            if part[0] == "\n":
                self.end_word()
                self._print(Text("\n"))
                self._column, self._space = 0, ""
            elif part[0].isspace():
                self.end_word()
                self._space += part[0]
            else:
                self._add(text[part.start() : part.end()])

    def end_word(self) -> None:
        """Write the word held back."""
        if not self._word:
            return
        space, width = cell_len(self._space), cell_len(self._word.plain)
        if self._column and self._column + space + width > self._console.width:
            self._print(Text("\n"))
            self._column = 0
        else:
            self._print(Text(self._space))
            self._column += space
        self._print(self._word)
        self._column += width
        self._space, self._word = "", Text()

    def _add(self, text: Text) -> None:
        """Append to the word held back; a line may also break before a wide character, as in Chinese."""
        wide = [at for at, letter in enumerate(text.plain) if cell_len(letter) > 1]
        at = 0
        while at < len(text):
            if at in wide or len(self._word) >= _LONGEST:
                self.end_word()
            longest = at + _LONGEST - len(self._word)
            stop = min([longest, len(text), *(offset for offset in wide if offset > at)])
            self._word.append_text(text[at:stop])
            at = stop

    def _print(self, text: Text) -> None:
        self._console.print(text, end="", soft_wrap=True)
        self._console.file.flush()


_VALID, _INVALID = "bold cyan", "bold red"
_INDENT = "    "


class AnswerWriter:
    """Writes the events of an answer to a terminal."""

    def __init__(
        self, terminal: Terminal, words: QueryWords, *, full: bool = False, explain: bool = False, plain: bool = False
    ) -> None:
        self._terminal = terminal
        self._words, self._full, self._explain, self._plain = words, full, explain, plain
        self._text = WrappingWriter(terminal.out)
        self._line_open = False

    def write(self, event: Event) -> None:
        """Write one event; the sources are written at the end only."""
        if isinstance(event, TextPiece):
            self._append(Text(visible(event.text)))
        elif isinstance(event, CitationFound):
            is_valid = all(citation.source is not None for citation in event.citations)
            self._append(Text(visible(event.text), _VALID if is_valid else _INVALID))
        elif isinstance(event, Notice):
            self._end_line()
            self._terminal.warning(event.message)

    def write_all(self, events: Iterator[Event]) -> Answer:
        """Write all events, the checks and the sources, and return the answer."""
        written = []
        for event in events:
            self.write(event)
            written.append(event)
        self._end_line()
        answer = collect(iter(written))
        _write_checks(self._terminal, answer)
        self._write_sources(answer)
        return answer

    def _write_sources(self, answer: Answer) -> None:
        cited = {citation.number for citation in answer.citations if citation.source is not None}
        if answer.sources:
            self._terminal.line("")
            self._terminal.line("Sources:" if cited else "Passages found, none of them cited:")
        for source in answer.sources:
            _write_entry(self._terminal, _source_line(source, is_cited=source.number in cited))
            if self._full:
                show_text(self._terminal, source, source.best, self._words, None, plain=self._plain)
        found = {source.number: source.passage for source in answer.sources if source.passage is not None}
        if self._explain and found:
            self._terminal.line("")
            self._terminal.table(score_table(found, "Source"))

    def _append(self, text: Text) -> None:
        self._text.write(text)
        self._line_open = True

    def _end_line(self) -> None:
        if self._line_open:
            self._text.write(Text("\n"))
            self._line_open = False


def _write_checks(terminal: Terminal, answer: Answer) -> None:
    """Write the results of the checks."""
    if answer.checks:
        terminal.line("")
        found = sum(check.status == "found" for check in answer.checks)
        summary = f"{found} of {counted(len(answer.checks), 'sentence')} found in the cited passages."
        _write_entry(terminal, Text(summary))
    for check in answer.checks:
        if check.status != "found":
            text = visible(" ".join(check.text.split()))
            _write_entry(terminal, Text.assemble((f"{_finding(check)}: ", "yellow"), text))


def _write_entry(terminal: Terminal, text: Text) -> None:
    """Write one entry, wrapped in a terminal with the following lines indented."""
    if not terminal.out.is_terminal:
        terminal.line(text)
        return
    first, *others = text.wrap(terminal.out, max(1, terminal.out.width - len(_INDENT)))
    terminal.line(first)
    for line in others:
        terminal.line(Text(_INDENT) + line)


def _finding(check: Check) -> str:
    cited = "".join(f"[{number}]" for number in check.cited)
    if check.status == "uncited":
        return "Without a citation"
    if check.status == "no_such_source":
        return f"Cites a passage that does not exist, {cited}"
    missing = f" (no cited passage contains {', '.join(check.missing)})" if check.missing else ""
    return f"Not found in {cited}{missing}"


def _source_line(source: Source, *, is_cited: bool) -> Text:
    best = source.best
    parts = [source.file]
    if best.source_id != source.file:
        parts.append(best.source_id)
    parts += [f"chunk {best.index + 1}/{best.total}", source.location]
    style = _VALID if is_cited else "dim"
    return Text.assemble((f"[{source.number}]", style), " ", inline(", ".join(parts)), f" (score {source.score:.4f})")
