"""The worker's end of the pipes: requests from the pool, calls under their limits, and replies."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import os
import pickle
import signal
import struct
import sys
import traceback
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from kinsplit.errors import WorkerError

# Seconds after which a worker ends by itself if its call is late and the process that would kill it is gone.
_GRACE = 5.0

LENGTH = struct.Struct("!Q")  # bytes that follow
REPLY = struct.Struct("!c?QQ")  # outcome, whether the worker stays usable, bytes of the result, bytes that follow
READY, RESULT, ERROR, NO_MEMORY, TOO_LARGE = b"S", b"R", b"E", b"M", b"L"
#: Maximum bytes of a pickled exception; a larger one is reduced to the beginning of its message.
ERROR_LIMIT = 2**16
# Number of characters kept of that message.
_MESSAGE = 1_000
# Growth in bytes after which memory is returned; each time takes some milliseconds.
_GROWTH = 2 * 2**20
# Column of the memory that is not swapped out in `/proc/self/statm`.
_RESIDENT = 1


@dataclass(frozen=True, slots=True)
class CallLimits:
    """Limits of a call."""

    time: float
    memory: int | None
    result: int


def read_exactly(count: int, pipe: IO[bytes]) -> bytes:
    """Read a number of bytes, or raise EOFError if the pipe ends before."""
    data = pipe.read(count)
    if len(data) < count:
        raise EOFError
    return data


def serve() -> None:
    """Run calls until the pool closes the pipe."""
    requests, replies = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    _silence()
    _reply(replies, *_prepared(_request(requests) or b""))
    before, residue = _held_memory(), Residue()
    while (request := _request(requests)) is not None:
        limits, directory, payload = pickle.loads(request)  # noqa: S301 - from our own process
        # Relative paths refer to the caller's working directory, which may have changed since the last call.
        if directory is not None:
            with contextlib.suppress(OSError):
                os.chdir(directory)
        outcome, answer = _outcome(limits, payload)
        size = len(answer)
        if outcome == RESULT and size > limits.result:
            outcome, answer = TOO_LARGE, b""
        # A worker that still holds much memory is replaced, since the next call's limit counts from there.
        goes_on = outcome != NO_MEMORY and (limits.memory is None or _held_memory() - before < limits.memory)
        _reply(replies, outcome, answer, size, goes_on=goes_on)
        del request, payload, answer
        residue.release()


def _request(requests: IO[bytes]) -> bytes | None:
    """Read the next request; return None at the end."""
    head = requests.read(LENGTH.size)
    return read_exactly(LENGTH.unpack(head)[0], requests) if head else None


def _reply(replies: IO[bytes], outcome: bytes, answer: bytes = b"", size: int = 0, *, goes_on: bool = True) -> None:
    replies.write(REPLY.pack(outcome, goes_on, size, len(answer)) + answer)
    replies.flush()


def _prepared(payload: bytes) -> tuple[bytes, bytes]:
    try:
        prepare = pickle.loads(payload)  # noqa: S301 - from our own process
        if prepare is not None:
            prepare()
    except BaseException as error:
        return ERROR, _pickled(error)
    return READY, b""


def _silence() -> None:
    """Discard the output of calls, give them no input, and disable core dumps."""
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nowhere, stream)
    if sys.platform != "win32":
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))


def _outcome(limits: CallLimits, payload: bytes) -> tuple[bytes, bytes]:
    try:
        with _limited_memory(limits.memory), _limited_time(limits.time):
            try:
                function, args, kwargs = pickle.loads(payload)  # noqa: S301 - from our own process
                return RESULT, pickle.dumps(function(*args, **kwargs), pickle.HIGHEST_PROTOCOL)
            except MemoryError:
                raise
            except BaseException as error:
                if str(error) == "can't start new thread":  # for want of room for its stack
                    raise MemoryError from error
                return ERROR, _pickled(error)
    except MemoryError:
        return NO_MEMORY, b""


def _pickled(error: BaseException) -> bytes:
    """Pickle an exception so that another process can raise it."""
    if isinstance(error, Exception):
        try:
            error.add_note("".join(traceback.format_exception(error)))
            data = pickle.dumps(error, pickle.HIGHEST_PROTOCOL)
            if len(data) <= ERROR_LIMIT:
                pickle.loads(data)  # noqa: S301 - our own
                return data
        except MemoryError:
            raise
        except Exception:  # noqa: S110 - whatever its own methods raise; its message is carried below
            pass
    return pickle.dumps(WorkerError(f"{type(error).__name__}: {error}"[:_MESSAGE]))


@contextlib.contextmanager
def _limited_memory(limit: int | None) -> Iterator[None]:
    if limit is None or sys.platform != "linux":
        yield
        return
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
    most = _held_memory() + limit
    resource.setrlimit(resource.RLIMIT_DATA, (most if soft == resource.RLIM_INFINITY else min(most, soft), hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))


@contextlib.contextmanager
def _limited_time(limit: float) -> Iterator[None]:
    """Let the kernel end the process long after the limit, in case the pool's process is gone."""
    if sys.platform == "win32":
        yield
        return
    signal.setitimer(signal.ITIMER_REAL, limit + _GRACE)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def _held_memory(column: int = 5) -> int:
    """Return the bytes that `RLIMIT_DATA` counts, or those of another column of the kernel's table; 0 if unknown."""
    try:
        return int(Path("/proc/self/statm").read_bytes().split()[column]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0


class Residue:
    """The memory of this process beyond what it held before.

    The C library keeps what was freed between objects that remain: after a call that made many, a process may stay
    several times as large as it need be. On systems other than Linux, and without glibc, nothing happens.
    """

    def __init__(self) -> None:
        self._before = _held_memory(_RESIDENT)

    def release(self) -> None:
        """Return freed memory to the system if the process has grown."""
        if _held_memory(_RESIDENT) - self._before > _GROWTH:
            gc.collect()
            with contextlib.suppress(OSError, AttributeError):
                ctypes.CDLL(None).malloc_trim(0)
            self._before = _held_memory(_RESIDENT)
