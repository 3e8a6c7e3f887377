"""The protocols of embedding models."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, Self, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from kinsplit.errors import EmbeddingError, InvalidParameterError, require
from kinsplit.models import ModelCard
from kinsplit.spans import replace_surrogates

#: Called with the number of model inputs embedded so far and their total.
Progress = Callable[[int, int], None]

#: Context that a chunk is embedded with. "headings": the chunk's own context, its heading path or table header, goes
#: before its text. "none": the text stands alone. "late": the whole document is embedded, and each chunk gets the mean
#: of its tokens' vectors (late chunking).
EmbeddingContext = Literal["headings", "none", "late"]


class Embedder(Protocol):
    """A dense embedding model.

    A text longer than the window is embedded as the mean of its windows, so nothing is ever truncated; `windows` shows
    in advance which texts are affected.

    An embedder of your own may have two more attributes: `card`, a `kinsplit.models.ModelCard` of the model, and
    `repeatable = True`, which promises that its fingerprint changes whenever its vectors change, also when you edit its
    code. Only then are its vectors, and evaluation results based on them, cached on disk; see `repeatable`.
    """

    @property
    def name(self) -> str:
        """The spec from which `kinsplit.embedding.create` makes this model."""

    @property
    def dimension(self) -> int:
        """Length of a vector."""

    @property
    def window(self) -> int:
        """Maximum number of tokens of one model input, including special tokens."""

    @property
    def fingerprint(self) -> str:
        """An identifier that differs between models with different vectors; recorded in a store's schema."""

    def windows(self, texts: Sequence[str]) -> list[int]:
        """Count the windows of each text: 1 for a text that fits into the window."""

    def embed(self, texts: Sequence[str], progress: Progress | None = None) -> NDArray[np.float32]:
        """Embed texts for an index.

        Args:
            texts: Any number of texts, of any length.
            progress: Called after each batch with the number of embedded model inputs and their total.

        Returns:
            One vector of length 1 per text, in order: float32, shape (len(texts), dimension).

        Raises:
            EmbeddingError: The model can't be loaded.
        """

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """Embed a query, with the model's prompt for queries if it has one.

        Returns:
            A vector of length 1: float32, shape (dimension,).
        """


def repeatable(embedder: Embedder) -> bool:
    """Return whether an equal fingerprint guarantees equal vectors, also in another run.

    Embedders of kinsplit guarantee it. The vectors of another class may change when its code is edited, which its
    fingerprint of name and dimension doesn't show; so the class has to declare it.
    """
    is_own = type(embedder).__module__.startswith("kinsplit.embedding.")
    return bool(getattr(embedder, "repeatable", is_own))


def card_of(embedder: Embedder) -> ModelCard:
    """Return the card of an embedder; of one without a `card`, what its other attributes tell."""
    card = getattr(embedder, "card", None)
    if isinstance(card, ModelCard):
        return card
    return ModelCard(weights=embedder.name, window=embedder.window, dimension=embedder.dimension)


class CardedEmbedder(ABC):
    """Base of embedders that have a card, which tells what else is known of them."""

    @property
    @abstractmethod
    def card(self) -> ModelCard:
        """The card of the model, as this embedder asks it."""

    @property
    def dimension(self) -> int:
        """Length of a vector."""
        return self.card.dimension

    @property
    def window(self) -> int:
        """Maximum number of tokens of one model input, including special tokens and prefixes."""
        return self.card.window

    @property
    def fingerprint(self) -> str:
        """All that the vectors depend on; see `ModelCard.fingerprint`."""
        return self.card.fingerprint


@runtime_checkable
class TokenEmbedder(Protocol):
    """An embedding model that also provides a vector for each token, for late interaction."""

    def embed_tokens(self, texts: Sequence[str]) -> list[NDArray[np.float32]]:
        """Embed the tokens of texts.

        Returns:
            One vector of length 1 per token of each text, without special tokens: float32, shape (tokens, dimension).
        """


@runtime_checkable
class QuestionEmbedder(Protocol):
    """An embedding model that embeds questions faster together than one by one."""

    def embed_queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Embed queries; see `Embedder.embed_query`.

        Returns:
            One vector of length 1 per text, in order: float32, shape (len(texts), dimension).
        """


@dataclass(frozen=True, slots=True)
class SparseVector:
    """A vector that is zero nearly everywhere.

    Attributes:
        indices: Distinct indices of the values that are not zero.
        values: The value at each of these indices.
    """

    indices: tuple[int, ...]
    values: tuple[float, ...]

    def __post_init__(self) -> None:
        if len(self.indices) != len(self.values):
            raise InvalidParameterError(
                "values", f"must be as many as indices, {len(self.indices)}", len(self.values), "Give one per index."
            )

    def only(self, indices: Collection[int]) -> Self:
        """Return the vector with the values at some indices alone."""
        kept = [(index, value) for index, value in zip(self.indices, self.values, strict=True) if index in indices]
        return type(self)(tuple(index for index, _ in kept), tuple(value for _, value in kept))


def check_texts(texts: Sequence[str]) -> list[str]:
    """Return the texts with lone surrogates replaced.

    Raises:
        InvalidParameterError: `texts` is a single string, whose characters would count as texts, or one is no string.
    """
    require(not isinstance(texts, str), "texts", "must be a sequence of strings", texts, "Put the text into a list.")
    given = list(texts)
    wrong = [text for text in given if not isinstance(text, str)]
    require(not wrong, "texts", "must be a sequence of strings", wrong, "Convert them: str(text).")
    return [replace_surrogates(text) for text in given]


def finite_vectors(answer: object, count: int, name: str, dimension: int | None = None) -> NDArray[np.float64]:
    """Check the vectors that a model returned for some texts, and return them as float64, shape (count, dimension).

    Raises:
        EmbeddingError: Their number or length is wrong, they differ in length, or one is not finite.
    """
    try:
        vectors = np.asarray(answer, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise EmbeddingError(f"{name} returned something other than one vector per text: {error}.") from error
    if vectors.ndim != 2 or len(vectors) != count or not vectors.shape[1]:
        raise EmbeddingError(f"{name} returned an array of shape {vectors.shape} for {count} texts.")
    if dimension is not None and vectors.shape[1] != dimension:
        raise EmbeddingError(f"{name} returned vectors of {vectors.shape[1]} numbers instead of {dimension}.")
    if not np.isfinite(vectors).all():
        raise EmbeddingError(f"{name} returned a vector that holds NaN or infinity.")
    return vectors


def unit_vectors(answer: object, count: int, name: str) -> NDArray[np.float32]:
    """Check the vectors that an object returned for some texts, and scale them to length 1, as float32.

    Raises:
        EmbeddingError: Their number is wrong, they differ in length, or one is not finite or zero.
    """
    vectors = finite_vectors(answer, count, name)
    largest = np.abs(vectors).max(axis=1, keepdims=True)
    if not largest.all():
        raise EmbeddingError(f"{name} returned a zero vector, which points nowhere and can't be compared.")
    vectors = vectors / largest  # Otherwise their squares might overflow or underflow.
    return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), dtype=np.float32)
