"""Timing in interleaved rounds, so that what else the machine does falls on every system alike."""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from rich.progress import track
from systems import System
from texts import Corpus


@dataclass(frozen=True)
class Row:
    """What was measured of one system.

    Attributes:
        name: The system's name.
        milliseconds: One time per round; empty where the system isn't there.
        chunks: Number of chunks it made; None where it makes none.
        exact: Share of the chunks that are the slice at their own offsets; None where no offsets are reported.
    """

    name: str
    milliseconds: tuple[float, ...] = ()
    chunks: int | None = None
    exact: float | None = None

    @property
    def best(self) -> float:
        return min(self.milliseconds)

    @property
    def median(self) -> float:
        return statistics.median(self.milliseconds)

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def measure(systems: Sequence[System], corpus: Corpus, repeat: int) -> list[Row]:
    """Time the systems, A B C A B C, after one round that only warms up and looks at the chunks."""
    rows = {system.name: _look(system, corpus) for system in track(systems, "Warming up", transient=True)}
    present = [system for system in systems if rows[system.name] is not None]
    # The modules of twenty libraries are no garbage that a system's own time should be spent on.
    gc.collect()
    gc.freeze()
    times: dict[str, list[float]] = {system.name: [] for system in present}
    for _ in track(range(repeat), "Measuring", transient=True):
        for system in present:
            times[system.name].append(_time(system, corpus))
    gc.unfreeze()
    return [Row(name, tuple(times.get(name, ())), *(found or ())) for name, found in rows.items()]


def _look(system: System, corpus: Corpus) -> tuple[int | None, float | None] | None:
    """Return the number of chunks and the share with exact offsets, or None where the library is missing."""
    try:
        splitter = system.make()
    except ImportError:
        return None
    result = system.run(splitter, corpus)
    if system.pieces is None:
        return None, None
    pieces = list(system.pieces(splitter, corpus))
    reported = any(piece.start is not None for piece in pieces)
    return sum(map(len, result)), sum(piece.exact for piece in pieces) / len(pieces) if reported else None


def _time(system: System, corpus: Corpus) -> float:
    splitter = system.make()
    gc.collect()
    begin = time.perf_counter()
    result = system.run(splitter, corpus)
    milliseconds = (time.perf_counter() - begin) * 1e3
    # Only now may the result be freed.
    del result
    return milliseconds
