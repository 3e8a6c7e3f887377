"""Text -> chunks: one strategy per module, one registry, no framework, and a model only where a strategy asks one.

`names()` lists the strategies, `create(name, **parameters)` makes one, `parameters(name)` describes its parameters.
Every strategy keeps these promises: chunks are exact slices of the text, in order; without their overlap they hold
every character that is not white space once; none is blank or longer than its limit; and the same text gives the same
chunks anywhere.
"""

from kinsplit.parsers.base import Cost, Strategy
from kinsplit.parsers.registry import (
    Parameter,
    RenamedStrategyWarning,
    create,
    current_name,
    names,
    parameters,
    strategy_class,
)

__all__ = [
    "Cost",
    "Parameter",
    "RenamedStrategyWarning",
    "Strategy",
    "create",
    "current_name",
    "names",
    "parameters",
    "strategy_class",
]
