"""The reading order of a PDF page's pieces: columns one after the other, and the rows of tables each on one line.

A page is read in bands from top to bottom. In a band with gutters, white stripes that no piece crosses, there are
columns or the cells of a table. Pieces are columns if their lines are those of prose, or if the file gives one column
after the other; otherwise they are rows. Where nothing tells otherwise, the file's own order stands.
"""

from __future__ import annotations

import unicodedata
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import pairwise
from statistics import fmean, median

from kinsplit.loaders.pdf.pieces import LABEL, PagePiece, same_line

_GUTTER = 0.75  # multiple of the height
_LARGER = 1.25  # multiple of the usual height, for a heading
_MOST_PIECES = 60  # pieces of a row; one with more has no columns
_SHADOWS = 20  # pieces of one text that may have a shadow
_DEEPEST = 4  # columns in columns
_BACK = 1.0  # multiple of the height, by which a line may be higher than the one before
_ROW_GAP = 1.3  # multiple of the smallest line distance, between the rows of a table
_ALIGNED = 0.8  # share of a table's rows that begin in all columns at once
_CAPITAL = 0.65  # multiple of the height, that of a capital letter
_BESIDE = 0.5  # multiple of the height, between the bases of cells of one line; those of fractions are farther
_NEXT_LINE = 1.6  # multiple of the height, between two lines of a cell
_OVERLAP = 0.3  # multiple of the height, by which lines may overlap
_ACROSS = 2.6  # multiple of the line distance, beside a heading across columns
_FEWEST_LINES = 3  # of a column of prose
_WORDS = 3.0  # words of a line of prose
_LONG_WORDS = 5.0  # words of a line that may be a sentence
_FULL, _FULLER = 0.6, 0.8  # shares of the column's width, for lines of prose
_RUNNING = 0.4  # share of the lines that begin within a sentence

Row = list[PagePiece]


def in_reading_order(pieces: Sequence[PagePiece]) -> list[Row]:
    """Return the lines of a page, each with its pieces from left to right; what is rotated comes last."""
    straight = [piece for piece in pieces if piece.is_straight]
    straight = list(_without_shadows(straight))
    rotated = [[piece] for piece in pieces if not piece.is_straight]
    if 2 * sum(piece.is_vertical for piece in straight) > len(straight):
        return [[piece] for piece in sorted(straight, key=lambda one: (-round(one.right), one.top))] + rotated
    for number, piece in enumerate(straight):
        piece.order = number
    is_mirrored = _is_right_to_left(straight)
    if is_mirrored:
        _mirror(straight)
    rows = list(_ordered(straight, _DEEPEST))
    if is_mirrored:
        _mirror(straight)
    return rows + rotated


def _without_shadows(pieces: Sequence[PagePiece]) -> Iterator[PagePiece]:
    """Yield pieces without those that are drawn again at about the same place, as for a shadow."""
    seen: defaultdict[str, list[PagePiece]] = defaultdict(list)
    for piece in pieces:
        before = seen[piece.text]
        near = _OVERLAP * piece.height
        if any(abs(one.left - piece.left) < near and abs(one.base - piece.base) < near for one in before[-_SHADOWS:]):
            continue
        yield piece
        before.append(piece)


def _is_right_to_left(pieces: Sequence[PagePiece]) -> bool:
    directions = [unicodedata.bidirectional(piece.text[0]) for piece in pieces if not piece.text.isascii()]
    return 2 * sum(each in {"R", "AL"} for each in directions) > len(pieces)


def _mirror(pieces: Sequence[PagePiece]) -> None:
    for piece in pieces:
        piece.left, piece.right = -piece.right, -piece.left


def _ordered(pieces: Sequence[PagePiece], depth: int) -> Iterator[Row]:
    """Yield the lines of a region in reading order."""
    if not pieces:
        return
    is_single = _share_a_place(pieces)
    given = sorted(pieces, key=lambda one: one.order)
    if is_single and _goes_on_down(given):
        yield from _lines(given)
        return
    rows = _rows(pieces)
    if is_single or not depth or max(map(len, rows)) > _MOST_PIECES:
        yield from _flow(rows)
        return
    for band, gutters in _bands(rows):
        start, end = _core(band, gutters) if gutters else (0, 0)
        yield from _flow(band[:start])
        if end - start == len(band):
            yield from _with_gutters(band, gutters, depth)
        else:
            yield from _ordered([piece for row in band[start:end] for piece in row], depth - 1)
        yield from _flow(band[end:])


def _share_a_place(pieces: Sequence[PagePiece]) -> bool:
    """Return whether a line from top to bottom goes through all pieces, so that there is no gutter."""
    return max(piece.left for piece in pieces) < min(piece.right for piece in pieces)


def _rows(pieces: Sequence[PagePiece]) -> list[Row]:
    """Return the pieces by line, from top to bottom and left to right."""
    rows: list[Row] = []
    for piece in sorted(pieces, key=lambda one: one.base):
        if rows and same_line(rows[-1][0], piece):
            rows[-1].append(piece)
        else:
            rows.append([piece])
    for row in rows:
        row.sort(key=lambda one: one.left)
    return rows


def _bands(rows: Sequence[Row]) -> Iterator[tuple[list[Row], list[float]]]:
    """Yield successive rows with the gutters that go through them all, as places from left to right."""
    height = median(row[0].height for row in rows)
    width = _GUTTER * height
    band: list[Row] = []
    taken: list[tuple[float, float]] = []
    was_large = False
    for row in rows:
        own = _merged(_stretches(row), width)
        merged = _merged([*taken, *own], width)
        is_large = len(row) > 1 and min(piece.height for piece in row) > _LARGER * height
        ends = (len(taken) > 1 and len(merged) == 1) or (len(taken) == 1 and len(own) > 1)
        if band and (ends or is_large != was_large):
            yield band, _gutters(taken)
            band, merged = [], own
        band.append(row)
        taken, was_large = merged, is_large
    yield band, _gutters(taken)


def _stretches(pieces: Sequence[PagePiece]) -> list[tuple[float, float]]:
    return [(piece.left, piece.right) for piece in pieces]


def _merged(taken: Sequence[tuple[float, float]], width: float) -> list[tuple[float, float]]:
    """Return the stretches that pieces take, joined where less than a gutter is between them."""
    joined: list[tuple[float, float]] = []
    for left, right in sorted(taken):
        if joined and left - joined[-1][1] < width:
            joined[-1] = (joined[-1][0], max(joined[-1][1], right))
        else:
            joined.append((left, right))
    return joined


def _gutters(taken: Sequence[tuple[float, float]]) -> list[float]:
    return [(right + left) / 2 for (_, right), (left, _) in pairwise(taken)]


def _core(band: Sequence[Row], gutters: Sequence[float]) -> tuple[int, int]:
    """Return where a band begins and ends without a header, a footer, and lines of one column far from the others."""
    if len(band) < 2:
        return 0, 0
    distances = [after[0].base - before[0].base for before, after in pairwise(band)]
    far = _ACROSS * median(distances)
    last = max(at for at, row in enumerate(band) if bisect_left(gutters, row[-1].left))
    end = last + 1 if last + 1 < len(band) and distances[last] > far else len(band)
    start = 1 if distances[0] > far else 0
    return start, end - 1 if end == len(band) and distances[-1] > far else end


def _with_gutters(band: list[Row], gutters: Sequence[float], depth: int) -> Iterator[Row]:
    """Yield the lines of a band that has columns or is a table."""
    columns = _in_columns(band, gutters)
    if not _are_columns(band, columns):
        yield from _table(band)
        return
    for part in _around_headings(band, gutters):
        for column in _in_columns(part, gutters):
            yield from _ordered(column, depth - 1)


def _in_columns(rows: Sequence[Row], gutters: Sequence[float]) -> list[list[PagePiece]]:
    columns: list[list[PagePiece]] = [[] for _ in range(len(gutters) + 1)]
    for row in rows:
        for piece in row:
            columns[bisect_left(gutters, piece.left)].append(piece)
    return columns


def _are_columns(band: Sequence[Row], columns: Sequence[Sequence[PagePiece]]) -> bool:
    """Return whether a band is to be read column by column."""
    column_of = {piece.order: number for number, column in enumerate(columns) for piece in column}
    shared = sum(len({column_of[piece.order] for piece in row}) > 1 for row in band)
    changes = sum(before != after for before, after in pairwise(column_of[order] for order in sorted(column_of)))
    in_turn = changes < max(len(columns), shared * (len(columns) - 1) / 2)
    if max(map(len, columns)) >= _FEWEST_LINES and all(map(_is_prose, columns)):
        return in_turn or not _has_cells_of_prose(band, len(columns))
    if not in_turn or min(map(len, columns)) < _FEWEST_LINES or _apart(columns) > 0:
        return False
    if all(LABEL.fullmatch(piece.text) for piece in columns[0]):
        return False
    figures = sum(map(_is_figures, columns[1:]))
    is_even = len(columns) > 2 and max(map(len, columns)) - min(map(len, columns)) < 2
    is_regular = shared >= _FEWEST_LINES and shared >= _ALIGNED * len(band)
    return not (is_regular and (2 * figures >= len(columns) - 1 or is_even))


def _is_prose(column: Sequence[PagePiece]) -> bool:
    """Return whether the lines of a column are those of sentences, which fill its width."""
    words = fmean(_words(piece.text) for piece in column)
    width = max(piece.right for piece in column) - min(piece.left for piece in column)
    full = fmean(piece.right - piece.left for piece in column) / (width or 1.0)
    running = fmean(not (piece.text[0].isupper() or piece.text[0].isdigit()) for piece in column)
    return words >= _WORDS and full >= _FULL and (running >= _RUNNING or (full >= _FULLER and words >= _LONG_WORDS))


def _words(text: str) -> float:
    return len(text.split()) if text[:1].isascii() or len(text) < 8 else max(len(text.split()), len(text) / 3)


def _is_figures(column: Sequence[PagePiece]) -> bool:
    """Return whether most of a column's pieces are numbers or dashes."""
    return 2 * sum(map(_is_figure, column)) > len(column)


def _is_figure(piece: PagePiece) -> bool:
    letters = sum(map(str.isalpha, piece.text))
    return 2 * letters < len(piece.text) - piece.text.count(" ")


def _has_cells_of_prose(band: Sequence[Row], columns: int) -> bool:
    """Return whether a band's lines stand in groups of a few lines, each of which begins in all columns at once."""
    distances = [after[0].base - before[0].base for before, after in pairwise(band)]
    firsts = [band[0], *(row for row, far in zip(band[1:], distances, strict=True) if far > _ROW_GAP * min(distances))]
    aligned = sum(len(row) == columns for row in firsts)
    return len(firsts) > 1 and len(band) < _FEWEST_LINES * len(firsts) and aligned >= _ALIGNED * len(firsts)


def _around_headings(band: list[Row], gutters: Sequence[float]) -> Iterator[list[Row]]:
    """Yield the parts of a band of columns that are read one after the other: before, in and after a heading across.

    A short heading across columns begins in the first one, and the others are empty beside it.
    """
    usual = median(after[0].base - before[0].base for before, after in pairwise(band))
    filled = [{bisect_left(gutters, piece.left) for piece in row} for row in band]
    part: list[Row] = []
    for number, row in enumerate(band):
        around = band[max(0, number - 1)][0].base, band[min(len(band), number + 2) - 1][0].base
        is_apart = 0 < number < len(band) - 1 and around[1] - around[0] > _ACROSS * usual
        if is_apart and filled[number] == {0} and len(filled[number - 1]) > 1 and len(filled[number + 1]) > 1:
            yield from (part, [row])
            part = []
        else:
            part.append(row)
    yield part


def _table(band: Sequence[Row]) -> Iterator[Row]:
    """Yield the rows of a table; a row whose cells have several lines becomes one."""
    given = sorted((piece for row in band for piece in row), key=lambda one: one.order)
    if given[0].base > max(piece.base for piece in given[1:]):  # A footer that the file gives first.
        given.append(given.pop(0))
    steps = list(_steps(given))
    for pieces in steps:
        rows = _rows(pieces)
        columns = _in_columns(rows, _gutters(_merged(_stretches(pieces), _GUTTER * pieces[0].height)))
        is_full = len(rows) > 2 and all(len(row) == len(columns) for row in rows)
        if len(rows) > 1 and len(columns) > 1 and not is_full and _are_cells(columns):
            yield from _one_row(columns) if len(steps) > 1 or len(columns) > 2 else _blocks(columns)
        elif _is_grid(rows, columns):
            yield from _unmixed(rows)
        else:
            yield from _lines(pieces)


def _one_row(columns: Sequence[Row]) -> list[Row]:
    return [[piece for column in columns for piece in column]]


def _blocks(columns: Sequence[Row]) -> list[Row]:
    """Return the lines of two blocks beside each other, or one row if these have as many lines or one has but one."""
    lines = set(map(len, columns))
    return (
        [[piece] for column in columns for piece in column] if len(lines) > 1 and 1 not in lines else _one_row(columns)
    )


def _is_grid(rows: Sequence[Row], columns: Sequence[Sequence[PagePiece]]) -> bool:
    """Return whether pieces are rows of cells, and not cells of several lines that the file gives one by one."""
    if any(sum(map(_is_figure, column)) > 1 for column in columns):
        return True
    if sum(len(row) >= len(columns) for row in rows) >= _ALIGNED * len(rows):
        return True
    downwards = sum(_goes_down(*each) for column in columns for each in pairwise(column))
    return sum(len(row) > 1 for row in rows) > 1 and 3 * downwards < sum(map(len, rows))


def _goes_down(one: PagePiece, after: PagePiece) -> bool:
    """Return whether a piece is the next line of a cell, and follows in the file, too."""
    return after.order == one.order + 1 and 0 < after.base - one.base < _NEXT_LINE * one.height


def _steps(pieces: Sequence[PagePiece]) -> Iterator[list[PagePiece]]:
    """Yield successive pieces of the file's order that stand beside each other; all others are above or below."""
    highest = [piece.base - _CAPITAL * piece.height for piece in pieces]
    for at in range(len(pieces) - 2, -1, -1):
        highest[at] = min(highest[at], highest[at + 1])
    step: list[PagePiece] = []
    lowest = float("-inf")
    for piece, top in zip(pieces, highest, strict=True):
        if step and top > lowest:
            yield step
            step, lowest = [], float("-inf")
        step.append(piece)
        lowest = max(lowest, piece.base)
    yield step


def _are_cells(columns: Sequence[Sequence[PagePiece]]) -> bool:
    """Return whether pieces are cells that stand beside each other."""
    tallest = max(columns, key=lambda column: column[-1].base - column[0].base)
    near = (_CAPITAL if len(tallest) > 1 else _BESIDE) * tallest[0].height
    first, last = tallest[0].base - near, tallest[-1].base + near
    return all(first < column[0].base and column[-1].base < last and _is_cell(column) for column in columns)


def _apart(columns: Sequence[Sequence[PagePiece]]) -> float:
    """Return how far below the last line of one column another begins; negative if they stand beside each other."""
    return max(column[0].base for column in columns) - min(column[-1].base for column in columns)


def _is_cell(column: Sequence[PagePiece]) -> bool:
    """Return whether pieces are the lines of one cell, which the file gives one after the other."""
    if sum(map(_is_figure, column)) > 1 or not all(_goes_down(*each) for each in pairwise(column)):
        return False
    lefts, rights = [piece.left for piece in column], [piece.right for piece in column]
    middles = [left + right for left, right in zip(lefts, rights, strict=True)]
    near = _OVERLAP * column[0].height
    return any(max(edges) - min(edges) < near for edges in (lefts, rights, middles))


def _unmixed(rows: Sequence[Row]) -> Iterator[Row]:
    """Yield lines; those of which one lies over the other as the file gives them."""
    for row in rows:
        if any(after.left < before.right - before.height for before, after in pairwise(row)):
            yield from _lines(sorted(row, key=lambda one: one.order))
        else:
            yield row


def _lines(pieces: Sequence[PagePiece]) -> Iterator[Row]:
    """Yield lines in the order of the file, of which one goes on where another ends."""
    line: Row = []
    for piece in pieces:
        if line and not (same_line(line[-1], piece) and piece.left > line[-1].right - _OVERLAP * piece.height):
            yield line
            line = []
        line.append(piece)
    if line:
        yield line


def _flow(rows: Sequence[Row]) -> Iterator[Row]:
    """Yield lines in the order of the file, or from top to bottom if that goes up the page."""
    pieces = sorted((piece for row in rows for piece in row), key=lambda one: one.order)
    yield from _lines(pieces) if _goes_on_down(pieces) else _unmixed(rows)


def _goes_on_down(pieces: Sequence[PagePiece]) -> bool:
    """Return whether no piece is above what the file gives before it."""
    lowest = float("-inf")
    for piece in pieces:
        if piece.base < lowest - _BACK * piece.height:
            return False
        lowest = max(lowest, piece.base)
    return True
