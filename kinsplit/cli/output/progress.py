"""Bars that move on the screen, and nothing at all where there is none."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TaskID, TextColumn

from kinsplit.cli.output.tables import rate


class Bar:
    """One bar over files, with a remark that says what was made of them and how fast."""

    def __init__(self, progress: Progress, task: TaskID) -> None:
        self._progress, self._task = progress, task

    def advance(self) -> None:
        """Count one more file."""
        self._progress.advance(self._task)

    def remark(self, number: int, noun: str) -> None:
        """Say how many of something there are so far, and how many a second."""
        elapsed = self._progress.tasks[0].elapsed or 0.0
        self._progress.update(self._task, remark=f"{number:,} {noun}, {rate(number, elapsed)}/s")


@contextmanager
def bar(console: Console, title: str, files: int, *, shown: bool = True, noun: str = "files") -> Iterator[Bar]:
    """Show a bar while the block runs; it is gone afterwards.

    Args:
        console: Where; nothing is shown unless it is a terminal.
        title: What is being done.
        files: How many files, or other things, there are.
        shown: False keeps the bar away in any case.
        noun: What is counted.
    """
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(bar_width=20),
        MofNCompleteColumn(),
        TextColumn(f"{noun}  {{task.fields[remark]}}"),
    )
    hidden = not (shown and console.is_terminal)
    with Progress(*columns, console=console, transient=True, disable=hidden) as progress:
        yield Bar(progress, progress.add_task(title, total=files, remark=""))


def waiting(console: Console, title: str) -> AbstractContextManager[object]:
    """Show that something is being done, where a terminal shows it."""
    return console.status(title) if console.is_terminal else nullcontext()


@contextmanager
def steps(console: Console, strategies: int) -> Iterator[Callable[[str, str, int, int], None]]:
    """Show a bar of strategies, and one of the step that is under way, while the block runs.

    Args:
        console: Where; nothing is shown unless it is a terminal.
        strategies: How many there are.

    Yields:
        What is told of every step: the strategy, what is done with it, how far, and of how much.
    """
    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(bar_width=20), MofNCompleteColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        whole = progress.add_task("Strategies", total=strategies)
        part = progress.add_task("", total=None)
        seen: list[str] = []

        def moved(label: str, stage: str, done: int, total: int) -> None:
            if label not in seen:
                seen.append(label)
                progress.update(whole, completed=len(seen) - 1)
            progress.update(part, description=escape(f"{label}: {stage}"), completed=done, total=total)

        yield moved
