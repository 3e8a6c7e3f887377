"""What a search returns: a slice of one source, with its score and where it comes from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from kinsplit.chunk import Chunk
from kinsplit.retrieval.candidate import Candidate
from kinsplit.stores.payload import GAP, PLACED


@dataclass(frozen=True, slots=True)
class Passage:
    """A slice of one source that answers a query.

    Attributes:
        source_id: Id of the document.
        start: First code point in the document.
        end: One past the last code point.
        text: The document's text from `start` to `end`.
        score: The last stage's: a reranker's, or the best hit's.
        scores: Every stage's score of the best hit (see `Candidate.scores`), and `rerank_passage` where a reranker read
            the whole passage.
        hits: The chunks that were found, best first.
        chunks: All chunks that the passage is made of, in document order; its parent alone where parents were asked
            for.
        related: Where the document is not chunked, the other files of its group that aren't either (code beside a
            lecture, say), whole.
        context: Heading path of the best hit.
        pages: First and last page, counted from 1, where the document has pages.
        metadata: The document's.
    """

    source_id: str
    start: int
    end: int
    text: str
    score: float
    scores: Mapping[str, float]
    hits: tuple[Candidate, ...]
    chunks: tuple[Chunk, ...]
    related: tuple[Chunk, ...]
    context: str
    pages: tuple[int, int] | None
    metadata: Mapping[str, Any]

    @property
    def best(self) -> Candidate:
        """The hit that gave the passage its score."""
        return self.hits[0]

    def judged(self, stage: str, score: float) -> Passage:
        """Return the passage with a further stage's score, by which it is ranked from now on."""
        return replace(self, score=score, scores={**self.scores, stage: score})


def join(chunks: Iterable[Chunk], hits: Sequence[Candidate], related: Sequence[Chunk] = ()) -> Passage:
    """Join neighbouring chunks into a passage, repeating no overlap.

    Args:
        chunks: Chunks of one level of one source without a gap in their indices.
        hits: What was found of them, or inside them; the first one is the best.
        related: See `Passage`.
    """
    ordered = sorted(chunks, key=lambda chunk: chunk.index)
    text, reached = ordered[0].text, ordered[0].end
    for chunk in ordered[1:]:
        if chunk.end <= reached:
            continue
        text += (
            chunk.metadata.get(GAP, "") + chunk.text if chunk.start >= reached else chunk.text[reached - chunk.start :]
        )
        reached = chunk.end
    best = hits[0]
    pages = [page for c in ordered for key in ("page_start", "page_end") if (page := c.metadata.get(key)) is not None]
    return Passage(
        ordered[0].source_id,
        ordered[0].start,
        reached,
        text,
        best.score,
        best.scores,
        tuple(hits),
        tuple(ordered),
        tuple(related),
        best.chunk.context,
        (min(pages), max(pages)) if pages else None,
        {key: value for key, value in best.chunk.metadata.items() if key not in PLACED},
    )
