"""What lies in given folders and can't be read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from kinsplit.cli.tables import counted
from kinsplit.cli.terminal import Terminal

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
