"""The Typer application with all commands."""

from __future__ import annotations

import faulthandler
import inspect
import re
import sys
from io import TextIOWrapper
from typing import Annotated, Any

import typer
from rich.markup import escape
from typer.core import TyperCommand, TyperGroup, TyperOption

import kinsplit
from kinsplit.cli.command import command
from kinsplit.cli.commands.ask import ask
from kinsplit.cli.commands.backup import backup
from kinsplit.cli.commands.chunk import chunk
from kinsplit.cli.commands.collections import collections
from kinsplit.cli.commands.compare import compare
from kinsplit.cli.commands.copy import copy
from kinsplit.cli.commands.delete import delete
from kinsplit.cli.commands.demo import demo
from kinsplit.cli.commands.doctor import doctor
from kinsplit.cli.commands.drop import drop
from kinsplit.cli.commands.evaluate import evaluate
from kinsplit.cli.commands.fetch_wikipedia import fetch_wikipedia
from kinsplit.cli.commands.index import index
from kinsplit.cli.commands.info import info
from kinsplit.cli.commands.mcp import mcp
from kinsplit.cli.commands.qrels import qrels
from kinsplit.cli.commands.questions import questions
from kinsplit.cli.commands.readers import readers
from kinsplit.cli.commands.rename import rename
from kinsplit.cli.commands.report import report
from kinsplit.cli.commands.restore import restore
from kinsplit.cli.commands.search import search
from kinsplit.cli.commands.serve import serve
from kinsplit.cli.commands.show import show
from kinsplit.cli.commands.stores import stores
from kinsplit.cli.commands.strategies import strategies
from kinsplit.cli.commands.switch import switch
from kinsplit.cli.commands.tune import tune
from kinsplit.cli.commands.verify import verify
from kinsplit.cli.commands.watch import watch

# A line end inside a paragraph, which Typer would keep.
_LINE_END = re.compile(r"(?<!\n)\n(?!\n)")


class _Command(TyperCommand):
    """A command whose help shows flags without a type, and brackets literally instead of as markup."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for param in self.params:
            if isinstance(param, TyperOption) and param.help:
                param.help = escape(param.help)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if any(param.name == "ray" for param in self.params):
            # Typer has no options whose value may be left out.
            followers = [*args[1:], "-"]
            bare = [arg == "--ray" and after.startswith("-") for arg, after in zip(args, followers, strict=True)]
            args = [f"{arg}=auto" if is_bare else arg for arg, is_bare in zip(args, bare, strict=True)]
        return super().parse_args(ctx, args)

    def get_params(self, ctx: Any) -> list[Any]:
        return _hide_flag_types(super().get_params(ctx))


class _Group(TyperGroup):
    def get_params(self, ctx: Any) -> list[Any]:
        return _hide_flag_types(super().get_params(ctx))


def _hide_flag_types(params: list[Any]) -> list[Any]:
    for param in params:
        if getattr(param, "is_flag", False) and param.metavar is None:
            param.metavar = ""
    return params


app = typer.Typer(
    name="kinsplit",
    cls=_Group,
    help="Split documents into chunks that know their kin, index them, search them, and evaluate splitting strategies.",
    epilog="Exit codes: 0 success, 1 some files failed, 2 nothing was done, 130 interrupted by Ctrl-C.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
)

for _command in (
    demo,
    strategies,
    readers,
    chunk,
    index,
    watch,
    fetch_wikipedia,
    search,
    ask,
    serve,
    mcp,
    info,
    verify,
    delete,
    stores,
    doctor,
    collections,
    rename,
    switch,
    drop,
    copy,
    backup,
    restore,
    compare,
    evaluate,
    show,
    report,
    questions,
    qrels,
    tune,
):
    app.command(cls=_Command, help=_LINE_END.sub(" ", inspect.cleandoc(_command.__doc__ or "")))(command(_command))


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
    # Prints a stack if a signal kills the process, as after a fault in native code or on a full disk.
    faulthandler.enable()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")  # Characters that the terminal can't show become "?".
    app()
