"""Numbered sources, as many as fit into a model's window."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import count

from kinsplit.answering.prompt import build_prompt
from kinsplit.answering.values import Source, pages_of
from kinsplit.parsers.units.sentences import sentences
from kinsplit.retrieval import Passage
from kinsplit.spans import Span
from kinsplit.tokenizers.estimate import count_tokens

#: Usable share of the window, since token counts are estimates.
PLANNED = 0.85


def fit(question: str, sources: Sequence[Source], window: int, answer_tokens: int) -> list[Source]:
    """Take sources best first while they fit; one that doesn't fit is shortened to its best hit.

    If not even that chunk of the best source fits, its first sentences are taken. Any other source is left out, and the
    next ones are tried.

    Args:
        question: The question.
        sources: Sources, best first.
        window: Size of the model's window in tokens.
        answer_tokens: Tokens of the window to keep for the answer.

    Returns:
        Sources numbered from 1; none if the window is too small for any.
    """
    room = int(PLANNED * window) - answer_tokens
    if sources and count_tokens(build_prompt(question, sources)) <= room:
        return [replace(source, number=position) for position, source in enumerate(sources, 1)]
    taken: list[Source] = []
    for source in sources:
        forms = [source, _best_hit(source), *([] if taken else _beginnings(source))]
        for form in forms:
            # The whole prompt is counted each time: the counts of its parts are rounded up and would add up to more.
            more = [*taken, replace(form, number=len(taken) + 1)]
            if count_tokens(build_prompt(question, more)) <= room:
                taken = more
                break
    return taken


def _best_hit(source: Source) -> Source:
    """Return a source reduced to its best hit."""
    best = source.best
    return replace(source, chunks=(best,), spans=best.spans, text=best.text, pages=pages_of(best))


def _beginnings(source: Source) -> list[Source]:
    """Return the beginnings of the best hit that end with a sentence, longest first; none if it has several spans."""
    found = _best_hit(source)
    if len(found.spans) > 1:
        return []
    ends = sentences(found.text).ends.tolist()
    start = found.spans[0].start
    return [replace(found, spans=(Span(start, start + end),), text=found.text[:end]) for end in reversed(ends[:-1])]


def number(passages: Iterable[Passage]) -> list[Source]:
    """Return passages as sources numbered from 1, each followed by its related files."""
    numbers = count(1)
    return [source for passage in passages for source in _sources(passage, numbers)]


def _sources(passage: Passage, numbers: Iterator[int]) -> Iterator[Source]:
    yield Source(
        next(numbers),
        passage.best.chunk,
        passage.chunks,
        passage.spans,
        passage.text,
        passage.pages,
        passage.score,
        str(passage.metadata.get("file_path", passage.source_id)),
    )
    for chunk in passage.related:
        file = str(chunk.metadata.get("file_path", chunk.source_id))
        yield Source(next(numbers), chunk, (chunk,), chunk.spans, chunk.text, None, passage.score, file)
