"""Numbers that language models answered with, kept on disk."""

from __future__ import annotations

import functools
import hashlib
import json
import os
import sqlite3
import warnings
from pathlib import Path

import diskcache

from kinsplit.language_models.protocol import LanguageModel

#: Bytes that the answers may take; those not used for the longest time go first.
LIMIT = 256 << 20


class AnswerCache:
    """Answers by model and prompt; several processes may use one folder at once.

    Args:
        folder: Where they lie.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._cache = diskcache.Cache(str(folder), size_limit=LIMIT, eviction_policy="least-recently-used")

    def get(self, model: LanguageModel, prompt: str) -> list[int] | None:
        """Return the numbers that were kept for a prompt, or None."""
        kept = None if model.identity is None else self._cache.get(_key(model.identity, prompt))
        return None if kept is None else [int(number) for number in json.loads(kept)]

    def put(self, model: LanguageModel, prompt: str, numbers: list[int]) -> None:
        """Keep the answer to a prompt; that of a model without an identity is not kept."""
        if model.identity is not None:
            self._cache.set(_key(model.identity, prompt), json.dumps(numbers))


def answer_cache() -> AnswerCache | None:
    """Return the user's cache: `answers` in the folder KINSPLIT_CACHE, or else in `kinsplit` in the XDG cache folder.

    Returns:
        The cache; None, with a warning, if the folder can't be written.
    """
    own = os.environ.get("KINSPLIT_CACHE")
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "kinsplit"
    return _opened((Path(own).expanduser() if own else home) / "answers")


@functools.lru_cache(maxsize=4)
def _opened(folder: Path) -> AnswerCache | None:
    try:
        return AnswerCache(folder)
    except (OSError, sqlite3.Error) as error:
        rule = f"Answers of language models are not kept, since {folder} can't be written: {error}."
        warnings.warn(f"{rule} Set KINSPLIT_CACHE to another folder.", RuntimeWarning, stacklevel=3)
        return None


def _key(identity: str, prompt: str) -> str:
    return hashlib.blake2b(f"{identity}\0{prompt}".encode("utf-8", "surrogatepass"), digest_size=20).hexdigest()
