"""What `--dry-run` tells: what it would cost to draw the boundaries, before any model is asked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

from kinsplit.cli.command import exit_code
from kinsplit.cli.output.index_report import tell_loaded
from kinsplit.cli.output.tables import counted
from kinsplit.cli.output.terminal import Terminal

if TYPE_CHECKING:
    from kinsplit.loaders import Limits, SourceFile
    from kinsplit.parsers import Cost, Strategy


def dry_run(strategy: Strategy, files: Sequence[SourceFile], terminal: Terminal, limits: Limits) -> int:
    """Write what it would cost to split files, and nothing else; return the exit code.

    Args:
        strategy: Splits them.
        files: The files.
        terminal: Where to write.
        limits: How much a file may cost.
    """
    from kinsplit.loaders import load_files
    from kinsplit.parsers import Cost

    cost, documents, failed = Cost(), 0, 0
    for loaded in load_files(files, limits):
        tell_loaded(loaded, terminal)
        failed += loaded.error is not None
        documents += len(loaded.documents)
        cost += strategy.cost([document.text for document in loaded.documents])
    if terminal.as_json:
        terminal.document({"documents": documents, **asdict(cost), "tokens": cost.tokens})
    elif not cost.calls and not cost.kept:
        terminal.line(f"{strategy.name}: {counted(documents, 'document')}, no language model is asked.")
    else:
        terminal.line(f"{strategy.name}: {counted(documents, 'document')}, {calls_of(cost)}. Nothing was asked.")
    return exit_code(failed=failed, done=documents)


def calls_of(cost: Cost) -> str:
    """Return in words how often a model would be asked, and with how many tokens."""
    parts = f"{cost.prompt_tokens:,} to read and at most {cost.answer_tokens:,} to write"
    kept = f"; {counted(cost.kept, 'answer')} kept from earlier runs" if cost.kept else ""
    return f"{counted(cost.calls, 'call')} of the model, {counted(cost.tokens, 'token')} ({parts}){kept}"
