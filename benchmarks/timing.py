"""Timing in interleaved rounds, so that other load on the machine affects all systems alike."""

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
    """The measurement of one system.

    Attributes:
        name: Name of the system.
        milliseconds: Time of each round; empty if the system is not installed.
        chunks: Number of chunks; None if it makes none.
        exact: Share of the chunks that equal the slice at their offsets; None if no offsets are reported.
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
    """Time the systems, A B C A B C, after a warm-up round that inspects the chunks."""
    rows = {system.name: _look(system, corpus) for system in track(systems, "Warming up", transient=True)}
    present = [system for system in systems if rows[system.name] is not None]
    # Collect the garbage of importing twenty libraries, which should not count as a system's time.
    gc.collect()
    gc.freeze()
    times: dict[str, list[float]] = {system.name: [] for system in present}
    for _ in track(range(repeat), "Measuring", transient=True):
        for system in present:
            times[system.name].append(_time(system, corpus))
    gc.unfreeze()
    return [Row(name, tuple(times.get(name, ())), *(found or ())) for name, found in rows.items()]


def _look(system: System, corpus: Corpus) -> tuple[int | None, float | None] | None:
    """Return the number of chunks and the share with exact offsets, or None if the library is missing."""
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
    # Free the result only now.
    del result
    return milliseconds
