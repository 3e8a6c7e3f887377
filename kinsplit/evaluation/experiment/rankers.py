"""Rankers of an evaluation: the rankings of every search, and others with the same interface."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Unpack, cast

from kinsplit.answering import SourcesFound, answer
from kinsplit.chunk import Chunk
from kinsplit.errors import require
from kinsplit.evaluation.measures.spans import Slices
from kinsplit.index import Index
from kinsplit.keywords import SearchKeywords
from kinsplit.options import EvaluationOptions, KinWeights, SearchOptions
from kinsplit.retrieval import KIN, Ranking, SearchQuestion, find_candidates, rankings, related_once
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
        found = index.search(question, **_within(budget, options))
        for passage, related in zip(found, related_once(found), strict=True):
            slices += [passage, *related]
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


def create(ranker: object, options: SearchKeywords | None = None) -> Ranker:
    """Return a ranker, with the options of its searches.

    Args:
        ranker: Its name, or the ranker itself.
        options: Options for search and ask, without `budget`; kin takes `weights`.

    Raises:
        InvalidParameterError: There is no ranker of that name, or it doesn't take these options.
    """
    made = _RANKERS.get(ranker) if isinstance(ranker, str) else ranker
    known = f"Known are: {', '.join(names())}."
    require(isinstance(made, Ranker), "ranker", "must be the name of a ranker, or a ranker", ranker, known)
    chosen = cast("Ranker", made)
    if not options:
        return chosen
    if ranker == "kin" and options.keys() == {"weights"}:
        return kin(options["weights"])
    for name, value in options.items():
        every = sorted(EvaluationOptions.model_fields.keys() | SearchOptions.model_fields.keys())
        known = f"Known are: {', '.join(every)}."
        require(name in SearchOptions.model_fields, name, "is not an option of an evaluation", value, known)
    name, value = next(iter(options.items()))
    require(name != "budget", name, "can't be given, since the measures give it", value, "Measure recall@1000t.")
    rule, remedy = f"is not used by the ranker {chosen.name!r}", "Take the ranker 'search' or 'ask', or leave it out."
    require(ranker in ("search", "ask"), name, rule, value, remedy)
    # In one order, since caches know a ranker by its name.
    ordered: Any = {name: value for name in SearchOptions.model_fields for key, value in options.items() if key == name}
    return search(**ordered) if ranker == "search" else ask(**ordered)
