from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, Self

from pydantic import Field, model_validator

from kinsplit.errors import InvalidParameterError, LimitTooSmallError
from kinsplit.parsers.base import Cut, Levels, Strategy
from kinsplit.parsers.packing.group import Run, window_count, windows
from kinsplit.parsers.packing.measure import CHARACTERS_PER_TOKEN
from kinsplit.parsers.packing.refine import LONG_WORD
from kinsplit.parsers.packing.token_offsets import TokenPlaces, count_tokens, locate
from kinsplit.parsers.parameters import Overlap, Size, check_below
from kinsplit.parsers.units.graphemes import grapheme_end, grapheme_floor, graphemes, skip_space
from kinsplit.spans import Span
from kinsplit.tokenizers import Tokenizer, resolve

# Most and fewest windows of one text that are looked at together: many keep all cores busy, but where a shortened
# window leaves a gap those behind it have to be made anew.
_MOST, _FEWEST = 256, 4


class TokenStrategy(Strategy):
    """Windows of a fixed number of tokens, as slices of the source and never as decoded tokens.

    A window that would cut a grapheme cluster begins with the whole of it; a window whose text, tokenised on its own,
    would be longer than `chunk_size` ends earlier, and so does one that would hold more than 100 characters for each
    of its tokens, as with long white space.

    Example:
        >>> TokenStrategy(chunk_size=2, stride=2).split("one two three")
        [Span(start=0, end=7), Span(start=8, end=13)]
    """

    name = "token"
    summary = "Token windows of a fixed size and stride"
    origin = "SC-Qrels (512 tokens, stride 128)"

    chunk_size: Size = Field(default=512, description="Tokens in a window.")
    stride: Size = Field(
        default=128, description="Tokens between the starts of two windows; a quarter of chunk_size unless given."
    )
    chunk_overlap: Overlap | None = Field(
        default=None, description="Tokens shared with the window before; another way to give the stride."
    )
    tail: Literal["keep", "drop"] = Field(
        default="keep", description='What follows the last full window: "keep" it as a shorter window or "drop" it.'
    )

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
        if self.stride > self.chunk_size:
            raise InvalidParameterError(
                "stride",
                f"must not be greater than chunk_size ({self.chunk_size}), or the text between windows would be lost",
                self.stride,
                "Lower stride or raise chunk_size.",
            )
        if self.chunk_overlap is not None and self.chunk_overlap != self.chunk_size - self.stride:
            raise InvalidParameterError(
                "chunk_overlap", f"contradicts stride ({self.stride})", self.chunk_overlap, "Give one of the two."
            )
        return self

    def expected_chunks(self, text: str) -> int:
        """Estimate the number of windows; those that are cut short make more."""
        return window_count(int(resolve(self.tokenizer).count([text])[0]), self.chunk_size, self.stride)

    def _cut(self, texts: Sequence[str]) -> list[Levels]:
        tokenizer = resolve(self.tokenizer)
        most = CHARACTERS_PER_TOKEN * self.chunk_size
        jobs = [_Job(text, places, most) for text, places in zip(texts, count_tokens(texts, tokenizer), strict=True)]
        while pending := [job for job in jobs if not job.done]:
            runs = [self._next_windows(job) for job in pending]
            wanted = [{n for first, stop in r for n in (first, stop, first + self.stride)} for r in runs]
            locate([job.places for job in pending], wanted, tokenizer)
            spans = [job.spans(r) for job, r in zip(pending, runs, strict=True)]
            counts = _count(pending, runs, spans, tokenizer)
            for job, r, found, counted in zip(pending, runs, spans, counts, strict=True):
                self._accept(job, r, found, counted, tokenizer)
        return [[job.cuts] for job in jobs]

    def _next_windows(self, job: _Job) -> list[Run]:
        left = job.places.total - job.at
        ahead = min(left, self.chunk_size + (job.ahead - 1) * self.stride)
        # A window is a tail only if the text ends with it.
        tail = self.tail if ahead == left else "keep"
        return [
            Run(job.at + run.first, job.at + run.stop) for run in windows(ahead, self.chunk_size, self.stride, tail)
        ]

    def _accept(
        self, job: _Job, runs: Sequence[Run], spans: Sequence[Span], counts: Sequence[int], tokenizer: Tokenizer
    ) -> None:
        """Take over windows, up to the first one behind which a shortened one leaves a gap."""
        for i, (run, span, count) in enumerate(zip(runs, spans, counts, strict=True)):
            if count > self.chunk_size:
                span, count = self._shortened(job.text, span, tokenizer)
            # Several windows can begin in one grapheme cluster; those that add nothing are left out.
            if adds := span.end > max(job.reached, span.start):
                job.cuts.append(Cut((span,), tokens=count))
            if i + 1 < len(spans):
                following = spans[i + 1].start
            else:
                following = job.places[run.first + self.stride if run.stop < job.places.total else run.stop]
            if job.text[job.reached : following].strip():
                job.at = job.places.at_or_before(job.reached) if adds else min(run.first + 1, job.places.total - 1)
                job.resume = skip_space(job.text, job.reached)
                job.ahead = max(_FEWEST, job.ahead // 2)
                return
        job.resume = None
        job.ahead = min(_MOST, 2 * job.ahead)
        job.at = runs[-1].first + self.stride if runs else job.places.total
        job.done = not runs or runs[-1].stop >= job.places.total

    def _shortened(self, text: str, span: Span, tokenizer: Tokenizer) -> tuple[Span, int]:
        """End a window earlier, word by word if that helps, so that its own text fits."""
        start, end = span
        while (count := int(tokenizer.count([text[start:end]])[0])) > self.chunk_size:
            word = len(text[start:end].rsplit(None, 1)[-1])
            if word < min(end - start, LONG_WORD):
                end -= word
            else:
                own = [*tokenizer.starts([text[start:end]])[0].tolist(), end - start - 1]
                end = grapheme_floor(text, start + own[min(self.chunk_size, len(own) - 1)], start)
            end = start + len(text[start:end].rstrip())
            if end == start and text[start].isspace():
                # Where white space leaves no room for anything else, a later window begins behind it.
                return Span(start, start), 0
            if end == start:
                return self._one_code_point(text, start, tokenizer)
        return Span(start, end), count

    def _one_code_point(self, text: str, start: int, tokenizer: Tokenizer) -> tuple[Span, int]:
        """Cut inside a grapheme cluster that doesn't fit."""
        stop = grapheme_end(text, start)
        while (count := int(tokenizer.count([text[start:stop]])[0])) > self.chunk_size and stop > start + 1:
            stop = start + (stop - start) // 2
        if count > self.chunk_size:
            raise LimitTooSmallError(self.chunk_size, "token", text[start])
        return Span(start, stop), count


class _Job:
    """One text on its way through the windows.

    Attributes:
        text: The text.
        places: Its tokens.
        most: Most characters of a window.
        cuts: The windows so far.
        at: Token at which the next window begins.
        ahead: Windows to look at together.
        resume: Where the next window begins instead, after a shortened one that left a gap.
        done: Whether all windows are there.
    """

    def __init__(self, text: str, places: TokenPlaces, most: int) -> None:
        self.text, self.places, self.most, self.at, self.ahead = text, places, most, 0, _MOST
        # A text whose every character the tokenizer drops makes chunks as well.
        dropped = [] if places.total else graphemes(text, 0, len(text), most)
        self.cuts = [Cut((span,), tokens=0) for span in dropped]
        self.resume: int | None = None
        self.done = not places.total

    @property
    def reached(self) -> int:
        """Where the last window ends, 0 before the first."""
        return self.cuts[-1].spans[0].end if self.cuts else 0

    def spans(self, runs: Sequence[Run]) -> list[Span]:
        """Return where windows lie, without the white space at their ends."""
        found: list[Span] = []
        for first, stop in runs:
            start, end = self.places[first], self.places[stop]
            if self.resume is not None:
                # Tokens behind it can have their place in the white space or the cluster before it.
                start = max(start, self.resume) if found else self.resume
            if end - start > self.most:
                end = _word_floor(self.text, start, start + self.most)
            found.append(Span(start, start + len(self.text[start:end].rstrip())))
        return found


def _word_floor(text: str, start: int, at: int) -> int:
    """Return where the last word before a position ends, or the position if that is inside a very long word."""
    floor = grapheme_floor(text, at, start)
    at = floor if floor > start else at
    inside = 0 if text[at : at + 1].isspace() else len(text[start:at].rsplit(None, 1)[-1])
    return at - inside if inside < min(at - start, LONG_WORD) else at


def _count(
    jobs: Sequence[_Job], runs: Sequence[list[Run]], spans: Sequence[list[Span]], tokenizer: Tokenizer
) -> list[list[int]]:
    """Count each window's tokens as a text of its own.

    Where tokens never reach across white space only the words that a window cuts have to be counted again.
    """
    counts: list[list[int]] = []
    again: list[tuple[list[int], int]] = []
    pieces: list[str] = []
    for job, r, found in zip(jobs, runs, spans, strict=True):
        known: list[int] = []
        counts.append(known)
        for i, ((first, stop), (start, end)) in enumerate(zip(r, found, strict=True)):
            # A window that was resumed or ends earlier for its length is not the text of its tokens.
            whole = job.resume is None and job.places[stop] - start <= job.most
            bounds = job.places.word_bounds(first, stop) if tokenizer.splits_at_space and whole else None
            known.append(bounds[1] - bounds[0] if bounds else 0)
            if bounds is None:
                pieces.append(job.text[start:end])
                again.append((known, i))
                continue
            if first < bounds[0]:
                pieces.append(job.text[start : job.places[bounds[0]]])
                again.append((known, i))
            if bounds[1] < stop:
                pieces.append(job.text[job.places[bounds[1]] : end])
                again.append((known, i))
    for (known, i), count in zip(again, tokenizer.count(pieces).tolist(), strict=True):
        known[i] += count
    return counts
