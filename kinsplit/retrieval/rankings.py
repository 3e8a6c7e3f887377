"""Registry of the ways to rank chunks for a question."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import NamedTuple

from kinsplit.errors import InvalidParameterError
from kinsplit.retrieval.candidate import Candidate
from kinsplit.retrieval.candidates import Question, find_entries, to_candidates
from kinsplit.retrieval.scoring import ScoredEntry
from kinsplit.retrieval.weights import KinWeights
from kinsplit.stores.calls import get, rank
from kinsplit.stores.protocol import Entry, Query
from kinsplit.support.telemetry import span

#: The constant of reciprocal rank fusion (Cormack, Clarke and Buettcher, SIGIR 2009).
RRF = 60


class Ranking(NamedTuple):
    """A way to rank chunks.

    Attributes:
        name: Name of the ranking.
        description: Description in one line.
        find: Function that returns at most the given number of chunks for a question, best first. The weights are those
            of kin scoring.
        embeds: Whether the question's vector is needed.
        weighs: Whether the weights are used.
    """

    name: str
    description: str
    find: Callable[[Question, KinWeights, int], Awaitable[list[ScoredEntry]]]
    embeds: bool = True
    weighs: bool = False


KIN = Ranking("kin", "By meaning and terms, each chunk with its kin", find_entries, weighs=True)


async def find_candidates(
    question: Question, weights: KinWeights, limit: int, ranking: Ranking = KIN
) -> list[Candidate]:
    """Find the chunks that answer a question, with their texts, in at most three calls to the store.

    Args:
        question: The question.
        weights: Weights of kin scoring.
        limit: Maximum number of candidates.
        ranking: The ranking.
    """
    found = await ranking.find(question, weights, limit)
    chunks = await get([scored.entry.id for scored in found])
    return to_candidates(found, {chunk.id: chunk for chunk in chunks})


async def _by_meaning(question: Question, _: KinWeights, limit: int) -> list[ScoredEntry]:
    (found,) = await _ranked([question.by_meaning(question.level, limit)])
    return [ScoredEntry(entry, entry.score, {"dense": entry.score}) for entry in found]


async def _by_terms(question: Question, _: KinWeights, limit: int) -> list[ScoredEntry]:
    (found,) = await _ranked([question.by_terms(question.level, limit)])
    return [ScoredEntry(entry, entry.score, {"bm25": entry.score}) for entry in found]


async def _fused(question: Question, _: KinWeights, limit: int) -> list[ScoredEntry]:
    """Return the chunks of both rankings by the sum of their reciprocal ranks; equal sums in order of meaning."""
    dense, terms = await _ranked([question.by_meaning(question.level, limit), question.by_terms(question.level, limit)])
    entries: dict[str, Entry] = {}
    scores: dict[str, dict[str, float]] = {}
    total: dict[str, float] = {}
    for name, found in (("dense", dense), ("bm25", terms)):
        for place, entry in enumerate(found, 1):
            entries.setdefault(entry.id, entry)
            scores.setdefault(entry.id, {})[name] = entry.score
            total[entry.id] = total.get(entry.id, 0.0) + 1 / (RRF + place)
    best = sorted(total, key=lambda id_: -total[id_])[:limit]
    return [ScoredEntry(entries[id_], total[id_], {**scores[id_], "hybrid": total[id_]}) for id_ in best]


async def _ranked(queries: Sequence[Query]) -> list[list[Entry]]:
    """Make queries in one call; equal scores come in order of source and index, which engines order as they like."""
    with span("kinsplit.search.candidates") as record:
        found = await rank(queries)
        record(chunks=sum(map(len, found)))
    return [sorted(each, key=lambda entry: (-entry.score, entry.source_id, entry.index)) for each in found]


_RANKINGS = {
    ranking.name: ranking
    for ranking in (
        KIN,
        Ranking("hybrid", f"By meaning and terms, joined by reciprocal ranks (k = {RRF})", _fused),
        Ranking("dense", "By meaning: cosine", _by_meaning),
        Ranking("terms", "By terms: BM25; the question is not embedded", _by_terms, embeds=False),
    )
}


def rankings() -> list[Ranking]:
    """Return all rankings, the default first."""
    return list(_RANKINGS.values())


def names() -> list[str]:
    """Return the names of all rankings, the default first."""
    return list(_RANKINGS)


def pick(name: str) -> Ranking:
    """Return a ranking by its name.

    Raises:
        InvalidParameterError: There is no ranking of that name.
    """
    if name in _RANKINGS:
        return _RANKINGS[name]
    raise InvalidParameterError("ranking", "must be the name of a ranking", name, f"Use one of: {', '.join(names())}.")
