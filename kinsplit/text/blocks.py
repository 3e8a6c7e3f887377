"""Blocks of a text: Markdown headings, paragraphs, fences, lists and tables, and HTML headings.

Markup is read only to find boundaries. Blocks are spans of the original text; nothing is rendered or normalised. The
rules are those of CommonMark as far as boundaries depend on them, plus GitHub's tables and wiki headings
(`== Title ==`).
"""

from __future__ import annotations

import html
import re
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate, pairwise, takewhile
from typing import TYPE_CHECKING, Literal, NamedTuple

from kinsplit.spans import Heading, Span
from kinsplit.text.code import code_blocks, is_code, statement_starts
from kinsplit.text.graphemes import SPACES, grapheme_end, grapheme_floor, skip_space, trim, trimmed, with_line_feeds
from kinsplit.text.marks import enumerator_start
from kinsplit.text.records import find_records

if TYPE_CHECKING:
    from kinsplit.kinds import DocumentKind

Kind = Literal["heading", "paragraph", "fence", "list", "table", "records", "code"]

_ATX = re.compile(r"(#{1,6})(?:[ \t]+(.*))?")
# CommonMark accepts a single hyphen, too; in texts from PDFs, it is left over from a hyphenated word.
_SETEXT = re.compile(r"[ ]{0,3}(=+|--+)[ \t]*")
_WIKI = re.compile(r"(={1,6})[ \t]+(\S.*)(?<=[ \t])\1|(={2,6})([^=\s].*)\3")
#: Opening line of a fence.
FENCE = re.compile(r"(`{3,})[^`]*|(~{3,}).*")
#: Beginning of a list item.
ITEM = re.compile(r"(?:[-*+]|\d{1,9}[.)])(?:[ \t]+\S|[ \t]*$)")
# Hardly a comment: a heading between blank lines, of which there may be code alone.
_SUBHEADING = re.compile(r"(?<![^\n])\n#{2,6} .*\n[ \t\r]*\n")
_BLANK_LINES = re.compile(r"\n[^\S\n]*\n\s*")
_RULE = re.compile(r"([-*_])(?:[ \t]*\1){2,}[ \t]*")
_DELIMITER = re.compile(r"\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?")
# Attributes of a tag, whose quoted values may contain any character.
_ATTRIBUTES = r"""[^<>"']*+(?:(?:"[^"]*"|'[^']*')[^<>"']*+)*+"""
_HTML_TAG = re.compile(rf"<(/?)(h[1-6]|pre|script|style|textarea)(?:\s{_ATTRIBUTES})?>", re.IGNORECASE)
_HTML_HEADING = re.compile(r"<[hH]")
_HTML_RAW = re.compile(r"<(pre|script|style|textarea)\b", re.IGNORECASE)
_TAG = re.compile(rf"<{_ATTRIBUTES}>")
#: First characters of lines that may not belong to a paragraph, except lines of tables.
MARKS = frozenset("#`~|<-*+=_0123456789")
# First characters of lines that may not continue a paragraph; "" stands for empty lines.
_BEGINNINGS = MARKS | {"", *SPACES}
_LONGEST_FRONT_MATTER = 200
# Maximum length of a heading, since it is repeated in the context of every chunk below it.
_LONGEST_HEADING = 300
# Maximum length of a table header, which is also repeated; longer ones are truncated.
_LONGEST_TITLE = 1000


class Block(NamedTuple):
    """A block of a document."""

    start: int  # First code point.
    end: int  # One past the last code point.
    kind: Kind
    depth: int = 0  # Depth of a heading, 1 to 6; 0 for other blocks.
    title: str = ""  # Text of a heading; header and delimiter row of a table; header of records; else empty.


class Section(NamedTuple):
    """Blocks under one heading."""

    blocks: list[Block]  # The heading, if any, and the blocks below it.
    path: tuple[str, ...]  # Titles of the headings around them and of their own, outermost first.


def sections(text: str, headings: Sequence[Heading] = (), kind: DocumentKind = "") -> list[Section]:
    """Return the blocks of a text, grouped by its headings, which are recognised by their markup unless they are given.

    Headings without text between them share a section, so a section is never a heading alone unless no text follows.
    Enumerators that are paragraphs right above a heading belong to its section.
    """
    found: list[Section] = []
    path = [(one.level, one.title) for one in headings[:1] if one.start == one.end]  # a title outside the text
    current: list[Block] = []
    for block in _with_headings(text, headings, kind) if headings else blocks(text, kind):
        if block.kind == "heading":
            if current and current[-1].kind != "heading":
                at = len(current)
                while at and _is_enumerator(text, current[at - 1]):
                    at -= 1
                if at:
                    found.append(Section(current[:at], _titles(path)))
                current = current[at:]
            path = [entry for entry in path if entry[0] < block.depth]
            path.append((block.depth, block.title))
        current.append(block)
    if current:
        found.append(Section(current, _titles(path)))
    return found


def _is_enumerator(text: str, block: Block) -> bool:
    return block.kind in {"paragraph", "list"} and enumerator_start(text, block.start, block.end) == block.start


def _titles(path: list[tuple[int, str]]) -> tuple[str, ...]:
    return tuple(title for _, title in path if title)


def _with_headings(text: str, headings: Sequence[Heading], own: DocumentKind) -> Iterator[Block]:
    """Yield the blocks of a text with the given headings in place of those that markup shows."""
    inside = deque(one for one in headings if one.start < one.end)
    at = 0
    for block in blocks(text, own):
        kind: Kind = "paragraph" if block.kind == "heading" else block.kind
        at = max(at, block.start)
        while inside and inside[0].start < block.end:
            start, end, level, title = inside.popleft()
            if rest := trim(text, at, start):
                yield Block(*rest, kind, 0, block.title if kind != "paragraph" else "")
            if span := trim(text, max(at, start), end):
                yield Block(*span, "heading", level, title)
            at = max(at, end)
        if rest := trim(text, at, block.end):
            yield Block(*rest, kind, 0, block.title if kind != "paragraph" else "")


def markdown_headings(text: str) -> tuple[Heading, ...]:
    """Return the headings of a Markdown text."""
    found = (block for block in blocks(text, "prose") if block.kind == "heading")
    return tuple(Heading(block.start, block.end, block.depth, block.title) for block in found)


def blocks(text: str, kind: DocumentKind = "") -> list[Block]:
    """Return the blocks of a text in document order; together they contain all but white space."""
    lines = with_line_feeds(text)
    kind = kind or _kind_of(lines)
    if kind == "code":
        return [Block(*span, "code") for span in code_blocks(lines)]
    if kind in {"rows", "records"}:
        return [_recognised(lines, *span, kind) or Block(*span, "paragraph") for span in _stretches(lines)]
    found = _Scanner(lines).scan()
    for number, (start, end, own, _, _) in enumerate(found if kind != "prose" else ()):
        if own == "paragraph" and lines.find("\n", start, end) >= 0:
            found[number] = _recognised(lines, start, end) or found[number]
    return found


def _stretches(text: str) -> Iterator[Span]:
    """Yield the ranges between blank lines."""
    edges = [0, *(match.end() for match in _BLANK_LINES.finditer(text)), len(text)]
    return (span for span in (trim(text, *edge) for edge in pairwise(edges)) if span)


# Number of samples of a text that tell what it is, and code points of each.
_SAMPLES, _LOOKED_AT = 16, 2000
_COMMENTS = re.compile(r"(?:#[^\n]*(?:\n\s*|\Z))*+")


def _kind_of(text: str) -> DocumentKind:
    """Return what a text consists of, if it is nothing but code or records, whose marks are not Markdown."""
    if is_code(text, 0, len(text)):
        return "" if _SUBHEADING.search(text) else "code"
    start = skip_space(text, 0)
    first = _COMMENTS.match(text, start).end()  # type: ignore[union-attr]
    if first == len(text) or not _is_records(text, first) or (text.startswith("---") and text.find("\n---") > 0):
        return ""
    samples = (_BLANK_LINES.search(text, len(text) * number // _SAMPLES) for number in range(1, _SAMPLES))
    found = [_is_records(text, at) for at in {start, *(blank.end() for blank in takewhile(bool, samples) if blank)}]
    return "records" if None not in found and found.count(True) >= 0.75 * len(found) else ""


def _is_records(text: str, start: int) -> bool | None:
    """Return whether records, or comments on some, begin at an offset behind a blank line; None if a heading does."""
    blank = _BLANK_LINES.search(text, start)
    start, end = trimmed(text, start, blank.start() if blank else len(text))
    if _ATX.fullmatch(text, start, end):
        return None
    start = _COMMENTS.match(text, start, end).end()  # type: ignore[union-attr]
    if end - start > _LOOKED_AT:
        end = text.rfind("\n", start, start + _LOOKED_AT)
    return start == end or (start < end and find_records(text, start, end) is not None)


# Five words at the beginning of a line are prose, unless a word of code or of SQL or many commas are among them.
_PROSE = re.compile(
    r"(?!(?:and|case|class|const|def|elif|export|for|from|if|import|let|local|new|private|public|return|static|var|when"
    r"|while|with|ALTER|CREATE|DELETE|DROP|FROM|INSERT|SELECT|UPDATE|WITH)\b|(?:[^,\n]*+,){3})"
    r"[\"“‘(]?[^\W\d_]++(?:[’'-][^\W\d_]++)*+[.,!?;\"”’)]{0,3}"
    r"(?:[ \n][\"“‘(]?[^\W_]++(?:[’'.-][^\W_]++)*+[.,!?;%\"”’)]{0,3}){4}[ \n]"
)
_BEGINNING = 50  # code points in which the words and commas are looked for


def _recognised(text: str, start: int, end: int, kind: DocumentKind = "") -> Block | None:
    """Return a block of code or records if the lines of a paragraph, of which it has several, are such."""
    if kind or not _PROSE.match(text, start, min(end, start + _BEGINNING)):
        if not kind and is_code(text, start, end):
            return Block(start, end, "code")
        if found := find_records(text, start, end, kind):
            return Block(start, end, "records", title=found.header[:_LONGEST_TITLE])
    return None


class _Scanner:
    def __init__(self, text: str) -> None:
        self.has_html = "<" in text and _HTML_HEADING.search(text) is not None
        self.text = text = _without_comments(text) if self.has_html else text
        self.lines = text.split("\n")
        self.starts = list(accumulate([len(line) + 1 for line in self.lines], initial=0))
        # The last line has no line break.
        self.starts[-1] = len(text)
        self.found: list[Block] = []
        # Raw elements without a closing tag.
        self.unclosed: set[str] = set()

    def scan(self) -> list[Block]:
        lines, at = self.lines, self._front_matter()
        begun = at
        for i in self._remarkable():
            if i < at:
                continue
            line = lines[i].strip()
            if not line:
                if begun < i:
                    self._paragraph(begun, i)
                at = begun = i + 1
            elif begun < i and line[0] in "=-" and (match := self._setext(begun, i)):
                title = " ".join(self.text[self.starts[begun] : self.starts[i]].split())
                self._add(begun, i + 1, "heading", 1 if match[1][0] == "=" else 2, title)
                at = begun = i + 1
            elif (line[0] in MARKS or "|" in line) and (stop := self._special(i, line, begun)) > i:
                at = begun = stop
        self._paragraph(begun, len(lines))
        return self.found

    def _remarkable(self) -> list[int]:
        """Return the numbers of the lines that may not continue a paragraph."""
        if "|" in self.text:
            return [i for i, line in enumerate(self.lines) if line[:1] in _BEGINNINGS or "|" in line]
        return [i for i, line in enumerate(self.lines) if line[:1] in _BEGINNINGS]

    def _setext(self, begun: int, at: int) -> re.Match[str] | None:
        short = self.starts[at] - self.starts[begun] <= _LONGEST_HEADING
        return _SETEXT.fullmatch(self.lines[at].rstrip("\r")) if short else None

    def _front_matter(self) -> int:
        if self.lines[0].strip() == "---":
            for at in range(1, min(len(self.lines), _LONGEST_FRONT_MATTER)):
                if self.lines[at].strip() in {"---", "..."}:
                    self._add(0, at + 1, "paragraph")
                    return at + 1
        return 0

    def _special(self, at: int, line: str, begun: int) -> int:
        """Add the block that begins at a line, if any, and return the number of the line after it."""
        raw = self.lines[at]
        # A line indented by four columns is code or continues the paragraph.
        shallow = not raw.startswith(("    ", "\t", " \t", "  \t", "   \t"))
        stop, kind, depth, title = at, "paragraph", 0, ""
        short = shallow and len(line) <= _LONGEST_HEADING
        mark = line[0]
        if mark == "#" and short and (match := _ATX.fullmatch(line)):
            stop, kind, depth, title = at + 1, "heading", len(match[1]), without_closing(match[2] or "")
        elif mark == "=" and short and (match := _WIKI.fullmatch(line)):
            stop, kind = at + 1, "heading"
            depth, title = len(match[1] or match[3]), (match[2] or match[4]).rstrip(" \t")
        elif mark in "`~" and shallow and (match := FENCE.fullmatch(line)):
            stop, kind = self._fence_end(at, match[1] or match[2]), "fence"
        elif mark == "<" and shallow and line.startswith("<!--"):
            stop = self._raw_end(at, "-->")
        elif mark == "<" and shallow and (match := _HTML_RAW.match(line)):
            stop, kind = self._raw_end(at, f"</{match[1].lower()}"), "fence"
        elif "|" in line and at + 1 < len(self.lines) and self._is_delimiter(at + 1):
            stop, kind = self._while(at + 2, lambda i: "|" in self.lines[i]), "table"
            title = self.text[self.starts[at] : self.starts[at + 2]].strip()[:_LONGEST_TITLE]
        elif mark in "-*_" and shallow and _RULE.fullmatch(line):
            stop = at + 1
        elif shallow and ITEM.match(line) and (begun == at or not (mark.isdigit() or len(line) == 1)):
            # Neither a number nor a lone mark interrupts a paragraph.
            stop, kind = self._list_end(at), "list"
        if mark == "<" and kind != "table" and stop > at and "<h" in self.lines[stop - 1].lower():
            self._paragraph(begun, stop)  # A heading follows on the line of the closing tag.
        elif stop > at:
            self._paragraph(begun, at)
            self._add(at, stop, kind, depth, title)  # type: ignore[arg-type]
        return stop

    def _fence_end(self, at: int, mark: str) -> int:
        for i in range(at + 1, len(self.lines)):
            if mark in self.lines[i]:
                line = self.lines[i].strip()
                if line.startswith(mark) and not line.strip(mark[0]):
                    return i + 1
        return len(self.lines)

    def _raw_end(self, at: int, closing: str) -> int:
        if closing not in self.unclosed:
            for i in range(at, len(self.lines)):
                if closing in self.lines[i].lower():
                    return i + 1
            self.unclosed.add(closing)
        return at

    def _list_end(self, at: int) -> int:
        i = at + 1
        while i < len(self.lines):
            line = self.lines[i].strip()
            indented = self.lines[i][:1] in {" ", "\t"}
            if not line:
                # A blank line ends the list unless an item or an indented line follows.
                after = self._while(i, lambda k: not self.lines[k].strip())
                if after == len(self.lines):
                    return i
                follows = self.lines[after]
                if not (ITEM.match(follows.strip()) or follows[:1] in {" ", "\t"}) or _RULE.fullmatch(follows.strip()):
                    return i
                i = after
                continue
            if not indented and (_ATX.fullmatch(line) or FENCE.fullmatch(line) or _RULE.fullmatch(line)):
                return i
            i += 1
        return i

    def _is_delimiter(self, at: int) -> bool:
        line = self.lines[at].strip()
        return "-" in line and ("|" in line) and _DELIMITER.fullmatch(line) is not None

    def _while(self, at: int, holds: Callable[[int], bool]) -> int:
        while at < len(self.lines) and holds(at):
            at += 1
        return at

    def _paragraph(self, first: int, stop: int) -> None:
        if first >= stop:
            return
        text, start, end = self.text, self.starts[first], self.starts[stop - 1] + len(self.lines[stop - 1])
        if not self.has_html or text.find("<", start, end) < 0:
            if text[start].isspace() or text[end - 1].isspace():
                start, end = trimmed(text, start, end)
            if start < end:
                self.found.append(Block(start, end, "paragraph"))
            return
        for opening, closing in _html_headings(self.text, start, end):
            self._add_span(start, grapheme_floor(self.text, opening.start(), start), "paragraph")
            inside = self.text[opening.end() : closing.start()]
            title = " ".join(html.unescape(_TAG.sub(" ", inside)).split())
            # A combining mark after a tag belongs to the tag's last character and must not be separated from it.
            begin, stop = (grapheme_floor(self.text, at, start) for at in (opening.start(), closing.end()))
            stop = stop if stop == closing.end() else grapheme_end(self.text, stop)
            self._add_span(begin, stop, "heading", int(opening[2][1]), title)
            start = stop
        self._add_span(start, end, "paragraph")

    def _add(self, first: int, stop: int, kind: Kind, depth: int = 0, title: str = "") -> None:
        self._add_span(self.starts[first], self.starts[stop], kind, depth, title)

    def _add_span(self, start: int, end: int, kind: Kind, depth: int = 0, title: str = "") -> None:
        start, end = trimmed(self.text, start, end)
        if start < end:
            self.found.append(Block(start, end, kind, depth, title))


def _without_comments(text: str) -> str:
    """Return HTML of the same length whose comments contain neither tags nor line ends."""
    kept, at = [], 0
    while (start := text.find("<!--", at) + 4) > 3 and (end := text.find("-->", start)) >= 0:
        kept += [text[at:start], "x" * (end - start)]
        at = end
    return "".join([*kept, text[at:]])


_INFO = re.compile(r"(?:`{3,}|~{3,})[ \t]*(?:\{[ \t]*\.?)?([^\s`{},=]+)")


def fence_language(text: str, start: int) -> str:
    """Return the language that the opening line of a fence names, such as `python`; empty if it names none."""
    match = _INFO.match(text, start)
    return match[1] if match else ""


def without_closing(title: str) -> str:
    """Return the title of a heading without closing number signs."""
    bare = title.rstrip("#")
    return bare.rstrip(" \t") if bare[-1:] in {"", " ", "\t"} else title


def _html_headings(text: str, start: int, end: int) -> Iterator[tuple[re.Match[str], re.Match[str]]]:
    """Return the opening and closing tags of the headings in a range, except inside `<pre>` or `<script>`."""
    opened: re.Match[str] | None = None
    for tag in _HTML_TAG.finditer(text, start, end):
        is_heading = tag[2][0] in "hH"
        if opened and tag[1] and tag[2].lower() == opened[2].lower():
            if is_heading and tag.start() - opened.end() <= _LONGEST_HEADING:
                yield opened, tag
            opened = None
        elif not tag[1] and (opened is None or opened[2][0] in "hH"):
            opened = tag


_LINE_END = re.compile(r"\n")
# A line without the white space around it.
_BARE_LINE = re.compile(r"\S(?:.*\S)?")
_ANY_LINE = re.compile(r"^([ \t]*)(.*)", re.MULTILINE)


def parts(text: str, kind: str, *, is_block: bool = False) -> list[Span]:
    """Cut a block, or a part of one, into its parts: items, rows, records, statements, or lines of a fence.

    An item with a nested list is itself a list that can be cut into items, and a header can be cut from the row below
    it, but neither is cut in a whole block. What has no parts is returned whole.

    Args:
        text: The block or the part, with the indentation of its first line.
        kind: Kind of the block.
        is_block: Whether it is a whole block.
    """
    lines = with_line_feeds(text)
    if kind == "list":
        starts = _items(lines, is_block=is_block)
    elif kind == "records":
        span = trimmed(lines, 0, len(lines))
        found = find_records(lines, *span) or find_records(lines, *span, "records")
        first = 2 if found and found.header and (is_block or len(found.starts) > 2) else 1
        starts = found.starts[first:] if found else []
    elif kind == "table":
        starts = _rows(lines, is_block=is_block)
    elif kind == "code":
        starts = statement_starts(lines, *trimmed(lines, 0, len(lines)))[1:]
    elif kind == "fence":
        return [Span(*match.span()) for match in _BARE_LINE.finditer(lines)]
    else:
        starts = []
    cut = (trim(lines, *edge) for edge in pairwise([0, *starts, len(lines)]))
    return [span for span in cut if span]


def _rows(text: str, *, is_block: bool) -> list[int]:
    """Return the starts of a table's rows; its first row belongs to the header, but in a part of two rows."""
    starts = [match.end() for match in _LINE_END.finditer(text)]
    first, _, rest = text.partition("\n")
    is_headed = "|" in first and _DELIMITER.fullmatch(rest.partition("\n")[0].strip()) is not None
    return starts[2 if is_block or len(starts) > 2 else 1 :] if is_headed else starts


def _items(text: str, *, is_block: bool) -> list[int]:
    """Return the starts of a list's outermost items, except the first."""
    found: list[tuple[int, int]] = []
    fence = ""
    for match in _ANY_LINE.finditer(text):
        line = match[2]
        if fence:
            fence = "" if line.startswith(fence) and not line.strip(fence[0] + " \t") else fence
        elif opening := FENCE.fullmatch(line):
            fence = opening[1] or opening[2]
        elif ITEM.match(line):
            found.append((len(match[1].expandtabs(4)), match.start(2)))
    # The first line is that of the block, or of the part, which may be an item around the others.
    least = min(found if is_block else found[1:], default=(0, 0))[0]
    return [at for indentation, at in found[1:] if indentation == least]
