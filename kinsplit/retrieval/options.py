"""Options of a search, the same for Python, both frameworks, the service and the command line."""

from __future__ import annotations

from typing import Annotated, Literal, Self, TypedDict

from pydantic import ConfigDict, Field, SkipValidation, model_validator

from kinsplit.errors import InvalidParameterError
from kinsplit.retrieval.budget import Budget, Terms, no_terms
from kinsplit.retrieval.expand import Expansion
from kinsplit.retrieval.rankings import pick
from kinsplit.retrieval.rerank import Reranker
from kinsplit.retrieval.weights import KinWeights
from kinsplit.stores.filters import check_where
from kinsplit.stores.protocol import Where
from kinsplit.support.settings import Settings
from kinsplit.tokenizers import Tokenizer

# Upper bound of every count: more than a search needs, and safe for every engine.
_MOST = 1_000_000
#: Default number of passages without a budget, and of siblings on each side.
PASSAGES, WINDOW = 3, 1
#: Default number of candidates: several per passage, since neighbours are merged.
FEWEST, _PER_PASSAGE = 30, 4
# With a budget, there is a candidate for so many tokens; few chunks are shorter.
_TOKENS_PER_CANDIDATE = 20


class SearchOptions(Settings):
    """Options of a search.

    Attributes:
        top_k: Maximum number of passages, counted after neighbouring hits are merged; None for 3, or with a budget for
            as many as fit.
        candidates: Number of chunks to rerank and expand, at least `top_k`; None takes four per passage and at least
            30, as in the course search that kinsplit replaces, or with a budget alone as many as fill it.
        window: Number of siblings to add to a hit on each side. None for 1; with a budget, these take only the tokens
            that hits leave, while a given number is added to each hit before the next hit.
        parents: Whether to return the whole parents of hits instead; with a budget, where they fit.
        within_sections: Whether siblings stop where the heading path changes.
        rerank: A reranker, or its name (see `create_reranker`). It scores the candidates and then, unless it scored
            none of them, the passages.
        budget: Maximum number of tokens of all passages together, by the strategy's tokenizer. Chunks are taken best
            first until it is full, the last ones cut at ends of sentences, and only then merged into passages.
        context_share: Share of the budget for siblings or parents of hits, from 0 to below 1. None for what hits leave;
            a given `window`, or `parents`, then comes with each hit.
        where: Filter on metadata: keys with a value, a list of values, or operators such as {"$gte": 2020}; see
            `kinsplit.stores.protocol.Where`.
        level: Level of the chunks to find: 0 for leaves, 1 for their parents, "all" for all levels at once: those that
            fit a budget best, without repeated text.
        ranking: Name of the ranking: "kin", "hybrid", "dense" or "terms" (see `kinsplit.retrieval.rankings`).
        diversity: Weight of unlikeness among the candidates, from 0 for none to 1 (see
            `kinsplit.retrieval.search.diversify`). Above 0, a reranker reads only the candidates, whose order this
            changes.
        weights: Weights of kin scoring, for the ranking "kin" alone.

    Example:
        >>> options = SearchOptions(top_k=5, window=2, budget=1000, where={"course": "birds"})
        >>> options.limit  # candidates
        30
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)

    top_k: int | None = Field(default=None, ge=1, le=_MOST)
    candidates: int | None = Field(default=None, ge=1, le=_MOST)
    window: int | None = Field(default=None, ge=0, le=_MOST)
    parents: bool = False
    within_sections: bool = False
    rerank: str | Reranker = "none"
    budget: int | None = Field(default=None, ge=1, le=2**62)
    context_share: float | None = Field(default=None, ge=0, lt=1)
    where: SkipValidation[Where | None] = None
    level: Annotated[int, Field(ge=0)] | Literal["all"] = 0
    ranking: str = "kin"
    diversity: float = Field(default=0.0, ge=0, le=1)
    weights: KinWeights = KinWeights()

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.candidates is not None and self.top_k is not None and self.candidates < self.top_k:
            rule, remedy = f"must be at least top_k ({self.top_k})", "Raise candidates, lower top_k, or leave it out."
            raise InvalidParameterError("candidates", rule, self.candidates, remedy)
        if self.context_share is not None and self.budget is None:
            raise InvalidParameterError(
                "context_share", "needs a budget", self.context_share, "Give one, or leave it out."
            )
        if not pick(self.ranking).weighs and "weights" in self.model_fields_set:
            rule = f"are not used by the ranking {self.ranking!r}"
            raise InvalidParameterError("weights", rule, self.weights, "Leave them out, or take the ranking 'kin'.")
        if self.level == "all":
            self._check_all()
        check_where(self.where)
        return self

    def _check_all(self) -> None:
        """Check that levels can compete."""
        if self.budget is None:
            raise InvalidParameterError("level", "needs a budget to be 'all'", self.level, "Give one, such as 1000.")
        if not pick(self.ranking).weighs:
            rule = f"can't be 'all' with the ranking {self.ranking!r}, whose scores differ between levels"
            raise InvalidParameterError("level", rule, self.level, "Take the ranking 'kin'.")
        if self.window or self.parents:
            rule = "can't be 'all' with window or parents, since larger chunks take the place of both"
            raise InvalidParameterError("level", rule, self.level, "Leave them out.")

    @property
    def passages(self) -> int | None:
        """Maximum number of passages; None if only a budget limits them."""
        return PASSAGES if self.top_k is None and self.budget is None else self.top_k

    @property
    def limit(self) -> int:
        """Number of candidates to find."""
        if self.candidates is not None:
            return self.candidates
        if self.passages is not None:
            return max(FEWEST, _PER_PASSAGE * self.passages)
        return max(self.weights.pool, min(_MOST, (self.budget or 0) // _TOKENS_PER_CANDIDATE))

    @property
    def expansion(self) -> Expansion:
        """The expansion of a hit by its kin."""
        # Where all levels are searched, the larger chunks are the context.
        usual = 0 if self.level == "all" else WINDOW
        window = usual if self.window is None else self.window
        return Expansion(window=window, parents=self.parents, within_sections=self.within_sections)

    def spending(self, tokenizer: Tokenizer, terms: Terms = no_terms) -> Budget | None:
        """Return the budget to spend; None without one.

        Args:
            tokenizer: The strategy's tokenizer.
            terms: See `Budget`.
        """
        if self.budget is None:
            return None
        return Budget(
            self.budget,
            tokenizer,
            self.context_share or 0.0,
            with_context=self.context_share is None and (self.parents or self.window is not None),
            top_k=self.top_k,
            is_strategys=True,
            terms=terms,
        )


class SearchKeywords(TypedDict, total=False):
    """`SearchOptions` as keyword arguments."""

    top_k: int | None
    candidates: int | None
    window: int | None
    parents: bool
    within_sections: bool
    rerank: str | Reranker
    budget: int | None
    context_share: float | None
    where: Where | None
    level: int | Literal["all"]
    ranking: str
    diversity: float
    weights: KinWeights
