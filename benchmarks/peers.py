"""Splitters of other libraries that a class and its parameters don't describe."""

from __future__ import annotations

import importlib
from collections.abc import Sequence

from systems import fast


def semchunk_160(text: str) -> Sequence[tuple[int, int]]:
    """Split a text into chunks of at most 160 tokens by semchunk, and return their offsets."""
    chunker = importlib.import_module("semchunk").chunkerify(lambda piece: fast().count_tokens(piece), 160)
    _, offsets = chunker(text, offsets=True)
    return offsets
