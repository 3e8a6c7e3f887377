"""Nodes of a Ray cluster: their names, and whether each has the files of a run."""

from __future__ import annotations

import hashlib
import os
import socket
import stat
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from kinsplit.errors import KinsplitError, LoadError, WorkerError
from kinsplit.integrations.ray.file_systems import FoundFiles, is_address, size_of

# Files whose contents are compared, evenly chosen, and the bytes of each.
_FILES, _BYTES = 16, 2**16
# Given paths that are looked for; a pattern gives one for each file.
_ROOTS = 100
# Seconds within which a node answers, since it may have to make a process, and a network drive may hang.
_SECONDS = 120.0
# Nodes that an error names.
_NAMED = 5
# Words with which errors name a node.
_CLUSTER = "of the Ray cluster"


class Sight(NamedTuple):
    """A file or folder as one machine sees it, or why it can't be read."""

    content: str  # Kind, size and digest of the beginning, which are equal on all machines.
    error: str = ""


def check_nodes(found: FoundFiles) -> None:
    """Check that every node that runs tasks sees the files of a run as this process does.

    If one doesn't, LoadError is raised; if one can't run kinsplit or doesn't answer in time, WorkerError. Nodes that
    join the cluster later are not checked: `Load` names them in the errors of their files.
    """
    places = _sample(found)
    own = dict(zip(places, look(places), strict=True))
    answers, silent = _ask([place for place, sight in own.items() if not sight.error])
    number = len(answers) + len(silent)
    if silent:
        raise WorkerError(
            f"kinsplit can't run on {len(silent)} of the {number} nodes {_CLUSTER}: {_listed(silent)}. Install "
            "kinsplit there with the same extras, check the node's network drives, or take it out of the cluster."
        )
    wrong = {}
    for name, sights in answers.items():
        for place, sight in sights.items():
            # A file that has changed here since is no reason to stop.
            if sight != own[place] and _look(place) == own[place]:
                wrong[name] = place, sight.error or "another file or version"
                break
    if wrong:
        first = next(place for place in own if place in {place for place, _ in wrong.values()})
        texts = {name: text if place == first else f"{place}: {text}" for name, (place, text) in wrong.items()}
        raise LoadError(
            first,
            f"is missing or different on {len(wrong)} of the {number} nodes {_CLUSTER}: {_listed(texts)}. "
            "Mount the same folder there under the same path, or give an address such as s3://bucket/folder.",
        )


def look(places: Sequence[str]) -> list[Sight]:
    """Return what this machine sees at some paths and addresses."""
    return [_look(place) for place in places]


class TaskError(WorkerError):
    """An error in a task, as it is sent to the process that waits: Ray adds text to the arguments of what it sends.

    The message names no node, but the note does. The error is given if it is one of kinsplit's.
    """

    def __init__(self, message: str, note: str = "", error: KinsplitError | None = None) -> None:
        super().__init__(message)
        self.message, self.note, self.error = message, note, error

    def __str__(self) -> str:
        return f"{self.message} {self.note}"


@contextmanager
def noting_node() -> Iterator[None]:
    """Name the node in errors that the block raises in a task, which Ray passes on without it, by a TaskError."""
    try:
        yield
    except TaskError:
        raise
    except Exception as error:
        if not (note := node_note()):
            raise
        if isinstance(error, KinsplitError):
            # A task that started others passes on their errors.
            names_node = any(_CLUSTER in text for text in (str(error), *getattr(error, "__notes__", ())))
            raise TaskError(str(error), "" if names_node else note, error) from error
        raise TaskError(f"{type(error).__name__}: {error}.", note) from error


def cause_of(error: BaseException) -> KinsplitError:
    """Return the error of kinsplit that made a task fail, with the node as a note, or one that sums up that of Ray."""
    from ray.exceptions import RayError

    seen: BaseException | None = error
    while seen is not None:
        # Ray's own errors take the class of their cause, and their text is a traceback.
        if isinstance(seen, KinsplitError) and not isinstance(seen, RayError):
            break
        seen = getattr(seen, "cause", None) or seen.__cause__
    if isinstance(seen, TaskError) and seen.error is not None:
        if seen.note:
            seen.error.add_note(seen.note)
        return seen.error
    if isinstance(seen, KinsplitError) and not isinstance(seen, TaskError):
        return seen
    reason = f"{type(error).__name__}: {summary_of(error)}" if seen is None else str(seen)
    remedy = "What is stored stays; once the cause is gone, the same command stores the rest."
    summed = WorkerError(f"Ray ended the run ({reason.rstrip('.')}). {remedy}")
    summed.__cause__ = error
    return summed


def node_note() -> str:
    """Return a sentence that names the node of the task that runs in this process; empty if it runs none."""
    import ray

    if not ray.is_initialized() or (context := ray.get_runtime_context()).worker.mode != ray.WORKER_MODE:
        return ""
    name = _name(ray.util.get_node_ip_address(), socket.gethostname(), context.get_node_id())
    return f"This was on node {name} {_CLUSTER}."


def summary_of(error: BaseException) -> str:
    """Return the line that tells most of an error of Ray, whose text may be a traceback with its cause at the end."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()] or [type(error).__name__]
    return (lines[-1] if any("ray::" in line for line in lines) else lines[0]).rstrip(".")


def _sample(found: FoundFiles) -> list[str]:
    """Return the given paths, and some of the files, evenly chosen."""
    roots = found.roots[:: -(-len(found.roots) // _ROOTS) or 1]
    ids = islice(found.by_id, 0, None, -(-len(found.by_id) // _FILES) or 1)
    files = [found.by_id[id_] for id_ in ids]
    return list(dict.fromkeys([*roots, *(file.place for file in files if file.error is None)]))


def _look(place: str) -> Sight:
    try:
        if is_address(place):
            return Sight(f"{size_of(place)} bytes")
        if not stat.S_ISREG(Path(place).stat().st_mode):
            return Sight("folder")
        # A network drive asks its server for news when a file is opened, and not when its size is asked for.
        with Path(place).open("rb") as file:
            return Sight(f"{os.fstat(file.fileno()).st_size} {hashlib.sha256(file.read(_BYTES)).hexdigest()}")
    except OSError as error:
        return Sight("", (error.strerror or str(error)).lower())
    except LoadError as error:
        return Sight("", error.reason.rstrip("."))


def _ask(places: Sequence[str]) -> tuple[dict[str, dict[str, Sight]], dict[str, str]]:
    """Ask all nodes what they see at some places, and return that by their names, and why the other ones don't say."""
    import ray
    from ray.exceptions import GetTimeoutError, RayError, TaskUnschedulableError
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    names = _workers(ray)
    task = ray.remote(num_cpus=0)(look)
    asked = {
        node: task.options(scheduling_strategy=NodeAffinitySchedulingStrategy(node, soft=False)).remote(places)
        for node in names
    }
    if asked:
        ray.wait(list(asked.values()), num_returns=len(asked), timeout=_SECONDS)
    answers, silent = {}, {}
    for node, name in names.items():
        try:
            answers[name] = dict(zip(places, ray.get(asked[node], timeout=0), strict=True))
        except GetTimeoutError:
            ray.cancel(asked[node], force=True)
            silent[name] = f"no answer within {_SECONDS:g} s"
        except TaskUnschedulableError:
            pass  # It is being taken out of the cluster.
        except RayError as error:
            if node in _workers(ray):
                silent[name] = summary_of(error)
    return answers, silent


def _workers(ray: Any) -> dict[str, str]:
    """Return the names of the nodes that run tasks, by their ids."""
    return {
        node["NodeID"]: _name(node["NodeManagerAddress"], node["NodeManagerHostname"], node["NodeID"])
        for node in ray.nodes()
        if node["Alive"] and node["Resources"].get("CPU", 0)
    }


def _name(address: str, host: str, node_id: str) -> str:
    return f"{address} ({host}, id {node_id[:8]})"


def _listed(texts: Mapping[str, str]) -> str:
    named = "; ".join(f"{name}: {text}" for name, text in islice(texts.items(), _NAMED))
    return f"{named}; and {len(texts) - _NAMED} more" if len(texts) > _NAMED else named
