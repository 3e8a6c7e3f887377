"""A stanza is a chunk, and a long one is split between its lines."""

import re
from collections.abc import Sequence

from pydantic import Field

from kinsplit.parsers import Strategy
from kinsplit.parsers.base import Cut
from kinsplit.spans import Span

_STANZA = re.compile(r"\S.*(?:\n[^\S\n]*\S.*)*")


class VerseStrategy(Strategy):
    """Stanzas: blocks of lines between blank lines.

    Example:
        >>> [chunk.text for chunk in VerseStrategy().chunk("The owl\\nand the cat\\n\\nwent to sea.")]
        ['The owl\\nand the cat', 'went to sea.']
    """

    name = "verse"
    summary = "Stanzas of verse"
    origin = "none, since a stanza has as many lines as its poet gave it"
    version = "1"  # Part of every chunk's id: raise it when the cuts change.

    most_lines: int = Field(default=8, ge=1, description="Maximum number of lines of a chunk.")

    def _cut(self, texts: Sequence[str]) -> list[list[list[Cut]]]:
        # For each text its levels, the leaves first; for each level its chunks.
        return [[[Cut((span,)) for stanza in _STANZA.finditer(text) for span in self._split(stanza)]] for text in texts]

    def _split(self, stanza: re.Match[str]) -> list[Span]:
        lines = [(stanza.start() + line.start(), stanza.start() + line.end()) for line in re.finditer(".+", stanza[0])]
        parts = [lines[at : at + self.most_lines] for at in range(0, len(lines), self.most_lines)]
        return [Span(part[0][0], part[-1][1]) for part in parts]
