"""Names of the collections in a folder, and changes of them that hold although a process is killed.

A folder can take another name in one step, but two folders can't exchange their names in one. Therefore the exchange is
written down first, and whoever opens a collection afterwards completes it.
"""

from __future__ import annotations

import json
import os
import re
import uuid
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from kinsplit.errors import InvalidParameterError, LockWarning, StoreError, StoreLockedError
from kinsplit.stores.schema import check_collection

SHARD = "shard"
# Locked by the engine while a shard is open.
_LOCKED = "wal"
_JOURNAL = ".switch.json"
_TURN = ".names.lock"
#: Seconds that a change of names waits for another one before it says so. The lock of a process that died is free.
_PATIENCE = 5


@contextmanager
def naming(place: Path) -> Iterator[None]:
    """Keep others from changing the names in a folder, after completing an interrupted change."""
    from filelock import FileLock, Timeout

    turn = FileLock(place / _TURN)
    try:
        turn.acquire(timeout=_PATIENCE)
    except Timeout:
        who = "another process that changes the names of collections. If it hangs, end it."
        message = f"{turn.lock_file}: still waiting after {_PATIENCE} seconds for {who}"
        warnings.warn(message, LockWarning, stacklevel=2)
        turn.acquire()
    try:
        _complete(place)
        yield
    finally:
        turn.release()


def settle_names(place: Path) -> None:
    """Complete an interrupted exchange of names, if there is one."""
    if (place / _JOURNAL).is_file():
        with naming(place):
            pass


@contextmanager
def held(folder: Path) -> Iterator[None]:
    """Hold the lock by which an open collection keeps others out.

    Raises:
        StoreLockedError: The collection is open, here or in another process.
    """
    try:
        import fcntl
    except ImportError:  # Windows renames no folder whose files are open.
        try:
            yield
        except PermissionError as error:
            raise _locked(folder) from error
        return
    file = os.open(folder / SHARD / _LOCKED, os.O_RDONLY)
    try:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise _locked(folder) from None
        yield
    finally:
        os.close(file)


def exchange(place: Path, one: str, other: str) -> None:
    """Exchange the names of two folders; the caller holds `naming` and both folders."""
    draft = place / f"{_JOURNAL}.{uuid.uuid4().hex}"
    aside = f".{one}.{uuid.uuid4().hex}"
    draft.write_text(json.dumps({"one": one, "other": other, "aside": aside}), encoding="utf-8")
    draft.replace(place / _JOURNAL)
    (place / one).rename(place / aside)
    _complete(place)


def _complete(place: Path) -> None:
    """Complete the exchange that was written down; nothing has been moved while nothing is aside."""
    journal = place / _JOURNAL
    try:
        one, other, aside = (place / name for name in _read(journal))
    except FileNotFoundError:
        return
    if aside.exists():
        if not one.exists():
            other.rename(one)
        aside.rename(other)
    journal.unlink()


def _read(journal: Path) -> tuple[str, str, str]:
    """Return the names in a journal, which may come with a folder from anywhere and must not lead out of it."""
    with suppress(ValueError, TypeError, KeyError, RecursionError, InvalidParameterError):
        names = json.loads(journal.read_text(encoding="utf-8"))
        one, other, aside = (str(names[key]) for key in ("one", "other", "aside"))
        check_collection(one)
        check_collection(other)
        if re.fullmatch(rf"\.{re.escape(one)}\.[0-9a-f]{{32}}", aside):
            return one, other, aside
    raise StoreError(f"{journal} is no record of kinsplit's of an exchange of names. Delete the file.")


def _locked(folder: Path) -> StoreLockedError:
    return StoreLockedError(f"{folder} is open. Close it first, in this process or the other that has it open.")
