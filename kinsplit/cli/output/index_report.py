"""Reports of indexing, as lines and as JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.table import Table
from rich.text import Text

from kinsplit.chunk import Chunk, select
from kinsplit.cli.output.tables import counted, rate
from kinsplit.cli.output.terminal import Terminal, describe_error
from kinsplit.errors import inline

if TYPE_CHECKING:
    from kinsplit.embedding.remote_models.base import Used
    from kinsplit.index import AddReport
    from kinsplit.indexing.contexts import ContextWriter
    from kinsplit.indexing.reports import DocumentReport, FileRead
    from kinsplit.loaders import Limits, Loaded, SourceFile
    from kinsplit.parsers import Cost, Strategy
    from kinsplit.stores import SyncReport
    from kinsplit.tokenizers import Tokenizer

#: Suffixes that are named before the rest is only counted.
_KINDS = 8
#: Courses that are named before the rest is only counted.
_COURSES = 20


def file_line(name: str, reports: Sequence[DocumentReport]) -> Text:
    """Return the line of one file from the reports of its documents: its number of chunks, and the changes."""
    several = f" of {counted(len(reports), 'document')}" if len(reports) > 1 else ""
    made = counted(sum(report.chunks for report in reports), "chunk")
    changes = sum((report.changes for report in reports[1:]), reports[0].changes)
    return Text("  ").join([Text(inline(name)), Text(f"Split into {made}{several}", "bold"), *_signs(changes)])


def _signs(changes: SyncReport) -> list[Text]:
    parts = (
        (f"+{changes.added:,}", "green", changes.added),
        (f"~{changes.updated:,}", "yellow", changes.updated),
        (f"={changes.unchanged:,}", "dim", changes.unchanged),
        (f"-{changes.deleted:,}", "red", changes.deleted),
    )
    signs = [Text(sign, style) for sign, style, number in parts if number]
    return [Text(" ").join(signs)] if signs else []


def summary(report: AddReport) -> list[tuple[str, str, str]]:
    """Return rows of name, figure and remark."""
    speed = f"{rate(report.embedded, report.seconds)}/s overall" if report.embedded else ""
    longer = "vector is the mean of several windows" if report.windowed else ""
    asked = report.contexts + report.fallbacks
    missing = "the next run asks for the others again" if report.fallbacks else ""
    contexts = [("Contexts written", f"{report.contexts:,} of {asked:,}", missing)] if asked else []
    failed = [("Failed", f"{report.failures:,}", "listed above")] if report.failures else []
    return [
        ("Added", f"{report.added:,}", ""),
        ("Updated", f"{report.updated:,}", ""),
        ("Unchanged", f"{report.unchanged:,}", ""),
        ("Deleted", f"{report.deleted:,}", f"{report.pruned:,} from removed files" if report.pruned else ""),
        ("Embedded", f"{report.embedded:,}", speed),
        ("Longer than the model's window", f"{report.windowed:,}", longer),
        *contexts,
        *failed,
        *([("Tokens sent to the model", f"{report.used.tokens:,}", describe_use(report.used))] if report.used else []),
        ("Seconds", f"{report.seconds:.1f}", ""),
    ]


def describe_courses(courses: Mapping[str, int]) -> list[str]:
    """Return in one line, or none, which courses were recognised and how to name others."""
    if not courses:
        return []
    shown = ", ".join(
        f"{inline(name)} ({counted(number, 'file')})" for name, number in islice(courses.items(), _COURSES)
    )
    more = f" and {len(courses) - _COURSES:,} more" if len(courses) > _COURSES else ""
    return [f"Course{'s' * (len(courses) > 1)}: {shown}{more}. To change one, name it in a course.toml in its folder."]


def describe_use(used: Used) -> str:
    """Return the requests to an embedding model on a server and their cost in words."""
    cost = "price not known: set KINSPLIT_EMBEDDING_PRICE" if used.cost is None else f"${used.cost:,.4f}"
    return f"{counted(used.requests, 'request')}, {cost}"


def to_dict(report: AddReport, documents: Sequence[DocumentReport]) -> dict[str, Any]:
    """Return a report, with those of the stored documents, for `--json`."""
    return {
        "documents": [{"source_id": d.source_id, "chunks": d.chunks, **_counts(d)} for d in documents],
        **_counts(report),
        "pruned": report.pruned,
        "gone": list(report.gone),
        "courses": dict(report.courses),
        "failed": [{"file": failure.source_id, "error": describe_error(failure.error)} for failure in report.failed],
        "warnings": list(report.warnings),
        "seconds": report.seconds,
        **({} if report.used is None else {"used": report.used._asdict()}),
    }


def _counts(report: AddReport | DocumentReport) -> dict[str, int]:
    own = ("embedded", "windowed", "contexts", "fallbacks")
    return {**asdict(report.changes), **{name: getattr(report, name) for name in own}}


def report_skipped(skipped: Sequence[Path], terminal: Terminal) -> None:
    """Warn in one line about the files of unknown types that `discover` skipped."""
    if not skipped:
        return
    kinds = Counter(path.suffix.lower() or "no suffix" for path in skipped).most_common()
    shown = ", ".join(f"{kind} ({number:,})" for kind, number in kinds[:_KINDS])
    more = f" and {len(kinds) - _KINDS:,} more types" if len(kinds) > _KINDS else ""
    noun = "file or link" if len(skipped) == 1 else "files or links"
    terminal.warning(f"{len(skipped):,} {noun} of unknown types skipped: {shown}{more}")


def report_loaded(file: FileRead | Loaded, terminal: Terminal) -> None:
    """Write the warnings and the error of loading a file."""
    for warning in file.warnings:
        terminal.warning(inline(f"{file.source_id}: {warning}"))
    if file.error is not None:
        terminal.error(file.error)


Row = dict[str, Any]

# Keys of `kinsplit.chunk.FIELDS` that a row shows.
_FIELDS = (
    *("chunk_index", "total_chunks", "start", "end", "spans", "text", "token_count"),
    *("parent_id", "prev_id", "next_id", "level", "context", "beside"),
)


def to_rows(chunks: Sequence[Chunk], tokenizer: Tokenizer) -> Iterator[Row]:
    """Convert chunks to rows.

    Args:
        chunks: The chunks.
        tokenizer: Tokenizer for chunks whose tokens the strategy did not count.

    Yields:
        One row per chunk, in order. `start` and `end` are code point offsets in the document; `spans` lists the parts
        of it that the chunk holds, nearly always one. `chunk_index` counts from 0 within the row's `level`.
        `metadata` holds the metadata of the document and of the chunk, such as its `section`, without the file's
        siblings, since a folder may have thousands.
    """
    uncounted = [chunk.text for chunk in chunks if chunk.token_count is None]
    counts = iter(tokenizer.count(uncounted).tolist() if uncounted else [])
    for chunk in chunks:
        yield {
            "docid": chunk.source_id,
            "chunk_id": chunk.id,
            "chunk_name": chunk_name(chunk),
            **select(chunk, _FIELDS),
            "token_count": next(counts) if chunk.token_count is None else chunk.token_count,
            "metadata": {key: value for key, value in chunk.metadata.items() if key != "sibling_files"},
        }


def chunk_name(chunk: Chunk) -> str:
    """Return the readable name of a chunk: `alice:ch03::chunk02`, and of a parent `alice:ch03::level1::chunk02`."""
    parent = f"::level{chunk.level}" if chunk.level else ""
    return f"{chunk.source_id}{parent}::chunk{chunk.index:02}"


@dataclass(slots=True)
class ChunkTotals:
    """Running totals of `kinsplit chunk`."""

    files: int
    documents: int = 0
    seconds: float = 0.0
    failed: list[dict[str, Any]] = field(default_factory=list)
    sizes: dict[int, tuple[list[int], list[int]]] = field(default_factory=dict)

    def add(self, row: Row) -> None:
        """Add the size of a row to the totals of its level."""
        characters, tokens = self.sizes.setdefault(row["level"], ([], []))
        characters.append(len(row["text"]))
        tokens.append(row["token_count"])

    @property
    def chunks(self) -> int:
        """Number of rows."""
        return sum(len(characters) for characters, _ in self.sizes.values())

    def to_dict(self) -> dict[str, Any]:
        """Return the summary as `--json` writes it."""
        levels = [
            {"level": level, "chunks": len(characters), "characters": _spread(characters), "tokens": _spread(tokens)}
            for level, (characters, tokens) in sorted(self.sizes.items())
        ]
        return {
            "files": self.files,
            "documents": self.documents,
            "chunks": self.chunks,
            "levels": levels,
            "failed": self.failed,
            "seconds": self.seconds,
        }


def _spread(sizes: list[int]) -> dict[str, float]:
    return {"average": sum(sizes) / len(sizes), "min": min(sizes), "max": max(sizes)}


def show(summary: ChunkTotals, output: Path, terminal: Terminal) -> None:
    """Write the number of chunks, and a table of their sizes."""
    made = counted(summary.chunks, "chunk")
    speed = f"{summary.seconds:.2f} s ({rate(summary.chunks, summary.seconds)} chunks/s)"
    terminal.line(f"Split {counted(summary.documents, 'document')} into {made} in {speed}: {output}")
    if not summary.sizes:
        return
    table = Table.grid(padding=(0, 2))
    table.add_column()
    for _ in range(4):
        table.add_column(justify="right")
    table.add_row("", "chunks", "average", "min", "max", style="dim")
    for level in summary.to_dict()["levels"]:
        suffix = f", level {level['level']}" if len(summary.sizes) > 1 else ""
        for name in ("characters", "tokens"):
            spread = level[name]
            figures = f"{spread['average']:,.1f}", f"{spread['min']:,}", f"{spread['max']:,}"
            table.add_row(f"{name.capitalize()}{suffix}", f"{level['chunks']:,}", *figures)
    terminal.table(table)


def show_cost(
    strategy: Strategy,
    files: Sequence[SourceFile],
    terminal: Terminal,
    limits: Limits | None,
    contexts: ContextWriter | None = None,
) -> tuple[int, int]:
    """Write the estimated cost of splitting files, and of their contexts if there is a writer.

    Returns:
        Number of files that could not be read, and number of documents.
    """
    from kinsplit.loaders import load_files
    from kinsplit.parsers import Cost

    cost, contextual, documents, failed = Cost(), Cost(), 0, 0
    for loaded in load_files(files, limits):
        report_loaded(loaded, terminal)
        failed += loaded.error is not None
        documents += len(loaded.documents)
        cost += strategy.cost([document.text for document in loaded.documents])
        if contexts is not None:
            contextual = sum((contexts.cost(document, strategy) for document in loaded.documents), contextual)
    if terminal.as_json:
        more = {} if contexts is None else {"contexts": {**asdict(contextual), "tokens": contextual.tokens}}
        terminal.document({"documents": documents, **asdict(cost), "tokens": cost.tokens, **more})
        return failed, documents
    if not cost.calls and not cost.kept:
        terminal.line(f"{strategy.name}: {counted(documents, 'document')}, no language model calls.")
    else:
        terminal.line(f"{strategy.name}: {counted(documents, 'document')}, {describe_cost(cost)}. No call was made.")
    if contexts is not None:
        terminal.line(f"Contexts: {describe_cost(contextual)}. No call was made.")
    return failed, documents


class Use:
    """Use of an embedding model on a server from now on; one on this machine has no use."""

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
    repeated = f", of which {cost.repeated_tokens:,} are cached by most servers" if cost.repeated_tokens else ""
    parts = f"{cost.prompt_tokens:,} input{repeated}, at most {cost.answer_tokens:,} output"
    kept = f"; {counted(cost.kept, 'answer')} cached from earlier runs" if cost.kept else ""
    return f"{counted(cost.calls, 'call')} of the language model, {counted(cost.tokens, 'token')} ({parts}){kept}"
