"""An option of every search: `per_document=2` in Python and frameworks, `--per-document 2`, `?per_document=2`."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from pydantic import Field

from kinsplit.options import SearchExtension

if TYPE_CHECKING:
    from kinsplit.retrieval import Candidate


class PerDocument(SearchExtension):
    """Keeps the best chunks of each document, so that one document can't fill the answer."""

    per_document: int | None = Field(
        default=None, ge=1, description="Maximum number of hits of one document. Default: any number."
    )

    def refine(self, candidates: list[Candidate]) -> list[Candidate]:
        """Return the candidates without those beyond the number of their document."""
        number: Counter[str] = Counter()
        kept = []
        for candidate in candidates:
            number[candidate.chunk.source_id] += 1
            if self.per_document is None or number[candidate.chunk.source_id] <= self.per_document:
                kept.append(candidate)
        return super().refine(kept)
