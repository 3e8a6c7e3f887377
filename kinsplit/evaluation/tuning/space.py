"""Search spaces: the parameters to vary and the values to try, for each strategy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import product
from math import prod
from typing import Any, NamedTuple

from kinsplit.parsers import Strategy, create, own_resources, strategy_class


class Choice(NamedTuple):
    """A parameter and the values to try."""

    parameter: str
    values: tuple[Any, ...]
    share_of: str = ""  # Earlier parameter of which the values are shares; "" for plain values.
    ordered: bool = True  # Whether the values are in order, so that neighbours behave alike.


@dataclass(frozen=True, slots=True)
class Space:
    """The search space of one strategy."""

    choices: tuple[Choice, ...]
    fixed: Mapping[str, Any] = field(default_factory=dict)

    @property
    def size(self) -> int:
        """Number of all combinations."""
        return prod(len(choice.values) for choice in self.choices)

    def strategy(self, name: str, values: Mapping[str, Any], resources: Mapping[str, Any]) -> Strategy:
        """Return the strategy for a combination of values."""
        parameters = {**self.fixed, **own_resources(name, **resources)}
        for choice in self.choices:
            value = values[choice.parameter]
            parameters[choice.parameter] = round(value * parameters[choice.share_of]) if choice.share_of else value
        return create(name, **parameters)

    def all(self, name: str, resources: Mapping[str, Any]) -> list[Strategy]:
        """Return the strategies of all combinations; see `strategy`."""
        names = [choice.parameter for choice in self.choices]
        combinations = product(*(choice.values for choice in self.choices))
        return [self.strategy(name, dict(zip(names, values, strict=True)), resources) for values in combinations]


def _space(*choices: Choice, **fixed: Any) -> Space:
    return Space(choices, fixed)


_SIZE = Choice("chunk_size", (48, 64, 80, 100, 128, 160, 200, 256, 320, 400, 512))
_OVERLAP = Choice("chunk_overlap", (0.0, 0.1, 0.2, 0.3), share_of="chunk_size")
#: Search spaces by strategy, in the order of the registry. Sizes are in tokens where a strategy can count them.
SPACES: Mapping[str, Space] = {
    "character": _space(Choice("chunk_size", (200, 300, 400, 600, 800, 1200, 1600)), _OVERLAP),
    "word": _space(Choice("chunk_size", (40, 60, 80, 120, 160, 240, 320)), _OVERLAP),
    "token": _space(_SIZE, Choice("stride", (0.5, 0.7, 0.85, 1.0), share_of="chunk_size")),
    "sentence": _space(_SIZE, _OVERLAP, unit="token"),
    "structure": _space(_SIZE, Choice("min_chunk_size", (0.0, 0.25, 0.5, 1.0), share_of="chunk_size"), unit="token"),
    "semantic": _space(
        Choice("chunk_size", (100, 160, 256, 400)),
        Choice("threshold", (0.5, 1.0, 1.5, 2.5)),
        Choice("min_sentences", (1, 2, 3)),
        unit="token",
    ),
    "cluster": _space(
        Choice("chunk_size", (160, 256, 400)),
        Choice("passage_size", (0.25, 0.5, 1.0), share_of="chunk_size"),
        Choice("threshold", (0.55, 0.65, 0.75, 0.85)),
        passage_overlap=0,
    ),
    "hierarchical": _space(
        Choice("child_size", (48, 64, 80, 100, 128, 160, 200, 256)),
        Choice("parent_size", ((400,), (800,), (1600,))),
        Choice("headings", (False, True), ordered=False),
        unit="token",
    ),
    "multigranular": _space(
        Choice("chunk_sizes", ((40, 160), (60, 240), (80, 320), (120, 480), (160, 640), (240, 960))),
        Choice("chunk_overlap", (0, 10, 20)),
    ),
    "llm": _space(Choice("chunk_size", (100, 160, 256, 400)), Choice("min_sentences", (1, 2, 3)), unit="token"),
}


def needs(name: str) -> list[str]:
    """Return the kinds of model that a strategy uses to find its boundaries: "embedder", "model"."""
    return [key for key in strategy_class(name).resources if key != "tokenizer"]
