"""The interface of a measure, and its input."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from kinsplit.chunk import Chunk, by_source
from kinsplit.evaluation.labels import Dataset, Question
from kinsplit.evaluation.qrels import Alignment
from kinsplit.language_models.structured import StructuredClient
from kinsplit.options import SpanRule
from kinsplit.spans import Span
from kinsplit.tokenizers import Tokenizer


@dataclass(frozen=True)
class Chunking:
    """A dataset as one strategy splits it."""

    dataset: Dataset
    chunks: tuple[Chunk, ...]  # Leaves, in document order within each document.
    tokenizer: Tokenizer

    @cached_property
    def by_source(self) -> Mapping[str, tuple[Chunk, ...]]:
        """The chunks by document id, without documents that have no chunks."""
        return {source_id: tuple(chunks) for source_id, chunks in by_source(self.chunks).items()}

    @cached_property
    def alignment(self) -> Alignment:
        """The alignment of the chunks with labels."""
        return Alignment(self.chunks)

    @cached_property
    def token_counts(self) -> Mapping[str, int]:
        """The number of tokens by chunk id."""
        counts = self.tokenizer.count([chunk.text for chunk in self.chunks]).tolist() if self.chunks else []
        return {chunk.id: count for chunk, count in zip(self.chunks, counts, strict=True)}

    def token_starts(self, chunk: Chunk) -> NDArray[np.int64]:
        """Return the offset of each token in a chunk's text, which is tokenized once."""
        if chunk.id not in self._starts:
            (self._starts[chunk.id],) = self.tokenizer.starts([chunk.text])
        return self._starts[chunk.id]

    @cached_property
    def _starts(self) -> dict[str, NDArray[np.int64]]:
        return {}


@dataclass(frozen=True)
class Outcome:
    """The ranking for one question."""

    question: Question
    ranking: Sequence[Chunk]
    scores: Sequence[float]  # Scores of the ranker, one for each chunk, in descending order.
    cosines: Sequence[float]
    seconds: float
    # Spans by source id that passages within a number of tokens consist of, by that number, if the ranker returns
    # passages; budget measures then judge these instead of the ranking.
    read: Mapping[int, Mapping[str, tuple[Span, ...]]] = field(default_factory=dict)


class Measure(Protocol):
    """A measure, such as "nDCG@10": it scores the ranking for a question, and a strategy by the mean over questions."""

    @property
    def name(self) -> str: ...  # noqa: D102

    @property
    def description(self) -> str: ...  # noqa: D102

    @property
    def higher_is_better(self) -> bool: ...  # noqa: D102

    def score(self, outcome: Outcome, chunking: Chunking) -> float | None:
        """Score the ranking for one question; None where the measure doesn't apply, such as to one without labels."""
        ...


class Asked(NamedTuple):
    """A request for a measure.

    Attributes:
        name: Name of the measure, with aliases resolved.
        number: Number in the name, if there is one.
        top_k: Number of chunks if the name omits it.
        rule: Rule that makes a chunk relevant.
        client: Client of the language model, if one is given.
    """

    name: str
    number: int | None
    top_k: int
    rule: SpanRule
    client: StructuredClient | None = None

    @property
    def k(self) -> int:
        """The number in the name, or the default."""
        return self.number or self.top_k


class Family(NamedTuple):
    """Measures that differ by a number.

    Attributes:
        pattern: Pattern of the names: "@k" stands for a number of chunks, "@Nt" for a number of tokens; "[@k]" is
            optional.
        description: Meaning in one line.
        make: Function that makes a measure.
    """

    pattern: str
    description: str
    make: Callable[[Asked], Measure]

    def matches(self, name: str) -> re.Match[str] | None:
        """Return the match of a name; its group "number" is the number in the name, if there is one."""
        number = r"@(?P<number>[1-9][0-9]{0,8})"
        form = re.escape(self.pattern).replace(r"\[@k\]", f"(?:{number})?").replace("@Nt", f"{number}t")
        return re.fullmatch(form.replace("@k", number), name)


#: A function that scores the ranking for one question; see `Measure.score`.
Score = Callable[[Outcome, Chunking, Asked], float | None]


@dataclass(frozen=True)
class FunctionMeasure:
    """A measure by a function that returns the value for the ranking of one question, or None; see `family`."""

    name: str
    description: str
    asked: Asked
    function: Score
    higher_is_better: bool = True

    def score(self, outcome: Outcome, chunking: Chunking) -> float | None:
        """See `Measure.score`."""
        return self.function(outcome, chunking, self.asked)


def family(pattern: str, description: str, function: Score, *, higher_is_better: bool = True) -> Family:
    """Return the family of measures by a function; see `Family`."""

    def make(asked: Asked) -> FunctionMeasure:
        return FunctionMeasure(asked.name, description, asked, function, higher_is_better)

    return Family(pattern, description, make)
