"""Cache of the answers of language models on disk."""

from __future__ import annotations

import functools
import hashlib
from pathlib import Path

from kinsplit.language_models.protocol import LanguageModel
from kinsplit.support.disk_cache import JsonCache
from kinsplit.support.environment import cache_folder

#: Maximum size in bytes; the least recently used answers are dropped first.
LIMIT = 256 << 20


class AnswerCache:
    """Answers by model and prompt; several threads and processes may share a folder.

    If the folder can't be read or written, the cache warns once and stores nothing from then on.

    Args:
        folder: Path of the folder.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._cache = JsonCache(folder, LIMIT, "Answers of language models")

    def get(self, model: LanguageModel, prompt: str) -> list[int] | None:
        """Return the cached numbers for a prompt, or None."""
        kept = self._get(model, prompt)
        return kept if isinstance(kept, list) and all(type(number) is int for number in kept) else None

    def put(self, model: LanguageModel, prompt: str, numbers: list[int]) -> None:
        """Store the answer to a prompt, unless the model has no identity."""
        self._put(model, prompt, numbers)

    def get_text(self, model: LanguageModel, prompt: str) -> str | None:
        """Return the cached text for a prompt, or None."""
        kept = self._get(model, prompt)
        return kept if isinstance(kept, str) else None

    def put_text(self, model: LanguageModel, prompt: str, text: str) -> None:
        """Store a text as the answer to a prompt, unless the model has no identity."""
        self._put(model, prompt, text)

    def _get(self, model: LanguageModel, prompt: str) -> object:
        return None if model.identity is None else self._cache.get(_key(model.identity, prompt))

    def _put(self, model: LanguageModel, prompt: str, answer: str | list[int]) -> None:
        if model.identity is not None:
            self._cache.put(_key(model.identity, prompt), answer)


def answer_cache() -> AnswerCache:
    """Return the user's cache: `answers` in the folder KINSPLIT_CACHE, else in kinsplit's own."""
    return _opened(cache_folder() / "answers")


_opened = functools.lru_cache(maxsize=4)(AnswerCache)


def _key(identity: str, prompt: str) -> bytes:
    return hashlib.blake2b(f"{identity}\0{prompt}".encode("utf-8", "surrogatepass"), digest_size=20).digest()
