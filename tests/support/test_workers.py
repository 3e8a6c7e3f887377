"""Calls in processes of their own, and what becomes of those that go wrong."""

from __future__ import annotations

import asyncio
import ctypes
import functools
import math
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import CancelledError
from pathlib import Path

import pytest

from kinsplit.errors import (
    InvalidParameterError,
    MemoryLimitError,
    ResultSizeError,
    TimeLimitError,
    WorkerDiedError,
    WorkerError,
)
from kinsplit.support import workers
from kinsplit.support.workers import WorkerPool

linux = pytest.mark.skipif(sys.platform != "linux", reason="only Linux limits memory")
_THREAD = "import threading; threading.stack_size(2**28); threading.Thread(target=print).start()"
posix = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no signals")


@pytest.fixture(scope="module")
def pool() -> Iterator[WorkerPool]:
    with WorkerPool(1, time_limit=20, memory_limit=2**26, result_limit=2**20) as made:
        yield made


def test_a_call_gives_its_result_and_the_worker_is_used_again(pool):
    assert pool.call(math.factorial, 20) == math.factorial(20)
    worker = pool.call(os.getpid)
    assert worker != os.getpid()
    assert pool.call(os.getpid) == worker


def test_an_exception_of_the_function_is_raised_as_it_is_and_costs_no_worker(pool):
    worker = pool.call(os.getpid)
    with pytest.raises(ZeroDivisionError) as caught:
        pool.call(divmod, 1, 0)
    assert "Traceback" in caught.value.__notes__[0]
    assert pool.call(os.getpid) == worker


@pytest.mark.parametrize(
    ("function", "arguments", "error", "message"),
    [
        pytest.param(os.abort, (), WorkerDiedError, r"signal 6 \(SIGABRT\)", marks=posix),
        pytest.param(ctypes.string_at, (0,), WorkerDiedError, r"signal 11 \(SIGSEGV\)", marks=posix),
        pytest.param(signal.raise_signal, (9,), WorkerDiedError, r"signal 9 \(SIGKILL\)", marks=posix),
        (os._exit, (3,), WorkerDiedError, "exit code 3"),
        pytest.param(bytearray, (2**28,), MemoryLimitError, "more than 64 MiB of memory", marks=linux),
        # A thread's stack finds no room.
        pytest.param(exec, (_THREAD,), MemoryLimitError, "more than 64 MiB of memory", marks=linux),
        (bytes, (2**20,), ResultSizeError, r"1,048,\d+ bytes, where at most 1,048,576"),
        (sys.exit, (1,), WorkerError, "SystemExit: 1"),
        (int, (threading.Lock(),), WorkerError, "can't be pickled"),
        (threading.Lock, (), TypeError, "cannot pickle"),
        (InvalidParameterError, ("a", "b", "c" * 99, "d"), None, ""),
        (exec, ("raise UnicodeDecodeError('utf-8', bytes(100_000), 0, 1, 'no')",), WorkerError, "UnicodeDecodeError:"),
    ],
)
def test_a_call_that_goes_wrong_says_how_and_the_next_one_is_answered(pool, function, arguments, error, message):
    if error is None:
        assert isinstance(pool.call(function, *arguments), function)
    else:
        with pytest.raises(error, match=message):
            pool.call(function, *arguments)
    assert pool.call(math.factorial, 5) == 120


def test_a_call_that_hangs_ends_at_its_limit_even_where_it_holds_the_interpreters_lock():
    with WorkerPool(time_limit=0.3) as pool:
        begun = time.monotonic()
        with pytest.raises(TimeLimitError, match=r"longer than 0\.3 s"):
            pool.call(pow, 3, 10**9)
        assert time.monotonic() - begun < 10
        assert pool.call(math.factorial, 5) == 120


@posix
def test_a_worker_that_is_killed_while_it_waits_costs_no_call(pool):
    worker = pool.call(os.getpid)
    os.kill(worker, signal.SIGKILL)
    while _runs(worker):
        time.sleep(0.01)
    assert pool.call(math.factorial, 5) == 120


def test_a_worker_is_prepared_before_its_first_call_beyond_all_limits():
    with WorkerPool(time_limit=0.5, prepare=functools.partial(time.sleep, 1)) as pool:
        assert pool.call(math.factorial, 5) == 120
    with WorkerPool(prepare=functools.partial(divmod, 1, 0)) as pool, pytest.raises(ZeroDivisionError):
        pool.call(math.factorial, 5)


def test_relative_paths_are_the_callers(pool, tmp_path, monkeypatch):
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        monkeypatch.chdir(tmp_path / name)
        assert pool.call(os.getcwd) == str(tmp_path / name)


def test_threads_share_workers_and_each_gets_its_own_answer():
    with WorkerPool(2) as pool:
        futures = [pool.submit(math.factorial, n) for n in range(50)]
        assert [future.result() for future in futures] == [math.factorial(n) for n in range(50)]
        assert len({pool.call(os.getpid) for _ in range(10)}) <= 2


async def test_a_cancelled_call_ends_and_leaves_room_for_the_next():
    with WorkerPool(time_limit=60) as pool:
        task = asyncio.create_task(pool.call_async(time.sleep, 60))
        await asyncio.sleep(1)
        begun = time.monotonic()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert await pool.call_async(math.factorial, 5) == 120
        assert time.monotonic() - begun < 20


def test_a_call_that_is_cancelled_before_it_begins_never_runs(tmp_path):
    with WorkerPool() as pool:
        first = pool.submit(time.sleep, 60)
        second = pool.submit(Path.touch, tmp_path / "ran")
        assert second.cancel()
        assert not first.cancel()  # It has begun, and ends all the same.
        with pytest.raises(CancelledError):
            first.result()
        pool.call(math.factorial, 5)
        assert not (tmp_path / "ran").exists()


def test_closing_ends_calls_and_refuses_new_ones():
    with WorkerPool() as pool:
        worker = pool.call(os.getpid)
        running = pool.submit(time.sleep, 60)
        while not running.running():
            time.sleep(0.01)
    with pytest.raises(WorkerError, match=r"its pool|is closed"):
        running.result()
    with pytest.raises(WorkerError, match="is closed"):
        pool.call(math.factorial, 5)
    with pytest.raises(WorkerError, match="is closed"):
        pool.submit(math.factorial, 5)
    assert not _runs(worker)


def test_a_call_that_looks_for_a_worker_while_the_pool_closes_fails(monkeypatch):
    pool = WorkerPool()

    def close_meanwhile():
        pool.close()

    monkeypatch.setattr(pool, "_idle_worker", close_meanwhile)
    with pytest.raises(WorkerError, match="is closed"):
        pool.call(time.sleep, 60)
    assert not pool._watchdog.workers


_SCRIPT = """
import math, os
from kinsplit.support import workers
from kinsplit.support.workers import WorkerPool
print("once")
pool = WorkerPool()
print(pool.call(math.factorial, 5))
print(pool.call(os.getpid))
"""


@pytest.mark.parametrize("how", ["script", "command", "prompt"])
def test_a_main_module_without_a_guard_runs_once_and_leaves_nothing_behind(tmp_path, how):
    script = tmp_path / "script.py"
    script.write_text(_SCRIPT)
    arguments = {"script": [str(script)], "command": ["-c", _SCRIPT], "prompt": ["-i", "-q"]}[how]
    done = subprocess.run(
        [sys.executable, "-W", "error", *arguments],
        input=_SCRIPT if how == "prompt" else None,
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
    )
    once, result, worker = done.stdout.split()
    assert (once, result) == ("once", "120")
    assert done.stderr.replace(">>> ", "").strip() == ""
    assert not _runs(int(worker))


@posix
def test_an_interrupt_ends_the_worker_and_says_nothing_of_it(tmp_path):
    code = (
        "import os, sys, time\nfrom kinsplit.support.workers import WorkerPool\npool = WorkerPool()\n"
        "print(pool.call(os.getpid), flush=True)\n"
        "try:\n    pool.call(time.sleep, 60)\nexcept KeyboardInterrupt:\n    print('stopped')\n"
    )
    running = subprocess.Popen(
        [sys.executable, "-W", "error", "-c", code],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
    )
    worker = int(running.stdout.readline())
    time.sleep(1)  # A signal just before the wait begins is noticed when that ends.
    os.killpg(running.pid, signal.SIGINT)
    out, errors = running.communicate(timeout=30)
    assert (out, errors, running.returncode) == ("stopped\n", "", 0)
    assert not _runs(worker)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_forked_process_starts_workers_of_its_own(pool):
    worker = pool.call(os.getpid)
    child = os.fork()
    if not child:
        try:
            os._exit(0 if pool.call(os.getpid) not in (worker, os.getppid()) else 1)
        finally:
            os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert pool.call(os.getpid) == worker


def _runs(process: int) -> bool:
    try:
        os.kill(process, 0)
        # One that ended, and that its parent hasn't asked after yet, still has its number.
        return sys.platform != "linux" or Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (ProcessLookupError, FileNotFoundError):
        return False


def test_the_watchdog_ends_with_its_pool():
    pool = WorkerPool(1)
    assert pool.call(math.factorial, 5) == 120
    thread = pool._watchdog._thread
    assert thread is not None
    assert thread.is_alive()
    pool.close()
    thread.join(10)
    assert not thread.is_alive()


def test_a_late_call_is_stopped_once(monkeypatch):
    stops = []
    stop = workers._Worker.stop
    monkeypatch.setattr(workers._Worker, "stop", lambda *arguments: (stops.append(1), stop(*arguments)))
    with WorkerPool(1, time_limit=0.2) as pool, pytest.raises(TimeLimitError):
        pool.call(time.sleep, 60)
    assert stops == [1]
