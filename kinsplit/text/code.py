"""Source code in any language: whether lines are code, where its statements begin, and what stands above them.

No grammar is needed: brackets and indentation show what belongs together, once comments and strings are told apart from
code. All texts must have line feeds at their line ends (see `with_line_feeds`).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

from kinsplit.spans import Span
from kinsplit.text.graphemes import trim

# What lines of code contain: calls, operators, brackets at their ends. Each alternative begins with a literal, which
# makes the search fast.
_SIGN = re.compile(
    r"\((?<=[A-Za-z_]\w\()|\((?<=[A-Za-z_][!?]\()|=>|->|::|-=|!=|\+=|==(?<= ==) |:=|&&|\|\||\+\+"
    r"|\$(?:[A-Za-z_]{2}|[{(]|(?<=[\"(=/]\$)\w)|\{$|\($|\[$|\}$(?<=[^}]\})|\|$(?<= do \|)|--[a-z](?<= --.)"
)
# Beginnings of statements, which count in short lines, in those with operators, and in those that end like code.
_KEYWORD = re.compile(
    r"(?:def|class|fn|func|fun|function|struct|interface|enum|impl|trait|sub|module|namespace|package|import|using|use"
    r"|require\w*|include|return|raise|throw|yield|assert|if|elif|elsif|else|unless|for|while|until|case|when|switch|with"
    r"|try|except|catch|finally|rescue|ensure|end|fi|done|esac|then|pass|break|continue|echo|print|puts|export|local|const"
    r"|let|var|val|my|public|private|protected|static|final|set)\b"
)
_OPERATOR = re.compile(r"[*%<>=+&\[{]")
# Beginnings of lines that are code, however long: clauses of SQL, prompts, and the like.
_CLAUSE = re.compile(
    r"(?:SELECT|FROM|WHERE|(?:LEFT |RIGHT |INNER |OUTER )*JOIN|GROUP BY|ORDER BY|HAVING|LIMIT|VALUES|SET|AND|OR|ON|AS"
    r"|UNION|INSERT INTO|UPDATE|DELETE FROM|CREATE|ALTER|DROP|WITH|RETURNING|RETURNS|BEGIN|COMMIT|GRANT)\b(?![A-Z ]*$)"
    r"|>{3} |from [\w.]+ import |(?:echo|printf) [\"'$-]"
)
_BEGINNING = re.compile(f"{_KEYWORD.pattern}|{_CLAUSE.pattern}")
# Comments and docstrings, which are prose, and what a program begins with before its first line of code.
_REMARK = re.compile(r'("""|\'\'\')[\s\S]{0,5000}?(?:\1|\Z)|/\*[\s\S]{0,5000}?(?:\*/|\Z)|(?<!\S)(?://|#\s).*')
_REMARK_SIGNS = frozenset('#/-<*"')
_PREAMBLE = re.compile(r'(?:\s*+(?:"""[\s\S]{0,5000}?"""|/\*[\s\S]{0,5000}?\*/|(?:#|//|--|<[!?]|\*).*))*+\s*')
# Lines that are prose, lines of data and logs, and lines that may be anything: comments, strings, assignments, words.
_PROSE = re.compile(r"(?:[A-Za-z][A-Za-z',-]*\s){6}")
_DATA = re.compile(r'[\[{,\s]*"[^"]*"\s*:|[\[(<]?\d+[-/.:]\d|at \S+\(')
_BLANK = re.compile(r"\W*$")
_NEUTRAL = re.compile(r"""#|--|\*|;;|["'@]|[\w.\[\]'"$-]+(?:\s*=|$)|[.&:][A-Za-z]""")
# A block of code contains one of these near its beginning, or begins with a keyword or a clause.
_HINT = re.compile(r"[{}=$(;](?:(?<=[{}=])|(?<=\$)[A-Za-z_{(]|(?<=\w\()|(?<=;)\s*\n)")
_NEAR, _MUCH = 150, 10_000  # code points
# A block whose first three lines are prose is prose. In a block of code, 7 of 10 lines that tell are code.
_FEW, _SHARE = 3, 0.7
_LONG_LINE = 500  # code points; what longer lines are doesn't matter here


def is_code(text: str, start: int, end: int) -> bool:
    """Return whether a block of lines is source code rather than prose, or data such as JSON and `key = value`."""
    at = start
    if text[start : start + 1] in _REMARK_SIGNS:
        at = _PREAMBLE.match(text, start, end).end()  # type: ignore[union-attr]
    if not (_HINT.search(text, at, min(end, at + _NEAR)) or _BEGINNING.match(text, at, end)):
        return False
    # Most blocks are prose, as their first lines show.
    if not _counted(text[at : min(end, at + 300)])[0]:
        return False
    # The beginning of a long text may decide, too.
    for stop in (text.rfind("\n", start, start + _MUCH), end) if end - start > 2 * _MUCH else (end,):
        code, prose = _counted(_REMARK.sub("", text[start:stop]))
        if prose == _FEW and not code:
            return False
    return code > 1 and code >= _SHARE * (code + prose)


def _counted(lines: str) -> tuple[int, int]:
    """Return the numbers of lines that are code and that are not, as far as it matters."""
    code = prose = 0
    for line in lines.split("\n"):
        if line.startswith(("```", "~~~")):
            return 0, _FEW  # It is Markdown, with code in it.
        is_code = _is_line_of_code(line)
        code += is_code is True
        prose += is_code is False
        if prose == _FEW and not code:
            break
    return code, prose


def _is_line_of_code(line: str) -> bool | None:
    """Return whether a line is code; None if it tells nothing."""
    bare = line.strip()
    if len(bare) < 2:
        return None
    if _CLAUSE.match(bare):
        return True
    if _PROSE.match(bare) or _DATA.match(bare):
        return False
    if len(bare) > _LONG_LINE or _BLANK.match(bare):
        return None
    words, last = bare.count(" ") + 1, bare[-1]
    if _SIGN.search(bare) or bare.endswith(" do") or (last == ";" and (words < 4 or "=" in bare or ":" in bare)):
        return True
    if _KEYWORD.match(bare) and (words < 4 or last in ":;" or _OPERATOR.search(bare)):
        return True
    return None if _NEUTRAL.match(bare) or (last in ",)" and line[0] in " \t") else False


# A longer statement of several lines is cut at its lines: a bracket may be missing, and it fits no chunk anyway.
_LONGEST = 4000  # code points
_DEEPEST = 4  # lines inside lines

# Line ends, brackets, strings and comments. A pattern that begins with a class of characters is searched for fast, so
# what a token begins with is told apart behind its first character. Not every sign begins a comment: `a // b)`,
# `#include`, `#[test]`, `#fff;`, `--option`.
_TOKEN = re.compile(
    r"""[\n/\#;"'`=<()\[\]{}-](?:
    (?<=\n)\s*+(?P<line>)
  | (?<=\()[^()\[\]{}"'`\#/\n<;-]*+\)
  | (?<=[()\[\]{}])(?P<bracket>)
  | (?:(?<=")""|(?<=')''|(?<=`)|(?<=/)\*|(?<=-)-\[\[|(?<==)(?<![^\n]=)begin\b)(?P<opening>)
  | (?:(?<=/)/(?<![^\s;{}(),]//)(?![^()\[\]{}\n]{0,99}[)\]])
      |(?<=\#)(?<!\S\#)(?!
        !?\[|(?:include|define|undef|if|ifn?def|el(?:se|if)|endif|pragma|error|region|endregion|import|using)\b
        |\w+\(|[\da-fA-F]{3,8}[;,)]|[\w-][^\n]{0,99}\{[ \t]*$)
      |(?<=-)-(?<!\S--)(?=[\s-]|$)
      |(?<=;);(?<!\S;;)
    ).*(?P<comment>)
  | (?<=<)<[-~]?["']?(?P<word>[A-Z_]\w*)["']?(?P<heredoc>)
  | (?<=[<&]')\w+(?:,[ ]?'\w+)*(?!['\w])  # lifetimes of Rust
  | (?:(?<=")(?:[^"\\\n]|\\[\s\S])*+(?:"|(?P<unclosed>))|(?<=')(?:[^'\\\n]|\\[\s\S])*+(?:'|(?P<quote>)))
    )""",
    re.VERBOSE | re.MULTILINE,
)
# Ends of what extends over lines; other openings are their own ends.
_ENDS = {"/*": "*/", "--[[": "]]", "=begin": "\n=end"}
_BRACKET = re.compile(r"[()\[\]{}]")
_OPENING = {")": "(", "]": "[", "}": "{"}

# Lines that belong to the statement above them.
_CLOSER = re.compile(
    r"[)\]}]|\{\s*$|(?:then|do|begin|loop|where)\s*$|(?:fi|done|esac|end)\b(?:[ \t]+\w+)?\s*(?:(?:[;.)<>|&#]|--).*)?$",
    re.IGNORECASE | re.MULTILINE,
)
_LEADING = re.compile(r"(?:&&|\|\||[+*?:|&,]=?\s|=>|->|\??\.\w+\s*(?:[(.]|$))", re.MULTILINE)
# Ends of lines that go on.
_TRAILING = re.compile(r"(?:\\|&&|\|\||=>|->|[-+*/%|&=!<>:]=|\s[-+*/%=|^<>&?]|\s(?:and|or|not|_))$")
# A decorator or an attribute alone, or the parameters of a template.
_DECORATOR = re.compile(r"@[A-Za-z_][\w.:]*\s*(?:\([\s\S]*\))?|#!?\[[\s\S]*\]|\[\[?\w[\s\S]*\]|template\s*<[\s\S]*>")
# Statements of SQL, which extend to a semicolon.
_SQL = re.compile(
    r"(?:SELECT|INSERT|UPDATE|DELETE|MERGE|CREATE|ALTER|DROP|GRANT|WITH)\s"
    r"|(?i:select\s+[\w*\"., \t]+$|select\s.*\sfrom\s|insert\s+into\s|update\s+\S+\s+set\s|delete\s+from\s"
    r"|(?:create|alter|drop)\s+(?:or\s+replace\s+)?(?:table|view|index|function|procedure|trigger|schema|database)\s)",
    re.MULTILINE,
)
# Lines below which deeper lines are expected.
_HEAD = re.compile(r"(?:def|class|module|function|sub|if|for|while)\b")
_HEAD_END = re.compile(r"(?:[:{(\[=,\\]|->|=>|\b(?:do|then|begin))$")
# Beginnings of comments that describe what is below them, decorators, and attributes.
_ABOVE = ("/**", "///", "@", "#[", "[", "template")
_INNER_LINE = re.compile(rf"\n([ \t]*)(?=\S)(?!{_CLOSER.pattern})", re.IGNORECASE | re.MULTILINE)


class _Row(NamedTuple):
    """A line of code, with all lines up to the last of its closing brackets."""

    start: int
    code_end: int  # End of what is no comment; `start` if there is nothing else.
    end: int
    next: int  # Start of the next line; the end of the text behind the last one.
    bracket: str  # The innermost bracket open at the end: a brace, none, or behind the last line any.


class _Line(NamedTuple):
    """A line of code, as in `_Row`."""

    start: int
    top: int  # Start of the comments, decorators and attributes directly above it.
    begins: bool  # Whether a statement begins with it.
    is_apart: bool  # Whether a block does: a blank line is above it, and deeper lines are not beside it.


def statement_starts(text: str, start: int, end: int) -> list[int]:
    """Return the starts of the statements in a range of source code, the first of them the start of the range.

    A statement includes the comments, decorators and attributes directly above it, and all lines up to its last
    closing bracket. The first statement of a block includes the block's head, and the last one the block's end.
    """
    starts = [line.start for line in _lines(text, start, end) if line.begins]
    is_broken = starts[-1] < end
    found = []
    for first, stop in pairwise([*starts, end] if is_broken else starts):
        found.append(first)
        if stop - first > _LONGEST or (is_broken and stop == end):
            found += _given_up(text, first, stop)
    return found


def _given_up(text: str, start: int, end: int, depth: int = _DEEPEST) -> Iterator[int]:
    """Yield the starts of the lines inside a statement, of inner ones only where the outer ones are too far apart."""
    inner = inner_lines(text, start, end) if depth else [m.end() for m in _INNER_LINE.finditer(text, start, end)]
    for at, stop in pairwise([start, *inner, end]):
        if at > start:
            yield at
        if inner and depth and stop - at > _LONGEST:
            yield from _given_up(text, at, stop, depth - 1)


def inner_lines(text: str, start: int, end: int) -> list[int]:
    """Return the starts of the outermost lines inside a statement, except those that close it."""
    lines = [(_width(match[1]), match.end()) for match in _INNER_LINE.finditer(text, start, end)]
    outermost = max(min(lines, default=(0, 0))[0], _column(text, start))
    return [at for width, at in lines if width <= outermost]


def code_blocks(text: str) -> Iterator[Span]:
    """Yield the blocks of source code: what blank lines separate, as long as the lines below them are no deeper."""
    edges = [0, *(line.start for line in _lines(text, 0, len(text)) if line.is_apart), len(text)]
    return (span for edge in pairwise(edges) if (span := trim(text, *edge)))


def top_of(text: str, low: int, at: int) -> int:
    """Return the start of the line of code at an offset, with the comments, decorators and attributes directly above.

    Nothing before `low` is looked at, which should be a place where no bracket is open.
    """
    end = text.find("\n", at)
    last = None
    for line in _lines(text, low, len(text) if end < 0 else end):
        if line.start > at:
            break
        last = line
    line_start = max(text.rfind("\n", low, at) + 1, low)
    # Else a bracket is open around it.
    return last.top if last is not None and last.start >= line_start else line_start


def _lines(text: str, start: int, end: int) -> Iterator[_Line]:
    """Yield the lines of source code, then one at the end, unless a bracket is still open there."""
    width = outermost = _column(text, start)
    top, begins, bracket = start, True, ""
    is_blank = is_apart = is_continued = is_sql = False
    for row in _rows(text, start, end):
        code = text[row.start : row.code_end].rstrip()
        is_head = _HEAD_END.search(code[-6:]) is not None or _HEAD.match(code) is not None
        is_above = not code or _DECORATOR.fullmatch(code) is not None
        is_apart = is_apart or is_head or (is_above and text.startswith(_ABOVE, row.start))
        yield _Line(row.start, top, begins, begins and is_blank and is_apart)
        if begins or top < row.start:
            is_sql = _SQL.match(code) is not None
        is_sql = is_sql and not code.endswith(";")
        gap, bracket = text[row.end : row.next], row.bracket
        is_blank, after = gap.count("\n") > 1, _width(gap.rpartition("\n")[2])
        is_joined = is_above and not is_blank and after >= width
        goes_on = not is_blank and (is_sql or _goes_on(code, text, row.next, bracket))
        is_inside = after > width or code.endswith("{")
        begins = not (is_joined or goes_on or is_inside or _CLOSER.match(text, row.next))
        is_apart = after <= outermost or (after < width and not is_continued) or _CLOSER.match(code) is not None
        top, width, is_continued = top if is_joined else row.next, after, goes_on
    if bracket in {"", "{"}:
        yield _Line(end, end, True, False)


def _goes_on(code: str, text: str, at: int, bracket: str) -> bool:
    """Return whether a line of code goes on with the line at an offset."""
    if code.endswith(","):
        return not bracket  # In braces, it separates entries.
    return _TRAILING.search(code[-5:]) is not None or (code[-1:] != ";" and _LEADING.match(text, at) is not None)


def _rows(text: str, start: int, end: int) -> Iterator[_Row]:
    stack: list[str] = []
    count: Counter[str] = Counter()
    missing: set[str] = set()  # openings without an end
    heredoc = ""
    begin = code_end = mark = at = start
    while token := _TOKEN.search(text, at, end):
        kind, at = token.lastgroup, token.end()
        if kind == "line" and heredoc:
            closing = re.compile(rf"\n[ \t]*{heredoc}\b").search(text, token.start(), end)
            missing |= {"heredoc"} if closing is None else set()
            at, heredoc = token.start() if closing is None else closing.end(), ""
        elif kind == "line" and not count["("] + count["["]:
            code_end = token.start() if text[mark : token.start()].strip() else code_end
            yield _Row(begin, code_end, token.start(), at, stack[-1] if stack else "")
            begin = code_end = mark = at
        elif kind == "heredoc" and kind not in missing:
            heredoc = token["word"]
        elif kind == "opening":
            at = _after(text, token[0], at, end, missing)
        elif kind in {"bracket", "unclosed", "quote"}:
            for bracket in _BRACKET.findall(text, token.start(), at):
                _move(bracket, stack, count)
        if kind == "comment" or (at > token.end() and token[0] in _ENDS):
            code_end = token.start() if text[mark : token.start()].strip() else code_end
            mark = at
    if begin < end:
        yield _Row(begin, end if text[mark:end].strip() else code_end, end, end, stack[-1] if stack else "")


def _after(text: str, opening: str, at: int, end: int, missing: set[str]) -> int:
    """Return the end of a string or comment over several lines, or of its opening if it has none."""
    closing = _ENDS.get(opening, opening)
    found = -1 if opening in missing else text.find(closing, at, end)
    while found > 0 and opening == "`" and text[found - 1] == "\\":
        found = text.find(closing, found + 1, end)
    if found < 0:
        missing.add(opening)
        return at
    return found + len(closing)


def _move(bracket: str, stack: list[str], count: Counter[str]) -> None:
    """Add an opening bracket to the open ones, or remove what a closing one closes: also what was never closed."""
    opening = _OPENING.get(bracket)
    if opening is None:
        stack.append(bracket)
        count[bracket] += 1
    elif count[opening]:
        last = ""
        while last != opening:
            last = stack.pop()
            count[last] -= 1


def _column(text: str, at: int) -> int:
    """Return the indentation of the line at an offset, or 0 unless only white space is before it."""
    before = text[text.rfind("\n", 0, at) + 1 : at]
    return 0 if before.strip() else _width(before)


def _width(indentation: str) -> int:
    return len(indentation.expandtabs(4))
