"""Qrels and runs in TREC format: plain text, one judgement or hit per line."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np

from kinsplit.errors import InvalidParameterError, LoadError
from kinsplit.evaluation.datasets.files import read_text
from kinsplit.evaluation.qrels.alignment import Qrels

Separator = Literal["\t", " "]

# trec_eval stores scores in single precision.
_LARGEST = float(np.finfo(np.float32).max)


class ScoredChunk(NamedTuple):
    """A chunk with the ranker's score."""

    chunk_id: str
    score: float


@dataclass(frozen=True)
class Run:
    """The rankings of a system.

    Attributes:
        rankings: Chunks by question id, best first, with scores in descending order.
    """

    tag: str
    rankings: Mapping[str, Sequence[ScoredChunk]]


def write_qrels(path: Path, qrels: Qrels, separator: Separator = "\t") -> None:
    """Write qrels: `question 0 chunk degree`, sorted by question and chunk.

    Raises:
        InvalidParameterError: An id is empty or contains white space, which separates fields.
    """
    rows = (
        (_checked(question_id), "0", _checked(chunk_id), str(degree))
        for question_id, degrees in sorted(qrels.items())
        for chunk_id, degree in sorted(degrees.items())
    )
    _write(path, rows, separator)


def read_qrels(path: Path) -> dict[str, dict[str, int]]:
    """Read qrels whose fields are separated by any white space.

    Raises:
        LoadError: A line is not a judgement, or judges the same chunk as another line.
    """
    qrels: dict[str, dict[str, int]] = {}
    for number, (question_id, _, chunk_id, degree) in _rows(path, 4):
        degrees = qrels.setdefault(question_id, {})
        if chunk_id in degrees:
            raise LoadError(path, f"line {number}: judges {chunk_id} a second time for {question_id}.")
        try:
            degrees[chunk_id] = int(degree)
        except ValueError:
            raise LoadError(path, f"line {number}: the degree of relevance is no integer: {degree!r}.") from None
    return qrels


def write_run(path: Path, run: Run, separator: Separator = "\t") -> None:
    """Write a run: `question Q0 chunk rank score tag`, sorted by question.

    trec_eval sorts by score in single precision, and by id where scores are equal. To keep the order of the rankings,
    a score that isn't lower than the previous one in single precision is written as the next lower number.

    Raises:
        InvalidParameterError: An id or the tag is empty or contains white space, or scores are not numbers or ascend.
    """
    tag = _checked(run.tag)
    rows = (
        (_checked(question_id), "Q0", _checked(chunk_id), str(rank), repr(score), tag)
        for question_id, ranking in sorted(run.rankings.items())
        for rank, (chunk_id, score) in enumerate(_falling(ranking), start=1)
    )
    _write(path, rows, separator)


def read_run(path: Path) -> Run:
    """Read a run whose fields are separated by any white space.

    As in trec_eval, chunks are ordered by score in single precision, and by descending id where scores are equal; the
    rank is ignored.

    Raises:
        LoadError: A line is not a hit or repeats one, or the tags differ.
    """
    found: dict[str, dict[str, float]] = {}
    tags: dict[str, int] = {}
    for number, (question_id, _, chunk_id, _, written, tag) in _rows(path, 6):
        scores = found.setdefault(question_id, {})
        tags.setdefault(tag, number)
        if chunk_id in scores:
            raise LoadError(path, f"line {number}: {chunk_id} is there a second time for {question_id}.")
        if len(tags) > 1:
            raise LoadError(path, f"line {number}: another tag, {tag!r}. Put each run into a file of its own.")
        scores[chunk_id] = _score(path, number, written)
    rankings = {question_id: _ranked(scores) for question_id, scores in found.items()}
    return Run(next(iter(tags), ""), rankings)


def _ranked(scores: Mapping[str, float]) -> tuple[ScoredChunk, ...]:
    by_id = sorted(scores.items(), reverse=True)
    return tuple(ScoredChunk(*hit) for hit in sorted(by_id, key=lambda hit: np.float32(hit[1]), reverse=True))


def _falling(ranking: Iterable[ScoredChunk]) -> Iterator[ScoredChunk]:
    """Yield the hits with scores that strictly descend in single precision."""
    last, before = np.float32(np.inf), math.inf
    for chunk_id, score in ranking:
        if not abs(score) < _LARGEST or score > before:
            rule = "must be finite in single precision and never rise"
            raise InvalidParameterError("scores", rule, score, "Sort each ranking by its scores, best first.")
        before = score
        single = np.float32(score)
        if single < last:
            yield ScoredChunk(chunk_id, float(score))
        else:
            single = np.nextafter(last, np.float32(-np.inf))
            yield ScoredChunk(chunk_id, float(single))
        last = single


def _score(path: Path, number: int, written: str) -> float:
    try:
        score = float(written)
    except ValueError:
        score = math.nan
    if not math.isfinite(score):
        raise LoadError(path, f"line {number}: the score is no finite number: {written!r}.")
    return score


def _checked(name: str) -> str:
    if not name or any(character.isspace() or character == "\ufeff" for character in name):
        rule = "must not be empty or have white space in it where it goes into a file of TREC"
        raise InvalidParameterError("id", rule, name, "Give the document or question another id.")
    return name


def _rows(path: Path, fields: int) -> Iterator[tuple[int, list[str]]]:
    for number, line in enumerate(read_text(path).split("\n"), start=1):
        row = line.split()
        if row and len(row) != fields:
            raise LoadError(path, f"line {number}: has {len(row)} fields instead of {fields}.")
        if row:
            yield number, row


def _write(path: Path, rows: Iterable[Iterable[str]], separator: Separator) -> None:
    text = "".join(separator.join(row) + "\n" for row in rows)
    path.write_text(text, encoding="utf-8", newline="\n")
