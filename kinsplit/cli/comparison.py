"""The tables of `kinsplit evaluate`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from rich.table import Table
from rich.text import Text

from kinsplit.cli.tables import counted, listing
from kinsplit.cli.terminal import visible

if TYPE_CHECKING:
    from kinsplit.evaluation.plan import Plan
    from kinsplit.evaluation.results import Comparison, Estimate, Results

#: Below it a difference is called one.
_SIGNIFICANT = 0.05


def comparison(results: Results) -> Table:
    """Return the strategies with the headline measure, the best in bold, and how each stands to the baseline."""
    headline = results.setting.headline
    first = results.strategies[0].label
    rises = all(note.rises for note in results.notes if note.name == headline)
    best = (max if rises else min)(
        (own.mean for s in results.strategies if (own := s.measures.get(headline))), default=None
    )
    table = listing("Strategy", "Chunks", headline, "95 %", f"Against {first}", "Win/tie/loss", "p")
    for column in table.columns[1:]:
        column.justify = "right"
        column.no_wrap = True
    beside = {one.strategy: one for one in results.comparisons}
    for strategy in results.strategies:
        mean = strategy.measures.get(headline)
        style = "bold" if mean and mean.mean == best else ""
        table.add_row(
            Text(visible(strategy.label), style),
            f"{strategy.statistics['chunks']:,.0f}",
            Text(f"{mean.mean:.3f}" if mean else "–", style),
            _interval(mean),
            *_beside(beside.get(strategy.label)),
        )
    return table


def _interval(mean: Estimate | None) -> str:
    return f"{mean.low:.3f} to {mean.high:.3f}" if mean else ""


def _beside(one: Comparison | None) -> tuple[str, str, Text]:
    if one is None:
        return "", "", Text("")
    shown = f"{one.p_value:.3f}" if one.p_value >= 0.001 else "<0.001"
    return (
        f"{one.difference.mean:+.3f} ({one.difference.low:+.3f} to {one.difference.high:+.3f})",
        f"{one.wins}/{one.ties}/{one.losses}",
        Text(shown, "bold" if one.p_value < _SIGNIFICANT else ""),
    )


def planned(plans: Sequence[Plan]) -> Table:
    """Return what is to be done for each strategy."""
    table = listing("Strategy", "Chunks", "Tokens to embed", "Vectors kept", "Questions answered", "Model")
    for column in table.columns[1:5]:
        column.justify = "right"
    for plan in plans:
        calls = f"{counted(plan.cost.calls, 'call')}, {counted(plan.cost.tokens, 'token')}" if plan.cost.calls else ""
        unknown = "" if plan.chunks is not None or calls else "embeds sentences or passages to split"
        table.add_row(
            visible(plan.label),
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
