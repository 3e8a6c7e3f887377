"""Options of a search, the same for Python, both frameworks, the service and the command line."""

from __future__ import annotations

from typing import Self, TypedDict

from pydantic import ConfigDict, Field, SkipValidation, model_validator

from kinsplit.errors import InvalidParameterError
from kinsplit.retrieval.expand import Expansion
from kinsplit.retrieval.rankings import pick
from kinsplit.retrieval.rerank import Reranker
from kinsplit.retrieval.weights import KinWeights
from kinsplit.stores.filters import check_where
from kinsplit.stores.protocol import Where
from kinsplit.support.model import Settings

# Upper bound of every count: more than a search needs, and safe for every engine.
_MOST = 1_000_000
# Default number of candidates: several per passage, since neighbours are merged and a budget skips some.
_FEWEST, _PER_PASSAGE = 30, 4


class SearchOptions(Settings):
    """Options of a search.

    Attributes:
        top_k: Maximum number of passages, counted after neighbouring hits are merged.
        candidates: Number of chunks to rerank and expand, at least `top_k`; None takes four per passage and at least
            30, as in the course search that kinsplit replaces.
        window: Number of siblings to add to a hit on each side.
        parents: Whether to return the whole parents of hits instead.
        within_sections: Whether siblings stop where the heading path changes.
        rerank: A reranker, or its name (see `create_reranker`). It scores the candidates and then, unless it scored
            none of them, the passages.
        budget: Maximum number of tokens of all passages together, by the strategy's tokenizer. A passage that doesn't
            fit is skipped, and the next ones are tried. If none fits, the hits are returned without their kin.
        where: Filter on metadata: keys with a value, a list of values, or operators such as {"$gte": 2020}; see
            `kinsplit.stores.protocol.Where`.
        level: Level of the chunks to find: 0 for leaves, 1 for their parents.
        ranking: Name of the ranking: "kin", "hybrid", "dense" or "terms" (see `kinsplit.retrieval.rankings`).
        diversity: Weight of unlikeness among the candidates, from 0 for none to 1 (see
            `kinsplit.retrieval.diversity.diversify`). Above 0, a reranker reads only the candidates, whose order this
            changes.
        weights: Weights of kin scoring, for the ranking "kin" alone.

    Example:
        >>> options = SearchOptions(top_k=5, window=2, budget=1000, where={"course": "birds"})
        >>> options.limit  # candidates
        30
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)

    top_k: int = Field(default=3, ge=1, le=_MOST)
    candidates: int | None = Field(default=None, ge=1, le=_MOST)
    window: int = Field(default=1, ge=0, le=_MOST)
    parents: bool = False
    within_sections: bool = False
    rerank: str | Reranker = "none"
    budget: int | None = Field(default=None, ge=1, le=2**62)
    where: SkipValidation[Where | None] = None
    level: int = Field(default=0, ge=0)
    ranking: str = "kin"
    diversity: float = Field(default=0.0, ge=0, le=1)
    weights: KinWeights = KinWeights()

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.candidates is not None and self.candidates < self.top_k:
            rule, remedy = f"must be at least top_k ({self.top_k})", "Raise candidates, lower top_k, or leave it out."
            raise InvalidParameterError("candidates", rule, self.candidates, remedy)
        if not pick(self.ranking).weighs and "weights" in self.model_fields_set:
            rule = f"are not used by the ranking {self.ranking!r}"
            raise InvalidParameterError("weights", rule, self.weights, "Leave them out, or take the ranking 'kin'.")
        check_where(self.where)
        return self

    @property
    def limit(self) -> int:
        """Number of candidates to find."""
        return max(_FEWEST, _PER_PASSAGE * self.top_k) if self.candidates is None else self.candidates

    @property
    def expansion(self) -> Expansion:
        """The expansion of a hit by its kin."""
        return Expansion(window=self.window, parents=self.parents, within_sections=self.within_sections)


class SearchKeywords(TypedDict, total=False):
    """`SearchOptions` as keyword arguments."""

    top_k: int
    candidates: int | None
    window: int
    parents: bool
    within_sections: bool
    rerank: str | Reranker
    budget: int | None
    where: Where | None
    level: int
    ranking: str
    diversity: float
    weights: KinWeights
