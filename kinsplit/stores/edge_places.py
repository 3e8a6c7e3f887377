"""What rankings read of payloads, kept: to read it again takes longer than to rank."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from itertools import islice

from kinsplit.stores.payload import Payload

#: Payloads to keep, those that were read last; 1.2 kB each.
_MOST = 20_000


class Places:
    """Some keys of the payloads of points that were found before, until the points are written. Safe for threads."""

    def __init__(self) -> None:
        self._kept: dict[str, Payload] = {}
        self._writes = 0
        self._lock = threading.Lock()

    def read(self, ids: Iterable[str], fetch: Callable[[list[str]], Mapping[str, Payload]]) -> dict[str, Payload]:
        """Return what is kept by id, and what `fetch` returns of the others; points may be missing there.

        Args:
            ids: Of the points.
            fetch: Reads points, always the same keys of them.
        """
        wanted = dict.fromkeys(ids)
        with self._lock:
            writes, kept = self._writes, self._kept
            found = {id_: kept[id_] for id_ in wanted if id_ in kept}
        missing = [id_ for id_ in wanted if id_ not in found]
        if missing:
            fetched = fetch(missing)
            found.update(fetched)
            with self._lock:
                # What was written meanwhile may have been read before.
                if writes == self._writes:
                    kept.update(fetched)
                    for id_ in list(islice(kept, max(0, len(kept) - _MOST))):
                        del kept[id_]
        return found

    def forget(self, ids: Iterable[str]) -> None:
        """Let go of points, once they have been written."""
        with self._lock:
            self._writes += 1
            for id_ in ids:
                self._kept.pop(id_, None)
