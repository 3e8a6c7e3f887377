"""Vectors kept on disk between runs, by model and text."""

from __future__ import annotations

import contextlib
import hashlib
import sqlite3
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import diskcache
import numpy as np
from numpy.typing import NDArray

from kinsplit.errors import EmbeddingError, InvalidParameterError
from kinsplit.folders import cache_folder

#: Bytes on disk: about 600,000 vectors of 384 dimensions.
SIZE = 1 << 30
_SMALLEST = 1 << 20


class _Bytes(diskcache.Disk):  # type: ignore[misc]  # It has no annotations.
    """Reads bytes only: what a foreign hand put into the file is never unpickled."""

    def fetch(self, mode: int, filename: str | None, value: Any, read: bool) -> Any:  # noqa: ARG002
        return value if isinstance(value, bytes) else None


class VectorCache:
    """A folder of vectors, safe with several threads and processes, which forgets the oldest when it is full.

    Args:
        folder: Where they lie. None takes `vectors` in kinsplit's cache folder, which KINSPLIT_CACHE can name.
        size: Most bytes on disk, at least 1 MiB.

    Raises:
        InvalidParameterError: The size is smaller.
        EmbeddingError: The folder can't be written, or what lies there is damaged.
    """

    def __init__(self, folder: str | Path | None = None, size: int = SIZE) -> None:
        if size < _SMALLEST:
            raise InvalidParameterError("size", f"must be at least {_SMALLEST} bytes", size, "Leave it out for 1 GiB.")
        self.folder = cache_folder() / "vectors" if folder is None else Path(folder).expanduser()
        with self._clear_errors():
            # No vector is so large that it needs a file of its own, and the size is looked at once per batch.
            self._cache = diskcache.Cache(
                str(self.folder), disk=_Bytes, size_limit=size, disk_min_file_size=1 << 24, cull_limit=0
            )

    def get(self, model: str, texts: Sequence[str], dimension: int) -> dict[str, NDArray[np.float32]]:
        """Return the vectors that are there, by text.

        Args:
            model: Fingerprint of the model.
            texts: The texts.
            dimension: Length of a vector; what is of another one is damaged, and not there.
        """
        with self._clear_errors():
            found = ((text, self._cache.get(_key(model, text))) for text in texts)
            return {
                text: np.frombuffer(data, dtype="<f4").astype(np.float32)
                for text, data in found
                if data is not None and len(data) == 4 * dimension
            }

    def put(self, model: str, texts: Sequence[str], vectors: NDArray[np.float32]) -> None:
        """Keep vectors, all in one transaction.

        Args:
            model: Fingerprint of the model.
            texts: The texts.
            vectors: One per text, shape (len(texts), dimension).
        """
        with self._clear_errors():
            with self._cache.transact():
                for text, vector in zip(texts, vectors, strict=True):
                    self._cache.set(_key(model, text), vector.astype("<f4").tobytes())
            self._cache.cull()

    def close(self) -> None:
        """Let go of the file."""
        self._cache.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    @contextlib.contextmanager
    def _clear_errors(self) -> Iterator[None]:
        try:
            yield
        except diskcache.Timeout as error:
            raise EmbeddingError(f"{self.folder}: another process keeps the vector cache locked.") from error
        except sqlite3.OperationalError as error:
            remedy = "Choose a folder that can be written and has room."
            raise EmbeddingError(f"{self.folder}: the vector cache can't be used ({error}). {remedy}") from error
        except sqlite3.DatabaseError as error:
            remedy = "Delete the folder: nothing in it is needed."
            raise EmbeddingError(f"{self.folder}: the vector cache is damaged ({error}). {remedy}") from error
        except OSError as error:
            remedy = "Choose a folder that can be written."
            raise EmbeddingError(f"{self.folder}: vectors can't be kept there ({error}). {remedy}") from error


def _key(model: str, text: str) -> bytes:
    return hashlib.blake2b(f"{model}\0{text}".encode("utf-8", "surrogatepass"), digest_size=16).digest()
