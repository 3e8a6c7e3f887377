"""Native components for both frameworks: splitters, vector stores, retrievers, sibling expansion and reranking.

`llama_index` and `langchain` are both optional. `shared` holds the code that both use, without either framework.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module

from kinsplit.hints import MissingAttributeError


def lazy(
    package: str, modules: Mapping[str, str], maker: str, suffix: str, class_maker: str
) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """Return `__getattr__` and `__dir__` of a package, which import its names at first use.

    Args:
        package: Name of the package.
        modules: Relative module of each of its classes and functions; they import the strategies, stores and index.
        maker: Name of its function that wraps a strategy.
        suffix: The framework's word for a strategy's class: "NodeParser" or "TextSplitter".
        class_maker: Relative module and name of the function that makes such a class.
    """

    def generated() -> dict[str, str]:
        from kinsplit.integrations.shared.origins import generated_names

        return generated_names(suffix)

    def names() -> list[str]:
        return sorted([maker, *modules, *generated()])

    def get(name: str) -> object:
        if name in modules:
            return getattr(import_module(f".{modules[name]}", package), name)
        if name == "__all__":
            return names()
        strategy = None if name.startswith("_") else generated().get(name)
        if strategy is None:
            raise MissingAttributeError(sys.modules[package], name, package.rpartition(".")[2])
        from kinsplit.parsers import strategy_class

        module, _, function = class_maker.partition(":")
        return getattr(import_module(f".{module}", package), function)(strategy_class(strategy))

    return get, names
