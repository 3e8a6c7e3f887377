"""The check of an answer: its claims, and the evidence for each in the sources that it cites."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kinsplit.answering.values import Check, Citation, Evidence, Source, Status, Verdict
from kinsplit.embedding.calibration import calibrate
from kinsplit.embedding.protocol import Embedder
from kinsplit.embedding.sparse import Bm25Embedder
from kinsplit.options import MIN_SUPPORT
from kinsplit.parsers.units.sentences import sentences, words
from kinsplit.spans import Span
from kinsplit.text.blocks import FENCE, Block, blocks, parts
from kinsplit.text.graphemes import trim

FloatArray = NDArray[np.float32]

# Numbers of one digit are often written as words.
_NUMBER = re.compile(r"\d[\d.,]*\d")
_GROUPING = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")

#: A block of code between fences, of which the second may be missing.
FENCED = re.compile(r"^[ \t]*(```|~~~).*?(?:^[ \t]*\1|\Z)", re.DOTALL | re.MULTILINE)
_LINE = re.compile(r"[^\n]+")
_LIST_MARK = re.compile(r"\s*(?:[-*+•>]|\d{1,3}[.)])\s+")
# Closing emphasis before a sentence.
_MARKUP = re.compile(r"[*_]+\s+")
_LETTER = re.compile(r"\w")
# Headings, lead-ins and questions make no claim.
_NO_CLAIM = re.compile(r"\s*#{1,6}\s.*|.*[:?：？؟]\s*", re.DOTALL)
_FEWEST_WORDS = 3
# Replaces each character of a marker. Brackets that hold only markers are removed with them.
_MASK = "\0"
_MARKERS = re.compile(rf"(?:(?<!\s)\s+)?(?:[(\[]\s*{_MASK}[{_MASK}\s,;]*[)\]]|{_MASK}+)")


@dataclass(frozen=True, slots=True)
class Claim:
    """A sentence that makes a statement."""

    at: Span
    text: str
    citations: tuple[Citation, ...]


def claims(text: str, citations: Sequence[Citation]) -> list[Claim]:
    """Return the sentences of an answer that make a statement.

    A marker belongs to the sentence that it is in or follows, even on a line of its own. Headings, lead-ins, questions,
    code and fragments of fewer than three words are not claims unless they cite a source.
    """
    fences = [fence.span() for fence in FENCED.finditer(text)]
    starts, ends = [start for start, _ in fences], [end for _, end in fences]
    found: list[Claim] = []
    offsets = [citation.at.start for citation in citations]
    for line in _LINE.finditer(text):
        behind = bisect_right(starts, line.start())
        if not behind or ends[behind - 1] <= line.start():
            own = citations[bisect_left(offsets, line.start()) : bisect_left(offsets, line.end())]
            of_line = list(_of_line(text, line, own))
            if own and not of_line and found:
                last = found[-1]
                at = Span(last.at.start, own[-1].at.end)
                found[-1] = replace(last, at=at, citations=(*last.citations, *own))
            found.extend(of_line)
    return found


def _of_line(text: str, line: re.Match[str], citations: Sequence[Citation]) -> Iterator[Claim]:
    """Yield the claims of a line: models don't break lines inside sentences, but put each list item on its own line."""
    mark = _LIST_MARK.match(text, *line.span())
    bare, offsets = _without_markers(text, mark.end() if mark else line.start(), line.end(), citations)
    spans = sentences(bare).spans()
    starts = [span.start for span in spans]
    cited: dict[int, list[Citation]] = {}
    for citation in citations:
        before = bisect_left(offsets, citation.at.start)
        owner = max(0, bisect_left(starts, before) - 1)
        cited.setdefault(owner, []).append(citation)
    for number, span in enumerate(spans):
        own = cited.get(number, [])
        markup = _MARKUP.match(bare, span.start, span.end)
        start = markup.end() if markup else span.start
        sentence = bare[start : span.end]
        if own or (_is_long_enough(sentence) and not _NO_CLAIM.fullmatch(sentence)):
            end = max([offsets[span.end - 1] + 1, *(citation.at.end for citation in own)])
            yield Claim(Span(offsets[start], end), sentence, tuple(own))


def _is_long_enough(sentence: str) -> bool:
    return sum(bool(_LETTER.search(sentence, *at)) for at in words(sentence).spans()) >= _FEWEST_WORDS


def _without_markers(text: str, start: int, end: int, citations: Sequence[Citation]) -> tuple[str, list[int]]:
    """Return a part of a text without markers and the white space before them, and the offset of each code point."""
    masked = list(text[start:end])
    for at in {citation.at for citation in citations}:
        masked[max(0, at.start - start) : at.end - start] = _MASK * (at.end - max(start, at.start))
    kept: list[int] = []
    behind = 0
    for markers in _MARKERS.finditer("".join(masked)):
        kept.extend(range(start + behind, start + markers.start()))
        behind = markers.end()
    kept.extend(range(start + behind, end))
    return "".join(text[offset] for offset in kept), kept


@dataclass(frozen=True, slots=True)
class SourcePart:
    """One or two sentences of a source."""

    source: Source
    at: Span

    @property
    def text(self) -> str:
        """The sentences."""
        return self.source.text[self.at.start : self.at.end]


class SourceComparison:
    """Parts of sources and pairs of adjacent parts, prepared for comparison with other texts."""

    def __init__(self, groups: Iterable[Sequence[SourcePart]], embedder: Embedder, bm25: Bm25Embedder) -> None:
        self._bm25 = bm25
        single: list[SourcePart] = []
        runs: list[tuple[int, int]] = []
        for group in groups:
            first, single = len(single), [*single, *group]
            runs += [(number, number) for number in range(first, len(single))]
            runs += [(number, number + 1) for number in range(first, len(single) - 1)]
        self.parts = [SourcePart(single[i].source, Span(single[i].at.start, single[j].at.end)) for i, j in runs]
        self._words = [bm25.words(part.text) for part in self.parts]
        self._embedder, self._single, self._runs = embedder, [part.text for part in single], runs

    @cached_property
    def _vectors(self) -> FloatArray:
        embedder = self._embedder
        vectors = embedder.embed(self._single) if self._single else np.zeros((0, embedder.dimension))
        # The vector of a pair is the mean of both sentences, which takes no further call of the model.
        sums = vectors[np.asarray(self._runs, dtype=np.intp).reshape(-1, 2)].sum(axis=1)
        length = np.linalg.norm(sums, axis=1, keepdims=True)
        return np.asarray(sums / np.maximum(length, np.finfo(np.float32).tiny), dtype=np.float32)

    def similarities(self, vector: FloatArray) -> FloatArray:
        """Return the relative similarity of a vector of length 1 and each part: float32[parts].

        See `kinsplit.embedding.calibration`.
        """
        return calibrate(self._embedder).similarities(self._vectors, vector[None])[:, 0].astype(np.float32)

    def overlaps(self, text: str) -> FloatArray:
        """Return the share of a text's words that each part contains: float32[parts], 0 for a text without words.

        Acronyms of few letters, whose stems are those of other words, don't count.
        """
        wanted = self._bm25.words(text).intersection(self._bm25.embed_query(text).indices)
        shares = [len(wanted & words) / len(wanted) if wanted else 0.0 for words in self._words]
        return np.asarray(shares, dtype=np.float32)


def check(
    text: str, citations: Sequence[Citation], embedder: Embedder, bm25: Bm25Embedder, min_support: float = MIN_SUPPORT
) -> list[Check]:
    """Look up each sentence of an answer in the sources that it cites, given the citations in order.

    A sentence counts as found if its best evidence, one or two sentences of a source, scores at least `min_support`,
    from 0 to 1, and contains all of its numbers. The score is the mean of the relative similarity and the share of the
    sentence's words. This is not a proof: a sentence that contradicts its source is similar to it.
    """
    found = claims(text, citations)
    cited = {c.number: c.source for claim in found for c in claim.citations if c.source is not None}
    groups = [[SourcePart(source, at) for at in sentences(source.text).spans()] for source in cited.values()]
    comparison = SourceComparison(groups, embedder, bm25)
    vectors = embedder.embed([claim.text for claim in found]) if cited else [None] * len(found)
    return [_checked(claim, comparison, vector, min_support) for claim, vector in zip(found, vectors, strict=True)]


def verdict(checks: Sequence[Check]) -> Verdict:
    """Return how far the sources support an answer, from the checks of its sentences."""
    good = [each.status == "found" for each in checks]
    if not any(good):
        return "unsupported"
    return "supported" if all(good) else "partly_supported"


def _checked(claim: Claim, comparison: SourceComparison, vector: Any, min_support: float) -> Check:
    numbers = tuple(dict.fromkeys(citation.number for citation in claim.citations))
    sources = {c.number: c.source for c in claim.citations if c.source is not None}
    if not numbers:
        return Check(claim.at, claim.text, (), "uncited")
    if not sources:
        return Check(claim.at, claim.text, numbers, "no_such_source")
    similarities, overlaps = comparison.similarities(vector), comparison.overlaps(claim.text)
    scores, wanted = (similarities + overlaps) / 2, set(_numbers(claim.text))

    def worth(index: int) -> tuple[int, float]:
        """Rank parts with enough support by the number of the claim's numbers that they contain, then by score."""
        score = float(scores[index])
        held = wanted.intersection(_numbers(comparison.parts[index].text)) if score >= min_support else ()
        return len(held), score

    evidence = []
    for number in sources:
        own = [index for index, part in enumerate(comparison.parts) if part.source.number == number]
        if own:
            best = max(own, key=worth)
            evidence.append(_evidence(comparison.parts[best], float(similarities[best]), float(overlaps[best])))
    evidence.sort(key=lambda each: -each.score)
    held = {number for each in evidence for number in _numbers(each.text)}
    missing = tuple(number for number in _numbers(claim.text) if number not in held)
    is_found = bool(evidence) and evidence[0].score >= min_support and not missing
    # A claim that is found may also cite a source that doesn't exist.
    found: Status = "no_such_source" if len(sources) < len(numbers) else "found"
    return Check(claim.at, claim.text, numbers, found if is_found else "not_found", tuple(evidence), missing)


def _evidence(part: SourcePart, similarity: float, overlap: float) -> Evidence:
    span = part.source.locate(*part.at)
    return Evidence(part.source.number, span, part.source.chunk_at(span), part.text, similarity, overlap)


def _numbers(text: str) -> list[str]:
    """Return the numbers of two or more digits in a text, each once, without digit grouping."""
    return list(dict.fromkeys(_NUMBER.findall(_GROUPING.sub("", text))))


#: Maximum length of a list that is quoted as a whole, with its lead-in; of a longer one, items are.
LONGEST = 600
# Fewest words of a sentence, and of a part without its stop.
_FEWEST_STATEMENT_WORDS, _FEWEST_UNCLOSED = 3, 4
# Type of files whose whole text is code.
_CODE = "code"
_LEAD_IN, _QUESTION = (":", "："), ("?", "？", "؟")
_STOPS = (".", "!", "…", "。", "！", "।", "։", "။", "។", *_LEAD_IN, *_QUESTION)
_CLOSING = "\"'”’»)]*_`"
# Bullets of PDFs and slides, which Markdown doesn't know as such.
_BULLET = re.compile(r"^[ \t]*[•◦▪●○■□‣⁃✓➢]", re.MULTILINE)
# A heading of a PDF is a line that ends far before the others do.
_HEADING_SHARE, _LONGEST_HEADING = 0.7, 80
# Lines of code in a PDF.
_INDENTED = re.compile(r"^(?: {4}|\t)[ \t]*\S", re.MULTILINE)
_BLANK = re.compile(r"\n[ \t]*\n")


def statements(source: Source) -> list[list[Span]]:
    """Return the parts of a source that can be quoted, in groups of parts that can be quoted together if adjacent.

    Headings, rules, questions, lists of questions and lead-ins without their list, table or code are no statements. A
    lead-in and what it leads to are one part, and so are a table, a block of code, and a list whose items are no
    sentences, unless it is longer than `LONGEST`. Other lists are a group of items.
    """
    found = [[span] for span in _paragraphs(source.text)] if _is_code(source) else _groups(source.text)
    kept = [[span for span in group if _is_statement(source.text[span.start : span.end])] for group in found]
    return [group for group in kept if group]


def is_prose(source: Source, text: str) -> bool:
    """Return whether the lines of a part of a source have no meaning, so that it can be quoted on one line."""
    has_lines = _is_code(source) or _BULLET.search(text) or _INDENTED.search(text)
    return not has_lines and all(block.kind == "paragraph" for block in blocks(text, "prose"))


def _groups(text: str) -> Iterator[list[Span]]:
    begin = _code_end(text)
    if begin:
        yield [Span(0, begin)]
    found = [
        block._replace(start=block.start + begin, end=block.end + begin) for block in blocks(text[begin:], "prose")
    ]
    lead: Span | None = None
    for block in found:
        if block.kind == "heading":
            lead = None
        elif block.kind == "paragraph" and _INDENTED.search(text, block.start, block.end):
            yield [Span(block.start, block.end)]
            lead = None
        elif block.kind == "paragraph" and not _BULLET.match(text, block.start, block.end):
            *before, last = _prose(text, block) or [[]]
            yield from before
            lead = last.pop() if last and text[last[-1].start : last[-1].end].endswith(_LEAD_IN) else None
            yield last
        else:
            yield from _of_block(text, block, lead)
            lead = None


def _of_block(text: str, block: Block, lead: Span | None) -> Iterator[list[Span]]:
    whole = Span(block.start if lead is None else lead.start, block.end)
    if block.kind not in {"list", "paragraph"}:
        yield [whole]
        return
    items = _items(text, block)
    if any(text[item.start : item.end].rstrip(_CLOSING).endswith(_QUESTION) for item in items):
        return
    is_enumeration = lead is not None or not all(_is_closed(text[item.start : item.end]) for item in items)
    yield [whole] if is_enumeration and whole.end - whole.start <= LONGEST else items


def _items(text: str, block: Block) -> list[Span]:
    own = text[block.start : block.end]
    if block.kind == "list":
        starts = [span.start for span in parts(own, "list")]
    else:
        starts = [match.start() for match in _BULLET.finditer(own)]
    spans = pairwise([*starts, len(own)])
    found = (trim(text, block.start + start, block.start + end) for start, end in spans)
    return [span for span in found if span]


def _prose(text: str, block: Block) -> list[list[Span]]:
    """Return the sentences of a paragraph below its headings; a bullet begins a new group."""
    own = text[block.start : block.end]
    begin = _headings_end(own)
    starts = sorted({begin, *(match.start() for match in _BULLET.finditer(own, begin))})
    return [
        sentences(own[start:end]).shifted(block.start + start).spans() for start, end in pairwise([*starts, len(own)])
    ]


def _headings_end(paragraph: str) -> int:
    """Return the end of the lines that are headings without a mark, as PDFs have them, or 0."""
    lines = list(_LINE.finditer(paragraph))
    longest = max((len(line[0]) for line in lines), default=0)
    limit = _LONGEST_HEADING if len(lines) == 1 else min(_LONGEST_HEADING, _HEADING_SHARE * longest)
    end = 0
    for line, following in zip(lines, [*lines[1:], None], strict=True):
        goes_on = following is not None and not following[0].lstrip()[:1].isupper()
        if len(line[0]) > limit or goes_on or not line[0].lstrip()[:1].isupper() or _is_closed(line[0]):
            break
        end = line.end()
    return end


def _paragraphs(text: str) -> Sequence[Span]:
    ends = [match.start() for match in _BLANK.finditer(text)]
    starts = [0, *(match.end() for match in _BLANK.finditer(text))]
    found = (trim(text, start, end) for start, end in zip(starts, [*ends, len(text)], strict=True))
    return [span for span in found if span]


def _code_end(text: str) -> int:
    """Return the end of the code that a passage begins in the middle of, or 0."""
    fences = [match for match in _LINE.finditer(text) if FENCE.fullmatch(match[0].strip())]
    is_inside = len(fences) % 2 == 1 and fences[0][0].strip() in {"```", "~~~"}
    return fences[0].end() if is_inside else 0


def _is_code(source: Source) -> bool:
    return bool(source.best.metadata.get("file_type") == _CODE)


def _is_closed(line: str) -> bool:
    return line.rstrip(_CLOSING).endswith(_STOPS)


def _is_statement(text: str) -> bool:
    end = text.rstrip().rstrip(_CLOSING)
    fewest = _FEWEST_STATEMENT_WORDS if _is_closed(text) else _FEWEST_UNCLOSED
    return len(words(text).starts) >= fewest and not end.endswith((*_LEAD_IN, *_QUESTION))
