"""What the rest of kinsplit asks of an embedding model."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from kinsplit.errors import InvalidParameterError
from kinsplit.tokenizers import replace_surrogates

#: Called with the number of model inputs embedded so far and their total.
Progress = Callable[[int, int], None]


class Embedder(Protocol):
    """A dense embedding model.

    A text longer than the window is embedded as the mean of its windows, so nothing is ever cut off; `windows` tells a
    caller beforehand which texts that concerns.

    An embedder of your own may have one attribute more: `repeatable = True` promises that its fingerprint changes
    whenever its vectors do, also when you edit its code. Only then are its vectors, and what an evaluation finds with
    them, kept on disk; see `repeatable`.
    """

    @property
    def name(self) -> str:
        """The spec that `kinsplit.embedding.create` makes this model from."""

    @property
    def dimension(self) -> int:
        """Length of a vector."""

    @property
    def window(self) -> int:
        """Most tokens that the model reads at once, special tokens included."""

    @property
    def fingerprint(self) -> str:
        """Differs wherever two models could give different vectors for one text; kept in a store's schema."""

    def windows(self, texts: Sequence[str]) -> list[int]:
        """Count the windows of each text: 1 for a text that the model reads at once."""

    def embed(self, texts: Sequence[str], progress: Progress | None = None) -> NDArray[np.float32]:
        """Embed texts that will be searched.

        Args:
            texts: Any number of texts, of any length.
            progress: Told after each batch how many model inputs are done, and of how many.

        Returns:
            One vector of length 1 per text, in order: float32, shape (len(texts), dimension).

        Raises:
            EmbeddingError: The model can't be loaded.
        """

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """Embed a question, with the prompt for questions where the model has one.

        Returns:
            A vector of length 1: float32, shape (dimension,).
        """


def repeatable(embedder: Embedder) -> bool:
    """Return whether another embedder with the same fingerprint embeds alike, in another run too.

    Embedders of kinsplit do. An object of another class may give other vectors as soon as its code is edited, which its
    fingerprint, made of its name and its dimension, doesn't show; so it has to say that it does.
    """
    is_own = type(embedder).__module__.startswith("kinsplit.embedding.")
    return bool(getattr(embedder, "repeatable", is_own))


@runtime_checkable
class TokenEmbedder(Protocol):
    """An embedding model that also gives a vector for each token, for late interaction."""

    def embed_tokens(self, texts: Sequence[str]) -> list[NDArray[np.float32]]:
        """Embed the tokens of texts.

        Args:
            texts: Any number of texts, of any length.

        Returns:
            Per text one vector of length 1 per token, special tokens left out: float32, shape (tokens, dimension).
        """


@dataclass(frozen=True, slots=True)
class SparseVector:
    """A vector that is zero nearly everywhere.

    Attributes:
        indices: Where it is not zero, each place once.
        values: The value at each of these places.
    """

    indices: tuple[int, ...]
    values: tuple[float, ...]

    def __post_init__(self) -> None:
        if len(self.indices) != len(self.values):
            raise InvalidParameterError(
                "values", f"must be as many as indices, {len(self.indices)}", len(self.values), "Give one per index."
            )


@runtime_checkable
class AsyncEmbedder(Protocol):
    """An embedding model that is asked over a network, and awaited."""

    async def aembed(self, texts: Sequence[str], progress: Progress | None = None) -> NDArray[np.float32]:
        """See `Embedder.embed`."""

    async def aembed_query(self, text: str) -> NDArray[np.float32]:
        """See `Embedder.embed_query`."""


async def aembed(embedder: Embedder, texts: Sequence[str], progress: Progress | None = None) -> NDArray[np.float32]:
    """Do as `Embedder.embed`: with the embedder's own asynchronous method where it has one, else in a thread.

    Args:
        embedder: Any embedder.
        texts: See `Embedder.embed`.
        progress: See `Embedder.embed`; called from a thread.
    """
    if isinstance(embedder, AsyncEmbedder):
        return await embedder.aembed(texts, progress)
    return await asyncio.to_thread(embedder.embed, texts, progress)


async def aembed_query(embedder: Embedder, text: str) -> NDArray[np.float32]:
    """Do as `Embedder.embed_query`; see `aembed`."""
    if isinstance(embedder, AsyncEmbedder):
        return await embedder.aembed_query(text)
    return await asyncio.to_thread(embedder.embed_query, text)


__all__ = ["check_texts", "replace_surrogates"]


def check_texts(texts: Sequence[str]) -> list[str]:
    """Return the texts ready for a model.

    Raises:
        InvalidParameterError: `texts` is one string, whose characters would be taken for texts.
    """
    if isinstance(texts, str):
        raise InvalidParameterError("texts", "must be a sequence of strings", texts, "Put the text into a list.")
    return [replace_surrogates(text) for text in texts]
