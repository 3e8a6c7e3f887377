"""Index over two lectures, with an embedder that records its texts."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from kinsplit import Index
from kinsplit.embedding import Progress, create
from kinsplit.indexing.reports import AddEvent, DocumentReport

PARAGRAPHS = [f"Paragraph {i} is about {topic}. It says what {topic} means, and why." for i, topic in enumerate(
    ["recursion", "loops", "classes", "files", "sorting", "testing", "modules", "strings"]
)]  # fmt: skip


class Stored:
    """A callback of `Index.add` that keeps the reports of the stored documents."""

    def __init__(self) -> None:
        self.documents: list[DocumentReport] = []

    def __call__(self, event: AddEvent) -> None:
        if isinstance(event, DocumentReport) and event.error is None:
            self.documents.append(event)


class RecordingEmbedder:
    """A hash embedder that records the texts it embeds."""

    def __init__(self) -> None:
        self._inner = create("hash")
        self.seen: list[str] = []
        self.name, self.dimension = self._inner.name, self._inner.dimension
        self.window, self.fingerprint = self._inner.window, self._inner.fingerprint

    def windows(self, texts: Sequence[str]) -> list[int]:
        return self._inner.windows(texts)

    def embed(self, texts: Sequence[str], progress: Progress | None = None) -> NDArray[np.float32]:
        self.seen.extend(texts)
        return self._inner.embed(texts, progress)

    def embed_query(self, text: str) -> NDArray[np.float32]:
        return self._inner.embed_query(text)


def open_index(tmp_path: Path, embedder: RecordingEmbedder, strategy: str | None = None) -> Index:
    from kinsplit.parsers import create as create_strategy

    chosen = create_strategy("structure", chunk_size=20, min_chunk_size=5) if strategy is None else strategy
    return Index(f"edge:{tmp_path / 'data'}", collection="cs", strategy=chosen, embedder=embedder)
