"""Reading of a collection's files into the system's cache before the first searches need them."""

from __future__ import annotations

import os
import re
import threading
from contextlib import suppress
from pathlib import Path

from kinsplit.stores.engines.edge.disk_space import size_on_disk

# Bytes that are read by one call, during which other threads run.
_STEP = 2**26
#: Least bytes of a shard's segments; less is read quickly when it is needed.
_LEAST = 100_000_000
#: Largest share of the available memory that the segments may take.
_SHARE = 0.5
_AVAILABLE = re.compile(r"^MemAvailable:\s+(\d+) kB", re.MULTILINE)


class ReadAhead:
    """A thread that has the system read a shard's segments.

    The engine drops what it has written from the system's cache, and a search reads some 300 payloads, each on another
    page. From the disk, that takes longer than all the rest. Segments that are small, or larger than half of the
    available memory, are not read, and none are on systems other than Linux.

    Args:
        folder: Folder of the segments.
    """

    def __init__(self, folder: Path) -> None:
        self._folder, self._stopped = folder, threading.Event()
        # A daemon, since nothing is lost if the process ends.
        self._thread = threading.Thread(target=self._run, name="kinsplit-read-ahead", daemon=True)

    def start(self) -> None:
        """Begin to read."""
        self._thread.start()

    def stop(self) -> None:
        """End after the current call."""
        self._stopped.set()
        self._thread.join()

    def _run(self) -> None:
        # The engine may replace files meanwhile.
        with suppress(OSError):
            if _LEAST <= size_on_disk(self._folder) <= _SHARE * _available():
                with Path(os.devnull).open("wb") as nowhere:
                    for path in self._folder.rglob("*"):
                        if path.is_file():
                            self._read(path, nowhere.fileno())

    def _read(self, path: Path, nowhere: int) -> None:
        with suppress(OSError), path.open("rb") as file:
            for start in range(0, path.stat().st_size, _STEP):
                if self._stopped.is_set():
                    return
                # Neither copies anything nor keeps the interpreter's lock.
                os.sendfile(nowhere, file.fileno(), start, _STEP)


def _available() -> int:
    """Return the bytes of memory that the system can give away; 0 where it doesn't tell."""
    found = _AVAILABLE.search(Path("/proc/meminfo").read_text(encoding="ascii", errors="replace"))
    return 1024 * int(found[1]) if found else 0
