"""Native components for both frameworks: splitters, vector stores, retrievers, sibling expansion and reranking.

`llama_index` and `langchain` are both optional. `shared` holds the code that both use, without either framework.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from difflib import get_close_matches
from importlib import import_module


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
            near = () if name.startswith("_") else get_close_matches(name, names(), 1, 0.5)
            meant = f". Did you mean {near[0]!r}?" if near else ""
            raise AttributeError(f"module {package!r} has no attribute {name!r}{meant}")
        from kinsplit.parsers import strategy_class

        module, _, function = class_maker.partition(":")
        return getattr(import_module(f".{module}", package), function)(strategy_class(strategy))

    return get, names
