"""Options of commands, derived from the models in `kinsplit.options`."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar, Union, get_args, get_origin

import typer

from kinsplit.cli.options import Where, parse_where
from kinsplit.support.literals import read_value

if TYPE_CHECKING:
    from pydantic.fields import FieldInfo

_Command = TypeVar("_Command", bound=Callable[..., None])
#: Names of models in `kinsplit.options`, by the command that takes their fields as its options.
_MODELS: dict[Callable[..., None], tuple[str, ...]] = {}
# Options with a form of their own on the command line, and the functions that read it.
_FORMS: dict[str, tuple[Any, Callable[[Any], Any]]] = {"where": (Where, parse_where)}
_WORDS: dict[Any, str] = {int: "N", float: "X"}


def from_options(*models: str) -> Callable[[_Command], _Command]:
    """Make the fields of some models options of a command, which gets those that were given as keyword arguments.

    The models are loaded when the command is used, since that takes half as long as a start.

    Args:
        *models: Their names in `kinsplit.options`.
    """

    def mark(function: _Command) -> _Command:
        _MODELS[function] = models
        return function

    return mark


def with_options(function: Callable[..., None]) -> Callable[..., None]:
    """Return a command with the options of its models, in the place of its `**options`; see `from_options`."""
    if function not in _MODELS:
        return function
    from kinsplit import options

    fields = options.CLI.fields(*(getattr(options, model) for model in _MODELS[function]))
    derived = [_option(name, info) for name, info in fields.items()]
    signature = inspect.signature(function, eval_str=True)
    own = [each for each in signature.parameters.values() if each.kind is not each.VAR_KEYWORD]
    alone = [each for each in own if each.kind is each.KEYWORD_ONLY]

    @functools.wraps(function)
    def run(**arguments: Any) -> None:
        for each in derived:
            value = arguments.pop(each.name)
            if value != each.default:
                arguments[each.name] = _FORMS[each.name][1](value) if each.name in _FORMS else value
        function(**arguments)

    del run.__wrapped__  # Typer would take its signature.
    parameters = [*own[: len(own) - len(alone)], *derived, *alone]
    run.__signature__ = signature.replace(parameters=[each.replace(kind=each.KEYWORD_ONLY) for each in parameters])  # type: ignore[attr-defined]
    run.__annotations__ = {each.name: each.annotation for each in parameters}
    return run


def _option(name: str, info: FieldInfo) -> inspect.Parameter:
    """Return the option of a field."""
    if name in _FORMS:
        return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=_FORMS[name][0])
    kinds = _kinds(info.annotation)
    words = [word for kind in kinds if get_origin(kind) is Literal for word in get_args(kind)]
    plain = next((kind for kind in kinds if kind in (bool, int, float, str)), str)
    settings: dict[str, Any] = {"help": info.description, "metavar": _WORDS.get(plain, name.upper())}
    kind: Any = plain
    if words and len(kinds) > 1:
        settings |= {"metavar": "|".join([settings["metavar"], *words]), "parser": _number_or_word}
    elif words:
        settings["metavar"], kind = "|".join(words), kinds[0]
    elif plain is bool:
        del settings["metavar"]
    option = typer.Option(f"--{name.replace('_', '-')}", **settings)
    made: Any = kind if info.default is not None else kind | None
    annotation = Annotated[made, option]
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=info.default, annotation=annotation)


def _number_or_word(value: str | int) -> object:
    return read_value(value) if isinstance(value, str) else value  # Typer also parses the default.


def _kinds(annotation: Any) -> list[Any]:
    """Return the types of a union, or the type alone, without None."""
    if get_origin(annotation) is Annotated:
        return _kinds(get_args(annotation)[0])
    if get_origin(annotation) in (Union, UnionType):
        return [kind for arg in get_args(annotation) for kind in _kinds(arg)]
    return [] if annotation is NoneType else [annotation]
