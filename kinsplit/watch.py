"""Continuous indexing of folders whose files change."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from threading import Event
from typing import NamedTuple

from kinsplit.errors import LoadError
from kinsplit.index import AddReport, Index
from kinsplit.indexing.reports import DocumentReport
from kinsplit.loaders import Limits, Loaded, SourceFile, discover
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
    """Files under some paths, and the work that they need.

    Attributes:
        done: States of the files that were indexed, or failed, by id.
        ready: States of new and changed files, by id.
        lost: Ids of deleted files.
        resting: Whether no file seems to be being written.
    """

    paths: Sequence[Path]
    subjects: Sequence[str]
    readers: Sequence[str]
    settle: float
    done: dict[str, _State] = field(default_factory=dict)
    ready: dict[str, _State] = field(default_factory=dict)
    lost: set[str] = field(default_factory=set)
    resting: bool = False

    def look(self) -> bool:
        """Compare all files with what was done, and return whether there is any work."""
        found = discover(self.paths, subjects=self.subjects, readers=self.readers)
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
    subjects: Sequence[str] = (),
    readers: Sequence[str] = (),
    settle: float = SETTLE,
    limits: Limits | None = None,
    stop: Event | None = None,
    on_file: Callable[[Loaded], None] | None = None,
    on_document: Callable[[DocumentReport], None] | None = None,
    on_error: Callable[[LoadError], None] | None = None,
) -> Iterator[AddReport]:
    """Keep an index up to date with files and folders until `stop` is set or Ctrl-C is pressed.

    New and changed files are read once they have not changed for a while; deleted files are deleted from the index. A
    file that fails is tried again when it changes.

    Args:
        index: The index.
        paths: Files and folders, as for `Index.add`.
        subjects: See `Index.add`.
        readers: See `Index.add`.
        settle: Seconds for which a file must be unchanged before it is read.
        limits: See `Index.add`.
        stop: Event that ends the loop.
        on_file: See `Index.add`.
        on_document: See `Index.add`.
        on_error: Called when the paths can't be searched, once for each reason; they are tried again.

    Yields:
        A report of each update; the first one at once.

    Raises:
        LoadError: The paths are wrong from the beginning.
    """
    watched = _Watched(paths, subjects, readers, settle)
    add = partial(index.add, paths, subjects=subjects, readers=readers, limits=limits)

    def step() -> Iterator[AddReport]:
        if watched.look():
            yield add(prune=True, known=watched.is_known, on_file=on_file, on_document=on_document)
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
