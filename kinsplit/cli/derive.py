"""Options of commands, derived from the models in `kinsplit.options`."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple, TypeVar, Union, get_args, get_origin

import typer

from kinsplit.cli.options import parse_limits, parse_names, parse_where
from kinsplit.support.literals import read_value

if TYPE_CHECKING:
    from pydantic.fields import FieldInfo

_Command = TypeVar("_Command", bound=Callable[..., None])
# Names of models in `kinsplit.options` and of fields that are left out, by the command that has the others as options.
_MODELS: dict[Callable[..., None], tuple[tuple[str, ...], tuple[str, ...]]] = {}
_WORDS: dict[Any, str] = {int: "N", float: "X"}


# Shorter names of some options.
_FLAGS = {"vector_cache": "--cache"}


class _Form(NamedTuple):
    """The form of a value on the command line, where it can't be written as one.

    Attributes:
        flag: Name of the option.
        metavar: Word for the value.
        help: Addition to the description.
        read: Function that returns the value.
        repeats: Whether the option can be repeated.
    """

    flag: str
    metavar: str
    help: str
    read: Callable[[Any], Any]
    repeats: bool = True


_FORMS = {
    "where": _Form(
        "--where",
        "KEY=VALUE",
        "Also with !=, <, <=, > or >= instead of =; repeating KEY= adds an alternative value.",
        parse_where,
    ),
    "subjects": _Form("--subjects", "A,B", "", parse_names, repeats=False),
    "readers": _Form("--reader", "NAME", "Repeatable.", tuple),
    "limits": _Form("--limit", "KEY=VALUE", "Such as memory=4GiB; repeatable.", parse_limits),
}


def from_options(*models: str, without: tuple[str, ...] = ()) -> Callable[[_Command], _Command]:
    """Make the fields of some models options of a command, which gets those that were given as keyword arguments.

    The models are loaded when the command is used, since that takes half as long as a start.

    Args:
        *models: Their names in `kinsplit.options`.
        without: Fields that this command has no use for.
    """

    def mark(function: _Command) -> _Command:
        _MODELS[function] = models, without
        return function

    return mark


def with_options(function: Callable[..., None]) -> Callable[..., None]:
    """Return a command with the options of its models, in the place of its `**options`; see `from_options`."""
    if function not in _MODELS:
        return function
    from kinsplit import options

    models, without = _MODELS[function]
    fields = options.CLI.fields(*(getattr(options, model) for model in models))
    derived = [_option(name, info) for name, info in fields.items() if name not in without]
    signature = inspect.signature(function, eval_str=True)
    own = [each for each in signature.parameters.values() if each.kind is not each.VAR_KEYWORD]
    alone = [each for each in own if each.kind is each.KEYWORD_ONLY]

    @functools.wraps(function)
    def run(**arguments: Any) -> None:
        for each in derived:
            value = arguments.pop(each.name)
            if value != each.default:
                arguments[each.name] = _FORMS[each.name].read(value) if each.name in _FORMS else value
        function(**arguments)

    del run.__wrapped__  # Typer would take its signature.
    parameters = [*own[: len(own) - len(alone)], *derived, *alone]
    run.__signature__ = signature.replace(parameters=[each.replace(kind=each.KEYWORD_ONLY) for each in parameters])  # type: ignore[attr-defined]
    run.__annotations__ = {each.name: each.annotation for each in parameters}
    return run


def _option(name: str, info: FieldInfo) -> inspect.Parameter:
    """Return the option of a field."""
    flag, default, kind = f"--{name.replace('_', '-')}", info.default, _kind(info.annotation)
    settings: dict[str, Any] = {"help": info.description}
    if name in _FORMS:
        form, default = _FORMS[name], None
        flag, kind = form.flag, list[str] if form.repeats else str
        settings = {"help": f"{info.description} {form.help}".strip(), "metavar": form.metavar}
    elif get_origin(kind) is Literal:
        settings["metavar"] = "|".join(get_args(kind))
    elif words := [word for each in _kinds(info.annotation) for word in get_args(each)]:
        settings |= {"metavar": "|".join([_WORDS[kind], *words]), "parser": _number_or_word}
    elif kind is not bool:
        settings["metavar"] = _WORDS.get(kind, name.upper())
    made: Any = kind if default is not None else kind | None
    annotation = Annotated[made, typer.Option(_FLAGS.get(name, flag), **settings)]
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def _kind(annotation: Any) -> Any:
    """Return the first type that the command line can express; text for all others."""
    kinds = _kinds(annotation)
    return next((kind for kind in kinds if kind in (bool, int, float) or get_origin(kind) is Literal), str)


def _number_or_word(value: str | int) -> object:
    return read_value(value) if isinstance(value, str) else value  # Typer also parses the default.


def _kinds(annotation: Any) -> list[Any]:
    """Return the types of a union, or the type alone, without None."""
    if get_origin(annotation) is Annotated:
        return _kinds(get_args(annotation)[0])
    if get_origin(annotation) in (Union, UnionType):
        return [kind for arg in get_args(annotation) for kind in _kinds(arg)]
    return [] if annotation is NoneType else [annotation]
