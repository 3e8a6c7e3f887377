"""Rankers of an evaluation: the rankings of every search, and others with the same interface."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from kinsplit.chunk import Chunk
from kinsplit.errors import InvalidParameterError
from kinsplit.retrieval import KIN, KinWeights, Question, Ranking, find_candidates, rankings
from kinsplit.stores import ChunkStore
from kinsplit.support.aio import run


class Ranked(NamedTuple):
    """A chunk with its score."""

    chunk: Chunk
    score: float


class Ranker(NamedTuple):
    """A way to rank chunks.

    Attributes:
        name: Name with all settings, which is part of the key of cached outcomes.
        description: Description in one line.
        rank: Function that returns at most the given number of leaves for a question, best first.
    """

    name: str
    description: str
    rank: Callable[[ChunkStore, Question, int], Sequence[Ranked]]


def kin(weights: KinWeights | None = None) -> Ranker:
    """Return kin scoring, the default ranking of every search.

    Args:
        weights: Weights of the kin; None for the defaults.
    """
    chosen = weights or KinWeights()
    ranker = _ranker(KIN, chosen)
    own = ", ".join(f"{key}={value}" for key, value in chosen.model_dump(exclude_defaults=True).items())
    return ranker._replace(name=f"kin({own})") if own else ranker


def _ranker(ranking: Ranking, weights: KinWeights) -> Ranker:
    def rank(store: ChunkStore, question: Question, limit: int) -> list[Ranked]:
        found = run(find_candidates(question, weights, limit, ranking), store)
        return [Ranked(candidate.chunk, candidate.score) for candidate in found]

    return Ranker(ranking.name, ranking.description, rank)


_RANKERS = {ranking.name: _ranker(ranking, KinWeights()) for ranking in rankings()}


def names() -> list[str]:
    """Return the names of all rankers."""
    return list(_RANKERS)


def create(name: str) -> Ranker:
    """Return a ranker by its name.

    Raises:
        InvalidParameterError: There is no ranker of that name.
    """
    if name in _RANKERS:
        return _RANKERS[name]
    raise InvalidParameterError("ranker", "must be the name of a ranker", name, f"Known are: {', '.join(names())}.")
