"""Sources -> as many as a model's window holds beside the instructions and the answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from kinsplit.answering.prompt import build_prompt
from kinsplit.answering.values import Source, pages_of
from kinsplit.chunk import Span
from kinsplit.parsers.sentences import sentences
from kinsplit.tokenizers import BUNDLED, resolve

# A model counts its own tokens. Where the bundled tokenizer has one token for a whole word of an alphabet that it
# doesn't know, or for a sign, a model has up to one for each byte; four bytes each is what a model at least manages.
_BYTES_PER_TOKEN = 4
#: Share of the window that is planned with, since the tokens are an estimate.
PLANNED = 0.85


def count_tokens(text: str) -> int:
    """Return about how many tokens of any model a text has, rather too many."""
    (count,) = resolve(BUNDLED).count([text]).tolist()
    return max(int(count), -(-len(text.encode("utf-8", "replace")) // _BYTES_PER_TOKEN))


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
    room = int(PLANNED * window) - answer_tokens - count_tokens(build_prompt(question, []))
    taken: list[Source] = []
    for source in sources:
        forms = [source, _found(source), *([] if taken else _beginnings(source))]
        for form in forms:
            cost = _cost(question, form)
            if cost <= room:
                room -= cost
                taken.append(replace(form, number=len(taken) + 1))
                break
    return taken


def _cost(question: str, source: Source) -> int:
    return count_tokens(build_prompt(question, [source])) - count_tokens(build_prompt(question, []))


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
