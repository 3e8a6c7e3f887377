from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, Self

from pydantic import model_validator

from kinsplit.errors import LimitTooSmallError, require
from kinsplit.parsers.base import Cut, Levels, Strategy
from kinsplit.parsers.packing.groups import UnitRun, window_count, windows
from kinsplit.parsers.packing.refine import CHARACTERS_PER_TOKEN, LONG_WORD
from kinsplit.parsers.packing.token_offsets import TokenOffsets, count_tokens, locate
from kinsplit.parsers.parameters import Overlap, Size, check_below
from kinsplit.spans import Span
from kinsplit.text.graphemes import grapheme_end, grapheme_floor, graphemes, skip_space
from kinsplit.tokenizers import SEPARATORS, Tokenizer, resolve

# Maximum and minimum number of windows of one text computed together. Many windows keep all cores busy, but the windows
# after a shortened one have to be computed again if it leaves a gap.
_MOST, _FEWEST = 256, 4


class TokenStrategy(Strategy):
    """Windows of a fixed number of tokens, as slices of the text and never as decoded tokens.

    A window that would begin inside a grapheme cluster begins with the whole cluster. A window ends earlier if its
    text, tokenised on its own, exceeds `chunk_size`, or if it has more than 100 characters per token, as with long
    white space.

    Attributes:
        chunk_size: Tokens per window.
        stride: Tokens between the starts of two windows. Default: a quarter of chunk_size.
        chunk_overlap: Tokens shared with the previous window; an alternative to stride.
        tail: Text after the last full window: "keep" it as a shorter window or "drop" it.

    Example:
        >>> from kinsplit import split
        >>> [chunk.text for chunk in split("one two three", "token", chunk_size=2, stride=2)]
        ['one two', 'three']
    """

    name = "token"
    summary = "Token windows of a fixed size and stride"
    origin = "SC-Qrels (512 tokens, stride 128)"

    chunk_size: Size = 512
    stride: Size = 128
    chunk_overlap: Overlap | None = None
    tail: Literal["keep", "drop"] = "keep"

    @model_validator(mode="before")
    @classmethod
    def _fill(cls, data: dict[str, Any]) -> dict[str, Any]:
        size, overlap = data.get("chunk_size", 512), data.get("chunk_overlap")
        if data.get("stride") is not None or not isinstance(size, int):
            return data
        if overlap is None:
            return {**data, "stride": max(1, size // 4)}
        if isinstance(overlap, int):
            check_below("chunk_overlap", overlap, "chunk_size", size)
            return {**data, "stride": size - overlap}
        return data

    @model_validator(mode="after")
    def _check(self) -> Self:
        size, stride, overlap = self.chunk_size, self.stride, self.chunk_overlap
        rule = f"must not be greater than chunk_size ({size}), or the text between windows would be lost"
        require(stride <= size, "stride", rule, stride, "Lower stride or raise chunk_size.")
        rule = f"contradicts stride ({stride})"
        require(overlap in (None, size - stride), "chunk_overlap", rule, overlap, "Give one of the two.")
        return self

    def expected_chunks(self, text: str) -> int:
        """Estimate the number of windows; shortened windows add more."""
        return window_count(int(resolve(self.tokenizer).count([text])[0]), self.chunk_size, self.stride)

    def _cut(self, texts: Sequence[str]) -> list[Levels]:
        tokenizer = resolve(self.tokenizer)
        most = CHARACTERS_PER_TOKEN * self.chunk_size
        jobs = [_Job(text, offsets, most) for text, offsets in zip(texts, count_tokens(texts, tokenizer), strict=True)]
        while pending := [job for job in jobs if not job.done]:
            runs = [self._next_windows(job) for job in pending]
            wanted = [{n for first, stop in r for n in (first, stop, first + self.stride)} for r in runs]
            locate([job.offsets for job in pending], wanted, tokenizer)
            spans = [job.spans(r) for job, r in zip(pending, runs, strict=True)]
            counts = _count(pending, runs, spans, tokenizer)
            for job, r, found, counted in zip(pending, runs, spans, counts, strict=True):
                self._accept(job, r, found, counted, tokenizer)
        return [[job.cuts] for job in jobs]

    def _next_windows(self, job: _Job) -> list[UnitRun]:
        left = job.offsets.total - job.at
        ahead = min(left, self.chunk_size + (job.ahead - 1) * self.stride)
        # Only a window at the end of the text is a tail.
        tail = self.tail if ahead == left else "keep"
        runs = windows(ahead, self.chunk_size, self.stride, tail)
        return [UnitRun(job.at + run.first, job.at + run.stop) for run in runs]

    def _accept(
        self, job: _Job, runs: Sequence[UnitRun], spans: Sequence[Span], counts: Sequence[int], tokenizer: Tokenizer
    ) -> None:
        """Add windows up to the first one that was shortened and leaves a gap."""
        text, offsets, total = job.text, job.offsets, job.offsets.total
        following = [*(span.start for span in spans[1:]), None][: len(spans)]
        reached = job.reached
        for (first, stop), span, count, begin in zip(runs, spans, counts, following, strict=True):
            if count > self.chunk_size:
                span, count = self._shortened(text, span, count, tokenizer)
            # Several windows can begin in one grapheme cluster; windows without new text are dropped.
            if adds := span.end > max(reached, span.start):
                job.cuts.append(Cut((span,), tokens=count))
                reached = span.end
            if begin is None:
                begin = offsets[first + self.stride if stop < total else stop]
            if reached < begin and text[reached:begin].strip():
                job.at = offsets.at_or_before(reached) if adds else min(first + 1, total - 1)
                job.resume = skip_space(text, reached)
                job.ahead = max(_FEWEST, job.ahead // 2)
                return
        job.resume = None
        job.ahead = min(_MOST, 2 * job.ahead)
        job.at = runs[-1].first + self.stride if runs else job.offsets.total
        job.done = not runs or runs[-1].stop >= job.offsets.total

    def _shortened(self, text: str, span: Span, count: int, tokenizer: Tokenizer) -> tuple[Span, int]:
        """Shorten a window of too many tokens, by whole words if possible, until its text fits."""
        start, end = span
        while count > self.chunk_size:
            word = len(text[start:end].rsplit(None, 1)[-1])
            is_apart = False
            if word < min(end - start, LONG_WORD):
                at = end - word
                if is_apart := tokenizer.splits_at_space and text[at - 1] in SEPARATORS:
                    count -= int(tokenizer.count([text[at:end]])[0])
                end = at
            else:
                own = [*tokenizer.starts([text[start:end]])[0].tolist(), end - start - 1]
                end = grapheme_floor(text, start + own[min(self.chunk_size, len(own) - 1)], start)
            end = start + len(text[start:end].rstrip())
            if end == start and text[start].isspace():
                # White space leaves no room for other text; a later window begins after it.
                return Span(start, start), 0
            if end == start:
                return self._one_code_point(text, start, tokenizer)
            if not is_apart:
                count = int(tokenizer.count([text[start:end]])[0])
        return Span(start, end), count

    def _one_code_point(self, text: str, start: int, tokenizer: Tokenizer) -> tuple[Span, int]:
        """Cut inside a grapheme cluster that exceeds the limit."""
        stop = grapheme_end(text, start)
        while (count := int(tokenizer.count([text[start:stop]])[0])) > self.chunk_size and stop > start + 1:
            stop = start + (stop - start) // 2
        if count > self.chunk_size:
            raise LimitTooSmallError(self.chunk_size, "token", text[start])
        return Span(start, stop), count


class _Job:
    """Windows of one text while they are computed."""

    def __init__(self, text: str, offsets: TokenOffsets, most: int) -> None:
        self.text, self.offsets, self.most, self.at, self.ahead = text, offsets, most, 0, _MOST
        # A text is not lost even if the tokenizer drops all of its characters.
        dropped = [] if offsets.total else graphemes(text, 0, len(text), most)
        self.cuts = [Cut((span,), tokens=0) for span in dropped]
        # Offset of the next window after a shortened window left a gap.
        self.resume: int | None = None
        self.done = not offsets.total

    @property
    def reached(self) -> int:
        """End of the last window; 0 before the first."""
        return self.cuts[-1].spans[0].end if self.cuts else 0

    def spans(self, runs: Sequence[UnitRun]) -> list[Span]:
        """Return the spans of windows, without trailing white space."""
        found: list[Span] = []
        for first, stop in runs:
            start, end = self.offsets[first], self.offsets[stop]
            if self.resume is not None:
                # The offsets of later tokens can lie in the white space or cluster before it.
                start = max(start, self.resume) if found else self.resume
            if end - start > self.most:
                end = _word_floor(self.text, start, start + self.most)
            while end > start and self.text[end - 1].isspace():
                end -= 1
            found.append(Span(start, max(start, end)))
        return found


def _word_floor(text: str, start: int, at: int) -> int:
    """Return the end of the last word before an offset, or the offset itself inside a very long word."""
    floor = grapheme_floor(text, at, start)
    at = floor if floor > start else at
    inside = 0 if text[at : at + 1].isspace() else len(text[start:at].rsplit(None, 1)[-1])
    return at - inside if inside < min(at - start, LONG_WORD) else at


def _count(
    jobs: Sequence[_Job], runs: Sequence[list[UnitRun]], spans: Sequence[list[Span]], tokenizer: Tokenizer
) -> list[list[int]]:
    """Count the tokens of each window as a text of its own.

    If tokens never cross white space, only the words that a window cuts have to be counted again.
    """
    counts: list[list[int]] = []
    again: list[tuple[list[int], int]] = []
    pieces: list[str] = []
    for job, r, found in zip(jobs, runs, spans, strict=True):
        known: list[int] = []
        counts.append(known)
        for i, ((first, stop), (start, end)) in enumerate(zip(r, found, strict=True)):
            # The text of a resumed or shortened window differs from its tokens, as without white space that BERT drops.
            ends = SEPARATORS.issuperset(job.text[end : job.offsets[stop]])
            whole = ends and job.resume is None and job.offsets[stop] - start <= job.most
            bounds = job.offsets.word_bounds(first, stop) if tokenizer.splits_at_space and whole else None
            known.append(bounds[1] - bounds[0] if bounds else 0)
            if bounds is None:
                pieces.append(job.text[start:end])
                again.append((known, i))
                continue
            if first < bounds[0]:
                pieces.append(job.text[start : job.offsets[bounds[0]]])
                again.append((known, i))
            if bounds[1] < stop:
                pieces.append(job.text[job.offsets[bounds[1]] : end])
                again.append((known, i))
    for (known, i), count in zip(again, tokenizer.count(pieces).tolist(), strict=True):
        known[i] += count
    return counts
