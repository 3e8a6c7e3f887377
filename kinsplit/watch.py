"""Continuous indexing of folders whose files change."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from threading import Event, Thread
from typing import Literal, NamedTuple, Unpack

from kinsplit.errors import KinsplitError, LoadError
from kinsplit.index import AddReport, Index
from kinsplit.indexing.reports import AddEvent, DocumentReport, FileRead, OnEvent
from kinsplit.keywords import AddKeywords
from kinsplit.loaders import SourceFile, discover
from kinsplit.options import AddOptions
from kinsplit.support.extras import needs

#: Seconds for which a file must be unchanged before it is read, since it may still be being written.
SETTLE = 1.0


class _State(NamedTuple):
    """State of a file, which its documents depend on."""

    modified: int
    size: int
    facts: str


@dataclass(slots=True)
class _Watched:
    """Files under some paths, and the work that they need."""

    paths: Sequence[Path]
    options: AddOptions
    settle: float
    done: dict[str, _State] = field(default_factory=dict)  # States of the files that were indexed, or failed, by id.
    ready: dict[str, _State] = field(default_factory=dict)  # States of new and changed files, by id.
    lost: set[str] = field(default_factory=set)  # Ids of deleted files.
    resting: bool = False  # Whether no file seems to be being written.

    def look(self) -> bool:
        """Compare all files with what was done, and return whether there is any work."""
        found = discover(self.paths, subjects=self.options.subjects, readers=self.options.readers)
        now = {source.source_id: _state(source) for source in found.files}
        changed = {id_: state for id_, state in now.items() if self.done.get(id_) != state}
        clock = time.time_ns()
        # A time that lies ahead was set by whoever copied the file.
        self.ready = {id_: s for id_, s in changed.items() if not 0 <= clock - s.modified < self.settle * 1e9}
        self.resting = len(self.ready) == len(changed)
        self.lost = self.done.keys() - now.keys()
        return bool(self.ready or self.lost)

    def is_known(self, source: SourceFile) -> bool:
        """Return whether a file needs no reading."""
        return source.source_id not in self.ready

    def finish(self) -> None:
        """Record that the work is done."""
        self.done = {id_: state for id_, state in (self.done | self.ready).items() if id_ not in self.lost}


def watch(
    index: Index,
    paths: Sequence[Path],
    *,
    settle: float = SETTLE,
    stop: Event | None = None,
    on_event: OnEvent | None = None,
    on_error: Callable[[LoadError], None] | None = None,
    **options: Unpack[AddKeywords],
) -> Iterator[AddReport]:
    """Keep an index up to date with files and folders until `stop` is set or Ctrl-C is pressed.

    New and changed files are read once they have not changed for a while; deleted files are deleted from the index. A
    file that fails is tried again when it changes.

    Args:
        index: The index.
        paths: Files and folders, as for `Index.add`.
        settle: Seconds for which a file must be unchanged before it is read.
        stop: Event that ends the loop.
        on_event: See `Index.add`.
        on_error: Called when the paths can't be searched, once for each reason; they are tried again.
        **options: See `kinsplit.options.AddOptions`; `prune` is always set.

    Yields:
        A report of each update; the first one at once.

    Raises:
        LoadError: The paths are wrong from the beginning.
    """
    watched = _Watched(paths, AddOptions(**options), settle)
    options["prune"] = True

    def step() -> Iterator[AddReport]:
        if watched.look():
            yield index.add(paths, known=watched.is_known, on_event=on_event, **options)
            watched.finish()

    yield from step()
    # Changes from before the loop began are seen in its first turn, and files that are being written in a later one.
    watched.resting = False
    reason = ""
    for changed in _turns(paths, settle, stop):
        if not changed and watched.resting:
            continue
        try:
            yield from step()
            reason = ""
        except LoadError as error:
            if on_error is not None and str(error) != reason:
                on_error(error)
            reason = str(error)


@dataclass(frozen=True, slots=True)
class WatchStatus:
    """The state of a watch.

    Attributes:
        state: "indexing" while files are read and stored, "waiting" for changes, "failed" if the last attempt failed
            and another one follows, or "stopped".
        updates: Number of updates of the index.
        updated: Time of the last one; None before the first.
        failed: Why files can't be loaded, and documents split or embedded, by their ids.
        error: Why the last attempt failed; None if it didn't.
    """

    state: Literal["indexing", "waiting", "failed", "stopped"] = "indexing"
    updates: int = 0
    updated: datetime | None = None
    failed: Mapping[str, KinsplitError] = field(default_factory=dict)
    error: KinsplitError | None = None


class BackgroundWatch:
    """A thread that keeps an index up to date with files and folders; see `watch`.

    A folder that is empty or unreachable, or a store that fails, is tried again after a while.

    Args:
        index: The index.
        paths: Files and folders, as for `Index.add`.
        settle: See `watch`.
        on_report: Called in the thread with the report of each update.
        on_error: Called in the thread with each error that ended an attempt, once in a row.
        pause: Seconds until the next attempt.
    """

    def __init__(
        self,
        index: Index,
        paths: Sequence[Path],
        *,
        settle: float = SETTLE,
        on_report: Callable[[AddReport], None] | None = None,
        on_error: Callable[[Exception], None] | None = None,
        pause: float = 10.0,
    ) -> None:
        self.status = WatchStatus()
        self._index, self._paths, self._settle, self._pause = index, paths, settle, pause
        self._on_report, self._on_error = on_report, on_error
        self._stop = Event()
        self._thread = Thread(target=self._run, name="kinsplit watch", daemon=True)

    def start(self) -> None:
        """Begin to watch."""
        self._thread.start()

    def stop(self) -> None:
        """End the watch after the file, the document or the batch of texts that it is working on."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join()
        self.status = replace(self.status, state="stopped")

    def _run(self) -> None:
        while not self._stop.is_set():
            try:
                self._watch()
            except _StoppedError:
                return
            except Exception as error:  # Models and drivers raise errors of any kind.
                self._report(error)
            self._stop.wait(self._pause)

    def _watch(self) -> None:
        paths, settle, stop = self._paths, self._settle, self._stop
        for report in watch(self._index, paths, settle=settle, stop=stop, on_event=self._record, on_error=self._report):
            failed = {id_: error for id_, error in self.status.failed.items() if not _is_gone(error)}
            self.status = WatchStatus("waiting", self.status.updates + 1, datetime.now(UTC), failed)
            if self._on_report is not None:
                self._on_report(report)
            self._check()

    def _record(self, event: AddEvent) -> None:
        self._check()
        failed = self.status.failed
        if isinstance(event, FileRead | DocumentReport) and (event.error or event.source_id in failed):
            failed = {id_: error for id_, error in failed.items() if id_ != event.source_id}
            failed |= {event.source_id: event.error} if event.error else {}
        self.status = replace(self.status, state="indexing", failed=failed)

    def _report(self, error: Exception) -> None:
        is_new = str(error) != str(self.status.error)
        shown = error if isinstance(error, KinsplitError) else KinsplitError(f"{type(error).__name__}: {error}")
        self.status = replace(self.status, state="failed", error=shown)
        if is_new and self._on_error is not None:
            self._on_error(error)

    def _check(self) -> None:
        if self._stop.is_set():
            raise _StoppedError


def _is_gone(error: KinsplitError) -> bool:
    """Return whether the file that couldn't be loaded no longer exists."""
    return isinstance(error, LoadError) and not Path(error.path).exists()


class _StoppedError(Exception):
    """The watch is being stopped."""


def _turns(paths: Sequence[Path], settle: float, stop: Event | None) -> Iterator[bool]:
    """Yield whether anything changed below some paths, at least every `settle` seconds, until stopped."""
    with needs("search"):
        from watchfiles import watch as watch_files

    turns = watch_files(
        *{path if path.is_dir() else path.parent for path in paths},
        stop_event=stop,
        rust_timeout=max(50, int(settle * 1000)),
        yield_on_timeout=True,
        raise_interrupt=True,
        # The folder of a single file may be a whole home folder.
        recursive=any(path.is_dir() for path in paths),
    )
    while True:
        try:
            changed = next(turns)
        except (StopIteration, KeyboardInterrupt):
            return
        yield bool(changed)


def _state(source: SourceFile) -> _State:
    facts = json.dumps(dict(source.metadata), sort_keys=True) + str(source.error or "")
    try:
        stat = source.path.stat()
    except OSError:  # gone since it was listed, and missed at the next look
        return _State(0, 0, facts)
    return _State(stat.st_mtime_ns, stat.st_size, facts)
