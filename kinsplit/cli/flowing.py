"""Text that comes in pieces, on lines that a terminal breaks between words."""

from __future__ import annotations

import re

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

_PARTS = re.compile(r"\n|[^\S\n]+|\S+")
# A longer word isn't held back until it ends; Thai, for one, has no spaces.
_LONGEST = 40


class Flow:
    """Writes text as it comes, a word later at most.

    Args:
        console: Where to. Only a terminal's lines are broken.
    """

    def __init__(self, console: Console) -> None:
        self._console = console
        self._space, self._word = "", Text()
        self._column = 0

    def write(self, text: Text) -> None:
        """Write a piece; its last word waits for its end."""
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
        """Write the word that was held back."""
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
        """Add to the word; a line may also be broken before a character of two cells, as Chinese ones are."""
        wide = [at for at, letter in enumerate(text.plain) if cell_len(letter) > 1]
        at = 0
        while at < len(text):
            if at in wide or len(self._word) >= _LONGEST:
                self.end_word()
            longest = at + _LONGEST - len(self._word)
            stop = min([longest, len(text), *(place for place in wide if place > at)])
            self._word.append_text(text[at:stop])
            at = stop

    def _print(self, text: Text) -> None:
        self._console.print(text, end="", soft_wrap=True)
        self._console.file.flush()
