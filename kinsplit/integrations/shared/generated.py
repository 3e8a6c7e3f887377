"""Names and documentation of the generated classes."""

from __future__ import annotations

from kinsplit.identity import RENAMED
from kinsplit.parsers import Strategy, names, strategy_class


def generated_names(suffix: str) -> dict[str, str]:
    """Return the names of a framework's generated classes, each with the name of its strategy.

    Args:
        suffix: The framework's word for such a class: "NodeParser" or "TextSplitter".
    """
    return {generated_name(strategy_class(name), suffix): name for name in names()}


def generated_name(strategy: type[Strategy], suffix: str) -> str:
    """Return the name of a strategy's class in a framework."""
    return f"Kinsplit{strategy.__name__.removesuffix('Strategy')}{suffix}"


def former_names(suffix: str) -> dict[str, str]:
    """Return the names that the classes of renamed strategies had, each with the strategy's former name."""
    return {f"Kinsplit{former.title()}{suffix}": former for former in RENAMED}


def documentation(strategy: type[Strategy]) -> str:
    """Return the docstring of a strategy's class in a framework."""
    rows = [f"    {name}: {info.description or ''}" for name, info in strategy.model_fields.items()]
    return "\n".join([f"{strategy.summary}.", "", f"Defaults from: {strategy.origin}.", "", "Args:", *rows])
