"""Registry of strategies, from which the command line, the framework adapters, docs and tests are generated."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from pydantic_core import PydanticUndefined

from kinsplit.parsers.base import Strategy
from kinsplit.registry import Registry, subclass
from kinsplit.support.literals import type_name

_NAMES = ("character", "word", "token", "sentence", "structure", "semantic", "cluster", "hierarchical", "multigranular")
_OWN = {name: f"kinsplit.parsers.strategies.{name}:{name.title()}Strategy" for name in _NAMES}
_OWN["llm"] = "kinsplit.parsers.strategies.llm:LLMStrategy"
#: The strategies by name; those of other packages are entry points of the group `kinsplit.strategies`.
STRATEGIES: Registry[type[Strategy]] = Registry("strategies", "strategy", _OWN, subclass(Strategy))

#: Names of strategies in the 10-K search, in lower case, that differ from kinsplit's.
OTHER_NAMES: Mapping[str, str] = MappingProxyType({"fixed": "word"})
#: Name and parameters of the strategy that applies when none is named; see `default_strategy`.
DEFAULT = "sentence"
DEFAULT_PARAMETERS: Mapping[str, Any] = MappingProxyType({"chunk_size": 160, "chunk_overlap": 0})


def names() -> list[str]:
    """Return the names of all strategies."""
    return STRATEGIES.names()


def strategy_class(name: str) -> type[Strategy]:
    """Return the class of a strategy.

    Args:
        name: One of `names()`.

    Raises:
        InvalidParameterError: No strategy has that name.
    """
    return STRATEGIES.load(name)


def own_resources(name: str, **shared: Any) -> dict[str, Any]:
    """Return those of some resources that a strategy takes, such as the embedder of an index; None is none.

    Args:
        name: One of `names()`.
        **shared: The resources, by the names of parameters.

    Raises:
        InvalidParameterError: No strategy has that name.
    """
    taken = strategy_class(name).resources
    return {key: value for key, value in shared.items() if value is not None and key in taken}


def class_and_parameters(name: str | None, parameters: Mapping[str, Any]) -> tuple[type[Strategy], dict[str, Any]]:
    """Return the class of a strategy and its parameters, with those of the default strategy if no name is given.

    Args:
        name: One of `names()`; None for the default strategy.
        parameters: The given parameters.

    Raises:
        InvalidParameterError: No strategy has the name.
    """
    if name is None:
        return strategy_class(DEFAULT), {**DEFAULT_PARAMETERS, **parameters}
    return strategy_class(name), dict(parameters)


def describe(name: str) -> dict[str, Any]:
    """Return name, summary, origin and parameter table of a strategy as JSON values.

    Args:
        name: One of `names()`.

    Raises:
        InvalidParameterError: No strategy has that name.
    """
    kind = strategy_class(name)
    parameters = []
    for field, info in kind.model_fields.items():
        default = None if info.default is PydanticUndefined else info.default
        own = {"name": field, "default": default, "type": type_name(info.annotation)}
        parameters.append({**own, "description": info.description or ""})
    return {"name": kind.name, "summary": kind.summary, "origin": kind.origin, "parameters": parameters}
