"""The sentences of an answer that state something, and what each of them cites."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from kinsplit.answering.values import Citation
from kinsplit.chunk import Span
from kinsplit.parsers.segment import words
from kinsplit.parsers.sentences import sentences

_FENCE = re.compile(r"^[ \t]*(```|~~~).*?(?:^[ \t]*\1|\Z)", re.DOTALL | re.MULTILINE)
_LINE = re.compile(r"[^\n]+")
_LIST_MARK = re.compile(r"\s*(?:[-*+•>]|\d{1,3}[.)])\s+")
# The end of what was bold in front of a sentence.
_MARKUP = re.compile(r"[*_]+\s+")
_LETTER = re.compile(r"\w")
# A heading, a lead-in or a question states nothing.
_NO_CLAIM = re.compile(r"\s*#{1,6}\s.*|.*[:?：？؟]\s*", re.DOTALL)
_FEWEST_WORDS = 3
# Stands for each character of a marker. Brackets around nothing but markers go with them.
_MASK = "\0"
_MARKERS = re.compile(rf"(?:(?<!\s)\s+)?(?:[(\[]\s*{_MASK}[{_MASK}\s,;]*[)\]]|{_MASK}+)")


@dataclass(frozen=True, slots=True)
class Claim:
    """A sentence that states something.

    Attributes:
        at: Where it stands in the answer's text, up to its last marker.
        text: The sentence without its markers.
        citations: What it cites.
    """

    at: Span
    text: str
    citations: tuple[Citation, ...]


def claims(text: str, citations: Sequence[Citation]) -> list[Claim]:
    """Return the sentences of an answer that state something.

    A marker belongs to the sentence that it stands in or behind, also on a line of its own. Headings, lead-ins,
    questions, code and what has fewer than three words state nothing, unless they cite a source.

    Args:
        text: The answer.
        citations: Of its markers, in order.
    """
    fences = [fence.span() for fence in _FENCE.finditer(text)]
    starts, ends = [start for start, _ in fences], [end for _, end in fences]
    found: list[Claim] = []
    places = [citation.at.start for citation in citations]
    for line in _LINE.finditer(text):
        behind = bisect_right(starts, line.start())
        if not behind or ends[behind - 1] <= line.start():
            own = citations[bisect_left(places, line.start()) : bisect_left(places, line.end())]
            of_line = list(_of_line(text, line, own))
            if own and not of_line and found:
                last = found[-1]
                at = Span(last.at.start, own[-1].at.end)
                found[-1] = replace(last, at=at, citations=(*last.citations, *own))
            found.extend(of_line)
    return found


def _of_line(text: str, line: re.Match[str], citations: Sequence[Citation]) -> Iterator[Claim]:
    """Yield the claims of a line: a model breaks none inside a sentence, but puts a list's items on one each."""
    mark = _LIST_MARK.match(text, *line.span())
    bare, places = _without_markers(text, mark.end() if mark else line.start(), line.end(), citations)
    spans = [Span(start, end) for start, end in zip(*(each.tolist() for each in sentences(bare)), strict=True)]
    starts = [span.start for span in spans]
    cited: dict[int, list[Citation]] = {}
    for citation in citations:
        before = bisect_left(places, citation.at.start)
        owner = max(0, bisect_left(starts, before) - 1)
        cited.setdefault(owner, []).append(citation)
    for number, span in enumerate(spans):
        own = cited.get(number, [])
        markup = _MARKUP.match(bare, span.start, span.end)
        start = markup.end() if markup else span.start
        sentence = bare[start : span.end]
        if own or (_is_long_enough(sentence) and not _NO_CLAIM.fullmatch(sentence)):
            end = max([places[span.end - 1] + 1, *(citation.at.end for citation in own)])
            yield Claim(Span(places[start], end), sentence, tuple(own))


def _is_long_enough(sentence: str) -> bool:
    units = words(sentence)
    found = (_LETTER.search(sentence, *at) for at in zip(units.starts.tolist(), units.ends.tolist(), strict=True))
    return sum(word is not None for word in found) >= _FEWEST_WORDS


def _without_markers(text: str, start: int, end: int, citations: Sequence[Citation]) -> tuple[str, list[int]]:
    """Return a part of a text without markers and the white space before them, and where each code point came from."""
    masked = list(text[start:end])
    for at in {citation.at for citation in citations}:
        masked[max(0, at.start - start) : at.end - start] = _MASK * (at.end - max(start, at.start))
    kept: list[int] = []
    behind = 0
    for markers in _MARKERS.finditer("".join(masked)):
        kept.extend(range(start + behind, start + markers.start()))
        behind = markers.end()
    kept.extend(range(start + behind, end))
    return "".join(text[place] for place in kept), kept
