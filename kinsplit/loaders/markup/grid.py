"""The cells of a table as rows of values below their headers.

Columns without a value are dropped. Financial tables put the sign of a currency, a closing bracket and a percent sign
into cells of their own beside the number, below a header that reaches over all of them. These become one value again
below that header: `$` and `148,568` are `$148,568`, and `(1,141` and `)` are `(1,141)`.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

_HEADER_ROWS = 10  # rows whose merged cells may be headers of several columns
_EMPTIEST = 50  # places of a large table for each of its values
_LARGE = 100_000  # places
_BEFORE = re.compile(r"(?:US|CA?|AU?|NZ|HK|S)?[$€£¥₹₩]|\(")
_AFTER = re.compile(r"[)%‰]{1,2}|\[\w{1,3}\]")
_NUMBER = re.compile(r"[(−–+-]?\d[\d.,]*(?: ?[–-] ?\d[\d.,]*)?|[−–—-]")
_ONE_VALUE = re.compile("<*v?>*")


class Value(NamedTuple):
    """A cell's text, with its first column and the number of its columns."""

    column: int
    columns: int
    text: str


def in_columns(rows: Sequence[Sequence[Value]]) -> list[list[str]] | None:
    """Return the texts of each row in columns, which may differ in number; None if hardly any place is filled."""
    columns: dict[int, list[tuple[int, str]]] = defaultdict(list)
    for row, values in enumerate(rows):
        for value in values:
            columns[value.column].append((row, value.text))
    order = sorted(columns)
    joined = _joined(rows, columns, order) if any(map(_has_sign, rows)) else {}
    places: dict[int, int] = {}
    width = 0
    for column in order:
        if column in joined:
            places[column] = places[joined[column]]
        else:
            places[column], width = width, width + 1
    size = sum(places[values[-1].column] + 1 for values in rows if values)
    if size > _LARGE and size > _EMPTIEST * sum(map(len, rows)):
        return None
    return [_line(values, places) for values in rows]


def _line(values: Sequence[Value], places: Mapping[int, int]) -> list[str]:
    texts = [""] * (places[values[-1].column] + 1 if values else 0)
    for value in values:
        texts[places[value.column]] += value.text
    return texts


def _has_sign(values: Sequence[Value]) -> bool:
    """Return whether a row has a number with its sign in another cell."""
    return any(
        (_BEFORE.fullmatch(one.text) and _NUMBER.fullmatch(other.text))
        or (_NUMBER.fullmatch(one.text) and _AFTER.fullmatch(other.text))
        for one, other in pairwise(values)
    )


def _joined(
    rows: Sequence[Sequence[Value]], columns: Mapping[int, list[tuple[int, str]]], order: Sequence[int]
) -> dict[int, int]:
    """Return the columns that belong to one before them, so that no row has two values in one place."""
    texts = {column: [text for _, text in columns[column]] for column in order}
    joined = {
        column: before
        for before, column in pairwise(order)
        if all(map(_AFTER.fullmatch, texts[column])) or all(map(_BEFORE.fullmatch, texts[before]))
    }
    taken: set[int] = set()
    for header in (value for values in rows[:_HEADER_ROWS] for value in values if value.columns > 1):
        below = order[bisect_left(order, header.column) : bisect_left(order, header.column + header.columns)]
        if len(below) > 1 and taken.isdisjoint(below) and _is_one_column([columns[column] for column in below]):
            taken.update(below)
            joined |= dict.fromkeys(below[1:], below[0])
    return joined


def _is_one_column(columns: Sequence[Sequence[tuple[int, str]]]) -> bool:
    """Return whether no row has more than one value in some columns, with its signs around it."""
    kinds: dict[int, str] = defaultdict(str)
    for column in columns:
        for row, text in column:
            kinds[row] += "<" if _BEFORE.fullmatch(text) else ">" if _AFTER.fullmatch(text) else "v"
    return all(map(_ONE_VALUE.fullmatch, kinds.values()))
