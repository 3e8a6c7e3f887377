"""Logic that is written once, as coroutines, run for callers that can't await: over blocking calls it never waits."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from types import TracebackType
from typing import Any, TypeVar

T = TypeVar("T")


def finish(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine that waits for nothing, and return its result.

    Raises:
        RuntimeError: It did wait, for which there is no event loop.
    """
    try:
        coroutine.send(None)
    except StopIteration as stop:
        result: T = stop.value
        return result
    coroutine.close()
    raise RuntimeError(f"{coroutine!r} waits for an event loop.")


class AtOnce:
    """A blocking object in the place of an asynchronous one: its calls are done before anybody can wait for them.

    Args:
        target: Has the same methods as the asynchronous object.
        guard: Held during each call.
    """

    def __init__(self, target: object, guard: AbstractContextManager[object]) -> None:
        self._target, self._guard = target, guard

    def __getattr__(self, name: str) -> Callable[..., Awaitable[Any]]:
        method = getattr(self._target, name)

        async def call(*arguments: Any, **named: Any) -> Any:
            with self._guard:
                return method(*arguments, **named)

        return call


class Held(AbstractAsyncContextManager[None]):
    """A thread's lock, or another manager that can be entered again, in the place of an asynchronous one.

    Args:
        manager: Entered and left with it.
    """

    def __init__(self, manager: AbstractContextManager[object]) -> None:
        self._manager = manager

    async def __aenter__(self) -> None:
        self._manager.__enter__()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._manager.__exit__(kind, error, traceback)
