"""Registry of the ways to rank chunks for a question."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from kinsplit.chunk import Chunk
from kinsplit.errors import InvalidParameterError
from kinsplit.retrieval.candidate import Candidate
from kinsplit.retrieval.candidates import Question, find_entries, to_candidates
from kinsplit.retrieval.scoring import ScoredEntry
from kinsplit.retrieval.weights import KinWeights
from kinsplit.spans import holds, overlap
from kinsplit.stores.calls import get, rank, rank_together
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
    find: Callable[[Question, KinWeights, int], Coroutine[Any, Any, list[ScoredEntry]]]
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


async def find_on_levels(
    question: Question, weights: KinWeights, limit: int, ranking: Ranking, levels: Sequence[int]
) -> list[ScoredEntry]:
    """Find the chunks of several levels that answer a question, in as many calls as one level takes.

    Each level has a ranking of its own. Scores of different levels are comparable as far as the ranking scales them
    alike, as kin scoring does, whose scores are relative to the candidates of a level.

    Args:
        question: The question.
        weights: Weights of kin scoring.
        limit: Maximum number of candidates of each level.
        ranking: The ranking.
        levels: The levels.

    Returns:
        Entries, best first; of equal ones the finest first.
    """
    asked = [replace(question, level=level) for level in levels]
    found = await rank_together([ranking.find(each, weights, limit) for each in asked])
    return sorted((scored for own in found for scored in own), key=lambda scored: -scored.score)


def without_straddlers(candidates: Iterable[Candidate]) -> list[Candidate]:
    """Return candidates without those that share only a part of their text with a better one of another level.

    Of a chunk and one of a higher level around it, a passage holds the latter. Chunks that straddle, as those of
    overlapping windows may, would repeat their common text.

    Args:
        candidates: Candidates, best first.
    """
    kept: list[Candidate] = []
    taken: dict[str, list[Chunk]] = {}
    for candidate in candidates:
        chunk = candidate.chunk
        others = taken.setdefault(chunk.source_id, [])
        if not any(_straddle(chunk, other) for other in others if other.level != chunk.level):
            kept.append(candidate)
            others.append(chunk)
    return kept


def _straddle(one: Chunk, other: Chunk) -> bool:
    inner, outer = sorted((one, other), key=lambda chunk: chunk.level)
    return not holds(outer.spans, inner.spans) and overlap(inner.spans, outer.spans) > 0


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
