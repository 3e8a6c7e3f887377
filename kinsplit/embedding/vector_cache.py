"""Vectors kept on disk between runs, by model and text."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

import numpy as np
from numpy.typing import NDArray

from kinsplit.disk_cache import DiskCache
from kinsplit.errors import InvalidParameterError
from kinsplit.folders import cache_folder

#: Bytes on disk: about 600,000 vectors of 384 dimensions.
SIZE = 1 << 30
_SMALLEST = 1 << 20


class VectorCache:
    """A folder of vectors, safe with several threads and processes; see `kinsplit.disk_cache.DiskCache`.

    Args:
        folder: Where they lie. None takes `vectors` in kinsplit's cache folder, which KINSPLIT_CACHE can name.
        size: Most bytes on disk, at least 1 MiB; when it is full, what wasn't used for the longest time goes first.

    Raises:
        InvalidParameterError: The size is smaller.
        CacheError: The folder can't be written, or what lies there is damaged.
    """

    def __init__(self, folder: str | Path | None = None, size: int = SIZE) -> None:
        if size < _SMALLEST:
            raise InvalidParameterError("size", f"must be at least {_SMALLEST} bytes", size, "Leave it out for 1 GiB.")
        self.folder = cache_folder() / "vectors" if folder is None else Path(folder).expanduser()
        self._cache = DiskCache(self.folder, size)

    def get(self, model: str, texts: Sequence[str], dimension: int) -> dict[str, NDArray[np.float32]]:
        """Return the vectors that are there, by text.

        Args:
            model: Identity of the model.
            texts: The texts.
            dimension: Length of a vector; what is of another one is damaged, and not there.
        """
        keys = {text: _key(model, text) for text in texts}
        found = self._cache.get_vectors(list(keys.values()), dimension)
        return {text: found[key] for text, key in keys.items() if key in found}

    def put(self, model: str, texts: Sequence[str], vectors: NDArray[np.float32]) -> None:
        """Keep vectors, all in one transaction.

        Args:
            model: Identity of the model.
            texts: The texts.
            vectors: One per text, shape (len(texts), dimension).
        """
        self._cache.put_vectors({_key(model, text): vector for text, vector in zip(texts, vectors, strict=True)})

    def close(self) -> None:
        """Let go of the file."""
        self._cache.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()


def _key(model: str, text: str) -> bytes:
    return hashlib.blake2b(f"{model}\0{text}".encode("utf-8", "surrogatepass"), digest_size=16).digest()
