"""Index over two lectures, with an embedder that records its texts."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from kinsplit import Index
from kinsplit.embedding import Progress, create

PARAGRAPHS = [f"Paragraph {i} is about {topic}. It says what {topic} means, and why." for i, topic in enumerate(
    ["recursion", "loops", "classes", "files", "sorting", "testing", "modules", "strings"]
)]  # fmt: skip


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
