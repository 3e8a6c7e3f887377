"""Events of a model that blocks, for an event loop."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Generator
from typing import TypeVar

T = TypeVar("T")


class _End:
    pass


async def in_threads(events: Generator[T, None, None]) -> AsyncGenerator[T, None]:
    """Yield the items of a generator, each made in one of the loop's threads.

    Nothing is made before it is asked for. A consumer that is cancelled, or that closes this generator, goes on at
    once; the inner one is closed too, which stops a model, as soon as the item that is being made is done.

    Args:
        events: The generator, such as `kinsplit.answering.answer` returns.
    """
    loop = asyncio.get_running_loop()
    step: asyncio.Future[T | _End] | None = None
    try:
        while True:
            step = loop.run_in_executor(None, next, events, _End())
            item = await asyncio.shield(step)
            if isinstance(item, _End):
                return
            yield item
    finally:
        if step is None or step.done():
            await loop.run_in_executor(None, events.close)
        else:
            # A generator can't be closed while it runs.
            step.add_done_callback(lambda done: _close(done, events, loop))


def _close(done: asyncio.Future[T | _End], events: Generator[T, None, None], loop: asyncio.AbstractEventLoop) -> None:
    if not done.cancelled():
        done.exception()  # Nobody waits for it any more.
    loop.run_in_executor(None, events.close)
