"""The node parser class of each strategy, made from the strategy."""

from __future__ import annotations

from functools import cache
from typing import Any

from pydantic import create_model

from kinsplit.integrations.llama_index.node_parser import KinsplitNodeParser
from kinsplit.integrations.twins import documentation, twin_name
from kinsplit.parsers import Strategy, strategy_class


@cache
def node_parser_class(strategy: type[Strategy]) -> type[KinsplitNodeParser]:
    """Return the node parser class of a strategy, which has the strategy's parameters as its fields."""
    fields: dict[str, Any] = {name: (info.annotation, info) for name, info in strategy.model_fields.items()}
    made = create_model(
        twin_name(strategy.name, "NodeParser"),
        __base__=KinsplitNodeParser,
        __module__=__package__,
        __doc__=documentation(strategy),
        **fields,
    )
    made.strategy_class = strategy
    return made


def node_parser(name: str, **parameters: object) -> KinsplitNodeParser:
    """Return a strategy as a node parser.

    Args:
        name: One of `kinsplit.parsers.names()`.
        **parameters: The strategy's parameters, and those of `KinsplitNodeParser`.

    Raises:
        InvalidParameterError: The name, a parameter or a value is not allowed.
    """
    return node_parser_class(strategy_class(name))(**parameters)
