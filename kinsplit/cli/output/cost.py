"""Estimated calls of a language model, for `--dry-run`, and the use of an embedding model on a server."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from kinsplit.cli.output.index_report import describe_use, report_loaded
from kinsplit.cli.output.tables import counted
from kinsplit.cli.output.terminal import Terminal

if TYPE_CHECKING:
    from kinsplit.loaders import Limits, SourceFile
    from kinsplit.parsers import Cost, Strategy


def show_cost(strategy: Strategy, files: Sequence[SourceFile], terminal: Terminal, limits: Limits) -> tuple[int, int]:
    """Write the estimated cost of splitting files.

    Args:
        strategy: The strategy.
        files: The files to split.
        terminal: The terminal to write to.
        limits: Limits per file.

    Returns:
        Number of files that could not be read, and number of documents.
    """
    from kinsplit.loaders import load_files
    from kinsplit.parsers import Cost

    cost, documents, failed = Cost(), 0, 0
    for loaded in load_files(files, limits):
        report_loaded(loaded, terminal)
        failed += loaded.error is not None
        documents += len(loaded.documents)
        cost += strategy.cost([document.text for document in loaded.documents])
    if terminal.as_json:
        terminal.document({"documents": documents, **asdict(cost), "tokens": cost.tokens})
    elif not cost.calls and not cost.kept:
        terminal.line(f"{strategy.name}: {counted(documents, 'document')}, no language model calls.")
    else:
        terminal.line(f"{strategy.name}: {counted(documents, 'document')}, {describe_cost(cost)}. No call was made.")
    return failed, documents


class Use:
    """Use of an embedding model on a server from now on.

    Args:
        embedder: Spec of the model; one on this machine has no use.
    """

    def __init__(self, embedder: str) -> None:
        from kinsplit.embedding import resolve
        from kinsplit.embedding.remote_models.base import usage_of

        self._embedder, self._usage = embedder, usage_of(resolve(embedder))
        self._before = self._usage.since() if self._usage else None

    def show(self, terminal: Terminal) -> None:
        """Write the tokens, requests and cost in one line."""
        if self._usage is not None:
            used = self._usage.since(self._before)
            terminal.line(f"{self._embedder}: {counted(used.tokens, 'token')}, {describe_use(used)}")

    def to_json(self) -> dict[str, Any]:
        """Return the use under the key `used`, or nothing."""
        return {} if self._usage is None else {"used": self._usage.since(self._before)._asdict()}


def describe_cost(cost: Cost) -> str:
    """Return the number of calls and tokens in words."""
    parts = f"{cost.prompt_tokens:,} input, at most {cost.answer_tokens:,} output"
    kept = f"; {counted(cost.kept, 'answer')} cached from earlier runs" if cost.kept else ""
    return f"{counted(cost.calls, 'call')} of the language model, {counted(cost.tokens, 'token')} ({parts}){kept}"
