"""Records in lines: rows of separated values, log entries, messages of a chat, `key: value` pairs, JSON, subtitles.

In prose, a line break is white space. In a block of records, each record begins a line, and a cut between two lines of
one record, or inside a line, tears it. Each rule looks at the first two lines before it reads the others, so that prose
costs little; in doubt, lines are prose.
"""

from __future__ import annotations

import functools
import re
from functools import cached_property
from itertools import pairwise
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
    stop = text.find("\n", start, end)
    stop = end if stop < 0 else stop
    if not kind and not _OPENING.match(text, start, stop) and not _LABEL.match(text, start, stop):
        # Most paragraphs get no further.
        return _table(_Block(text, start, end)) if _has_cells(text, start, stop) else None
    block = _Block(text, start, end)
    if kind == "rows":
        return _table(block, given=True) or Records([start, *(row for row, _ in _joined_rows(block.lines)[1:])])
    found = next(filter(None, (rule(block) for rule in _RULES)), None)
    return found or (Records(_nested(block)) if kind else None)


def _has_cells(text: str, start: int, stop: int) -> bool:
    """Return whether a line has separators of cells, or so many commas that it may have."""
    if _SEPARATOR.search(text, start, stop):
        return True
    return text[stop - 1] not in _MARKS and text.count(", ", start, stop) > 1


class _Line(NamedTuple):
    start: int  # First code point after the indentation.
    # Columns of the indentation, twice; an item of a list lies deeper than the key above it in any case.
    depth: int
    text: str  # Without the indentation.


class _Block:
    def __init__(self, text: str, start: int, end: int) -> None:
        self.text, self.start, self.end = text, start, end
        stop = text.find("\n", start, end)
        after = stop if stop < 0 else text.find("\n", stop + 1, end)
        self.first = text[start : end if stop < 0 else stop]
        self.second = "" if stop < 0 else text[stop + 1 : end if after < 0 else after]

    @cached_property
    def indentation(self) -> str:
        return self.text[self.text.rfind("\n", 0, self.start) + 1 : self.start]

    @cached_property
    def lines(self) -> list[_Line]:
        at = self.start - len(self.indentation)
        found = []
        for line in self.text[at : self.end].split("\n"):
            bare = line.lstrip()
            width = len(line) - len(bare)
            columns = len(line[:width].expandtabs(4)) if width else 0
            found.append(_Line(at + width, 2 * columns + bare.startswith("- "), bare))
            at += len(line) + 1
        return found

    @cached_property
    def outer(self) -> list[_Line]:
        """The lines that lie no deeper than the first one."""
        return [line for line in self.lines if line.depth <= self.lines[0].depth]


# A cue of subtitles: its times, before them perhaps a number or a name, and what is said.
_TIMES = re.compile(r"\s*(?:\d{1,4}:)?\d\d?:\d\d[.,]\d{3}(?:[ \t]*-->|,\d)")


def _cues(block: _Block) -> Records | None:
    if block.first.startswith("WEBVTT"):
        return Records([block.start])
    if not _TIMES.match(block.first) and not _TIMES.match(block.second):
        return None
    timed = [i for i, line in enumerate(block.lines) if _TIMES.match(line.text)]
    firsts = [i - 1 if i and block.lines[i - 1].text.strip().isdigit() else i for i in timed]
    return Records([block.start, *(block.lines[i].start for i in firsts[1:])])


_LEVEL = r"(?:TRACE|DEBUG|INFO|NOTICE|WARN(?:ING)?|ERROR|CRITICAL|FATAL|SEVERE)\b"
_MONTH = r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)"
_DATE = (
    r"(?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun),? )?(?:\d{4}[-/.]\d\d?[-/.]\d\d?|\d\d?[-/.]\d\d?[-/.]\d{2,4}|\d{8}|\d\d-\d\d"
    rf"|{_MONTH} {{1,2}}\d\d?(?:,? \d{{4}})?|\d\d?[ /-]{_MONTH}[ /-]\d{{4}}|[IWEF]\d{{4}})"
)
_TIME = r"\d\d?:\d\d(?::\d\d)?(?:[.,]\d{1,9})?(?:[ \u202f]?[AaPp]\.?[Mm]\.?)?"
# Beginning of a log entry or a message. A date with its time, a time in brackets, a name with a time alone on the line,
# or what a web server writes, is enough; the others must come again.
_entry = functools.cache(
    lambda: re.compile(
        rf"\u200e?(?:<\d{{1,3}}>\d? ?)?(?:\[?{_LEVEL}\]?[:\s]\s?)?"
        rf"(?:(?P<full>[\[(]?{_DATE}(?:[T:]|,?[ \u202f]{{1,2}}){_TIME}|\[{_TIME}\]"
        rf"|[^\s\d][^\n\[—]{{0,40}}?(?: {{2,}}| — |,? \[)(?:\w{{1,20}} at |{_DATE},? )?{_TIME}\]?\s*$"
        rf"|[\w.:-]{{3,60}} \S{{1,60}} \S{{1,60}} \[\d\d?/{_MONTH}/)"
        rf"|(?P<clock>{_TIME}(?=[\s,|-]|$))|\[?(?P<date>\d{{4}}-\d\d-\d\d\b)|\[(?P<seconds>[ ]*\d{{1,7}}\.\d{{6}}\]))"
        rf"|\[?(?P<level>{_LEVEL})|<[@+%~& ]?(?P<nick>[^\s<>/]{{1,30}})>\s"
    )
)


# Beginning of all records but rows and pairs.
_OPENING = re.compile(rf"[^:\n]{{0,60}}+:\d\d|[\[{{<#;!/\u200e]|---|\d{{4}}-\d\d|\d{{1,6}}\s*$|{_LEVEL}|WEBVTT")


def _entries(block: _Block) -> Records | None:
    opening = _entry().match(block.first)
    if not opening:
        return None
    matches = ((line, _entry().match(line.text)) for line in block.lines)
    lines = [line for line, match in matches if match and match.lastgroup == opening.lastgroup]
    if opening.lastgroup != "full" and (len(lines) < 2 or 2 * len(lines) < len(block.outer)):
        return None
    return Records([block.start, *(line.start for line in lines[1:])])


_KEY = re.compile(r'"[^"]*"[ \t]*[:,\]}]')
_VALUE = re.compile(r'["\[{\]}\d-]|(?:true|false|null)\b')


def _json(block: _Block) -> Records | None:
    if block.first[:1] not in {"{", "["} or block.text[block.end - 1] not in "]},[{":
        return None
    inner = block.first.lstrip("[{ \t\r")
    is_json = _KEY.match(inner) if inner else _VALUE.match(block.second.lstrip())
    return Records(_nested(block, inside=True)) if is_json else None


# A key or the name of who speaks, up to the colon or the sign of equality; only before a colon and a space, it may have
# several words.
_LABEL = re.compile(
    r"""(?:export |- )?(["'@*\[]{0,2}\w[^:：=,!?\n]{0,40}+(?:(?<=\d):\d[^:：=,!?\n]{0,40}+)?)"""
    r"(?:(:(?=[\s*]|$)|：)|:(?=[^\s/:])|=(?![=>]))"
)
_MOST_WORDS = 4
# Comments and names of sections, which belong to the next line; closing brackets and marks between parts.
_HEAD = re.compile(r"[#;!]|//|\[[^\]\n]*\]+\s*$|---")
_TAIL = re.compile(r"[\]})]|\.\.\.\s*$")


def _label(line: str) -> re.Match[str] | None:
    match = _LABEL.match(line)
    return match if match and len(match[1].split()) <= (_MOST_WORDS if match[2] else 1) else None


def _pairs(block: _Block) -> Records | None:
    if not _label(block.first) and not (_HEAD.match(block.first) and _label(block.second)):
        return None
    outer = [line for line in block.outer if not _HEAD.match(line.text) and not _TAIL.match(line.text)]
    labels = [(line, label) for line in outer if (label := _label(line.text))]
    is_alone = not block.second or _HEAD.match(block.first) or _is_entry(block.second)
    if len(labels) == len(outer) and (len(outer) > 1 or is_alone):
        may_be_prose = len(block.lines) < 4 and all(label[2] for _, label in labels)
        is_prose = _is_wrapped(block.lines) or len({label[1][0].islower() for _, label in labels}) > 1
        return None if may_be_prose and is_prose else Records(_nested(block))
    if 2 * len(labels) < len(outer) or 2 * len({label[1] for _, label in labels}) > len(labels):
        return None
    return Records([block.start, *(line.start for line, _ in labels[1:])])  # Messages of several lines.


def _is_entry(line: str) -> bool:
    """Return whether a line looks like one below a key of YAML."""
    bare = line.lstrip()
    return bare.startswith("- ") or (len(bare) < len(line) and _label(bare) is not None)


# Prose is rarely wrapped at fewer columns.
_NARROW = 50


def _is_wrapped(lines: list[_Line]) -> bool:
    """Return whether lines end where the next word would have made them longer than the longest one, as prose does."""
    widest = max(len(line.text.rstrip()) for line in lines)
    return widest >= _NARROW and all(
        len(line.text.rstrip()) + 1 + len(after.text.partition(" ")[0]) > widest for line, after in pairwise(lines)
    )


_QUOTED = re.compile(r'"[^"]*"')
_OPENING_QUOTE = re.compile(r'(?:^|[\t|;,]) *"')
_THOUSANDS = re.compile(r"\d,\d{3}(?!\d)")
_MARKS = frozenset(".!?;:,")
# Separator of cells that is no mark of a sentence or of thousands.
_SEPARATOR = re.compile(r"""[\t|;,](?:(?<=[\t|])|(?=["']?(?:[^\W\d]|-?\d))(?!\d{3}(?!\w)))""")
_TIGHT_BAR = re.compile(r"[^\s|]\||\|[^\s|]")
_RULED = re.compile(r"[-+|=: \r]+$")
# Part of the rows that must have as many cells as the first one.
_EVEN = 0.9
# Name of a column; addresses of mails and pages are values.
_NAME = re.compile(r"[^\W\d][^.!?@\n]{0,60}$|[#%] ?\w{0,20}$")


def _table(block: _Block, *, given: bool = False) -> Records | None:
    if "|" in block.first and block.second and not block.second.strip("|-: \t\r"):  # A table of Markdown.
        rows = [line.start for line in block.lines[2:]]
        header = f"{block.first.rstrip()}\n{block.second.strip()}"
        return Records([block.start, *rows], header if rows else "") if given else None
    for separator in "\t|;,":
        if separator in block.first and (found := _rows(block, separator, given=given)):
            return found
    return None


def _unquoted(row: str) -> str:
    return _QUOTED.sub('""', row) if '"' in row else row


def _rows(block: _Block, separator: str, *, given: bool) -> Records | None:
    """Return the rows of a block if nearly all have as many cells as the first one and don't look like prose."""
    first, second = _unquoted(block.first), _unquoted(block.second.lstrip())
    count, is_bar = first.count(separator), separator == "|"
    if separator == "\t" and count:
        # The first cell of the header may be empty, as may be the last one of the last row.
        count = max(count, min(count + block.indentation.count("\t"), second.count("\t")))
    is_even = second.count(separator) == count or (is_bar and _RULED.match(second)) or '"' in first or '"' in second
    if not count or not is_even:
        return None
    if not given and separator != "\t" and _is_sentence(block, first, separator):
        return None
    rows = _joined_rows(block.lines)
    counts = [_unquoted(row).count(separator) for _, row in rows if separator != "|" or not _RULED.match(row)]
    if separator == "\t" and len(counts) > 2:
        counts[0], counts[-1] = count, max(count, counts[-1])
    if len(counts) < 2 or counts.count(count) < _EVEN * len(counts):
        return None
    names = [name.strip(' "\r').casefold() for name in rows[0][1].split(separator)]
    is_header = len(set(names)) == len(names) and all(map(_NAME.match, names[not names[0] :]))
    return Records([block.start, *(start for start, _ in rows[1:])], rows[0][1].rstrip() if is_header else "")


def _is_sentence(block: _Block, first: str, separator: str) -> bool:
    """Return whether the separators of lines may be marks of sentences, of thousands or around words."""
    first, is_bar = first.replace("\xa0", " ").rstrip(), separator == "|"
    count, has_words, number = first.count(separator), " " in first, len(block.lines)
    if has_words and _TIGHT_BAR.search(first) if is_bar else f"{separator} " in first:
        if not is_bar and (count == 1 or number < 4):
            return True
        return any(line.text.rstrip()[-1:] in _MARKS for line in block.lines) or _is_wrapped(block.lines)
    if is_bar:
        return False
    inner = (_THOUSANDS.sub("", first) if has_words else first).strip(f"{separator} ")
    return separator not in inner or (count == 1 and has_words and number < 3)


def _joined_rows(lines: list[_Line]) -> list[tuple[int, str]]:
    """Return start and text of each row; a quoted cell may contain line breaks."""
    rows: list[tuple[int, str]] = []
    parts: list[str] = []
    begun = 0
    for start, _, text in lines:
        begun = begun if parts else start
        odd = text.count('"') % 2 == 1
        is_open = not odd if parts else odd and _OPENING_QUOTE.search(text) is not None
        parts.append(text)
        if not is_open:
            rows.append((begun, "\n".join(parts)))
            parts = []
    return [(line.start, line.text) for line in lines] if parts else rows


# Long records are divided at the lines below them, since they may not fit into a chunk; in code points.
_LONG = 500


def _nested(block: _Block, *, inside: bool = False) -> list[int]:
    """Return the starts of lines, each with all that is indented below it, unless that is long.

    If `inside`, the first line only opens what contains the others.
    """
    lines, depths = block.lines, [line.depth for line in block.lines]
    ends, parents = [block.end] * len(lines), [-1] * len(lines)
    around: list[int] = []
    for i, line in enumerate(lines):
        while around and depths[around[-1]] >= depths[i]:
            ends[around.pop()] = line.start
        parents[i] = around[-1] if around else -1
        around.append(i)
    starts = [block.start]
    for i, line in enumerate(lines[1:], 1):
        parent = parents[i]
        is_long = (inside and parent == 0) or ends[parent] - lines[parent].start > _LONG
        is_inner = parent >= 0 and (parent == i - 1 or not is_long)
        if not (is_inner or _TAIL.match(line.text) or _HEAD.match(lines[i - 1].text)):
            starts.append(line.start)
    return starts


_RULES = (_cues, _entries, _json, _pairs, _table)
