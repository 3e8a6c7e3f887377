"""Options of commands, derived from their docstrings and from the models in `kinsplit.options`.

A command is a function whose docstring describes its parameters, as in `output (FILE): File for the rows.` The word in
brackets stands for the value in the help. Those that commands share are described in the docstring of
`kinsplit.cli.options`. Parameters before `/`, and those before `*` without a default, are arguments; all others are
options. One that Typer itself is told about, with `Annotated`, has no description. A parameter `terminal` is the
terminal to write to, and gives the command the option `--json`.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from importlib import import_module
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple, TypeVar, Union, get_args, get_origin

import typer

from kinsplit.cli import options as shared
from kinsplit.cli.options import parse_limits, parse_names, parse_where
from kinsplit.cli.output.terminal import Terminal
from kinsplit.support.docstrings import Described, described
from kinsplit.support.extras import needs
from kinsplit.support.literals import read_value

if TYPE_CHECKING:
    from pydantic.fields import FieldInfo

_Command = TypeVar("_Command", bound=Callable[..., None])


_SHARED = described(shared.__doc__, "Options")
# Functions that load the fields that are options of a command.
_FIELDS: dict[Callable[..., None], Callable[[], dict[str, FieldInfo]]] = {}
# Stands for a parameter `terminal`.
_JSON = inspect.Parameter(
    "as_json",
    inspect.Parameter.KEYWORD_ONLY,
    default=False,
    annotation=Annotated[bool, typer.Option("--json", help="Write JSON to stdout, and JSON lines to stderr.")],
)
_WORDS: dict[Any, str] = {int: "N", float: "X"}
# Shorter names of some options, and Python's own words.
_SHORT = {"vector_cache": "--cache", "settings": "--set", "into": "--as"}
# The singular of those that can be repeated.
_ONE = {"collections": "--collection", "readers": "--reader", "limits": "--limit"}


class _Form(NamedTuple):
    """The form of a value on the command line, where it can't be written as one.

    Attributes:
        metavar: Word for the value.
        help: Addition to the description.
        read: Function that returns the value.
        repeats: Whether the option can be repeated.
    """

    metavar: str
    help: str
    read: Callable[[Any], Any]
    repeats: bool = True


_FORMS = {
    "where": _Form(
        "KEY=VALUE", "Also with !=, <, <=, > or >= instead of =; repeating KEY= adds an alternative value.", parse_where
    ),
    "subjects": _Form("A,B", "", parse_names, repeats=False),
    "readers": _Form("NAME", "Repeatable.", tuple),
    "limits": _Form("KEY=VALUE", "Such as memory=4GiB; repeatable.", parse_limits),
}


def from_options(
    *models: str, door: str = "CLI", without: tuple[str, ...] = (), extra: str = "cli"
) -> Callable[[_Command], _Command]:
    """Make the fields of some models options of a command, which gets those that are given as keyword arguments.

    The models are loaded when the command is used, since that takes half as long as a start.

    Args:
        *models: Their names in `kinsplit.options`, or `MODULE:NAME` elsewhere.
        door: The door that offers them, in the same form.
        without: Fields that this command has no use for.
        extra: Extra that the models need.
    """

    def fields() -> dict[str, FieldInfo]:
        with needs(extra):
            found = _load(door).fields(*map(_load, models))
        return {name: info for name, info in found.items() if name not in without}

    def mark(function: _Command) -> _Command:
        _FIELDS[function] = fields
        return function

    return mark


def with_options(function: Callable[..., None]) -> Callable[..., None]:
    """Return a command whose parameters have their help, and with the options of its models instead of `**options`.

    Raises:
        MissingExtraError: The models need an extra that is not installed.
    """
    texts, fields = _SHARED | described(function.__doc__, "Args"), _FIELDS.get(function, dict)()
    derived = [_option(name, info) for name, info in fields.items()]
    signature = inspect.signature(function, eval_str=True)
    given = (each for each in signature.parameters.values() if each.kind is not each.VAR_KEYWORD)
    own = [_JSON if each.name == "terminal" else _documented(each, texts) for each in given]
    alone = [each for each in own if each.kind is each.KEYWORD_ONLY]

    @functools.wraps(function)
    def run(**arguments: Any) -> None:
        for name in fields.keys() & arguments.keys():
            value = arguments.pop(name)
            if value is not None:
                arguments[name] = _FORMS[name].read(value) if name in _FORMS else value
        if _JSON in own:
            arguments["terminal"] = Terminal(as_json=arguments.pop(_JSON.name))
        places = [arguments.pop(each.name) for each in own if each.kind is each.POSITIONAL_ONLY]
        function(*places, **arguments)

    del run.__wrapped__  # Typer would take its signature.
    parameters = [*own[: len(own) - len(alone)], *derived, *alone]
    run.__signature__ = signature.replace(parameters=[each.replace(kind=each.KEYWORD_ONLY) for each in parameters])  # type: ignore[attr-defined]
    run.__annotations__ = {each.name: each.annotation for each in parameters}
    return run


def _documented(parameter: inspect.Parameter, texts: Mapping[str, Described]) -> inspect.Parameter:
    """Return a parameter with its help: as an argument if Python takes it by position, and as an option otherwise."""
    if get_origin(parameter.annotation) is Annotated or parameter.name not in texts:
        return parameter
    word, text = texts[parameter.name]
    by_place = parameter.kind is not parameter.KEYWORD_ONLY and parameter.default is parameter.empty
    is_argument = by_place or parameter.kind is parameter.POSITIONAL_ONLY
    flags = [] if is_argument else [_flag(parameter.name)]
    make: Any = typer.Option if flags else typer.Argument
    return parameter.replace(annotation=Annotated[parameter.annotation, make(*flags, metavar=word or None, help=text)])


def _flag(name: str) -> str:
    return (_SHORT | _ONE).get(name, f"--{name.replace('_', '-')}")


def _load(name: str) -> Any:
    module, _, attribute = name.rpartition(":")
    return getattr(import_module(module or "kinsplit.options"), attribute)


def _option(name: str, info: FieldInfo) -> inspect.Parameter:
    """Return the option of a field; its default is None, for one that isn't given."""
    flag, kind = _flag(name), _kind(info.annotation)
    text = f"{info.description}{_default(info)}"
    settings: dict[str, Any] = {"help": text}
    if name in _FORMS:
        form = _FORMS[name]
        kind = list[str] if form.repeats else str
        settings |= {"help": f"{text} {form.help}".strip(), "metavar": form.metavar}
    elif get_origin(kind) is Literal:
        settings["metavar"] = "|".join(get_args(kind))
    elif words := [word for each in _kinds(info.annotation) if get_origin(each) is Literal for word in get_args(each)]:
        settings |= {"metavar": "|".join([_WORDS[kind], *words]), "parser": read_value}
    elif kind is bool:
        flag = f"{flag}/--no-{name}" if info.default else flag
    else:
        settings["metavar"] = _WORDS.get(kind, name.upper())
    given: Any = kind
    annotation = Annotated[given | None, typer.Option(flag, **settings)]
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation)


def _default(info: FieldInfo) -> str:
    """Return a sentence about the default, unless the description has one."""
    has_one = info.default in (None, False, ()) or info.default_factory or "Default:" in (info.description or "")
    return "" if has_one else f" Default: {info.default}."


def _kind(annotation: Any) -> Any:
    """Return the first type that the command line can express; text for all others."""
    kinds = _kinds(annotation)
    if any(get_origin(kind) is tuple for kind in kinds):
        return list[str]
    return next((kind for kind in kinds if kind in (bool, int, float) or get_origin(kind) is Literal), str)


def _kinds(annotation: Any) -> list[Any]:
    """Return the types of a union, or the type alone, without None."""
    if get_origin(annotation) is Annotated:
        return _kinds(get_args(annotation)[0])
    if get_origin(annotation) in (Union, UnionType):
        return [kind for arg in get_args(annotation) for kind in _kinds(arg)]
    return [] if annotation is NoneType else [annotation]
