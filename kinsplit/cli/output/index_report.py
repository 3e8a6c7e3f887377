"""Reports of indexing, as lines and as JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.text import Text

from kinsplit.cli.output.tables import counted, rate
from kinsplit.cli.output.terminal import Terminal, describe_error
from kinsplit.errors import inline

if TYPE_CHECKING:
    from kinsplit.embedding.remote_models.base import Used
    from kinsplit.index import AddReport
    from kinsplit.indexing.reports import DocumentReport
    from kinsplit.integrations.ray import RayReport
    from kinsplit.loaders import Loaded
    from kinsplit.stores import SyncReport

#: Suffixes that are named before the rest is only counted.
_KINDS = 8


def file_line(name: str, reports: Sequence[DocumentReport]) -> Text:
    """Return the line of one file: its number of chunks, and the changes.

    Args:
        name: Id of the file.
        reports: Reports of its documents, at least one.
    """
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


def summary(report: AddReport | RayReport) -> list[tuple[str, str, str]]:
    """Return rows of name, figure and remark."""
    speed = f"{rate(report.embedded, report.seconds)}/s overall" if report.embedded else ""
    longer = "vector is the mean of several windows" if report.windowed else ""
    failed = [("Failed", f"{report.failures:,}", "listed above")] if report.failures else []
    return [
        ("Added", f"{report.added:,}", ""),
        ("Updated", f"{report.updated:,}", ""),
        ("Unchanged", f"{report.unchanged:,}", ""),
        ("Deleted", f"{report.deleted:,}", f"{report.pruned:,} from removed files" if report.pruned else ""),
        ("Embedded", f"{report.embedded:,}", speed),
        ("Longer than the model's window", f"{report.windowed:,}", longer),
        *failed,
        *([("Tokens sent to the model", f"{report.used.tokens:,}", describe_use(report.used))] if report.used else []),
        ("Seconds", f"{report.seconds:.1f}", ""),
    ]


def describe_use(used: Used) -> str:
    """Return the requests to an embedding model on a server and their cost in words."""
    cost = "price not known: set KINSPLIT_EMBEDDING_PRICE" if used.cost is None else f"${used.cost:,.4f}"
    return f"{counted(used.requests, 'request')}, {cost}"


def to_dict(report: AddReport) -> dict[str, Any]:
    """Return a report for `--json`."""
    return {
        "documents": [
            {
                "source_id": each.source_id,
                "chunks": each.chunks,
                **asdict(each.changes),
                "embedded": each.embedded,
                "windowed": each.windowed,
            }
            for each in report.documents
        ],
        **asdict(report.changes),
        "pruned": report.pruned,
        "gone": list(report.gone),
        "embedded": report.embedded,
        "windowed": report.windowed,
        "failed": [{"file": failure.source_id, "error": describe_error(failure.error)} for failure in report.failed],
        "warnings": list(report.warnings),
        "seconds": report.seconds,
        **({} if report.used is None else {"used": report.used._asdict()}),
    }


def report_skipped(skipped: Sequence[Path], terminal: Terminal) -> None:
    """Warn in one line about files of unknown types.

    Args:
        skipped: The skipped files, from `discover`.
        terminal: The terminal to write to.
    """
    if not skipped:
        return
    kinds = Counter(path.suffix.lower() or "no suffix" for path in skipped).most_common()
    shown = ", ".join(f"{kind} ({number:,})" for kind, number in kinds[:_KINDS])
    more = f" and {len(kinds) - _KINDS:,} more types" if len(kinds) > _KINDS else ""
    terminal.warning(f"{counted(len(skipped), 'file')} or links of unknown types skipped: {shown}{more}")


def report_loaded(loaded: Loaded, terminal: Terminal) -> None:
    """Write the warnings and the error of loading a file."""
    for warning in loaded.warnings:
        terminal.warning(inline(f"{loaded.source.source_id}: {warning}"))
    if loaded.error is not None:
        terminal.error(loaded.error)
