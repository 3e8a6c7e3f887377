"""A cache of vectors on disk, shared by runs and processes, and what uses it: an embedder, and frameworks' models."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import numpy as np
from numpy.typing import NDArray

from kinsplit.embedding.protocol import (
    CardedEmbedder,
    Embedder,
    Progress,
    card_of,
    check_texts,
    finite_vectors,
    repeatable,
)
from kinsplit.errors import InvalidParameterError, require
from kinsplit.models import ModelCard
from kinsplit.support.disk_cache import DiskCache
from kinsplit.support.environment import cache_folder

#: Bytes on disk: about 600,000 vectors of 384 dimensions.
SIZE = 1 << 30
_SMALLEST = 1 << 20
# Texts whose vectors are stored together.
_PART = 4096


class VectorCache:
    """A cache folder of vectors, safe with several threads and processes; see `kinsplit.support.disk_cache.DiskCache`.

    Args:
        folder: Path of the folder. None takes `vectors` in kinsplit's cache folder, which KINSPLIT_CACHE can name.
        size: Maximum size on disk in bytes, at least 1 MiB; a full cache drops the least recently used vectors.

    Raises:
        InvalidParameterError: The size is smaller.
        CacheError: The folder can't be written, or its content is damaged.
    """

    def __init__(self, folder: str | Path | None = None, size: int = SIZE) -> None:
        require(size >= _SMALLEST, "size", f"must be at least {_SMALLEST} bytes", size, "Leave it out for 1 GiB.")
        self.folder = cache_folder() / "vectors" if folder is None else Path(folder).expanduser()
        self._cache = DiskCache(self.folder, size)

    def get(self, model: str, texts: Sequence[str], dimension: int | None) -> dict[str, NDArray[np.float32]]:
        """Return the cached vectors, by text.

        Args:
            model: Identity of the model.
            texts: The texts.
            dimension: Length of a vector; one of another length counts as missing. None for any length.
        """
        keys = {text: _key(model, text) for text in texts}
        found = self._cache.get_vectors(list(keys.values()), dimension)
        return {text: found[key] for text, key in keys.items() if key in found}

    def put(self, model: str, texts: Sequence[str], vectors: NDArray[np.float32]) -> None:
        """Store vectors in one transaction.

        Args:
            model: Identity of the model.
            texts: The texts.
            vectors: One vector per text, shape (len(texts), dimension).
        """
        self._cache.put_vectors({_key(model, text): vector for text, vector in zip(texts, vectors, strict=True)})

    def close(self) -> None:
        """Close the file."""
        self._cache.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _key(model: str, text: str) -> bytes:
    return hashlib.blake2b(f"{model}\0{text}".encode("utf-8", "surrogatepass"), digest_size=16).digest()


#: Remedy for an object of your own whose vectors can't be cached.
VERSIONED = (
    "Give ForeignEmbedder(model, version='1') and change the version with the model; or set `repeatable = True` in a "
    "class of your own, and change its fingerprint with its code."
)
_current: ContextVar[VectorCache | None] = ContextVar("vector cache", default=None)


@contextlib.contextmanager
def use_vector_cache(where: VectorCache | str | Path | bool = True) -> Iterator[None]:
    """Cache the vectors of every repeatable embedder that a strategy or an index resolves inside the block.

    Args:
        where: A cache; a folder, or True for kinsplit's own cache folder, whose cache is closed at the end; or False
            for no cache.

    Raises:
        CacheError: The folder can't be written, or its content is damaged.

    Example:
        >>> with use_vector_cache("vectors"):
        ...     chunks = create("semantic").chunk(document)
    """
    with contextlib.ExitStack() as stack:
        if isinstance(where, VectorCache):
            cache: VectorCache | None = where
        else:
            cache = stack.enter_context(VectorCache(None if where is True else where)) if where else None
        before = _current.set(cache if cache is not None else _current.get())
        stack.callback(_current.reset, before)
        yield


def with_cache(embedder: Embedder) -> Embedder:
    """Return an embedder, inside `use_vector_cache` with that cache.

    A static model gets none, since it is faster than any cache; neither does one that isn't repeatable, since its
    vectors may differ in the next run (see `kinsplit.embedding.protocol.repeatable`).
    """
    cache = _current.get()
    if cache is None or isinstance(embedder, CachedEmbedder) or not repeatable(embedder):
        return embedder
    return embedder if embedder.name.partition(":")[0] == "static" else CachedEmbedder(embedder, cache)


def without_cache(embedder: Embedder) -> Embedder:
    """Return the embedder behind a cache, which may have more methods."""
    return embedder.embedder if isinstance(embedder, CachedEmbedder) else embedder


class CachedEmbedder(CardedEmbedder):
    """An embedder with a cache of its vectors. Queries, which seldom repeat, always go to the model.

    Args:
        embedder: Source of the vectors that are not in the cache.
        cache: Cache of the vectors.

    Raises:
        InvalidParameterError: The embedder isn't repeatable: the cache could hold vectors from before its code changed.
    """

    repeatable = True

    def __init__(self, embedder: Embedder, cache: VectorCache) -> None:
        rule = "must say that the same fingerprint means the same vectors, to have them kept on disk"
        require(repeatable(embedder), "embedder", rule, embedder.name, VERSIONED)
        self.embedder, self.cache = embedder, cache

    @property
    def name(self) -> str:
        """Name of the embedder behind the cache."""
        return self.embedder.name

    @property
    def card(self) -> ModelCard:
        """Card of the embedder behind the cache."""
        return card_of(self.embedder)

    @property
    def fingerprint(self) -> str:
        """Fingerprint of the embedder behind the cache, part of the key of its vectors."""
        return self.embedder.fingerprint

    def windows(self, texts: Sequence[str]) -> list[int]:
        """Count the windows of each text."""
        return self.embedder.windows(texts)

    def embed(self, texts: Sequence[str], progress: Progress | None = None) -> NDArray[np.float32]:
        """Embed texts, each once; see `Embedder.embed`. `progress` counts only texts that the model has to embed."""
        own = check_texts(texts)
        different = list(dict.fromkeys(own))
        known = self.cache.get(self.fingerprint, different, self.dimension)
        for part, shown in _parts([text for text in different if text not in known], progress):
            vectors = self.embedder.embed(part, shown)
            self.cache.put(self.fingerprint, part, vectors)
            known.update(zip(part, vectors, strict=True))
        return np.stack([known[text] for text in own]) if own else np.zeros((0, self.dimension), dtype=np.float32)

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """Embed a query."""
        return self.embedder.embed_query(text)


def _parts(texts: Sequence[str], progress: Progress | None) -> Iterator[tuple[Sequence[str], Progress | None]]:
    """Yield texts in parts, each of which is stored before the next: after a failure, no vector is computed again."""
    before = 0
    for start in range(0, len(texts), _PART):
        part, later = texts[start : start + _PART], max(0, len(texts) - start - _PART)

        def show(done: int, total: int, later: int = later) -> None:
            nonlocal before
            if progress is not None:
                # Later texts count as one window each until they are split.
                progress(before + done, before + total + later)
            before += total if done == total else 0

        yield part, show


@dataclass(frozen=True, slots=True)
class VectorFolder:
    """The cached vectors of one model. The file is open during a call only, so any process can share the folder.

    The name, which must not be blank, of the model and of whatever else its vectors depend on, is part of each vector's
    key. The folder is by default `vectors` in kinsplit's cache folder.
    """

    model: str
    folder: str | Path | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.model, str) or not self.model.strip():
            remedy = "Name it, and change the name when the model, its dimension or its instruction changes."
            raise InvalidParameterError("model", "must name the model whose vectors are cached", self.model, remedy)

    def vectors(
        self, texts: Iterable[str], embed: Callable[[list[str]], Sequence[Sequence[float]]]
    ) -> list[list[float]]:
        """Return the vectors of texts; those that are not cached are embedded, each text once, and cached.

        The model must return as many vectors, finite and of one length, or EmbeddingError is raised.
        """
        texts = list(texts)
        different = list(dict.fromkeys(texts))
        with VectorCache(self.folder) as cache:
            found = cache.get(self.model, different, None)
        known = {text: vector.tolist() for text, vector in found.items()}
        if missing := [text for text in different if text not in known]:
            vectors = finite_vectors(embed(missing), len(missing), self.model).astype(np.float32)
            with VectorCache(self.folder) as cache:
                cache.put(self.model, missing, vectors)
            known |= dict(zip(missing, vectors.tolist(), strict=True))
        return [known[text] for text in texts]
