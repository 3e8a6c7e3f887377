"""Text -> chunks: the strategies and their registry, independent of any framework.

`names()` lists the strategies, `create(name, **parameters)` makes one, `describe(name)` describes it and its
parameters, and `default_strategy()` is the one that applies when none is named.
Every strategy guarantees: chunks are exact slices of the text, in order; without their overlap, they contain every
character that is not white space exactly once; no chunk is blank or exceeds its limit; and the same text gives the same
chunks everywhere.
"""

from kinsplit.parsers.base import Cost, Strategy
from kinsplit.parsers.factory import create, default_strategy, split
from kinsplit.parsers.registry import class_and_parameters, describe, names, own_resources, strategy_class

__all__ = [
    "Cost",
    "Strategy",
    "class_and_parameters",
    "create",
    "default_strategy",
    "describe",
    "names",
    "own_resources",
    "split",
    "strategy_class",
]
