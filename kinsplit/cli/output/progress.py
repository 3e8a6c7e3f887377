"""Progress bars and spinners, shown on a terminal only."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext

from rich.console import Console
from rich.markup import escape
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TaskID,
    TextColumn,
    TimeRemainingColumn,
)

from kinsplit.cli.output.tables import rate


class _Progress(Progress):
    """Bars that vanish at their end, and that nobody sees without a terminal; a text follows a bar and its numbers."""

    def __init__(self, text: str, console: Console, *, shown: bool = True) -> None:
        super().__init__(
            SpinnerColumn(),
            TextColumn("{task.description}"),
            BarColumn(bar_width=20),
            MofNCompleteColumn(),
            TextColumn(text),
            TimeRemainingColumn(compact=True, elapsed_when_finished=True),
            console=console,
            transient=True,
            disable=not (shown and console.is_terminal),
        )

    def stop(self) -> None:
        """Take the bars away."""
        # Older versions of Rich end hidden bars with an empty line.
        if not self.disable:
            super().stop()


class Bar:
    """A progress bar over files, with a remark on the results and their rate."""

    def __init__(self, progress: Progress, task: TaskID) -> None:
        self._progress, self._task = progress, task

    def advance(self) -> None:
        """Count one more file."""
        self._progress.advance(self._task)

    def expect(self, files: int) -> None:
        """Set the number of files once it is known."""
        self._progress.update(self._task, total=files)

    def remark(self, number: int, noun: str) -> None:
        """Show the number of results so far, and their rate."""
        elapsed = self._progress.tasks[0].elapsed or 0.0
        self._progress.update(self._task, remark=f"{number:,} {noun}, {rate(number, elapsed)}/s")


@contextmanager
def bar(console: Console, title: str, files: int, *, shown: bool = True, noun: str = "files") -> Iterator[Bar]:
    """Show a progress bar on a terminal while the block runs; `noun` is the plural of the items' noun."""
    with _Progress(f"{noun}  {{task.fields[remark]}}", console, shown=shown) as progress:
        yield Bar(progress, progress.add_task(title, total=files, remark=""))


@contextmanager
def counting(console: Console, title: str, noun: str) -> Iterator[Callable[[int, int], None]]:
    """Show a progress bar on a terminal while the block runs; the total is known once the first items are done.

    Yields:
        Function to call with the number of items done and their total.
    """
    with _Progress(noun, console) as progress:
        task = progress.add_task(title, total=None)
        yield lambda done, total: progress.update(task, completed=done, total=total)


def spinner(console: Console, title: str) -> AbstractContextManager[object]:
    """Show a spinner while the block runs."""
    return console.status(title) if console.is_terminal else nullcontext()


@contextmanager
def steps(console: Console, strategies: int) -> Iterator[Callable[[str, str, int, int], None]]:
    """Show a progress bar of strategies, and one of the current step, on a terminal while the block runs.

    Yields:
        Function to call with each step: strategy, stage, number done, and total.
    """
    with _Progress("", console) as progress:
        whole = progress.add_task("Strategies", total=strategies)
        part = progress.add_task("", total=None)
        seen: list[str] = []

        def update(label: str, stage: str, done: int, total: int) -> None:
            if label not in seen:
                seen.append(label)
                progress.update(whole, completed=len(seen) - 1)
            progress.update(part, description=escape(f"{label}: {stage}"), completed=done, total=total)

        yield update
