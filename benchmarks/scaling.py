"""Time and peak memory of a strategy on a document of growing size, with a separate process for each size."""

from __future__ import annotations

import ctypes
import gc
import json
import math
import os
import re
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from texts import prose

from kinsplit.chunk import Document
from kinsplit.parsers import Strategy, create

MEGABYTES = (1, 4, 16, 64)
#: Megabytes up to which small sizes are repeated, since short times are noisy.
_AT_LEAST = 8
#: Time in seconds after which no larger size follows.
_PATIENCE = 60


class Point(NamedTuple):
    """The measurement of one size.

    Attributes:
        megabytes: Size of the document in millions of characters.
        seconds: Best time.
        memory: Difference in megabytes between the peak of the first run and the process without the document.
    """

    megabytes: int
    seconds: float
    memory: float


def exponent(points: Sequence[Point], field: str) -> float:
    """Return the slope of the least-squares line through the logarithms: 1 if a field is proportional to the size."""
    sizes = [math.log(point.megabytes) for point in points]
    # Without growth of the peak, there is no logarithm.
    values = [math.log(max(1e-3, getattr(point, field))) for point in points]
    return statistics.linear_regression(sizes, values).slope


def grow(name: str, *, one_line: bool) -> list[Point]:
    """Measure a strategy on one size after the other, until one takes too long."""
    points: list[Point] = []
    for size in MEGABYTES:
        points.append(measure_apart(name, size, one_line=one_line))
        if points[-1].seconds > _PATIENCE:
            break
    return points


def measure_apart(name: str, megabytes: int, *, one_line: bool) -> Point:
    """Run `measure` in a new process, to measure its peak memory alone."""
    command = [sys.executable, __file__, name, str(megabytes), "one-line" if one_line else "markdown"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    output = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=environment).stdout
    return Point(*json.loads(output))


def measure(name: str, megabytes: int, *, one_line: bool) -> Point:
    """Measure one size in this process."""
    strategy = create(name)
    strategy.chunk(Document("warm", prose(50_000, one_line=one_line)))
    before = settled()
    document = Document("large", prose(megabytes * 1_000_000, one_line=one_line))
    times = [_time(strategy, document)]
    memory = peak() - before
    # At least twice, since the first run, which also gets its memory from the system, is rarely the best.
    times += [_time(strategy, document) for _ in range(max(1, _AT_LEAST // megabytes - 1))]
    return Point(megabytes, min(times), memory)


def _time(strategy: Strategy, document: Document) -> float:
    begin = time.perf_counter()
    chunks = strategy.chunk(document)
    seconds = time.perf_counter() - begin
    del chunks
    return seconds


def settled() -> float:
    """Return the peak after releasing unused memory, or small documents would seem to need none."""
    gc.collect()
    if sys.platform == "linux":
        ctypes.CDLL(None).malloc_trim(0)
        # Reset the peak to the memory in use.
        Path("/proc/self/clear_refs").write_text("5")
    return peak()


def peak() -> float:
    if sys.platform == "linux":
        # Not ru_maxrss, which starts with the peak of the parent process.
        status = Path("/proc/self/status").read_text()
        return int(re.findall(r"^VmHWM:\s+(\d+) kB", status, re.MULTILINE)[0]) / 1e3
    # In bytes on macOS.
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1e6 if sys.platform == "darwin" else 1e3)


if __name__ == "__main__":
    strategy_name, size, text_shape = sys.argv[1:]
    print(json.dumps(measure(strategy_name, int(size), one_line=text_shape == "one-line")))
