"""What language models answered, kept on disk."""

from __future__ import annotations

import functools
import hashlib
import json
import sqlite3
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import diskcache

from kinsplit.errors import CacheWarning
from kinsplit.folders import cache_folder
from kinsplit.language_models.protocol import LanguageModel

#: Bytes that the answers may take; those not used for the longest time go first.
LIMIT = 256 << 20


class AnswerCache:
    """Answers by model and prompt; several processes may use one folder at once.

    A folder that can't be read or written costs no answer: with one warning, nothing is kept from then on.

    Args:
        folder: Where they lie.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._cache: diskcache.Cache | None = None
        with self._guarded():
            self._cache = diskcache.Cache(str(folder), size_limit=LIMIT, eviction_policy="least-recently-used")

    def get(self, model: LanguageModel, prompt: str) -> list[int] | None:
        """Return the numbers that were kept for a prompt, or None."""
        kept = self.get_text(model, prompt)
        if kept is not None:
            with self._guarded():
                return [int(number) for number in json.loads(kept)]
        return None

    def put(self, model: LanguageModel, prompt: str, numbers: list[int]) -> None:
        """Keep the answer to a prompt; that of a model without an identity is not kept."""
        self.put_text(model, prompt, json.dumps(numbers))

    def get_text(self, model: LanguageModel, prompt: str) -> str | None:
        """Return the text that was kept for a prompt, or None."""
        if self._cache is not None and model.identity is not None:
            with self._guarded():
                kept = self._cache.get(_key(model.identity, prompt))
                return None if kept is None else str(kept)
        return None

    def put_text(self, model: LanguageModel, prompt: str, text: str) -> None:
        """Keep a text as the answer to a prompt; that of a model without an identity is not kept."""
        if self._cache is not None and model.identity is not None:
            with self._guarded():
                self._cache.set(_key(model.identity, prompt), text)

    @contextmanager
    def _guarded(self) -> Iterator[None]:
        try:
            yield
        except (OSError, ValueError, sqlite3.Error, diskcache.Timeout) as error:
            self._cache = None
            rule = f"Answers of language models are not kept, since {self.folder} can't be used: {error}."
            warnings.warn(f"{rule} Delete it, or set KINSPLIT_CACHE to another folder.", CacheWarning, stacklevel=4)


def answer_cache() -> AnswerCache:
    """Return the user's cache: `answers` in the folder KINSPLIT_CACHE, or else in kinsplit's own."""
    return _opened(cache_folder() / "answers")


_opened = functools.lru_cache(maxsize=4)(AnswerCache)


def _key(identity: str, prompt: str) -> str:
    return hashlib.blake2b(f"{identity}\0{prompt}".encode("utf-8", "surrogatepass"), digest_size=20).hexdigest()
