"""Marks at the edges of sentences: enumerators, which begin one, and marks that stay with the one they close."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Iterator
from string import ascii_letters, punctuation

import regex

from kinsplit.text.graphemes import CLUSTER, skip_space, trimmed

# Shads of Tibetan, angkhankhu and khomut of Thai: to Unicode, they are punctuation only.
_OTHERS = r"\u0f0d-\u0f12\u0e5a\u0e5b"
#: Members of a character class of `regex`: the marks that end a sentence, except full stops.
TERMINALS = rf"\p{{SB=STerm}}{_OTHERS}"

_ROMAN = r"(?:(?=[ivx])x{0,3}(?:ix|iv|v?i{0,3})|(?=[IVXL])(?:XL|L?X{0,3})(?:IX|IV|V?I{0,3}))"
_HAN = "〇零一二三四五六七八九十百千"
_LETTER = r"[^\W\d_]"
_BRACKETED = rf"(?:[(（](?:\d{{1,2}}|{_LETTER}|aa|bb|cc|dd|{_ROMAN}|[{_HAN}]{{1,4}})[)）]){{1,3}}"
_NUMBER, _LEVELS = r"\d{1,3}(?:[.．]\d{1,3}){0,6}", r"\d{1,3}(?:[.．]\d{1,3}){1,6}"
_ARTICLE = (
    r"(?:§§?|(?:A(?i:rt(?:icle|ikel|ículo|icolo|igo)?)|C(?i:lause|hap(?:ter|itre)?)|E(?i:xhibit)|I(?i:tem)|P(?i:art)"
    r"|Q(?i:uestion)|R(?i:ule)|S(?i:ec(?:tion)?|tep|chedule))\b\.?)"
)
_FORMS = (
    rf"{_NUMBER}[a-z]?(?:[.．)）]|[.．]?{_BRACKETED}[.．]?)",  # "1.", "2.1.", "1)", "12.3(b)"
    rf"(?:{_LETTER}|{_ROMAN})[.．)）]",  # "a)", "iv.", "IV."
    _BRACKETED,  # "(a)", "(1)(ii)"
    # "§ 3 Abs. 2", "Article 5."
    rf"{_ARTICLE}[^\S\n]{{0,3}}(?:{_NUMBER}[A-Za-z]?|{_ROMAN})[.:]?(?:\ Abs\.(?:\ \d{{1,3}})?)?",
    rf"第[\d{_HAN}]{{1,6}}[条條章节節款项項号號編编]",
    rf"[{_HAN}]{{1,4}}、",
)
#: Pattern of an enumerator in brackets, or with a closing one, before a space.
bracketed = functools.cache(lambda: re.compile(rf"(?:{_BRACKETED}|(?:\d{{1,3}}|{_LETTER}|{_ROMAN})[)）])\s"))
_BULLET = "[•‣◦▪●○■·]"
_ENUMERATOR = rf"[*_]{{0,3}}(?:{'|'.join(_FORMS)})[*_]{{0,3}}"
# Maximum length of what is taken for an enumerator.
_LONGEST = 32
# Three in a row at most ("Article 5 (1) a)"), so a column of numbers is no single enumerator. The first two letters
# reject most words. Like some others, this pattern is compiled when it is first needed, since that takes longer than
# importing most modules.
_at_end = functools.cache(
    lambda: re.compile(
        rf"(?<!\w)(?![a-z][a-hj-uwyz])(?:{_ENUMERATOR}|(?<!\S)(?:{_BULLET}|[-*+#>]{{1,6}}[^\S\n]{{1,3}}{_ENUMERATOR}))"
        rf"(?:\s{{1,8}}{_ENUMERATOR}){{0,2}}\Z"
    )
)
# Its last word, to reject most others fast.
_PART = rf"(?:\d{{1,3}}[A-Za-z]?|{_LETTER}|[ivxIVXL]{{2,6}}|aa|bb|cc|dd|Abs|第\w{{2,7}}|[{_HAN}]{{1,4}})"
_last_word = functools.cache(
    lambda: re.compile(
        rf"(?![.)）:]\Z)(?:\S{{0,32}}[。！？])?[-*_+#>§]{{0,6}}(?:Art\.)?(?:{_PART}(?:[.．]{_PART}){{0,6}})?"
        rf"(?:[.．)）:、]|[.．]?(?:[(（]{_PART}[)）]){{1,3}}[.．]?|{_BULLET})?[*_]{{0,3}}"
    )
)
#: Last characters of no enumerator, unless a digit precedes them: marks, and letters that are no Roman number.
NEVER_LAST = frozenset(ascii_letters + punctuation + "”’") - frozenset("ivxIVXL.):*_")
# Where a line begins, a number of several levels needs no stop before a capital, and a hyphen may be a bullet. Most
# lines are rejected by their first two letters, or by a mark.
_UNSURE = rf"[-*+](?=[^\S\n]+\S)|{_LEVELS}(?=[^\S\n]+[^\W\d_a-z])"
_ITEM = rf"(?![^\W\d_ivxACS][a-z]|[\"'<>\[{{|`#=/])(?:{_BULLET}|{_UNSURE}|{_ENUMERATOR})\s"
_first_item = functools.cache(lambda: re.compile(_ITEM))
_LINE = re.compile(rf"\n[^\S\n]*+(?:(\n\s*)|(?={_ITEM}))")

_CLOSERS = r"[\p{Pe}\p{Pf}\"'*_]{0,4}"
_AND = r"\ (?:and|or|und|oder|et|ou)"
# What an enumerator stands behind. Anywhere: a stop, but the full stop of a short word is left to what finds sentences,
# as it may be an abbreviation's ("No. 5.", "Dr. / A. Smith"). Where it begins a line: a colon, a semicolon, a heading
# in bold or in capitals, or for brackets a comma. Inside a line: a semicolon, or a gap of several spaces, as in the
# table of contents of a text from a PDF ("Closing    22  2.05.").
_lead = functools.cache(
    lambda: regex.compile(
        rf"""(?xV1)
        (?<=  [\p{{Ll}}\p{{Lo}}\p{{N}}]{{4}}(?<!\bapprox|\bresp|\bincl|\bfigs|\bpágs)\.{_CLOSERS}\s{{1,99}}
            | \b\p{{Ll}}{{2,3}}\.{_CLOSERS}[^\S\n]{{0,9}}\n\s{{0,99}}
            | [{TERMINALS}]{_CLOSERS}\s{{0,99}}
            | ;(?:{_AND})?\s{{1,99}}
            | (?:[．:…]{_CLOSERS} | [*_] | (?:\A|\n)[^\p{{Ll}}\n]{{0,80}}\p{{Lu}}{{2}})[^\S\n]{{0,9}}\n\s{{0,99}}
            | (?:[\d:)] | \b\p{{Lu}}\p{{L}}{{1,20}})[^\S\n]{{2,20}}
            | \n[^\S\n]{{0,99}}\n\s{{0,99}}
        )
        | (?<=,(?:{_AND})?\s{{0,9}}\n\s{{0,99}})(?=\w{{0,4}}[(（)）])
        | (?<=:\s)(?=[*_(]{{0,4}}[1aAiI１一]\b) | (?<=\d\s)(?=Section\b|Art|Item\b) | (?<=,\s)(?=[ivx]{{2,4}}\.)"""
    )
)


def item_starts(text: str) -> list[int]:
    """Return the offsets behind blank lines, and those of enumerators that begin a line: there, a sentence begins.

    A line of hard-wrapped prose may begin with what looks like one ("at the age of / 12. Then"), so it is one only
    behind a stop, a colon or a heading in capitals, or next to another such line.
    """
    found: list[int] = []
    last = 0
    for line in _LINE.finditer(text):
        at = line.end()
        if line[1]:
            found.append(at)
        elif text.find("\n", last, line.start()) < 0 and _first_item().match(text, last):
            found += [at] if not last or found[-1:] == [last] else [last, at]
        elif _lead().match(text, at):
            found.append(at)
        last = at
    return found


@functools.lru_cache(maxsize=1 << 14)
def _is_last_word(word: str) -> bool:
    return _last_word().fullmatch(word) is not None


def enumerator_start(text: str, start: int, end: int) -> int:
    """Return the start of the enumerator at the end of a trimmed range that begins what follows; else the end."""
    begin = max(start, end - _LONGEST)
    if not _is_last_word(text[begin:end].rsplit(None, 1)[-1]):
        return end
    found = _at_end().search(text, begin, end)
    return found.start() if found and (found.start() == start or _lead().match(text, found.start())) else end


# End of most paragraphs: a word that is no Roman number, and a stop.
_WORD = re.compile(r"(?=.{0,2}[a-hj-km-uwyz])[a-z]{3}[.!?]|[a-z]{4}")

_PARAGRAPH_END = re.compile(r"[^\S\n]*\n[^\S\n]*\n")


def ends_with_enumerator(text: str, start: int, end: int) -> bool:
    """Return whether a part of a text ends with an enumerator of what follows it, such as "2.1." or "(a)"."""
    if end - start > 1 and text[end - 1] in NEVER_LAST and not text[end - 2].isdecimal():
        return False
    if _WORD.match(text, max(start, end - 4), end):
        return False
    start, end = trimmed(text, start, end)
    # It can begin another paragraph only from a line of its own, and the last line of most paragraphs is too long.
    is_alone = _PARAGRAPH_END.match(text, end) is not None
    if start == end or (is_alone and skip_space(text, text.rfind("\n", 0, end) + 1) < end - _LONGEST):
        return False
    if (at := enumerator_start(text, start, end)) == end or skip_space(text, end) == len(text):
        return False
    if is_alone:
        return not text[text.rfind("\n", 0, at) + 1 : at].strip()
    return at > start or skip_space(text, 0) == at or _lead().match(text, at) is not None


_NOTES = r"[⁰¹²³⁴-⁹†‡]"
_EMOJI = r"[\p{Emoji_Presentation}\p{Regional_Indicator}]"
_FIRSTS = regex.compile(rf"(?V1){_NOTES}|{_EMOJI}|[\p{{Pe}}\p{{Pf}}--[’”»\x00-\x7f]]")
_REFERENCE = r"(?:citation\ needed|\^[^\s\[\]]{1,40}|(?:note\ |nb\ )?(?:\d{1,4}|[a-z])(?:\s?[,;–-]\s?\d{1,4}){0,20})"
_LINK = r"(?:\([^()\s]{1,300}\))?"
_BEHIND = rf"[^\s(\[][\p{{SB=ATerm}}…{TERMINALS}]{_CLOSERS}(?:\s»)?"
_closes = functools.cache(
    lambda: regex.compile(
        rf"""(?xV1)(?:(?<={_BEHIND}) | (?<={_BEHIND}[^\S\n]{{1,2}})(?=\[|{_EMOJI}))
        (?:
            [,–-]?[^\S\n]{{0,2}}(?:\[\[?{_REFERENCE}\]\]?{_LINK} | (?={_EMOJI}){CLUSTER})
            | {_NOTES} | [*_]{{1,3}}(?=\s|\Z|[\[\p{{Pe}}\p{{Pf}}"']) | [\p{{Pe}}\p{{Pf}}--[\])]]
        )+"""
    )
)
_CLOSER = regex.compile(r"(?<=[^\s\p{Ps}\p{Pi}\p{Pd}])[\p{Pe}\p{Pf}\"']")
_NEW_SENTENCE = regex.compile(r"\s*\Z|\s+[^\s\p{Ll}]")
_COMMA = re.compile("[,;:]")
_LED = regex.compile(rf"\s*(?:\[|{_EMOJI})")
# Number of characters before a mark in which the beginning of its line is looked for.
_LINE_LENGTH = 1000

_begins_mark = functools.lru_cache(maxsize=1 << 14)(_FIRSTS.match)


def without_closing_marks(text: str, others: Iterable[str]) -> str:
    """Return a text of the same length with spaces in place of the marks that close a sentence, letters before a comma.

    They are references and footnote anchors (`[1]`, `[^2]`, `³`, `†`), brackets and quotation marks of other scripts
    than Latin, asterisks of Markdown, and emoji. Behind a space, references and emoji close a sentence, too, but not in
    a line that begins with one, such as a list of references.

    Args:
        text: The text.
        others: Its characters outside ASCII.
    """
    pieces, at = [], 0
    firsts = [mark for mark in (*"[*", *filter(_begins_mark, others)) if mark in text]
    found = [span for first in firsts for span in _closing_marks(text, first)]
    for start, end in sorted(found):
        if start >= at:
            # Before a comma, the sentence goes on, as it does at a stop inside a word.
            pieces += [text[at:start], ("a" if _COMMA.match(text, end) else " ") * (end - start)]
            at = end
    return "".join([*pieces, text[at:]]) if pieces else text


def begins_with_closing_mark(text: str, start: int, end: int) -> bool:
    """Return whether a part of a text begins with a mark that closes what stands before it, such as "[1]" or "”"."""
    return 0 < start < end and (_CLOSER.match(text, start) is not None or _closing_end(text, start) > start)


def _closing_marks(text: str, first: str) -> Iterator[tuple[int, int]]:
    """Yield the spans of closing marks by their first character."""
    for mark in _behind_stop(first).finditer(text):
        if (end := _closing_end(text, mark.start())) > mark.start():
            yield mark.start(), end


@functools.lru_cache(maxsize=1 << 14)
def _behind_stop(mark: str) -> re.Pattern[str]:
    """Return a pattern that finds a mark, but passes over those that close nothing, as most asterisks and brackets."""
    literal = re.escape(mark)
    if not mark.isascii():
        return re.compile(rf"{literal}(?<![^\W_]{literal})")
    stop, closer = r"[.!?\x80-\U0010ffff]", r"[.!?)\]}\"'*_\x80-\U0010ffff]"
    # Asterisks close nothing behind a space.
    spaces = ("",) if mark == "*" else ("", r"[^\S\n]", r"[^\S\n]{2}")
    behind = (rf"(?<={stop}{closer}{{{number}}}{space}{literal})" for space in spaces for number in range(5))
    return re.compile(rf"{literal}(?:{'|'.join(behind)})")


def _closing_end(text: str, start: int) -> int:
    """Return the end of the closing marks that begin at an offset behind a stop; the offset if there are none."""
    found = _closes().match(text, start)
    if found is None:
        return start
    if text[start - 1].isspace():
        line = max(0, start - _LINE_LENGTH, text.rfind("\n", max(0, start - _LINE_LENGTH), start))
        if not _NEW_SENTENCE.match(text, found.end()) or _LED.match(text, line):
            return start
    return int(found.end())
