"""What a reader has to know before believing the numbers of a comparison."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from kinsplit.evaluation.labels import Dataset
from kinsplit.evaluation.measures.protocol import Chunking, Measure
from kinsplit.evaluation.measures.ranks import RankMeasure
from kinsplit.evaluation.qrels.alignment import starved

#: Questions below which intervals are so wide that little can be told apart.
FEWEST = 30


def cautions(
    dataset: Dataset, measures: Sequence[Measure], headline: str, chunkings: Mapping[str, Chunking]
) -> Iterator[str]:
    """Yield what makes a comparison say little, in sentences.

    Args:
        dataset: The documents and questions.
        measures: What judges.
        headline: The measure by which strategies are compared.
        chunkings: By label.
    """
    judged = sum(bool(question.labels) for question in dataset.questions)
    if not dataset.labelled:
        yield (
            f"No question has labels, so nothing says whether what was found answers it: {headline} doesn't tell which "
            "strategy is better. Label some questions, or let `kinsplit questions` make labelled ones."
        )
    elif judged < len(dataset.questions):
        yield f"{len(dataset.questions) - judged:,} of {len(dataset.questions):,} questions have no labels."
    if 0 < len(dataset.questions) < FEWEST:
        asked = "1 question" if len(dataset.questions) == 1 else f"{len(dataset.questions)} questions"
        yield f"Only {asked}: fewer than {FEWEST} seldom tell strategies apart."
    for rule in {measure.rule: None for measure in measures if isinstance(measure, RankMeasure)}:
        qrels = {label: chunking.alignment.qrels(dataset.questions, rule) for label, chunking in chunkings.items()}
        if told := starved(dataset.questions, qrels):
            yield told
    sentences: dict[str, list[str]] = {}
    for label, chunking in chunkings.items():
        for text in _of_chunks(chunking, headline):
            sentences.setdefault(text, []).append(label)
    for text, labels in sentences.items():
        yield f"{', '.join(labels)}: {text}"


def _of_chunks(chunking: Chunking, headline: str) -> Iterator[str]:
    """Yield what is to be known of one strategy's chunks."""
    if not chunking.chunks:
        return
    single = sum(len(chunks) == 1 for chunks in chunking.by_source.values())
    if 2 * single > len(chunking.by_source):
        yield (
            f"{single:,} of {len(chunking.by_source):,} documents are one chunk, so how they are split makes no "
            "difference there. Take smaller chunks or longer documents."
        )
    if whole := _whole(chunking, headline):
        yield f"{headline} holds all {whole}, so it says nothing of the ranking. Take a smaller number."


def _whole(chunking: Chunking, headline: str) -> str:
    """Return in words how much there is, if a measure looks at all of it."""
    tokens, chunks = re.search(r"@(\d+)t$", headline), re.search(r"@(\d+)$", headline)
    if tokens and (total := sum(chunking.token_counts.values())) <= int(tokens[1]):
        return f"{total:,} tokens of the documents"
    if chunks and len(chunking.chunks) <= int(chunks[1]):
        return f"{len(chunking.chunks):,} chunks"
    return ""
