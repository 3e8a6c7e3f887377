"""Extractive answers: the best statements of the sources, if no model answers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from kinsplit.answering.checking import LONGEST, SourceComparison, SourcePart, is_prose, statements
from kinsplit.answering.values import Source
from kinsplit.embedding.protocol import Embedder
from kinsplit.embedding.sparse import Bm25Embedder
from kinsplit.spans import Span

#: Maximum number of quotations, and of quotations of one source.
MOST, MOST_OF_SOURCE = 4, 2
# Weight of a source's rank relative to a statement's score: the search has read more than one sentence.
_RANK_WEIGHT = 0.1
# Least score of a further quotation, as a share of the best one's.
_LEAST = 0.5
# What a list, a table or code loses against a sentence, since a longer part shares more words with a question.
_LENGTH_WEIGHT = 0.15


def quotes(question: str, sources: Sequence[Source], embedder: Embedder, bm25: Bm25Embedder) -> list[SourcePart]:
    """Return the statements of sources that are most similar to a question, best first.

    They are ranked by the sum of their cosine with the question and their share of its words, and by the rank of their
    source. Two adjacent sentences of a paragraph may be taken together. Whatever is no statement by itself, such as a
    heading, is left out (see `kinsplit.answering.checking`), unless there is nothing else.
    """
    groups = [[SourcePart(source, span) for span in group] for source in sources for group in statements(source)]
    if not groups:
        groups = [[SourcePart(source, Span(0, len(source.text)))] for source in sources if source.text.strip()]
    comparison = SourceComparison(groups, embedder, bm25)
    scores = comparison.cosines(embedder.embed_query(question)) + comparison.overlaps(question)
    ranks = np.asarray([part.source.number for part in comparison.parts], dtype=np.float32)
    long = np.asarray([not is_prose(part.source, part.text) for part in comparison.parts], dtype=np.float32)
    order = np.argsort(-(scores - _RANK_WEIGHT * ranks - _LENGTH_WEIGHT * long), kind="stable").tolist()
    least = _LEAST * float(scores[order[0]]) if order else 0.0
    return list(_select([comparison.parts[index] for index in order if scores[index] >= least]))


def quotation(part: SourcePart) -> str:
    """Return a part in quotation marks: prose on one line, all else line by line; shortened if long."""
    if is_prose(part.source, part.text):
        text = " ".join(part.text.split())
        cut = text.rfind(" ", 0, LONGEST)
    else:
        text = "\n".join(line.rstrip() for line in part.text.splitlines() if line.strip())
        cut = text.rfind("\n", 0, LONGEST)
    return f"“{text if len(text) <= LONGEST else f'{text[: cut if cut > 0 else LONGEST].rstrip()} …'}”"


def _select(ranked: Sequence[SourcePart]) -> Iterator[SourcePart]:
    taken: list[SourcePart] = []
    for part in ranked:
        own = [other for other in taken if other.source is part.source]
        repeats = any(other.text == part.text for other in taken)
        crosses = any(other.at.start < part.at.end and part.at.start < other.at.end for other in own)
        if len(own) < MOST_OF_SOURCE and not repeats and not crosses:
            taken.append(part)
            yield part
        if len(taken) == MOST:
            return
