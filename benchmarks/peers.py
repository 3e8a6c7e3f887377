"""Splitters of other libraries that need more than their class and its parameters."""

from __future__ import annotations

import importlib
from collections.abc import Sequence

from systems import fast


def semchunk_160(text: str) -> Sequence[tuple[int, int]]:
    """Split by semchunk into chunks of at most 160 tokens, and return their offsets."""
    chunker = importlib.import_module("semchunk").chunkerify(lambda piece: fast().count_tokens(piece), 160)
    _, offsets = chunker(text, offsets=True)
    return offsets
