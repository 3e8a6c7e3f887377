"""Rendered texts and pictures of pages, made in worker processes."""

from __future__ import annotations

import importlib
import threading
from collections import OrderedDict
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from kinsplit.errors import WorkerError
from kinsplit.server import limits
from kinsplit.server.processes.excerpts import Excerpt, render
from kinsplit.server.processes.pdf_page import Picture, draw
from kinsplit.support.workers import WorkerPool


class Renderer:
    """Renders texts, and draws pages, each in a process of its own.

    Args:
        time_limit: Maximum seconds for a page, or for the texts of one response.
        memory_limit: Maximum bytes of memory for them.
    """

    def __init__(self, time_limit: float, memory_limit: int = limits.MEMORY) -> None:
        seconds = min(time_limit, limits.RENDER_SECONDS)
        self._texts, self._pages = (
            WorkerPool(
                1, time_limit=seconds, memory_limit=memory_limit, prepare=partial(importlib.import_module, module)
            )
            for module in (render.__module__, draw.__module__)
        )
        self._pictures = _PictureCache(limits.PICTURES)

    def warm(self) -> None:
        """Start the process for texts ahead of the first one."""
        self._texts.call(render, [])

    def render(self, excerpts: Sequence[Excerpt]) -> list[str | None]:
        """Return texts as safe HTML, None for each that can't be rendered, or if together they take too long."""
        if sum(len(each.text) for each in excerpts) > limits.RENDERED:
            return [None] * len(excerpts)
        try:
            return self._texts.call(render, list(excerpts))
        except WorkerError:
            return [None] * len(excerpts)

    def draw(self, path: Path, digest: str, page: int, text: str, before: str, width: int) -> Picture:
        """Draw a page; see `kinsplit.server.processes.pdf_page.draw`.

        Raises:
            PageError: The file or the page is not there, or PDFium refuses it.
            WorkerError: It takes too long or too much memory, or crashes PDFium.
        """
        # A file that changes gets another time or size.
        facts = path.stat() if path.exists() else None
        key = (path, facts and (facts.st_mtime_ns, facts.st_size), digest, page, text, before, width)
        picture = self._pictures.get(key)
        if picture is None:
            picture = self._pages.call(draw, path, digest, page, text, before, width)
            self._pictures.put(key, picture)
        return picture

    def close(self) -> None:
        """End the processes."""
        self._texts.close()
        self._pages.close()


class _PictureCache:
    """The pictures drawn last.

    Args:
        size: Bytes of all of them.
    """

    def __init__(self, size: int) -> None:
        self._size, self._held = size, 0
        self._lock = threading.Lock()
        self._pictures: OrderedDict[object, Picture] = OrderedDict()

    def get(self, key: object) -> Picture | None:
        with self._lock:
            picture = self._pictures.get(key)
            if picture is not None:
                self._pictures.move_to_end(key)
            return picture

    def put(self, key: object, picture: Picture) -> None:
        with self._lock:
            if key in self._pictures:
                return
            self._pictures[key] = picture
            self._held += len(picture.png)
            while self._held > self._size:
                self._held -= len(self._pictures.popitem(last=False)[1].png)
