"""Division of the questions into two halves: one for the search, one to test its choice."""

from __future__ import annotations

import warnings
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from scipy.cluster.hierarchy import DisjointSet

from kinsplit.errors import InvalidParameterError, KinsplitWarning
from kinsplit.evaluation.labels import Dataset, Question

#: Number of held-out questions below which only large differences are significant.
_FEW = 30


class FewQuestionsWarning(KinsplitWarning):
    """There are so few questions that only large differences are significant."""


class Halves(NamedTuple):
    """One set of documents with the questions in two halves.

    Attributes:
        search: Half for the search.
        held_out: Half for the test of its choice.
    """

    search: Dataset
    held_out: Dataset


def halves(dataset: Dataset, seed: int = 0) -> Halves:
    """Divide the questions that have labels.

    Identical questions and questions that share labelled text stay together, so that nothing leaks into the held-out
    half. Each document's questions are divided as evenly as that allows.

    Args:
        dataset: Documents and questions.
        seed: Seed of the division.

    Raises:
        InvalidParameterError: The questions can't be divided into two halves.
    """
    labelled = [question for question in dataset.questions if question.labels]
    together = _groups(labelled)
    if len(together) < 2:
        rule = "must include at least two labelled ones that share no labelled text, so that one can be held out"
        raise InvalidParameterError("questions", rule, len(labelled), "Label more of them.")
    sides = _divided(together, np.random.default_rng(seed))
    search, held_out = (
        replace(dataset, questions=tuple(question for question in labelled if question.id in side)) for side in sides
    )
    if len(held_out.questions) < _FEW:
        number = "1 question is" if len(held_out.questions) == 1 else f"{len(held_out.questions)} questions are"
        text = f"Only {number} held out, so only large differences can be told from chance."
        warnings.warn(FewQuestionsWarning(text), stacklevel=2)
    return Halves(search, held_out)


def _groups(questions: Sequence[Question]) -> list[list[Question]]:
    """Return the groups of questions that have to stay together, ordered by their first question."""
    joined = DisjointSet(question.id for question in questions)
    for first, second in (*_same_texts(questions), *_sharing(questions)):
        joined.merge(first, second)
    groups: dict[str, list[Question]] = defaultdict(list)
    for question in questions:
        groups[joined[question.id]].append(question)
    return list(groups.values())


def _same_texts(questions: Iterable[Question]) -> Iterator[tuple[str, str]]:
    first: dict[str, str] = {}
    for question in questions:
        yield first.setdefault(" ".join(question.text.casefold().split()), question.id), question.id


def _sharing(questions: Iterable[Question]) -> Iterator[tuple[str, str]]:
    """Yield pairs that link all questions with overlapping labels; a whole document overlaps all of its text."""
    placed = sorted(
        (place.source_id, *(place.span or (0, float("inf"))), question.id)
        for question in questions
        for label in question.labels
        for place in label.places
    )
    source, reached, last = "", 0.0, ""
    for source_id, start, end, id_ in placed:
        if source_id != source or start >= reached:
            source, reached, last = source_id, end, id_
            continue
        yield last, id_
        if end > reached:
            reached, last = end, id_


def _divided(groups: Sequence[list[Question]], random: np.random.Generator) -> tuple[set[str], set[str]]:
    """Assign each group, largest first, to the side with fewer questions on its document, or else fewer in total."""
    order = sorted(random.permutation(len(groups)), key=lambda number: -len(groups[number]))
    sides: tuple[set[str], set[str]] = set(), set()
    of_document: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for number in order:
        group = groups[number]
        counts = of_document[group[0].labels[0].places[0].source_id]
        side = min((0, 1), key=lambda side: (counts[side], len(sides[side])))
        sides[side].update(question.id for question in group)
        counts[side] += len(group)
    return sides
