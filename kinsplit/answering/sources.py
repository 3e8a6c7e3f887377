"""Sources -> as many as a model's window holds beside the instructions and the answer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import count

from kinsplit.answering.prompt import build_prompt
from kinsplit.answering.values import Source, pages_of
from kinsplit.language_models.tokens import count_tokens
from kinsplit.parsers.units.sentences import sentences
from kinsplit.retrieval import Passage
from kinsplit.spans import Span

#: Share of the window that is planned with, since the tokens are an estimate.
PLANNED = 0.85


def fit(question: str, sources: Sequence[Source], window: int, answer_tokens: int) -> list[Source]:
    """Take sources best first while they fit; one that doesn't is shortened to the chunk that was found.

    Of the best source, if not even that chunk fits, the chunk's first sentences are taken. Any other one is left out,
    and the next ones are tried.

    Args:
        question: The question.
        sources: Best first.
        window: The model's, in tokens.
        answer_tokens: How many of them the answer may take.

    Returns:
        Sources with numbers from 1; none if the window is too small for any.
    """
    room = int(PLANNED * window) - answer_tokens
    if sources and count_tokens(build_prompt(question, sources)) <= room:
        return [replace(source, number=place) for place, source in enumerate(sources, 1)]
    taken: list[Source] = []
    for source in sources:
        forms = [source, _found(source), *([] if taken else _beginnings(source))]
        for form in forms:
            # The whole prompt is counted each time: of a sum of parts that are rounded up, it would be too much.
            more = [*taken, replace(form, number=len(taken) + 1)]
            if count_tokens(build_prompt(question, more)) <= room:
                taken = more
                break
    return taken


def _found(source: Source) -> Source:
    """Return a source with the chunk that was found alone."""
    best = source.best
    return replace(source, chunks=(best,), spans=best.spans, text=best.text, pages=pages_of(best))


def _beginnings(source: Source) -> list[Source]:
    """Return the found chunk's beginnings that end with a sentence, longest first; none of one in several places."""
    found = _found(source)
    if len(found.spans) > 1:
        return []
    ends = sentences(found.text).ends.tolist()
    start = found.spans[0].start
    return [replace(found, spans=(Span(start, start + end),), text=found.text[:end]) for end in reversed(ends[:-1])]


def number(passages: Iterable[Passage]) -> list[Source]:
    """Return passages as sources with numbers from 1, each followed by the whole files that belong beside it."""
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
