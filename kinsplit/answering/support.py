"""Each sentence of an answer looked up in the sources that it cites."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from kinsplit.answering.claims import Claim, claims
from kinsplit.answering.comparing import Comparison, Part
from kinsplit.answering.values import Check, Citation, Evidence, Verdict
from kinsplit.embedding.protocol import Embedder
from kinsplit.embedding.sparse import Bm25Embedder

#: Score of the nearest evidence from which on a sentence counts as found (see docs/asking.md for what was measured).
THRESHOLD = 0.55

# Numbers of one digit are as often written as words.
_NUMBER = re.compile(r"\d[\d.,]*\d")
_GROUPING = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")


def check(
    text: str, citations: Sequence[Citation], embedder: Embedder, bm25: Bm25Embedder, threshold: float = THRESHOLD
) -> list[Check]:
    """Look up each sentence of an answer in the sources that it cites.

    A sentence is found where its nearest evidence, one or two sentences of a source, is near enough by the mean of the
    cosine of their vectors and the share of its words, and where none of its numbers is missing there. That is no
    proof: a sentence that denies what its source says is near to it.

    Args:
        text: The answer.
        citations: Of its markers, in order.
        embedder: Compares meanings.
        bm25: Compares words.
        threshold: From which score on a sentence counts as found, 0 to 1.
    """
    found = claims(text, citations)
    cited = {c.number: c.source for claim in found for c in claim.citations if c.source is not None}
    comparison = Comparison(list(cited.values()), embedder, bm25)
    vectors = embedder.embed([claim.text for claim in found]) if cited else [None] * len(found)
    return [_checked(claim, comparison, vector, threshold) for claim, vector in zip(found, vectors, strict=True)]


def verdict(checks: Sequence[Check]) -> Verdict:
    """Return how far the sources support an answer."""
    good = [each.status == "found" for each in checks]
    if not any(good):
        return "unsupported"
    return "supported" if all(good) else "partly_supported"


def _checked(claim: Claim, comparison: Comparison, vector: Any, threshold: float) -> Check:
    numbers = tuple(dict.fromkeys(citation.number for citation in claim.citations))
    sources = {c.number: c.source for c in claim.citations if c.source is not None}
    if not numbers:
        return Check(claim.at, claim.text, (), "uncited")
    if not sources:
        return Check(claim.at, claim.text, numbers, "no_such_source")
    cosines, overlaps = comparison.cosines(vector), comparison.overlaps(claim.text)
    scores, wanted = (cosines + overlaps) / 2, set(_numbers(claim.text))

    def worth(place: int) -> tuple[int, float]:
        """Of what is near enough, that with most of the claim's numbers comes first."""
        score = float(scores[place])
        held = wanted.intersection(_numbers(comparison.parts[place].text)) if score >= threshold else ()
        return len(held), score

    evidence = []
    for number in sources:
        own = [place for place, part in enumerate(comparison.parts) if part.source.number == number]
        if own:
            best = max(own, key=worth)
            evidence.append(_evidence(comparison.parts[best], float(cosines[best]), float(overlaps[best])))
    evidence.sort(key=lambda each: -each.score)
    held = {number for each in evidence for number in _numbers(each.text)}
    missing = tuple(number for number in _numbers(claim.text) if number not in held)
    is_found = bool(evidence) and evidence[0].score >= threshold and not missing
    if len(sources) < len(numbers) and is_found:
        # Part of it rests on a source that is not there.
        return Check(claim.at, claim.text, numbers, "no_such_source", tuple(evidence), missing)
    return Check(claim.at, claim.text, numbers, "found" if is_found else "not_found", tuple(evidence), missing)


def _evidence(part: Part, cosine: float, overlap: float) -> Evidence:
    span = part.source.place(*part.at)
    return Evidence(part.source.number, span, part.source.chunk_at(span), part.text, cosine, overlap)


def _numbers(text: str) -> list[str]:
    """Return the numbers of two or more digits in a text, each once, without what groups their digits."""
    return list(dict.fromkeys(_NUMBER.findall(_GROUPING.sub("", text))))
