"""What `kinsplit evaluate --dry-run` tells."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from rich.table import Table

from kinsplit.cli.tables import counted, listing
from kinsplit.display import inline

if TYPE_CHECKING:
    from kinsplit.evaluation.plan import Plan


def planned(plans: Sequence[Plan]) -> Table:
    """Return what is to be done for each strategy."""
    table = listing("Strategy", "Chunks", "Tokens to embed", "Vectors kept", "Questions answered", "Model")
    for column in table.columns[1:5]:
        column.justify = "right"
    for plan in plans:
        calls = f"{counted(plan.cost.calls, 'call')}, {counted(plan.cost.tokens, 'token')}" if plan.cost.calls else ""
        unknown = "" if plan.chunks is not None or calls else "embeds sentences or passages to split"
        table.add_row(
            inline(plan.label),
            _number(plan.chunks),
            _number(plan.tokens),
            "?" if plan.kept is None else f"{plan.kept:,} of {plan.texts:,}",
            f"{plan.answered:,} of {plan.questions:,}",
            calls or unknown,
        )
    return table


def _number(number: int | None) -> str:
    return "?" if number is None else f"{number:,}"


def to_dict(plan: Plan) -> dict[str, Any]:
    """Return a plan as `--json` writes it."""
    return {**asdict(plan), "cost": {**asdict(plan.cost), "tokens": plan.cost.tokens}}
