"""The rule that makes a chunk relevant to a label."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import Field, model_validator

from kinsplit.errors import InvalidParameterError
from kinsplit.support.model import Settings


class SpanRule(Settings):
    """The rule of SC-Qrels: a chunk is relevant if it holds enough of the label and the label fills enough of it.

    Attributes:
        span_coverage: Minimum share of the label's span that the chunk holds, above 0.
        chunk_coverage: Minimum share of the chunk that the span fills; 0 for a chunk of any size.
        levels: Ascending shares of the span, all above `span_coverage`; each that a chunk reaches adds 1 to its degree
            of relevance. With (0.95,), a chunk that holds 0.9 of a span has degree 1, and one that holds all of it
            degree 2. Empty by default, as in SC-Qrels: a chunk is relevant or not.
    """

    span_coverage: Annotated[float, Field(gt=0, le=1)] = 0.85
    chunk_coverage: Annotated[float, Field(ge=0, le=1)] = 0.5
    levels: tuple[float, ...] = ()

    @model_validator(mode="after")
    def _levels_rise(self) -> Self:
        steps = (self.span_coverage, *self.levels)
        if sorted(set(steps)) != list(steps) or steps[-1] > 1:
            rule = "must rise from above span_coverage to at most 1"
            raise InvalidParameterError("levels", rule, self.levels, "Give for example levels=(0.9, 1.0).")
        return self

    def degree(self, of_span: float, of_chunk: float) -> int:
        """Return the degree of relevance of a chunk to a label of grade 1.

        Args:
            of_span: Share of the label's span that the chunk holds.
            of_chunk: Share of the chunk that the span fills.

        Returns:
            0 for a chunk that isn't relevant, otherwise 1 plus the number of levels reached.
        """
        if of_span < self.span_coverage or of_chunk < self.chunk_coverage:
            return 0
        return 1 + sum(of_span >= level for level in self.levels)


#: The rule with the thresholds of SC-Qrels.
SC_QRELS = SpanRule()
