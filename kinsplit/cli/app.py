"""The Typer application with all commands."""

from __future__ import annotations

import faulthandler
import math
import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from io import TextIOWrapper
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape
from typer.core import TyperCommand, TyperGroup, TyperOption

import kinsplit
from kinsplit.cli.command import DEFECT, EXIT_CODES, NOTHING_DONE, command, report_warnings
from kinsplit.cli.defaults import config_file, default_of, named_model, remarks
from kinsplit.cli.derive import with_options
from kinsplit.cli.output.terminal import Terminal
from kinsplit.errors import InvalidParameterError, KinsplitError
from kinsplit.registry import Registry, function
from kinsplit.support.docstrings import summary
from kinsplit.support.environment import env_files

# Modules of the commands that share one; each other command has a module of its own name in `commands`.
_SHARED = {
    "collections": ("info", "delete", "rename", "switch", "drop", "copy", "backup", "restore"),
    "results": ("show", "report"),
    "serve": ("mcp",),
    "stores": ("doctor", "verify"),
    "strategies": ("readers",),
}
_MODULES = {name: module for module, names in _SHARED.items() for name in names}

# The commands by the headings of the help, in its order; each is a function of its name.
_PANELS = {
    "Try and split": ("demo", "sample", "chunk", "strategies", "readers"),
    "Index and search": ("index", "watch", "fetch-wikipedia", "search", "ask", "serve", "mcp"),
    "Collections": ("collections", "info", "verify", "delete", "rename", "switch", "drop", "copy", "backup", "restore"),
    "Evaluation": ("stats", "compare", "evaluate", "show", "report", "questions", "qrels", "tune"),
    "Setup": ("stores", "doctor", "models", "settings"),
}
_PANEL_OF = {name: panel for panel, names in _PANELS.items() for name in names}
#: Names of the commands.
NAMES = tuple(_PANEL_OF)

#: The commands; those of other packages are entry points of the group `kinsplit.commands`, and come after these in the
#: help. Each is a function as `kinsplit.cli.derive` describes it.
COMMANDS: Registry[Callable[..., None]] = Registry(
    "commands",
    "command",
    {name: f"kinsplit.cli.commands.{_MODULES.get(name, name)}:{name}".replace("-", "_") for name in NAMES},
    function,
)

_SETTINGS: dict[str, Any] = {
    "context_settings": {"help_option_names": ["-h", "--help"]},
    "pretty_exceptions_enable": False,
}
_SURROGATE = re.compile("[\ud800-\udfff]")


class _Parameters:
    """Parameters of which the help shows flags without a type."""

    def get_params(self, ctx: Any) -> list[Any]:
        params: list[Any] = super().get_params(ctx)  # type: ignore[misc]
        for param in params:
            param.metavar = "" if getattr(param, "is_flag", False) else param.metavar
        return params


class _Command(_Parameters, TyperCommand):
    """A command whose help shows brackets literally instead of as markup."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for param in self.params:
            if isinstance(param, TyperOption) and param.help:
                param.help = escape(param.help)
        own = {param.name for param in self.params}
        self.params += [param for param in _shared_options() if param.name not in own]

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if any(param.name == "ray" for param in self.params):
            # Typer has no options whose value may be left out.
            args = [
                f"{arg}=auto" if arg == "--ray" and after.startswith("-") else arg
                for arg, after in pairwise([*args, "-"])
            ]
        if any("\0" in arg for arg in args):
            raise typer.BadParameter("An argument holds a NUL character. Leave it out.", ctx)
        rest = super().parse_args(ctx, args)
        for param in self.params:
            _check(param, ctx)
        self._fill(ctx)
        return rest

    def _fill(self, ctx: Any) -> None:
        """Give options that aren't given the values of settings, and warn of settings that nothing reads."""
        terminal = Terminal(as_json=bool(ctx.params.get("as_json")), quiet=bool(ctx.meta.get("quiet")))
        try:
            config = config_file(ctx.params.get("config") or ctx.meta.get("config"))
            if "config" in ctx.params:
                ctx.params["config"] = config
            ctx.meta["config"] = config
            for param in self.params:
                name = param.name or ""
                if ctx.get_parameter_source(name).name == "DEFAULT":
                    value = default_of(self.name or "", name, param.default, config, ctx.params)
                    if value is not None:
                        ctx.params[name] = [value] if getattr(param, "multiple", False) else value
                if name in ctx.params:
                    ctx.params[name] = named_model(name, ctx.params[name], config)
            for remark in remarks(config):
                terminal.warning(remark)
        except (KinsplitError, OSError) as error:
            terminal.error(error)
            raise typer.Exit(NOTHING_DONE) from None


def _read_env_file(ctx: typer.Context, path: str | None) -> None:
    try:
        ctx.with_resource(env_files(None if path is None else Path(path)))
    except KinsplitError as error:
        raise typer.BadParameter(str(error)) from None


def _keep_config(ctx: typer.Context, path: str | None) -> None:
    ctx.meta["config"] = path


def _keep_quiet(ctx: typer.Context, quiet: bool) -> None:
    ctx.meta["quiet"] = quiet


_QUIET = typer.Option(
    "--quiet",
    "-q",
    expose_value=False,
    callback=_keep_quiet,
    help="Write the result and errors alone: no progress, no line for each file, no warnings.",
)
_ENV_FILE = typer.Option(
    "--env-file",
    metavar="FILE",
    is_eager=True,  # Read before the other options, which may take their values from variables.
    expose_value=False,
    callback=_read_env_file,
    help="File with variables, which count as set in the environment where they are not. Of a .env that is merely "
    "found, only some count. See: kinsplit settings",
)
_CONFIG = typer.Option(
    "--config",
    metavar="FILE",
    expose_value=False,
    callback=_keep_config,
    help="TOML file with settings. Default: KINSPLIT_CONFIG. See: kinsplit settings",
)


@cache
def _shared_options() -> list[Any]:
    """Return the options of every command. Typer makes them, since its classes of options differ between versions."""
    alone = typer.Typer(add_completion=False)

    @alone.command()
    def _(
        quiet: Annotated[bool, _QUIET] = False,
        env_file: Annotated[str | None, _ENV_FILE] = None,
        config: Annotated[str | None, _CONFIG] = None,
    ) -> None: ...

    return list(typer.main.get_command(alone).params)


def _check(param: Any, ctx: Any) -> None:
    """Reject values that no option means: numbers that are none, and text that can't be written anywhere."""
    given = ctx.params.get(param.name)
    for value in given if isinstance(given, list | tuple) else [given]:
        if isinstance(value, float) and not math.isfinite(value):
            raise typer.BadParameter(f"{value} is not a finite number.", ctx, param)
        # Names of files may be any bytes, which Python keeps as surrogates.
        if isinstance(value, str) and _SURROGATE.search(value):
            raise typer.BadParameter("The text is not valid UTF-8. Check the encoding of the terminal.", ctx, param)


@cache
def _load(name: str) -> Any:
    """Import a command, and build its parameters."""
    part = COMMANDS.load(name)
    alone = typer.Typer(add_completion=False, **_SETTINGS)
    try:
        run = with_options(part)
    except KinsplitError as error:  # An extra is missing.
        Terminal(as_json="--json" in sys.argv).error(error)
        raise typer.Exit(NOTHING_DONE) from None
    alone.command(name, cls=_Command, help=summary(part.__doc__, "Args"))(command(run))
    return typer.main.get_command(alone)


def _names() -> list[str]:
    with report_warnings(Terminal(as_json=False)):
        return list(COMMANDS.load_all())


class _Commands(Mapping[str, Any]):
    """The commands by name, each loaded when it is used: loading all of them is half of a start."""

    def __getitem__(self, name: str) -> Any:
        try:
            return _load(name)
        except InvalidParameterError:
            raise KeyError(name) from None

    def __iter__(self) -> Iterator[str]:
        return iter(_names())

    def __len__(self) -> int:
        return len(_names())


class _Group(_Parameters, TyperGroup):
    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.commands = _Commands()  # type: ignore[assignment]  # Nothing is added to them.

    def list_commands(self, _ctx: Any) -> list[str]:
        return _names()

    def format_help(self, ctx: Any, formatter: Any) -> None:
        # A list of the commands needs no parameters, some of which are derived from models that take long to load.
        texts = {name: summary(COMMANDS.load(name).__doc__, "Args") for name in _names()}
        self.commands = {
            name: TyperCommand(name, help=text, rich_help_panel=_PANEL_OF.get(name, "Of other packages"))
            for name, text in texts.items()
        }
        super().format_help(ctx, formatter)


app = typer.Typer(
    name="kinsplit",
    cls=_Group,
    help="Split documents into chunks that know their kin, index them, search them, and evaluate splitting strategies.",
    epilog=f"Exit codes: {'; '.join(f'{code} {meaning}' for code, meaning in EXIT_CODES.items())}.",
    no_args_is_help=True,
    **_SETTINGS,
)


def _show_version(requested: bool) -> None:
    if requested:
        typer.echo(f"kinsplit {kinsplit.__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    pass


def main() -> None:
    """Run the command line. Entry point of the `kinsplit` script."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # Closed by the caller.
            setattr(sys, name, Path(os.devnull).open("w"))  # noqa: SIM115
        if isinstance(stream := getattr(sys, name), TextIOWrapper):
            stream.reconfigure(errors="replace")  # Characters that the terminal can't show become "?".
    # Prints a stack if a signal kills the process, as after a fault in native code or on a full disk.
    faulthandler.enable()
    try:
        app()
    except Exception as error:
        if os.environ.get("KINSPLIT_TRACEBACK"):
            raise
        Terminal(as_json="--json" in sys.argv).defect(error)
        sys.exit(DEFECT)
