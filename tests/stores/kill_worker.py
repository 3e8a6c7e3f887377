"""Calls for worker processes, most of which end with a kill."""

import os
import signal

from kinsplit_testing import SCHEMA, TEXTS, make_chunks, make_store, save

#: Name of the collection.
COLLECTION = "cs"


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def sync_and_die(address: str) -> None:
    store = make_store(address, COLLECTION, SCHEMA)
    save(store, "doc", make_chunks("doc", TEXTS))
    die()


def delete_and_die(address: str) -> None:
    """Die in the middle of a transaction of Postgres."""
    store = make_store(address, COLLECTION, SCHEMA)
    save(store, "doc", make_chunks("doc", TEXTS))
    with store._exclusively():  # type: ignore[attr-defined]
        store._writer.connection.execute(f"DELETE FROM {store._tables.chunks.as_string(None)}")  # type: ignore[attr-defined]
        die()


def load_and_die(address: str) -> None:
    """Die during a first load."""
    store = make_store(address, COLLECTION, SCHEMA)
    with store.first_load():
        save(store, "doc", make_chunks("doc", TEXTS))
        die()


def sync_twenty_times(address: str, who: str) -> None:
    """Write versions of one source, each of one to five chunks that name the writer."""
    with make_store(address, COLLECTION, SCHEMA) as store:
        for number in range(20):
            texts = TEXTS[: number % 5 + 1]
            save(store, "doc", make_chunks("doc", [f"{text} {who} {number}" for text in texts]))
