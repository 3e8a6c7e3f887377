"""The text splitter class of each strategy, made from the strategy."""

from __future__ import annotations

from functools import cache
from inspect import Parameter, Signature

from kinsplit.integrations.langchain.text_splitter import KinsplitTextSplitter
from kinsplit.integrations.twins import documentation, twin_name
from kinsplit.parsers import Strategy, strategy_class


@cache
def text_splitter_class(strategy: type[Strategy]) -> type[KinsplitTextSplitter]:
    """Return the text splitter class of a strategy, with the strategy's parameters in its signature."""
    keywords = [
        Parameter(name, Parameter.KEYWORD_ONLY, default=info.default, annotation=info.annotation)
        for name, info in strategy.model_fields.items()
    ]
    keywords.append(Parameter("add_start_index", Parameter.KEYWORD_ONLY, default=True, annotation=bool))
    described = f"{documentation(strategy)}\n    add_start_index: Whether offsets are also under LangChain's own name."
    body = {
        "strategy_class": strategy,
        "__doc__": described,
        "__module__": __package__,
        "__signature__": Signature(keywords),
    }
    return type(twin_name(strategy.name, "TextSplitter"), (KinsplitTextSplitter,), body)


def text_splitter(name: str, *, add_start_index: bool = True, **parameters: object) -> KinsplitTextSplitter:
    """Return a strategy as a text splitter.

    Args:
        name: One of `kinsplit.parsers.names()`.
        add_start_index: Whether chunks also have their offsets under LangChain's own name.
        **parameters: The strategy's parameters.

    Raises:
        InvalidParameterError: The name, a parameter or a value is not allowed.
    """
    return text_splitter_class(strategy_class(name))(add_start_index=add_start_index, **parameters)
