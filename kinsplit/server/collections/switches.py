"""Names in the store, which another collection may get while the service runs."""

from __future__ import annotations

import threading
from collections.abc import Callable

from kinsplit.errors import CollectionNotFoundError, StoreError
from kinsplit.stores import Catalog, open_catalog

#: Seconds between looks.
_LOOK = 1.0


class Switches:
    """Looks at the names of a store, now and then in a thread of its own. Thread-safe.

    Args:
        address: Address of the store.
    """

    def __init__(self, address: str) -> None:
        self._address = address
        self._catalog: Catalog | None = None
        self._lock, self._stop = threading.Lock(), threading.Event()
        self._thread: threading.Thread | None = None

    def identity(self, name: str) -> str | None:
        """Return the identity of the collection that has a name now, or None if there is none.

        Raises:
            StoreError: The store can't be reached.
        """
        with self._lock:
            self._catalog = self._catalog or open_catalog(self._address)
            try:
                return self._catalog.identity(name)
            except CollectionNotFoundError:
                return None
            except StoreError:
                # The next look connects anew.
                self._catalog.close()
                self._catalog = None
                raise

    def start(self, look: Callable[[], None]) -> None:
        """Begin to call a function every second."""

        def run() -> None:
            while not self._stop.wait(_LOOK):
                look()

        self._thread = threading.Thread(target=run, name="kinsplit switches", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """End the thread and release the connection."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join()
        with self._lock:
            if self._catalog is not None:
                self._catalog.close()
                self._catalog = None
