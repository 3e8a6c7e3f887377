"""What is wanted of the parsers, and whether measured rows meet it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from timing import Row

#: Largest exponent with which time and memory may grow.
GROWTH = 1.1


class Target(NamedTuple):
    """A system, what it is measured against, and the most that the figure made of both may be."""

    system: str
    against: str
    figure: Callable[[Row, Row], float]
    most: float
    unit: str


class Outcome(NamedTuple):
    """A target with its measured figure; `met` is None where one of the two rows is missing."""

    what: str
    shown: str
    limit: str
    met: bool | None


def ratio(row: Row, other: Row) -> float:
    """Return how many times as long as the other a system takes, by the best times."""
    return row.best / other.best


def overhead(row: Row, core: Row) -> float:
    """Return the microseconds per chunk that a system adds to another, by the best times."""
    return (row.best - core.best) * 1e3 / (row.chunks or 1)


TARGETS = (
    Target("kinsplit token 512/128", "chonkie token 512/384", ratio, 1.0, "x"),
    Target("kinsplit sentence 500/100", "chonkie sentence 500/100", ratio, 1.0, "x"),
    Target("kinsplit structure 500", "chonkie recursive 500", ratio, 1.0, "x"),
    Target("kinsplit character 500/100", "langchain characters 500/100", ratio, 1 / 3, "x"),
    Target("kinsplit node parser character 500/100", "kinsplit character 500/100", overhead, 80, "µs/chunk"),
    Target("kinsplit text splitter character 500/100", "kinsplit character 500/100", overhead, 20, "µs/chunk"),
)


def outcomes(rows: Sequence[Row]) -> list[Outcome]:
    """Return how the rows stand against the targets, and whether all offsets of kinsplit are exact."""
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
