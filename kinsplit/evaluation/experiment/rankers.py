"""Registry of the rankers of an evaluation."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, Unpack

from kinsplit.answering import SourcesFound, answer
from kinsplit.chunk import Chunk
from kinsplit.errors import InvalidParameterError
from kinsplit.evaluation.measures.read_text import Slices
from kinsplit.index import Index
from kinsplit.retrieval import KinWeights, Question, SearchKeywords, SearchOptions, find_candidates
from kinsplit.stores import ChunkStore
from kinsplit.support.aio import run

#: The constant of reciprocal rank fusion (Cormack, Clarke and Buettcher, SIGIR 2009).
_RRF = 60


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
        passages: Function that returns the passages for a question within a number of tokens, which budget measures
            judge instead of the leaves; None for a ranker of leaves alone.
    """

    name: str
    description: str
    rank: Callable[[ChunkStore, Question, int], Sequence[Ranked]]
    passages: Callable[[Index, str, int], Sequence[Slices]] | None = None


def kin(weights: KinWeights | None = None) -> Ranker:
    """Return kin scoring, the ranker of every search of kinsplit.

    Args:
        weights: Weights of the kin; None for the defaults.
    """
    chosen = weights or KinWeights()

    def rank(store: ChunkStore, question: Question, limit: int) -> list[Ranked]:
        found = run(find_candidates(question, chosen, limit), store)
        return [Ranked(candidate.chunk, candidate.score) for candidate in found]

    name = _named("kin", chosen.model_dump(exclude_defaults=True))
    return Ranker(name, "By meaning and terms, each chunk with its kin", rank)


def search(**options: Unpack[SearchKeywords]) -> Ranker:
    """Return the passages of `Index.search`, which are what a reader gets; leaves are ranked as by `kin`.

    Args:
        **options: See `kinsplit.retrieval.SearchOptions`, without `budget`, which the measures give.
    """
    SearchOptions(**_within(1, options))

    def passages(index: Index, question: str, budget: int) -> list[Slices]:
        slices: list[Slices] = []
        for passage in index.search(question, **_within(budget, options)):
            slices += [passage, *passage.related]
        return slices

    return Ranker(_named("search", options), "Passages of Index.search", kin(options.get("weights")).rank, passages)


def ask(**options: Unpack[SearchKeywords]) -> Ranker:
    """Return the sources of `kinsplit.answering.ask` without a model; see `search`."""
    SearchOptions(**_within(1, options))

    def passages(index: Index, question: str, budget: int) -> Sequence[Slices]:
        first = next(answer(index, question, None, **_within(budget, options)))
        return first.sources if isinstance(first, SourcesFound) else ()

    return Ranker(_named("ask", options), "Sources of an answer", kin(options.get("weights")).rank, passages)


def _within(budget: int, options: SearchKeywords) -> SearchKeywords:
    return {**options, "budget": budget}


def _named(name: str, options: Mapping[str, object]) -> str:
    own = ", ".join(f"{key}={value}" for key, value in options.items())
    return f"{name}({own})" if own else name


def _dense(store: ChunkStore, question: Question, limit: int) -> list[Ranked]:
    return _fetched(store, [(hit.id, hit.score) for hit in store.rank([question.by_meaning(0, limit)])[0]])


def _bm25(store: ChunkStore, question: Question, limit: int) -> list[Ranked]:
    return _fetched(store, [(hit.id, hit.score) for hit in store.rank([question.by_terms(0, limit)])[0]])


def _hybrid(store: ChunkStore, question: Question, limit: int) -> list[Ranked]:
    scores: dict[str, float] = defaultdict(float)
    for entries in store.rank([question.by_meaning(0, limit), question.by_terms(0, limit)]):
        for rank, entry in enumerate(entries, 1):
            scores[entry.id] += 1 / (_RRF + rank)
    return _fetched(store, sorted(scores.items(), key=lambda pair: -pair[1])[:limit])


def _fetched(store: ChunkStore, best: Sequence[tuple[str, float]]) -> list[Ranked]:
    scores = dict(best)
    return [Ranked(chunk, scores[chunk.id]) for chunk in store.get(list(scores))]


_RANKERS = {
    ranker.name: ranker
    for ranker in (
        kin(),
        Ranker("hybrid", "By meaning and terms, joined by reciprocal ranks (k = 60)", _hybrid),
        Ranker("dense", "By meaning: cosine", _dense),
        Ranker("bm25", "By terms: BM25", _bm25),
        search(),
        ask(),
    )
}


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
