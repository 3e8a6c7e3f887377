"""Targets of the parsers, and their comparison with measured rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from timing import Row

#: Maximum exponent of the growth of time and memory.
GROWTH = 1.1


class Target(NamedTuple):
    """A system, the system to compare it with, and the maximum of the figure computed from both."""

    system: str
    against: str
    figure: Callable[[Row, Row], float]
    most: float
    unit: str


class Outcome(NamedTuple):
    """A target with its measured figure; `met` is None if one of the two rows is missing."""

    what: str
    shown: str
    limit: str
    met: bool | None


def ratio(row: Row, other: Row) -> float:
    """Return the ratio of a system's best time to the other's."""
    return row.best / other.best


def overhead(row: Row, core: Row) -> float:
    """Return the time per chunk in microseconds that a system adds to another, by the best times."""
    return (row.best - core.best) * 1e3 / (row.chunks or 1)


TARGETS = (
    Target("kinsplit token 512/128", "chonkie token 512/384", ratio, 0.8, "x"),
    Target("kinsplit sentence 500/100", "chonkie sentence 500/100", ratio, 1.0, "x"),
    Target("kinsplit structure 500", "chonkie recursive 500", ratio, 1.0, "x"),
    Target("kinsplit character 500/100", "langchain characters 500/100", ratio, 1 / 3, "x"),
    Target("kinsplit node parser character 500/100", "kinsplit character 500/100", overhead, 80, "µs/chunk"),
    Target("kinsplit text splitter character 500/100", "kinsplit character 500/100", overhead, 20, "µs/chunk"),
)


def outcomes(rows: Sequence[Row]) -> list[Outcome]:
    """Compare the rows with the targets, and check that all offsets of kinsplit are exact."""
    measured = {row.name: row for row in rows if row.milliseconds}
    return [_outcome(target, measured) for target in TARGETS] + [_exact(measured)]


def _outcome(target: Target, measured: dict[str, Row]) -> Outcome:
    row, other = measured.get(target.system), measured.get(target.against)
    what = f"{target.system} {'over' if target.figure is overhead else 'against'} {target.against}"
    limit = f"<= {target.most:.3g} {target.unit}"
    if row is None or other is None:
        return Outcome(what, "", limit, None)
    figure = target.figure(row, other)
    return Outcome(what, f"{figure:.2f} {target.unit}", limit, figure <= target.most)


def _exact(measured: dict[str, Row]) -> Outcome:
    wrong = [name for name, row in measured.items() if name.startswith("kinsplit") and row.exact != 1]
    return Outcome("offsets of every kinsplit row exact", ", ".join(wrong) or "all", "all", not wrong)
