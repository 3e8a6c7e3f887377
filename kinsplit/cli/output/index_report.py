"""What indexing did, as people and programs read it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from rich.text import Text

from kinsplit.cli.output.tables import counted, rate
from kinsplit.cli.output.terminal import describe_error
from kinsplit.display import inline

if TYPE_CHECKING:
    from kinsplit.index import AddReport
    from kinsplit.indexing.reports import DocumentReport
    from kinsplit.stores import SyncReport
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from kinsplit.cli.output.terminal import Terminal

if TYPE_CHECKING:
    from kinsplit.loaders import Loaded


def file_line(name: str, reports: Sequence[DocumentReport]) -> Text:
    """Return the line of one file: into how many chunks it was split, and what changed.

    Args:
        name: The file's id.
        reports: Of its documents, at least one.
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


def summary(report: AddReport) -> list[tuple[str, str, str]]:
    """Return the figures of a report, each with a remark."""
    speed = f"{rate(report.embedded, report.seconds)}/s, all included" if report.embedded else ""
    longer = "means of several windows" if report.windowed else ""
    failed = [("Failed", f"{len(report.failed):,}", "named above")] if report.failed else []
    return [
        ("Added", f"{report.added:,}", ""),
        ("Updated", f"{report.updated:,}", ""),
        ("Unchanged", f"{report.unchanged:,}", ""),
        ("Deleted", f"{report.deleted:,}", f"{report.pruned:,} of files that are gone" if report.pruned else ""),
        ("Embedded", f"{report.embedded:,}", speed),
        ("Longer than the model's window", f"{report.windowed:,}", longer),
        *failed,
        ("Seconds", f"{report.seconds:.1f}", ""),
    ]


def to_dict(report: AddReport) -> dict[str, Any]:
    """Return a report as `--json` writes it."""
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
    }


_KINDS = 8


def tell_skipped(skipped: Sequence[Path], terminal: Terminal) -> None:
    """Say in one line of which kinds the files are that nothing is made of.

    Args:
        skipped: As `discover` tells.
        terminal: Where to say it.
    """
    if not skipped:
        return
    kinds = Counter(path.suffix.lower() or "no suffix" for path in skipped).most_common()
    shown = ", ".join(f"{kind} ({number:,})" for kind, number in kinds[:_KINDS])
    more = f" and {len(kinds) - _KINDS:,} more kinds" if len(kinds) > _KINDS else ""
    terminal.warning(f"{counted(len(skipped), 'file')} or links of unknown kinds left alone: {shown}{more}")


def tell_loaded(loaded: Loaded, terminal: Terminal) -> None:
    """Say what was decided or lost while a file was read, or why it couldn't be."""
    for warning in loaded.warnings:
        terminal.warning(inline(f"{loaded.source.source_id}: {warning}"))
    if loaded.error is not None:
        terminal.error(loaded.error)
