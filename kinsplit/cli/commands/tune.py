"""`kinsplit tune`: find the best strategy and parameters for labelled questions."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.status import Status
from rich.table import Table

from kinsplit.cli.command import INTERRUPTED
from kinsplit.cli.derive import from_options
from kinsplit.cli.options import Paths, check_writable, parse_names
from kinsplit.cli.output.index_report import Use
from kinsplit.cli.output.progress import spinner
from kinsplit.cli.output.tables import counted, text_table
from kinsplit.cli.output.terminal import Terminal
from kinsplit.errors import require

if TYPE_CHECKING:
    from kinsplit.evaluation.tuning import Trial, Tuned

_ENDINGS = {
    "trials": "all --trials are done",
    "time": "the time limit (--minutes) was reached",
    "all tried": "all candidates were tried",
    "stopped": "it was interrupted",
}


@from_options()
def tune(
    paths: Paths,
    queries: list[Path] | None = None,
    format: str | None = None,
    budget: int = 1000,
    minutes: float = 10.0,
    trials: int = 60,
    max_cost: float = 2.5,
    max_chunks: int | None = None,
    strategies: str | None = None,
    store: str | None = None,
    collection: str = "default",
    seed: Annotated[int, typer.Option(metavar="N", help="Seed of the split into halves and of the search.", min=0)] = 0,
    output: Path = Path("kinsplit.toml"),
    *,
    terminal: Terminal,
    **options: Any,
) -> None:
    """Search for the strategy, its parameters and the weights of kin scoring with the highest recall within a budget.

    One half of the questions selects them, the other half judges them. Ctrl-C ends the search and reports the
    best so far; another run with the same options continues it.

    Args:
        queries (FILE): Labelled questions; repeatable. Default: those in the folders.
        format (NAME): Format of the labelled questions. Default: detected.
        budget (N): Number of retrieved tokens at which recall is measured.
        minutes (N): Time limit for starting trials; judging the result takes extra time.
        trials (N): Maximum number of trials.
        max_cost (N): Maximum tokens to embed per token of the documents.
        max_chunks (N): Maximum number of chunks. Default: no limit.
        strategies (A,B): Strategies to try. Default: all; llm only with --model.
        store (ADDRESS): Address of a store, to tune the weights of kin scoring for a collection there, as it is
            indexed.
        output (FILE): File for the result, for use with kinsplit index --config.
    """
    from kinsplit.evaluation.datasets import load
    from kinsplit.evaluation.tuning import Caps, TuningLimits, tune_weights
    from kinsplit.evaluation.tuning import tune as search
    from kinsplit.index import Index

    _check_output(output)
    caps, limits = Caps(ratio=max_cost, chunks=max_chunks), TuningLimits(trials=trials, minutes=minutes)
    dataset = load(paths, queries or None, format=format)
    use = Use(options.get("embedder", "bundled"))
    if store is not None:
        _check_indexed({"strategies": strategies, **options})
        with (
            spinner(terminal.screen, "Weighing"),
            Index(store, collection=collection, embedder=options.get("embedder"), must_exist=True) as index,
        ):
            found = tune_weights(dataset, index, budget=budget, seed=seed, **options)
        _finish(found, output, use, terminal)
        return
    with spinner(terminal.screen, "Trying the library default") as shown:
        reporter = _TrialReporter(terminal, shown if isinstance(shown, Status) else None)
        found = search(
            dataset,
            budget=budget,
            strategies=parse_names(strategies, "--strategies"),
            caps=caps,
            limits=limits,
            seed=seed,
            on_trial=reporter.tried,
            **options,
        )
    _finish(found, output, use, terminal)
    if found.found.ending == "stopped":
        terminal.warning("Stopped.")
        raise typer.Exit(INTERRUPTED)


def _check_indexed(given: Mapping[str, Any]) -> None:
    rule = "can't be given with --store: a collection has one strategy, and its weights alone can be tuned there"
    for name in ("strategies", "model", "ranker"):
        value = given.get(name)
        require(value is None, f"--{name}", rule, value, "Leave out --store to try strategies on the files.")


def _finish(found: Tuned, output: Path, use: Use, terminal: Terminal) -> None:
    found.configuration().write(output, found.remarks())
    terminal.outcome({**found.to_json(), "output": str(output), **use.to_json()}, *_shown(found))
    if not terminal.as_json:
        use.show(terminal)
        terminal.line(f"Written: {output}. Use it with: kinsplit index ... --config {output}")


class _TrialReporter:
    """Writes a line for each trial."""

    def __init__(self, terminal: Terminal, status: Status | None) -> None:
        self._terminal, self._status = terminal, status
        self._number, self._best = 0, -1.0

    def tried(self, trial: Trial) -> None:
        from kinsplit.evaluation.splitters.specs import spec_of

        if not self._terminal.as_json:
            self._terminal.line(f"{_recall(trial)}  {spec_of(trial.strategy)}  {_remark(trial)}")
        self._number += 1
        self._best = max(self._best, -1.0 if trial.recall is None else trial.recall)
        if self._status is not None:
            self._status.update(f"{counted(self._number, 'trial')}, best {self._best:.3f}")


def _recall(trial: Trial) -> str:
    return "  -  " if trial.recall is None else f"{trial.recall:.3f}"


def _remark(trial: Trial) -> str:
    if trial.refused or trial.cost is None:
        return f"not measured: {trial.refused}"
    return f"{counted(trial.cost.chunks, 'chunk')}, {trial.cost.ratio:.2f} tokens per token, {trial.seconds:.1f} s"


def _shown(found: Tuned) -> tuple[str | Table, ...]:
    from kinsplit.evaluation.splitters.specs import spec_of

    search = found.found
    refused = sum(trial.recall is None for trial in search.trials)
    halves = f"Searched half ({found.searched})", f"Held-out half ({found.held_out})"
    table = text_table("", *halves, "Tokens", "Chunks")
    table.columns[2].no_wrap = True
    both = {"Library default": search.baseline, "Best found": search.best}
    rows = {"Collection": search.best} if found.indexed else both
    for name, trial in rows.items():
        held = found.estimates[spec_of(trial.strategy)]
        ranges = f"{held.mean:.3f} [{held.low:.3f}, {held.high:.3f}]"
        costs = (f"{trial.cost.ratio:.2f}", f"{trial.cost.chunks:,}") if trial.cost else ("", "")
        table.add_row(name, _recall(trial), ranges, *costs)
    counts = f"{len(search.trials) - refused:,} strategies measured, {refused:,} rejected"
    specs = (f"{name}: {spec_of(trial.strategy)}" for name, trial in rows.items())
    before = f"{counts}; ended because {_ENDINGS[search.ending]}. {found.measure}:"
    return "", before, table, "", *specs, f"{found.verdict}.", f"{found.weights_verdict}."


def _check_output(output: Path) -> None:
    """Make sure that the result can be written, and that it replaces no file written by hand."""
    from kinsplit.evaluation.tuning.tune import SIGNATURE

    check_writable(output)
    own = not output.exists() or output.read_bytes().startswith(f"# {SIGNATURE}".encode())
    require(own, "--output", "must be a new file, or one written by kinsplit tune", str(output), "Name another file.")
