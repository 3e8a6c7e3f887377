"""Kin scoring: a chunk's score includes evidence from its siblings, its parent and its document.

Passage retrieval has long known that the scores of a passage and its document together rank better than either alone
(Callan, "Passage-Level Evidence in Document Retrieval", SIGIR 1994).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count, repeat
from typing import Self

import numpy as np
from numpy.typing import NDArray

from kinsplit.embedding.calibration import Baseline
from kinsplit.options import KinWeights
from kinsplit.stores.values import Entry, RankedEntries

#: Approximate characters per token of English, for strategies that don't count tokens.
_CHARACTERS_PER_TOKEN = 4
# Share of the question's words that a chunk must have for words to count in full, for each standard deviation by which
# the best cosine stands out; see docs/kin-scoring.md.
_NEEDED = 1 / 6
# Share of these words that isn't needed if the model doesn't know the question's language.
_UNKNOWN = 0.7
# Of a model that knows the question's language: the agreement below which more words are needed, how many times more
# without any, and the number of chunks, best by words, whose cosines tell it.
_AGREEMENT, _MORE, _BEST_BY_WORDS = 0.15, 2.0, 10
# Highest standard score of parents and documents. Without it, the only document with a rare word would count the more,
# the more candidates there are.
_HIGHEST = 3.0
# Weights of a document's term score, as a share of the best one, and of its best chunk, and the lowest score of a
# document relative to the most likely one: from a study on six labelled sets (see docs/kin-scoring.md).
_DOCUMENT_TERMS, _BEST_CHUNK, _LOWEST = 5.0, 0.6, -4.0
# Weight of the share of the question's words that one chunk has, relative to the best similarity, and the least sum:
# from a study on seven collections (see docs/kin-scoring.md). A chunk with all words of a question is close to it.
_WORDS, _CLOSE = 0.7, 0.38


@dataclass(frozen=True, slots=True)
class ScoredEntry:
    """A candidate whose text hasn't been fetched yet; see `Candidate` for its scores."""

    entry: Entry
    score: float
    scores: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class KinRankings:
    """The rankings of a store for the candidates and their kin."""

    entries: Mapping[str, Entry]  # The candidates by id.
    dense: Mapping[str, float]  # Cosine by chunk id, also of siblings.
    bm25: Mapping[str, float]  # Term score by chunk id, also of siblings.
    parent: Mapping[str, float] = field(default_factory=dict)  # Term score by parent id.
    parent_dense: Mapping[str, float] = field(default_factory=dict)  # Cosine by parent id.
    document: Mapping[str, float] = field(default_factory=dict)  # Term score by source id.
    named: NamedRankings | None = None
    # Share of the question's words, by their scores, that the chunk with the best term score has.
    share: float = 1.0
    course: str = ""  # Name of the course that the question names, one of several.
    # How well the model knows the question's language; see `kinsplit.embedding.calibration.Baseline`.
    familiarity: float | None = None


@dataclass(frozen=True, slots=True)
class NamedRankings:
    """The rankings for a question that names a document, without what names it."""

    dense: Mapping[str, float]
    bm25: Mapping[str, float]
    first: str | None = None  # Id of the document's first chunk if it also counts by the whole question.


@dataclass(frozen=True, slots=True)
class OwnScores:
    """The own scores of chunks: first the candidates, then other chunks. Only candidates set the mean and deviation.

    A chunk without a cosine gets the lowest one, and a chunk without a term score gets 0.

    Attributes:
        rows: Row of each chunk by its id.
        candidates: Number of candidates.
        cosines: Standard scores of the cosines, shape (chunks,).
        terms: Squares of the term scores, since half of the question's words say less than half of what all of them
            say, shape (chunks,).
    """

    rows: Mapping[str | None, int]
    candidates: int
    cosines: NDArray[np.float64]
    terms: NDArray[np.float64]

    @classmethod
    def of(cls, candidates: Mapping[str, Entry], dense: Mapping[str, float], bm25: Mapping[str, float]) -> Self:
        """Return the own scores of candidates, and of all other chunks that have a cosine or a term score."""
        ids: list[str | None] = [*{**candidates, **dense, **bm25}]
        cosines = standard(_values(ids, dense, lowest=True), len(candidates))
        return cls(dict(zip(ids, count())), len(candidates), cosines, _values(ids, bm25) ** 2)

    def joined(self, weight: float) -> NDArray[np.float64]:
        """Return the own score of each chunk as a standard score, given the weight of terms."""
        cosines = self.cosines * float(self.cosines[: self.candidates].max())
        return standard(cosines + weight * outstanding(self.terms, self.candidates), self.candidates)


def score_with_kin(evidence: KinRankings, weights: KinWeights, limit: int | None = None) -> list[ScoredEntry]:
    """Rank candidates by the weighted sum of all evidence; equal scores in order of source and index.

    A sibling without any score gets that of the worst candidate.
    """
    entries = list(evidence.entries.values())
    if not entries:
        return []
    sources = [entry.source_id for entry in entries]
    scores = OwnScores.of(evidence.entries, evidence.dense, evidence.bm25)
    trusted = trust(evidence, scores)
    own, siblings = _own_and_siblings(entries, scores, trusted * weights.bm25)
    best = best_of_each(entries, own)
    best_chunks = np.array([best[source_id] for source_id in sources])
    if evidence.named is not None:
        total = _within_named(evidence, evidence.named, weights, trusted, own, siblings)
    else:
        parents = [entry.parent_id for entry in entries]
        document = _values(sources, evidence.document)
        beyond = _beyond(entries, evidence, document)
        total = (
            own
            + sibling_weight(entries, weights) * standard(siblings)
            + trusted * weights.parent * beyond * outstanding(_values(parents, evidence.parent), highest=_HIGHEST)
            + weights.parent_dense * outstanding(_values(parents, evidence.parent_dense, lowest=True), highest=_HIGHEST)
            + trusted * weights.document * beyond * outstanding(document, highest=_HIGHEST)
            + weights.best_chunk * standard(best_chunks)
        )
    rows = range(len(entries)) if limit is None else np.flatnonzero(total >= np.sort(total)[-limit:][0]).tolist()
    order = sorted((-float(total[row]), sources[row], entries[row].index, row) for row in rows)
    found = []
    for *_, row in order[:limit]:
        entry = entries[row]
        stages = {
            "dense": evidence.dense.get(entry.id),
            "bm25": evidence.bm25.get(entry.id),
            "siblings": float(siblings[row]) if weights.siblings else None,
            "parent": evidence.parent.get(entry.parent_id or ""),
            "parent_dense": evidence.parent_dense.get(entry.parent_id or ""),
            "document": evidence.document.get(entry.source_id),
            "best_chunk": float(best_chunks[row]) if weights.best_chunk else None,
            "kin": float(total[row]),
        }
        found.append(ScoredEntry(entry, float(total[row]), {name: s for name, s in stages.items() if s is not None}))
    return found


def is_close(evidence: KinRankings, baseline: Baseline) -> bool:
    """Return whether a chunk is close to a question: by its cosine beyond that of unrelated texts, and by its words.

    Scores of kin don't tell, since they are relative to the candidates: the best one is as high without an answer.
    The cosine is calibrated on the model, and the words on the collection: `KinRankings.share` measures them by what
    they score there.

    Args:
        evidence: What was found for the question.
        baseline: Expected cosine of the question with unrelated texts; see `kinsplit.embedding.calibration`.
    """
    best = max(evidence.dense.values(), default=-1.0)
    similarity = (best - baseline.unrelated) / (1 - baseline.unrelated)
    return similarity + _WORDS * evidence.share >= _CLOSE


def trust(evidence: KinRankings, scores: OwnScores) -> float:
    """Return the share, from 0 to 1, of their weights with which terms count for one question.

    It is less than 1 if no chunk has many of the question's words: one rare word, or the few that a question in another
    language than the text shares with it, say little. The further the best cosine stands out, the more words it takes
    to contradict it: fewer if the model doesn't know the question's language, and more if it does, and the chunks that
    the words find mean something else. The words that name a document are right.
    """
    cosines, terms = scores.cosines[: scores.candidates], scores.terms[: scores.candidates]
    furthest = float(cosines.max())
    needed = _NEEDED * furthest
    if evidence.familiarity is not None and furthest:
        needed *= 1 - _UNKNOWN * (1 - evidence.familiarity)
        if evidence.named is None:
            missing = 1 - _agreement(cosines, terms) / (_AGREEMENT * furthest)
            needed *= 1 + _MORE * evidence.familiarity * max(0.0, missing)
    return 1.0 if evidence.share >= needed else evidence.share / needed


def _agreement(cosines: NDArray[np.float64], terms: NDArray[np.float64]) -> float:
    """Return the mean cosine, as a standard score, of the best chunks by words, each weighted by its term score."""
    best = np.where(terms >= np.sort(terms)[-_BEST_BY_WORDS:][0], terms, 0.0)
    total = float(best.sum())
    return float(cosines @ best) / total if total else float(cosines.max())


def sibling_weight(entries: Sequence[Entry], weights: KinWeights) -> float:
    """Return the weight of sibling evidence for chunks of this length; see `KinWeights.siblings`."""
    lengths = [entry.token_count or entry.length / _CHARACTERS_PER_TOKEN for entry in entries]
    return weights.siblings * min(1.0, 100 / max(1.0, sum(lengths) / len(lengths)))


def unit(scores: Mapping[str, float]) -> dict[str, float]:
    """Scale scores to the range from 0 to 1."""
    if not scores:
        return {}
    low, high = min(scores.values()), max(scores.values())
    return {name: (score - low) / (high - low) if high > low else 1.0 for name, score in scores.items()}


def _values(names: Collection[str | None], scores: Mapping[str, float], *, lowest: bool = False) -> NDArray[np.float64]:
    """Return the score of each name; names without one get the lowest score, or 0."""
    if not scores:
        return np.zeros(len(names))
    get: Callable[[str | None, float], float] = scores.get  # type: ignore[assignment]
    missing = min(scores.values()) if lowest else 0.0
    return np.fromiter(map(get, names, repeat(missing)), np.float64, len(names))


def standard(values: NDArray[np.float64], number: int | None = None) -> NDArray[np.float64]:
    """Return standard scores: distances from the mean in standard deviations, 0 where all values are equal.

    Given a number, the mean and the deviation of that many values, from the first, count.
    """
    count = len(values[:number])
    apart = values - np.add.reduce(values[:number]) / count
    known = apart[:number]
    # As `numpy.std` computes it, which subtracts the mean once more.
    deviation = math.sqrt(np.add.reduce(known * known) / count)
    return apart / deviation if deviation > 1e-9 else np.zeros_like(values)


def outstanding(values: NDArray[np.float64], number: int | None = None, highest: float = np.inf) -> NDArray[np.float64]:
    """Return standard scores, of which none is above a highest one, times their peak; see `standard` for the number."""
    scores = np.minimum(standard(values, number), highest)
    return scores * float(scores[:number].max())


def _own_and_siblings(
    entries: Sequence[Entry], scores: OwnScores, weight: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the own score of each candidate, and the mean own score of its neighbours, or its own if it has none."""
    every = scores.joined(weight)
    own = every[: len(entries)]
    # Two more rows: one for no neighbour, one for neighbours without a score.
    nobody, others = len(every), len(every) + 1
    row_of = {**scores.rows, None: nobody}.get
    before = np.array([row_of(entry.prev_id, others) for entry in entries])
    after = np.array([row_of(entry.next_id, others) for entry in entries])
    every = np.append(every, [0.0, own.min()])
    number = (before != nobody).astype(int) + (after != nobody)
    return own, np.divide(every[before] + every[after], number, out=own.copy(), where=number > 0)


def _beyond(entries: Sequence[Entry], evidence: KinRankings, document: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the share of the terms of each candidate's document that aren't its own, by their scores.

    It is 1 unless the candidate is its whole document, whose terms, and the parent's, are the same again, but for those
    of names: counted three times, one rare word that a short document has would outweigh all meaning.
    """
    alone = [entry.prev_id is None and entry.next_id is None for entry in entries]
    if not any(alone):
        return np.ones(len(entries))
    own = _values(evidence.entries, evidence.bm25)
    rest = np.divide(document - own, document, out=np.zeros_like(own), where=document > own)
    return np.where(alone, rest, 1.0)


def _within_named(
    evidence: KinRankings,
    named: NamedRankings,
    weights: KinWeights,
    trusted: float,
    own: NDArray[np.float64],
    siblings: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Score the candidates of a question that names a document by what remains of it, and by their documents."""
    entries = list(evidence.entries.values())
    scores = OwnScores.of(evidence.entries, named.dense, named.bm25)
    within, beside = _own_and_siblings(entries, scores, trusted * weights.bm25)
    likelihood = likelihoods(evidence.document, best_of_each(entries, own), float(own.min()))
    weight, highest = sibling_weight(entries, weights), max(likelihood.values())
    documents = np.array([max(_LOWEST, likelihood[entry.source_id] - highest) for entry in entries])
    total: NDArray[np.float64] = within + weight * standard(beside) + documents
    first = np.array([entry.id == named.first for entry in entries])
    total[first] = np.maximum(total, own + weight * standard(siblings))[first]
    return total


def likelihoods(documents: Mapping[str, float], best: Mapping[str, float], lowest: float) -> dict[str, float]:
    """Return the log-likelihood, up to a constant, that a question means a document, by source id.

    Args:
        documents: Term scores of whole documents.
        best: Best own score of each document's chunks.
        lowest: Lowest own score of any chunk, for documents without one.
    """
    highest = max(documents.values(), default=0.0) or 1.0
    return {
        source_id: _DOCUMENT_TERMS * documents.get(source_id, 0.0) / highest + _BEST_CHUNK * best.get(source_id, lowest)
        for source_id in {**documents, **best}
    }


def likely(likelihood: Mapping[str, float]) -> tuple[str, float]:
    """Return the most likely document and its share of the likelihood."""
    source_id = max(sorted(likelihood), key=likelihood.__getitem__)
    values = np.array(list(likelihood.values()))
    return source_id, float(1 / np.exp(values - likelihood[source_id]).sum())


def scores_of(ranked: Iterable[tuple[Entry, float]]) -> dict[str, float]:
    """Return the scores of a ranking by the entries' ids."""
    return {entry.id: score for entry, score in ranked}


def entries_of(rankings: Iterable[RankedEntries]) -> dict[str, Entry]:
    """Return the entries of rankings by their ids."""
    return {entry.id: entry for ranking in rankings for entry, _ in ranking}


def best_of_each(entries: Iterable[Entry], own: NDArray[np.float64]) -> dict[str, float]:
    """Return the best own score of each document's chunks, by source id."""
    best: dict[str, float] = {}
    for entry, score in zip(entries, own.tolist(), strict=True):
        if score > best.get(entry.source_id, -math.inf):
            best[entry.source_id] = score
    return best
