"""Extractive answers: the best sentences of the sources, if no model answers."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import numpy as np

from kinsplit.answering.checking import Comparison, Part
from kinsplit.answering.values import Source
from kinsplit.embedding.protocol import Embedder
from kinsplit.embedding.sparse import Bm25Embedder
from kinsplit.parsers.units.segment import words

# Table rows and code fences.
_LINES = re.compile(r"^[ \t]*(?:\||```|~~~)", re.MULTILINE)
#: Maximum number of sentences, and of sentences of one source.
MOST, MOST_OF_SOURCE = 4, 2
_FEWEST_WORDS = 4
_LONGEST = 600
# Weight of a source's rank relative to a sentence's score: the search has read more than one sentence.
_RANK_WEIGHT = 0.1


def quotes(question: str, sources: Sequence[Source], embedder: Embedder, bm25: Bm25Embedder) -> list[Part]:
    """Return the sentences of sources that are most similar to a question, best first.

    They are ranked by the sum of their cosine with the question and their share of its words, and by the rank of their
    source. Two adjacent sentences may be taken together, such as a heading and the sentence below it. Questions and
    fragments of fewer than four words are left out, unless there is nothing else.

    Args:
        question: The question.
        sources: Sources, best first.
        embedder: Compares meaning.
        bm25: Compares words.
    """
    comparison = Comparison(sources, embedder, bm25)
    scores = comparison.cosines(embedder.embed_query(question)) + comparison.overlaps(question)
    ranks = np.asarray([part.source.number for part in comparison.parts], dtype=np.float32)
    order = np.argsort(-(scores - _RANK_WEIGHT * ranks), kind="stable").tolist()
    ranked = [comparison.parts[index] for index in order]
    return list(_select([part for part in ranked if _is_statement(part)] or ranked))


def quotation(part: Part) -> str:
    """Return a part in quotation marks: prose on one line, tables and code line by line; shortened if long."""
    if _LINES.search(part.text):
        text = "\n".join(line.rstrip() for line in part.text.splitlines() if line.strip())
    else:
        text = " ".join(part.text.split())
    return f"“{text if len(text) <= _LONGEST else f'{text[:_LONGEST].rstrip()} …'}”"


def _is_statement(part: Part) -> bool:
    return len(words(part.text).starts) >= _FEWEST_WORDS and part.text.rstrip()[-1] not in "?？؟"


def _select(ranked: Sequence[Part]) -> Iterator[Part]:
    taken: list[Part] = []
    for part in ranked:
        own = [other for other in taken if other.source is part.source]
        repeats = any(other.text == part.text for other in taken)
        crosses = any(other.at.start < part.at.end and part.at.start < other.at.end for other in own)
        if len(own) < MOST_OF_SOURCE and not repeats and not crosses:
            taken.append(part)
            yield part
        if len(taken) == MOST:
            return
