"""Rendered texts and pictures of pages, made in worker processes."""

from __future__ import annotations

import hashlib
import pickle
import sys
from pathlib import Path
from typing import cast

from kinsplit.server.errors import RequestError
from kinsplit.server.middleware.metrics import Metrics
from kinsplit.server.processes.excerpts import Excerpt, render
from kinsplit.server.processes.lane import Kind, Lane, LaneFullError
from kinsplit.server.processes.pdf_page import Picture, draw

# Texts of searches, and documents as short as they are: no long one is ever before them.
_SHORT = Kind((render.__module__,), nice=5, seconds=0.5, memory=2**28, result=2**22, waiting=256, kept=2**20)
_LONG = Kind(
    (render.__module__, draw.__module__), nice=10, seconds=4.0, memory=2**30, result=2**25, waiting=16, kept=2**21
)
# Characters of a short text, and of a text that takes as long as a page.
_MOST, _PAGE = 20_000, 20_000


class Renderer:
    """Renders texts and draws pages in two processes, one of which is for short texts. To be used from one event loop.

    Args:
        timeout: Maximum seconds for a page or a text.
        metrics: Metrics that count rejected calls.
    """

    def __init__(self, timeout: float, metrics: Metrics) -> None:
        self._short, self._long = (Lane(kind, timeout, _size) for kind in (_SHORT, _LONG))
        self._metrics = metrics

    def warm(self) -> None:
        """Start the processes ahead of the first text."""
        self._short.warm()
        self._long.warm()

    async def render(self, excerpt: Excerpt, cost: int | None = None) -> str | None:
        """Return a text as safe HTML, or None if a library fails at it.

        Args:
            excerpt: The text.
            cost: Characters of all texts of the request, if there are others: requests with fewer go first.

        Raises:
            RequestError: Too many texts are waiting (503).
            WorkerError: It takes too long or too much memory.
        """
        lane = self._short if len(excerpt.text) <= _MOST else self._long
        # However it is marked.
        content = _digest(excerpt._replace(marks=()))
        cost = len(excerpt.text) if cost is None else cost
        try:
            return cast("str | None", await lane.run((content, excerpt.marks), cost, render, excerpt, refusal=content))
        except LaneFullError:
            raise self._rejected() from None

    async def draw(self, path: Path, digest: str, page: int, text: str, before: str, width: int) -> Picture:
        """Draw a page; see `kinsplit.server.processes.pdf_page.draw`.

        Raises:
            RequestError: Too many pages and texts are waiting (503).
            PageError: The file or the page is not there, or PDFium refuses it.
            WorkerError: It takes too long or too much memory, or crashes PDFium.
        """
        # A file that changes gets another time or size.
        facts = path.stat() if path.exists() else None
        drawn = (path, facts and (facts.st_mtime_ns, facts.st_size), digest, page, width)
        key = (*drawn, _digest((text, before)))
        try:
            return cast(
                "Picture",
                await self._long.run(key, _PAGE, draw, path, digest, page, text, before, width, refusal=drawn),
            )
        except LaneFullError:
            raise self._rejected() from None

    def close(self) -> None:
        """End the processes."""
        self._short.close()
        self._long.close()

    def _rejected(self) -> RequestError:
        self._metrics.rejected.labels("rendering").inc()
        remedy = "Try again in a few seconds."
        return RequestError(503, "is rendering as much as it can", remedy, headers={"Retry-After": "5"})


def _digest(value: object) -> bytes:
    return hashlib.blake2b(pickle.dumps(value), digest_size=16).digest()


def _size(result: str | Picture | None) -> int:
    return sys.getsizeof(result.png if isinstance(result, Picture) else result)
