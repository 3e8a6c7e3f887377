from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from kinsplit import Index
from kinsplit.chunk import Document
from kinsplit.parsers import create

TEXTS = {
    "course/heaps.md": "# Heaps\n\nA heap is a tree. The smallest item of a heap stands on top. "
    "A heap of 1,000 items has 10 levels.",
    "course/loops.md": "# Loops\n\nA loop repeats its body. A while loop asks its condition first.",
    "course/files.md": "# Files\n\nA file is opened with the function open. It is closed when the block ends.",
}


@pytest.fixture
def index(tmp_path: Path) -> Iterator[Index]:
    """An index of three short documents."""
    strategy = create("structure", chunk_size=40, min_chunk_size=1)
    with Index("memory:", strategy=strategy, embedder="hash") as opened:
        opened.add([Document(id=name, text=text) for name, text in TEXTS.items()])
        yield opened
