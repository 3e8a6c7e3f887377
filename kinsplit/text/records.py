"""Records in lines: rows of separated values, log entries, messages of a chat, `key: value` pairs, JSON Lines.

In prose, a line break is white space. In a block of records, each record begins a line, and a cut between two lines of
one record, or inside a line, tears it.
"""

from __future__ import annotations

from typing import NamedTuple


class Records(NamedTuple):
    """The records of a block.

    Attributes:
        starts: First code point of each record, ascending; the first is the start of the block.
        header: Row with the names of the columns; empty if the first record is not one.
    """

    starts: list[int]
    header: str = ""


def find_records(text: str, start: int, end: int, kind: str = "") -> Records | None:
    """Return the records of a block of lines, or None if its lines are prose.

    Args:
        text: The text.
        start: First code point of the block, which begins a line.
        end: One past the last code point of the block.
        kind: What the document says that it is (see `kinsplit.chunk.Document`); empty to recognise it.
    """
    del text, start, end, kind
    return None
