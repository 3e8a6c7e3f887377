"""Options of commands, derived from their docstrings and from the doors in `kinsplit.doors`.

A command is a function whose docstring describes its parameters, as in `output (FILE): File for the rows.` The word in
brackets stands for the value in the help. Those that commands share are described in the docstring of
`kinsplit.cli.options`. Parameters before `/`, and those before `*` without a default, are arguments; all others are
options. One that Typer itself is told about, with `Annotated`, has no description. A parameter `terminal` is the
terminal to write to, and gives the command the option `--json`.

An option of a door that isn't given has the value in the door's table of the settings file, if it has one there.
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
from kinsplit.cli.options import parse_limits, parse_names, parse_weights, parse_where, read_table
from kinsplit.cli.output.terminal import Terminal
from kinsplit.support.docstrings import Described, described
from kinsplit.support.extras import needs
from kinsplit.support.literals import read_value

if TYPE_CHECKING:
    from pydantic.fields import FieldInfo

    from kinsplit.doors import Door

_Command = TypeVar("_Command", bound=Callable[..., None])


_SHARED = described(shared.__doc__, "Options")
# Functions that load the door of a command, whose options are the command's.
_DOORS: dict[Callable[..., None], Callable[[], Door]] = {}
# Typer hands it over, and shows no option for it.
_CONTEXT = inspect.Parameter("context", inspect.Parameter.KEYWORD_ONLY, annotation=typer.Context)
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
_ONE = {
    "collections": "--collection",
    "coverage_levels": "--coverage-level",
    "limits": "--limit",
    "measures": "--measure",
    "readers": "--reader",
    "weights": "--weight",
}


# Registries with the names that the shell completes.
_COMPLETED = {
    "strategy": "kinsplit.parsers.registry:STRATEGIES",
    "embedder": "kinsplit.embedding.registry:EMBEDDERS",
    "rerank": "kinsplit.retrieval.rerank:RERANKERS",
}


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
    "weights": _Form("KEY=X", "Such as siblings=0.3; repeatable.", parse_weights),
    "measures": _Form("NAME", "Repeatable.", list),
}


def from_options(door: str = "", extra: str = "cli") -> Callable[[_Command], _Command]:
    """Make the options of a door options of a command, which gets those that are set as keyword arguments.

    The door is loaded when the command is used, since that takes half as long as a start.

    Args:
        door: The door, as `MODULE:NAME`; by default that of the command in `kinsplit.doors.COMMANDS`.
        extra: Extra that the door needs.
    """

    def mark(function: _Command) -> _Command:
        def load() -> Door:
            with needs(extra):
                module, _, name = door.partition(":")
                found = getattr(import_module(module or "kinsplit.doors"), name or "COMMANDS")
            made: Door = found if door else found[function.__name__]
            return made

        _DOORS[function] = load
        return function

    return mark


def with_options(function: Callable[..., None]) -> Callable[..., None]:
    """Return a command whose parameters have their help, and with the options of its door instead of `**options`.

    Raises:
        MissingExtraError: The door needs an extra that is not installed.
    """
    texts = _SHARED | described(function.__doc__, "Args")
    door = _DOORS[function]() if function in _DOORS else None
    fields = {} if door is None else door.fields()
    derived = [_option(name, info) for name, info in fields.items()]
    derived += [_negation(name) for name, info in fields.items() if info.default is False]
    signature = inspect.signature(function, eval_str=True)
    listed = (each for each in signature.parameters.values() if each.kind is not each.VAR_KEYWORD)
    own = [_JSON if each.name == "terminal" else _documented(each, texts) for each in listed]
    alone = [each for each in own if each.kind is each.KEYWORD_ONLY]

    @functools.wraps(function)
    def run(context: typer.Context, **arguments: Any) -> None:
        taken_back = {name: False for name in fields if arguments.pop(_no(name), False)}
        given = {name: arguments.pop(name) for name in fields}
        options = {name: _read(name, value) for name, value in given.items() if value is not None} | taken_back
        if door is not None:
            of_file = read_table(door.table, context.meta.get("config"))
            of_door = {name: default.value for name, default in door.defaults.items()}
            options = {**of_door, **{name: value for name, value in of_file.items() if name in fields}, **options}
        if _JSON in own:
            quiet = bool(context.meta.get("quiet"))
            arguments["terminal"] = Terminal(as_json=arguments.pop(_JSON.name), quiet=quiet)
        places = [arguments.pop(each.name) for each in own if each.kind is each.POSITIONAL_ONLY]
        function(*places, **arguments, **options)

    del run.__wrapped__  # Typer would take its signature.
    parameters = [*own[: len(own) - len(alone)], *derived, *alone, _CONTEXT]
    run.__signature__ = signature.replace(parameters=[each.replace(kind=each.KEYWORD_ONLY) for each in parameters])  # type: ignore[attr-defined]
    run.__annotations__ = {each.name: each.annotation for each in parameters}
    return run


def _read(name: str, value: Any) -> Any:
    return _FORMS[name].read(value) if name in _FORMS else value


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
        flag = f"{flag}/{_no(flag)}" if info.default else flag
    else:
        settings["metavar"] = _WORDS.get(kind, name.upper())
    if name in _COMPLETED:
        settings["autocompletion"] = _completion(_COMPLETED[name])
    given: Any = kind
    annotation = Annotated[given | None, typer.Option(flag, **settings)]
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation)


def _completion(place: str) -> Callable[[str], list[str]]:
    """Return the function that gives the shell the names in a registry that begin with what was typed."""

    def complete(incomplete: str) -> list[str]:
        module, _, registry = place.partition(":")
        return [name for name in getattr(import_module(module), registry).names() if name.startswith(incomplete)]

    return complete


def _negation(name: str) -> inspect.Parameter:
    """Return the option that takes back what a settings file switches on; help shows none, which would be narrower."""
    annotation = Annotated[bool, typer.Option(_no(_flag(name)), hidden=True)]
    return inspect.Parameter(_no(name), inspect.Parameter.KEYWORD_ONLY, default=False, annotation=annotation)


def _no(name: str) -> str:
    """Return the name or the flag of the option that negates another."""
    return f"--no-{name.removeprefix('--')}" if name.startswith("--") else f"no_{name}"


def _default(info: FieldInfo) -> str:
    """Return a sentence about the default, unless the description has one."""
    has_one = info.default in (None, False, ()) or info.default_factory or "Default:" in (info.description or "")
    return "" if has_one else f" Default: {info.default}."


def _kind(annotation: Any) -> Any:
    """Return the first type that the command line can express; text for all others."""
    kinds = _kinds(annotation)
    if of_many := next((kind for kind in kinds if get_origin(kind) is tuple), None):
        each: Any = get_args(of_many)[0]
        return list[each if each is float else str]  # type: ignore[misc]
    return next((kind for kind in kinds if kind in (bool, int, float) or get_origin(kind) is Literal), str)


def _kinds(annotation: Any) -> list[Any]:
    """Return the types of a union, or the type alone, without None."""
    if get_origin(annotation) is Annotated:
        return _kinds(get_args(annotation)[0])
    if get_origin(annotation) in (Union, UnionType):
        return [kind for arg in get_args(annotation) for kind in _kinds(arg)]
    return [] if annotation is NoneType else [annotation]
