"""Exit codes of the commands, and their errors and warnings as single lines on stderr."""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import ParamSpec

import typer

from kinsplit.cli.output.terminal import Terminal
from kinsplit.errors import KinsplitError, KinsplitWarning
from kinsplit.support.warnings import capture_warnings

SOME_FAILED, NOTHING_DONE, DEFECT, INTERRUPTED, BROKEN_PIPE = 1, 2, 70, 130, 141
#: The exit codes, for the help and the docs.
EXIT_CODES = {
    0: "success",
    SOME_FAILED: "some files failed, or a check did",
    NOTHING_DONE: "nothing was done, as after a wrong argument",
    DEFECT: "a bug",
    INTERRUPTED: "interrupted by Ctrl-C",
    BROKEN_PIPE: "the reader of the output stopped reading",
}

# What an interrupted command leaves, and how to go on.
_GOES_ON = {
    "copy": "The documents that were copied stay; the same command copies the others.",
    "restore": "The collection is not there yet; the same command goes on.",
    "evaluate": "What was computed is in the cache, unless that is off; the same command goes on.",
    "questions": "Answers of the model are in the cache, unless that is off; the same command goes on.",
    "fetch_wikipedia": "Articles that are there stay; the same command fetches the others.",
}

_P = ParamSpec("_P")


@contextmanager
def report_warnings(terminal: Terminal) -> Iterator[None]:
    """Write kinsplit's warnings to the terminal, each once; all others pass through.

    Those that are combined are written when the block ends, all others at once, since they may be about what follows.
    """
    captured: list[KinsplitWarning] = []
    shown: set[str] = set()

    def show(warning: KinsplitWarning) -> None:
        if str(warning) not in shown:
            shown.add(str(warning))
            terminal.warning(str(warning))

    try:
        with capture_warnings(show) as captured:
            yield
    finally:
        for warning in captured:
            show(warning)


def command(function: Callable[_P, None]) -> Callable[_P, None]:
    """Make a command report its expected failures in one line and an exit code, without a traceback.

    Args:
        function: The command; its parameter `as_json`, if it has one, makes notes JSON.
    """

    @functools.wraps(function)
    def run(*args: _P.args, **kwargs: _P.kwargs) -> None:
        meta = getattr(kwargs.get("context"), "meta", {})
        terminal = Terminal(as_json=bool(kwargs.get("as_json")), quiet=bool(meta.get("quiet")))
        try:
            try:
                with report_warnings(terminal):
                    function(*args, **kwargs)
            finally:
                sys.stdout.flush()  # A broken pipe must be caught here, before Python exits.
        except BrokenPipeError:
            _discard_stdout()
            raise typer.Exit(BROKEN_PIPE) from None
        except (KinsplitError, OSError) as error:
            terminal.error(error)
            raise typer.Exit(NOTHING_DONE) from None
        except KeyboardInterrupt as stopped:
            terminal.warning(" ".join(filter(None, ("Stopped.", str(stopped) or _GOES_ON.get(function.__name__)))))
            raise typer.Exit(INTERRUPTED) from None

    return run


def exit_code(*, failed: int, done: int) -> int:
    """Return the exit code of a run over files.

    Args:
        failed: Number of failed files or documents.
        done: Number of the others.
    """
    if not failed:
        return 0
    return SOME_FAILED if done else NOTHING_DONE


def _discard_stdout() -> None:
    """Redirect stdout to the null device, so that Python's flush at exit finds no broken pipe."""
    devnull = os.open(os.devnull, os.O_WRONLY)
    os.dup2(devnull, sys.stdout.fileno())
    os.close(devnull)
