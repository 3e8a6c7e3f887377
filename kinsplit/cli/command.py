"""How every command ends: with an exit code and, where it failed, one line on stderr."""

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


@contextmanager
def report_warnings(terminal: Terminal) -> Iterator[None]:
    """Write kinsplit's warnings as the command's own when the block ends, each once, and let all others through."""
    captured: list[KinsplitWarning] = []
    try:
        with capture_warnings() as captured:
            yield
    finally:
        for warning in captured:
            terminal.warning(str(warning))


SOME_FAILED = 1
NOTHING_DONE = 2
INTERRUPTED = 130
BROKEN_PIPE = 141

_P = ParamSpec("_P")


def command(function: Callable[_P, None]) -> Callable[_P, None]:
    """Make a command's expected failures end in one line and an exit code, never in a traceback.

    Args:
        function: The command, with a parameter `as_json`.
    """

    @functools.wraps(function)
    def run(*args: _P.args, **kwargs: _P.kwargs) -> None:
        terminal = Terminal(as_json=bool(kwargs["as_json"]))
        try:
            try:
                with report_warnings(terminal):
                    function(*args, **kwargs)
            finally:
                sys.stdout.flush()  # Here, where a broken pipe is caught, and not when Python exits.
        except BrokenPipeError:
            _forget_stdout()
            raise typer.Exit(BROKEN_PIPE) from None
        except (KinsplitError, OSError) as error:
            terminal.error(error)
            raise typer.Exit(NOTHING_DONE) from None
        except KeyboardInterrupt:
            terminal.warning("Stopped.")
            raise typer.Exit(INTERRUPTED) from None

    return run


def exit_code(*, failed: int, done: int) -> int:
    """Return the exit code of a run over files.

    Args:
        failed: Number of files or documents that failed.
        done: Number of those that did not.
    """
    if not failed:
        return 0
    return SOME_FAILED if done else NOTHING_DONE


def _forget_stdout() -> None:
    """Send what is still buffered to nowhere, so that Python's own flush at exit finds no broken pipe."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)
