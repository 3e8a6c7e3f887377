"""What language models answered, kept on disk."""

from __future__ import annotations

import functools
import hashlib
from pathlib import Path

from kinsplit.language_models.protocol import LanguageModel
from kinsplit.support.disk_cache import JsonCache
from kinsplit.support.paths import cache_folder

#: Bytes that the answers may take; those not used for the longest time go first.
LIMIT = 256 << 20


class AnswerCache:
    """Answers by model and prompt; several threads and processes may use one folder at once.

    A folder that can't be read or written costs no answer: with one warning, nothing is kept from then on.

    Args:
        folder: Where they lie.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._cache = JsonCache(folder, LIMIT, "Answers of language models")

    def get(self, model: LanguageModel, prompt: str) -> list[int] | None:
        """Return the numbers that were kept for a prompt, or None."""
        kept = self._get(model, prompt)
        return kept if isinstance(kept, list) and all(type(number) is int for number in kept) else None

    def put(self, model: LanguageModel, prompt: str, numbers: list[int]) -> None:
        """Keep the answer to a prompt; that of a model without an identity is not kept."""
        self._put(model, prompt, numbers)

    def get_text(self, model: LanguageModel, prompt: str) -> str | None:
        """Return the text that was kept for a prompt, or None."""
        kept = self._get(model, prompt)
        return kept if isinstance(kept, str) else None

    def put_text(self, model: LanguageModel, prompt: str, text: str) -> None:
        """Keep a text as the answer to a prompt; that of a model without an identity is not kept."""
        self._put(model, prompt, text)

    def _get(self, model: LanguageModel, prompt: str) -> object:
        return None if model.identity is None else self._cache.get(_key(model.identity, prompt))

    def _put(self, model: LanguageModel, prompt: str, answer: str | list[int]) -> None:
        if model.identity is not None:
            self._cache.put(_key(model.identity, prompt), answer)


def answer_cache() -> AnswerCache:
    """Return the user's cache: `answers` in the folder KINSPLIT_CACHE, or else in kinsplit's own."""
    return _opened(cache_folder() / "answers")


_opened = functools.lru_cache(maxsize=4)(AnswerCache)


def _key(identity: str, prompt: str) -> bytes:
    return hashlib.blake2b(f"{identity}\0{prompt}".encode("utf-8", "surrogatepass"), digest_size=20).digest()
