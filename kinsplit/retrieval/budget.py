"""Spending of a token budget: hits by their worth, then the context around them, merged into passages."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, groupby, pairwise, takewhile
from typing import Protocol, Self

from kinsplit.chunk import Chunk
from kinsplit.errors import InvalidParameterError
from kinsplit.options import SearchOptions
from kinsplit.parsers.units.sentences import Units, as_units, clauses, cut_at, sentences, words
from kinsplit.retrieval.expand import Expansion, longest, surroundings
from kinsplit.retrieval.passage import Candidate, Part, Passage, continues, join, pieces
from kinsplit.spans import Span, holds, overlap, stretches, unite, without
from kinsplit.text.graphemes import graphemes
from kinsplit.tokenizers.protocol import IntArray

#: Function that returns the terms of a question that each text has.
Terms = Callable[[Sequence[str]], Sequence[frozenset[int]]]

# Number of hits to look at for sentences that still fit, once a whole one doesn't.
_TRIES = 5
# Share of a budget from which on words are cut off from their sentence rather than left out.
_LARGE_REST = 0.05
# Number of further terms for which later sentences of a hit are taken instead of earlier ones.
_MARGIN = 2
_LINE = re.compile(r"\S[^\n]*")
# Ends of lead-ins, list items and table rows, which need not be ends of sentences.
_ITEM = re.compile(r"(?<=[:;|])[^\S\n]*\n|\n(?=[^\S\n]*(?:[-*+•|]|\(?\w{1,3}[.)])\s)")


def no_terms(texts: Sequence[str]) -> list[frozenset[int]]:
    """Return no terms, so that the first sentences of a hit are taken."""
    return [frozenset()] * len(texts)


class Counter(Protocol):
    """A tokenizer, or anything else that counts tokens."""

    def count(self, texts: Sequence[str]) -> IntArray:
        """Return the number of tokens of each text."""
        ...


@dataclass(frozen=True, slots=True)
class Budget:
    """A number of tokens to spend on passages.

    Attributes:
        tokens: Maximum number of tokens of all texts together.
        tokenizer: Counts the tokens.
        context_share: Share of the tokens that hits leave to the context around them, from 0 to below 1. None lets hits
            take all.
        with_context: Whether each hit is bought together with its context, before the next hit.
        top_k: Maximum number of passages, which are then at most two windows long; None for any number and length.
        is_strategys: Whether the tokenizer is that of the strategy, whose counts are stored with the chunks.
        terms: Returns the question's terms in each text, by which the sentences of the last hits are chosen.
        overhead: Number of tokens that each passage takes besides its text, such as its label in a prompt.
    """

    tokens: int
    tokenizer: Counter
    context_share: float = 0.0
    with_context: bool = False
    top_k: int | None = None
    is_strategys: bool = False
    terms: Terms = no_terms
    overhead: int = 0

    @classmethod
    def of(cls, options: SearchOptions, tokenizer: Counter, terms: Terms = no_terms) -> Self | None:
        """Return the budget of a search; None without one.

        Args:
            options: The options of the search.
            tokenizer: The strategy's tokenizer.
            terms: See `Budget`.
        """
        if options.budget is None:
            return None
        return cls(
            options.budget,
            tokenizer,
            options.context_share or 0.0,
            with_context=options.context_share is None and (options.parents or options.window is not None),
            top_k=options.top_k,
            is_strategys=True,
            terms=terms,
        )

    def length(self, chunk: Chunk) -> int:
        """Return the number of tokens of a chunk."""
        if self.is_strategys and chunk.token_count is not None:
            return chunk.token_count
        return sum(self.count([chunk.text]))

    def count(self, texts: Sequence[str]) -> list[int]:
        """Return the number of tokens of each text."""
        return self.tokenizer.count(texts).tolist() if texts else []

    def total(self, passages: Iterable[Passage]) -> int:
        """Return the number of tokens of passages with their related files."""
        texts = [text for p in passages for text in (p.text, *(chunk.text for chunk in p.related))]
        return sum(self.count(texts)) + self.overhead * len(texts)


@dataclass(frozen=True, slots=True)
class Context:
    """The context of hits: their siblings or parents, and related files."""

    around: Callable[[Chunk], Sequence[Chunk]]  # Consecutive siblings with the chunk itself, or its parent alone.
    related: Callable[[Chunk], Sequence[Chunk]]  # First chunks of the other files of the document's group.
    within_sections: bool = False  # Whether passages end where the heading path changes.
    longest: int = sys.maxsize  # Most chunks of a passage, where the number of passages is limited.


def context_of(chunks: Mapping[str, Chunk], expansion: Expansion, fingerprint: str) -> Context:
    """Return the context of hits from their kin.

    Args:
        chunks: The stored ones of the hits and their kin, by id.
        expansion: Kin to add to a hit.
        fingerprint: Fingerprint of the strategy, from which ids are computed.
    """

    def around(chunk: Chunk) -> Sequence[Chunk]:
        return surroundings(chunk, chunks, expansion, fingerprint)

    def related(chunk: Chunk) -> Sequence[Chunk]:
        found = (chunks.get(id_) for id_ in expansion.related(chunk, fingerprint))
        return [other for other in found if other is not None]

    return Context(around, related, expansion.within_sections, longest(expansion))


def shorten(passages: Sequence[Passage], budget: Budget) -> list[Passage]:
    """Return passages within a budget: their hits first, and as much of their other chunks as fits; see `spend`.

    Args:
        passages: Passages, best first.
        budget: The budget.
    """
    homes = {hit.chunk.id: passage for passage in passages for hit in passage.hits}
    context = Context(lambda chunk: homes[chunk.id].chunks, lambda chunk: homes[chunk.id].related)
    return spend(budget, [hit for passage in passages for hit in passage.hits], context)


def spend(budget: Budget, hits: Sequence[Candidate], context: Context) -> list[Passage]:
    """Take hits in the order of their worth until a budget is full, then the context around them.

    Of the first hits that don't fit, the sentences that do are taken; if no sentence fits, lines, then clauses of a
    script without spaces between words, such as Thai. Later ones go first where they have two more of the question's
    terms. Where a twentieth of the budget would be left, words follow that don't complete a sentence; of the best hit,
    even the beginning of the first word. Context is taken in whole chunks, nearest first. Text that is already taken
    costs nothing, and neighbours are merged into passages in document order.

    Args:
        budget: The budget.
        hits: Hits, best first.
        context: Their context.

    Returns:
        Passages in the order of their best hits.

    Raises:
        InvalidParameterError: Not even one character of the best hit fits.
    """
    room = budget.tokens
    while True:
        purchase = _Purchase(budget, room, context)
        purchase.spend(hits)
        passages = purchase.passages()
        # Tokens of pieces need not add up to those of the text that is joined from them.
        excess = budget.total(passages) - budget.tokens
        if excess <= 0:
            return passages
        room -= excess


class _Purchase:
    """The chunks that were bought so far, and the tokens that are left to spend."""

    def __init__(self, budget: Budget, room: int, context: Context) -> None:
        self._budget, self._context = budget, context
        self._left = room
        self._hits: list[Candidate] = []
        self._taken: dict[str, Chunk] = {}
        self._parts: dict[str, Part] = {}
        self._parents: set[str] = set()
        self._related: dict[str, list[Chunk]] = {}
        self._covered: dict[str, tuple[Span, ...]] = {}

    def spend(self, hits: Sequence[Candidate]) -> None:
        """Buy hits, and the context around them."""
        kept = int(self._left * self._budget.context_share)
        self._left -= kept
        room = self._left
        misses = 0
        for hit in hits:
            if self._budget.with_context:
                self._take_parent(hit.chunk)
            if not self._has_place(hit.chunk):
                continue
            if not self._take(hit.chunk):
                misses += 1
                self._take_part(hit.chunk)
                if self._left >= _LARGE_REST * room:
                    self._take_words(hit.chunk)
                if hit.chunk.id in self._taken:
                    self._hits.append(hit)
                if misses == _TRIES:
                    break
                continue
            self._hits.append(hit)
            if self._budget.with_context:
                self._take_context(hit)
        self._left += kept
        for hit in self._hits:
            self._take_context(hit)
        for hit in self._hits:
            self._take_related(hit.chunk)

    def passages(self) -> list[Passage]:
        """Return what was bought, in the order of the best hits."""
        homes: dict[int, list[Candidate]] = {}
        groups = self._groups()
        places = {chunk.id: number for number, group in enumerate(groups) for chunk in group}
        for hit in self._hits:
            number = places.get(hit.chunk.id)
            if number is None:
                number = next(n for n, group in enumerate(groups) if any(_is_inside(hit.chunk, c) for c in group))
            homes.setdefault(number, []).append(hit)
        return [
            join(groups[number], own, [c for hit in own for c in self._related.get(hit.chunk.id, ())], self._parts)
            for number, own in homes.items()
        ]

    def _take(self, chunk: Chunk) -> bool:
        """Buy a whole chunk, and return whether it fits."""
        if chunk.id in self._taken:
            return chunk.id not in self._parts
        cost = self._cost(chunk) + self._overhead(chunk)
        if cost > self._left:
            return False
        self._buy(chunk, cost)
        return True

    def _take_part(self, chunk: Chunk) -> None:
        """Buy the sentences of a chunk that fit and hold most of the question's terms; see `spend`."""
        text, left = chunk.text, self._left - self._overhead(chunk)
        runs = (self._best_run(chunk, units(text), left) for units in (_sentences, _lines, clauses))
        found = next((run for run in runs if run is not None), None)
        if found is not None:
            self._parts[chunk.id], cost = found
            self._buy(chunk, cost + self._overhead(chunk))

    def _best_run(self, chunk: Chunk, units: Units, left: int) -> tuple[Part, int] | None:
        """Return the consecutive units of a chunk that fit and have most terms, and their cost; None if none fits.

        Later units must have clearly more terms than earlier ones, since a chunk's beginning introduces the rest.
        """
        bounds = units.spans()
        costs = [self._cost(chunk, *bound) for bound in bounds]
        terms = self._budget.terms([chunk.text[start:end] for start, end in bounds])
        best, most = None, -_MARGIN
        for first in range(len(bounds)):
            totals = list(accumulate(costs[first:]))
            number = sum(total <= left for total in totals)
            matches = len(frozenset[int]().union(*terms[first : first + number]))
            if number and matches >= most + _MARGIN:
                last = first + number - 1
                start, end = bounds[first][0] if first else 0, bounds[last][1]
                best, most = ((start, len(chunk.text) if last + 1 == len(bounds) else end), totals[number - 1]), matches
        return best

    def _take_words(self, chunk: Chunk) -> None:
        """Buy the words that fit of those after the part of a chunk that is bought, or at its beginning.

        If not even one character of the best hit fits, InvalidParameterError is raised.
        """
        text, overhead = chunk.text, 0 if chunk.id in self._taken else self._overhead(chunk)
        start, bought = self._parts.get(chunk.id, (0, 0))
        ends = [end for end in words(text).ends.tolist() if end > bought]
        totals = accumulate(self._cost(chunk, *part) for part in pairwise([bought, *ends]))
        left = self._left - overhead
        fitting = list(takewhile(lambda pair: pair[1] <= left, zip(ends, totals, strict=True)))
        if not fitting and not self._taken:  # The counts of a word's parts don't add up.
            ends = [end for _, end in graphemes(text, 0, ends[0])]
            costs = self._budget.count([text[:end] for end in ends])
            if min(costs) > left:
                rule = f"must be at least {min(costs)}, the number of tokens of the first character that was found"
                raise InvalidParameterError("budget", rule, self._budget.tokens, "Raise it.")
            fitting = [(end, cost) for end, cost in zip(ends, costs, strict=True) if cost <= left]
        if fitting:
            end, cost = fitting[-1]
            self._parts[chunk.id] = start, end
            self._buy(chunk, cost + overhead)

    def _take_context(self, hit: Candidate) -> None:
        """Buy the kin of a hit, nearest first, up to the first that doesn't fit on either side."""
        chunk = hit.chunk
        if self._take_parent(chunk) or chunk.id not in self._taken or chunk.id in self._parts:
            return
        found = list(self._context.around(chunk))
        own = next((number for number, other in enumerate(found) if other.id == chunk.id), None)
        if own is None:
            return
        sides = [found[own + 1 :], found[:own][::-1]]
        for distance in range(len(found)):
            for side in sides:
                if distance < len(side) and not (self._has_place(side[distance]) and self._take(side[distance])):
                    side.clear()

    def _take_related(self, chunk: Chunk) -> None:
        """Buy the other files of a hit's group of which nothing is bought yet."""
        for other in self._context.related(chunk):
            if other.source_id not in self._covered and self._take(other):
                self._related.setdefault(chunk.id, []).append(other)

    def _take_parent(self, chunk: Chunk) -> bool:
        """Buy the parent of a hit, and return whether that is its context."""
        parent = next(iter(self._context.around(chunk)), chunk)
        if parent.level <= chunk.level:
            return False
        self._parents.add(parent.id)
        if self._has_place(parent):
            self._take(parent)
        return True

    def _buy(self, chunk: Chunk, cost: int) -> None:
        self._left -= cost
        self._taken[chunk.id] = chunk
        bought = [piece.span for piece in pieces(chunk, self._parts.get(chunk.id))]
        self._covered[chunk.source_id] = unite([*self._covered.get(chunk.source_id, ()), *bought])

    def _cost(self, chunk: Chunk, start: int = 0, end: int | None = None) -> int:
        """Return the number of tokens of a chunk, or of a range of its text, that aren't bought yet."""
        covered = self._covered.get(chunk.source_id, ())
        if not overlap(chunk.spans, covered):
            return self._budget.length(chunk) if end is None else sum(self._budget.count([chunk.text[start:end]]))
        last = len(chunk.text) if end is None else end
        free = [
            (max(start, at + part.start - span.start), min(last, at + part.end - span.start))
            for at, span in stretches(chunk.spans, chunk.text) or ()
            for part in without(span, covered)
        ]
        return sum(self._budget.count([chunk.text[first:stop] for first, stop in free if first < stop]))

    def _overhead(self, chunk: Chunk) -> int:
        """Return the overhead of a passage if a chunk opens one."""
        joins = self._budget.overhead and any(self._meets(chunk, other) for other in self._taken.values())
        return 0 if joins else self._budget.overhead

    def _has_place(self, chunk: Chunk) -> bool:
        """Return whether passages stay as few and as short as `top_k` and the window ask with one more chunk."""
        if self._budget.top_k is None or chunk.id in self._taken:
            return True
        groups = self._groups()
        homes = [group for group in groups if any(self._meets(chunk, other) for other in group)]
        if any(_is_inside(chunk, other) or _is_inside(other, chunk) for group in homes for other in group):
            return True
        return sum(map(len, homes)) < self._context.longest if homes else len(groups) < self._budget.top_k

    def _meets(self, chunk: Chunk, other: Chunk) -> bool:
        """Return whether two chunks would be in one passage."""
        return any(_is_inside(*pair) or self._joins(*pair) for pair in ((chunk, other), (other, chunk)))

    def _groups(self) -> list[list[Chunk]]:
        """Return the bought chunks in runs of neighbours, without those inside others."""
        related = {chunk.id for found in self._related.values() for chunk in found}
        groups: list[list[Chunk]] = []
        ordered = sorted((c for c in self._taken.values() if c.id not in related), key=_place)
        for _, own in groupby(ordered, key=lambda chunk: chunk.source_id):
            for chunk in _outermost(list(own)):
                if groups and self._joins(groups[-1][-1], chunk):
                    groups[-1].append(chunk)
                else:
                    groups.append([chunk])
        return groups

    def _joins(self, before: Chunk, after: Chunk) -> bool:
        """Return whether a chunk continues another one in a passage; parents of hits stay alone."""
        end, start = self._parts.get(before.id, (0, len(before.text)))[1], self._parts.get(after.id, (0, 0))[0]
        if end < len(before.text) or start or self._parents & {before.id, after.id} or not continues(before, after):
            return False
        return not self._context.within_sections or before.beside.headings == after.beside.headings


def _sentences(text: str) -> Units:
    """Return the sentences of a text, and the items of its lists."""
    return cut_at(text, sentences(text), [match.start() for match in _ITEM.finditer(text)])


def _lines(text: str) -> Units:
    """Return the lines of a text that aren't blank."""
    return as_units([match.span() for match in _LINE.finditer(text)])


def _place(chunk: Chunk) -> tuple[str, int, int]:
    return chunk.source_id, chunk.level, chunk.index


def _outermost(chunks: Sequence[Chunk]) -> Iterator[Chunk]:
    """Yield the chunks of a document that no chunk of a higher level contains."""
    levels = {chunk.level for chunk in chunks}
    for chunk in chunks:
        if len(levels) == 1 or not any(_is_inside(chunk, other) for other in chunks):
            yield chunk


def _is_inside(chunk: Chunk, other: Chunk) -> bool:
    return chunk.source_id == other.source_id and chunk.level < other.level and holds(other.spans, chunk.spans)
