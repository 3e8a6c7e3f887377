"""What a command says of the files that it is given."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from kinsplit.cli.tables import counted
from kinsplit.cli.terminal import Terminal
from kinsplit.display import inline

if TYPE_CHECKING:
    from kinsplit.loaders import Loaded

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
