"""Rankers of an evaluation: the rankings of every search, and others with the same interface."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, Unpack

from kinsplit.answering import SourcesFound, answer
from kinsplit.chunk import Chunk
from kinsplit.errors import InvalidParameterError
from kinsplit.evaluation.measures.passages import Slices
from kinsplit.index import Index
from kinsplit.keywords import SearchKeywords
from kinsplit.options import KinWeights, SearchOptions
from kinsplit.retrieval import KIN, Ranking, SearchQuestion, find_candidates, rankings
from kinsplit.retrieval.rankings import pick
from kinsplit.stores import ChunkStore


class RankedChunk(NamedTuple):
    """A chunk with its score."""

    chunk: Chunk
    score: float


class Ranker(NamedTuple):
    """A way to rank chunks."""

    name: str
    description: str
    # Function that returns at most the given number of leaves for a question, best first.
    rank: Callable[[ChunkStore, SearchQuestion, int], Sequence[RankedChunk]]
    # Function that returns the passages for a question within a number of tokens, which budget measures judge instead
    # of the leaves; None for a ranker of leaves alone.
    passages: Callable[[Index, str, int], Sequence[Slices]] | None = None


def kin(weights: KinWeights | None = None) -> Ranker:
    """Return kin scoring, the default ranking of every search; None for the default weights."""
    chosen = weights or KinWeights()
    ranker = _ranker(KIN, chosen)
    return ranker._replace(name=_named("kin", chosen.model_dump(exclude_defaults=True)))


def _ranker(ranking: Ranking, weights: KinWeights) -> Ranker:
    def rank(store: ChunkStore, question: SearchQuestion, limit: int) -> list[RankedChunk]:
        found = find_candidates(store, question, weights, limit, ranking)
        return [RankedChunk(candidate.chunk, candidate.score) for candidate in found]

    return Ranker(ranking.name, ranking.description, rank)


def search(**options: Unpack[SearchKeywords]) -> Ranker:
    """Return the passages of `Index.search`, which are what a reader gets; leaves are ranked as in the search.

    Args:
        **options: See `kinsplit.SearchOptions`, without `budget`, which the measures give.
    """

    def passages(index: Index, question: str, budget: int) -> list[Slices]:
        slices: list[Slices] = []
        for passage in index.search(question, **_within(budget, options)):
            slices += [passage, *passage.related]
        return slices

    return Ranker(_named("search", options), "Passages of Index.search", _rank_of(options), passages)


def ask(**options: Unpack[SearchKeywords]) -> Ranker:
    """Return the sources of `kinsplit.answering.ask` without a model; see `search`."""

    def passages(index: Index, question: str, budget: int) -> Sequence[Slices]:
        first = next(answer(index, question, None, **_within(budget, options)))
        return first.sources if isinstance(first, SourcesFound) else ()

    return Ranker(_named("ask", options), "Sources of an answer", _rank_of(options), passages)


def _rank_of(options: SearchKeywords) -> Callable[[ChunkStore, SearchQuestion, int], Sequence[RankedChunk]]:
    """Return the function that ranks leaves as a search with these options does."""
    asked = SearchOptions(**_within(1, options))
    return _ranker(pick(asked.ranking), asked.weights).rank


def _within(budget: int, options: SearchKeywords) -> SearchKeywords:
    return {**options, "budget": budget}


def _named(name: str, options: Mapping[str, object]) -> str:
    own = ", ".join(f"{key}={value}" for key, value in options.items())
    return f"{name}({own})" if own else name


_OWN = (*(_ranker(ranking, KinWeights()) for ranking in rankings()), search(), ask())
_RANKERS = {ranker.name: ranker for ranker in _OWN}


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
