"""`kinsplit chunk`: split files into rows of JSON."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from kinsplit.cli.command import exit_code
from kinsplit.cli.derive import from_options
from kinsplit.cli.options import Paths, make_strategy
from kinsplit.cli.output.index_report import ChunkTotals, Row, report_loaded, report_skipped, show, show_cost, to_rows
from kinsplit.cli.output.progress import bar
from kinsplit.cli.output.terminal import Terminal, describe_error
from kinsplit.errors import LimitTooSmallError

if TYPE_CHECKING:
    from kinsplit.chunk import Chunk, Document
    from kinsplit.loaders import Loaded, SourceFile
    from kinsplit.parsers import Strategy

# Characters per batch: enough to measure in parallel, few enough for memory.
_BATCH = 2_000_000


@from_options()
def chunk(
    paths: Paths,
    settings: list[str] | None = None,
    config: Path | None = None,
    *,
    output: Path | None = None,
    normalise: str | None = None,
    dry_run: bool = False,
    terminal: Terminal,
    **options: Any,
) -> None:
    """Split files into chunks and write one row of JSON per chunk, to stdout or to a file.

    The strategy's tokenizer counts the tokens of each chunk, even if its sizes are in words or characters.

    Args:
        output (FILE): Write the rows to this file, and a summary to stdout.
    """
    from kinsplit.embedding import use_vector_cache
    from kinsplit.evaluation.datasets.normalised import check_name, normalised_document
    from kinsplit.loaders import discover, load_files
    from kinsplit.options import AddOptions
    from kinsplit.support.batches import by_size
    from kinsplit.tokenizers import resolve

    adding, own = AddOptions.part(options)
    splitter = make_strategy(own.get("strategy"), settings, config, own.get("embedder"))
    tokenizer = resolve(splitter.tokenizer)
    if normalise:
        check_name(normalise)
    found = discover(paths, subjects=adding.subjects, readers=adding.readers)
    files = _without(output, found.files)
    report_skipped(found.skipped, terminal)
    if dry_run:
        failed, done = show_cost(splitter, files, terminal, adding.limits)
        raise typer.Exit(exit_code(failed=failed, done=done))
    started = time.perf_counter()
    summary = ChunkTotals(len(files))
    # Rows and a progress bar would overwrite each other on the same terminal.
    shown = output is not None or not terminal.out.is_terminal
    with (
        use_vector_cache(own.get("vector_cache", False)),
        _writer(output, terminal) as write,
        bar(terminal.screen, "Splitting", len(files), shown=shown) as moving,
    ):

        def documents() -> Iterator[Document]:
            for loaded in load_files(files, adding.limits):
                _report(loaded, summary, terminal)
                moving.advance()
                yield from (normalised_document(own) if normalise else own for own in loaded.documents)

        for batch in by_size(documents(), _BATCH, len):
            chunked = list(_chunked(splitter, batch, summary, terminal))
            for row in to_rows(list(chain.from_iterable(chunked)), tokenizer):
                write(row)
                summary.add(row)
            summary.documents += len(chunked)
            moving.remark(summary.chunks, "chunks")
    summary.seconds = time.perf_counter() - started
    if output is not None and terminal.as_json:
        terminal.document({**summary.to_dict(), "output": str(output)})
    elif output is not None:
        show(summary, output, terminal)
    raise typer.Exit(exit_code(failed=len(summary.failed), done=summary.documents))


def _report(loaded: Loaded, summary: ChunkTotals, terminal: Terminal) -> None:
    report_loaded(loaded, terminal)
    if loaded.error is not None:
        summary.failed.append({"file": loaded.source_id, "error": describe_error(loaded.error)})


def _chunked(
    splitter: Strategy, batch: Sequence[Document], summary: ChunkTotals, terminal: Terminal
) -> Iterator[list[Chunk]]:
    """Yield the chunks of each document that can be split."""
    try:
        yield from splitter.chunk_many(batch)
    except LimitTooSmallError as error:
        if len(batch) == 1:
            summary.failed.append({"file": batch[0].id, "error": describe_error(error)})
            terminal.error(error)
            return
        for document in batch:
            yield from _chunked(splitter, [document], summary, terminal)


def _without(output: Path | None, files: Iterable[SourceFile]) -> list[SourceFile]:
    """Return the files without the output of an earlier run."""
    own = output and output.resolve()
    return [file for file in files if file.resolved != own]


@contextmanager
def _writer(output: Path | None, terminal: Terminal) -> Iterator[Callable[[Row], None]]:
    if output is None:
        yield terminal.row
        return
    import json

    output.parent.mkdir(parents=True, exist_ok=True)
    with output.open("w", encoding="utf-8") as file:
        yield lambda row: print(json.dumps(row, ensure_ascii=False), file=file)
