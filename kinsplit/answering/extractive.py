"""The best sentences of the sources, for when no model answers."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import numpy as np

from kinsplit.answering.checking import Comparison, Part
from kinsplit.answering.values import Source
from kinsplit.embedding.protocol import Embedder
from kinsplit.embedding.sparse import Bm25Embedder
from kinsplit.parsers.units.segment import words

# A row of a table, or a fence around code.
_LINES = re.compile(r"^[ \t]*(?:\||```|~~~)", re.MULTILINE)
#: Most sentences, and most of one source.
MOST, MOST_OF_SOURCE = 4, 2
_FEWEST_WORDS = 4
_LONGEST = 600
# Of a source's rank beside what its sentence says: the search saw more than one sentence.
_RANK_WEIGHT = 0.1


def quotes(question: str, sources: Sequence[Source], embedder: Embedder, bm25: Bm25Embedder) -> list[Part]:
    """Return the sentences of sources that come nearest to a question, best first.

    They are ranked by the cosine with the question and the share of its words that they hold, added up, and by the rank
    of their source; two that follow each other may be taken together, as a heading with what it is about. Questions and
    what has fewer than four words are passed over, unless there is nothing else.

    Args:
        question: The question.
        sources: Best first.
        embedder: Compares meanings.
        bm25: Compares words.
    """
    comparison = Comparison(sources, embedder, bm25)
    scores = comparison.cosines(embedder.embed_query(question)) + comparison.overlaps(question)
    ranks = np.asarray([part.source.number for part in comparison.parts], dtype=np.float32)
    order = np.argsort(-(scores - _RANK_WEIGHT * ranks), kind="stable").tolist()
    ranked = [comparison.parts[place] for place in order]
    return list(_few([part for part in ranked if _tells(part)] or ranked))


def shown(part: Part) -> str:
    """Return a quotation as a person reads it: prose on one line, tables and code on theirs; shortened if long."""
    if _LINES.search(part.text):
        text = "\n".join(line.rstrip() for line in part.text.splitlines() if line.strip())
    else:
        text = " ".join(part.text.split())
    return f"“{text if len(text) <= _LONGEST else f'{text[:_LONGEST].rstrip()} …'}”"


def _tells(part: Part) -> bool:
    return len(words(part.text).starts) >= _FEWEST_WORDS and part.text.rstrip()[-1] not in "?？؟"


def _few(ranked: Sequence[Part]) -> Iterator[Part]:
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
