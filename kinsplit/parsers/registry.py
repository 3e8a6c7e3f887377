"""Registry of strategies, from which the command line, the framework adapters, docs and tests are generated."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from pydantic_core import PydanticUndefined

from kinsplit.errors import InvalidParameterError, KinsplitWarning
from kinsplit.identity import RENAMED
from kinsplit.parsers.base import Strategy
from kinsplit.parsers.strategies.character import CharacterStrategy
from kinsplit.parsers.strategies.cluster import ClusterStrategy
from kinsplit.parsers.strategies.hierarchical import HierarchicalStrategy
from kinsplit.parsers.strategies.llm import LLMStrategy
from kinsplit.parsers.strategies.multigranular import MultigranularStrategy
from kinsplit.parsers.strategies.semantic import SemanticStrategy
from kinsplit.parsers.strategies.sentence import SentenceStrategy
from kinsplit.parsers.strategies.structure import StructureStrategy
from kinsplit.parsers.strategies.token import TokenStrategy
from kinsplit.parsers.strategies.word import WordStrategy

_STRATEGIES: tuple[type[Strategy], ...] = (
    CharacterStrategy,
    WordStrategy,
    TokenStrategy,
    SentenceStrategy,
    StructureStrategy,
    SemanticStrategy,
    ClusterStrategy,
    HierarchicalStrategy,
    MultigranularStrategy,
    LLMStrategy,
)
_BY_NAME = {strategy.name: strategy for strategy in _STRATEGIES}

#: Name and parameters of the strategy that applies when none is named; see `default_strategy`.
DEFAULT = SentenceStrategy.name
DEFAULT_PARAMETERS: Mapping[str, Any] = MappingProxyType({"chunk_size": 160, "chunk_overlap": 0})


class Parameter(NamedTuple):
    """One row of a strategy's parameter table.

    Attributes:
        name: Name of the parameter.
        default: Default value.
        annotation: Type.
        description: Description.
    """

    name: str
    default: Any
    annotation: Any
    description: str


def names() -> list[str]:
    """Return the names of all strategies."""
    return list(_BY_NAME)


class RenamedStrategyWarning(KinsplitWarning):
    """A strategy was named by its former name.

    Args:
        former: Former name.
        name: Current name.
    """

    def __init__(self, former: str, name: str) -> None:
        super().__init__(former, name)
        self.former, self.name = former, name

    def __str__(self) -> str:
        return f'The strategy "{self.former}" is now called "{self.name}". Write "{self.name}" instead.'


def current_name(name: str) -> str:
    """Return the current name of a strategy, with a warning if another one was given.

    Args:
        name: Current or former name of a strategy; any other name is returned unchanged.
    """
    if not isinstance(name, str) or name not in RENAMED:
        return name
    warnings.warn(RenamedStrategyWarning(name, RENAMED[name]), stacklevel=2)
    return RENAMED[name]


def strategy_class(name: str) -> type[Strategy]:
    """Return the class of a strategy.

    Args:
        name: One of `names()`, or a former name.

    Raises:
        InvalidParameterError: No strategy has that name.
    """
    name = current_name(name)
    try:
        return _BY_NAME[name]
    except (KeyError, TypeError):
        raise InvalidParameterError(
            "strategy", "must be the name of a strategy", name, f"Known strategies: {', '.join(names())}."
        ) from None


def class_and_parameters(name: str | None, parameters: Mapping[str, Any]) -> tuple[type[Strategy], dict[str, Any]]:
    """Return the class of a strategy and its parameters, with those of the default strategy if no name is given.

    Args:
        name: One of `names()`, or a former name; None for the default strategy.
        parameters: The given parameters.

    Raises:
        InvalidParameterError: No strategy has the name.
    """
    if name is None:
        return strategy_class(DEFAULT), {**DEFAULT_PARAMETERS, **parameters}
    return strategy_class(name), dict(parameters)


def parameters(name: str) -> list[Parameter]:
    """Return the parameter table of a strategy.

    Args:
        name: One of `names()`.
    """
    return [
        Parameter(
            field,
            None if info.default is PydanticUndefined else info.default,
            info.annotation,
            info.description or "",
        )
        for field, info in strategy_class(name).model_fields.items()
    ]
