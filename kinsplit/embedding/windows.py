"""Windows of texts that are longer than a model can read, and one vector for all windows of a text."""

from __future__ import annotations

import functools
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, pairwise
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from kinsplit.embedding.protocol import CardedEmbedder, Progress
from kinsplit.errors import EmbeddingError, require
from kinsplit.models import ModelCard
from kinsplit.tokenizers import Tokenizer

if TYPE_CHECKING:
    import tokenizers
    from tokenizers import Encoding


class Tokens(NamedTuple):
    """The tokens of a text, as far as cutting between them needs to know them."""

    starts: NDArray[np.int64]  # Offset of each token in the text, never decreasing.
    is_boundary: NDArray[np.bool_]
    begins_word: NDArray[np.bool_]


class TokenReader(Protocol):
    """A tokenizer, for windows."""

    def count(self, texts: Sequence[str]) -> Sequence[int]:
        """Count the tokens of each text, special ones left out."""

    def read(self, text: str) -> Tokens:
        """Locate the tokens of a text, special ones left out."""


class ModelTokens:
    """Tokens of a model of the library tokenizers."""

    def __init__(self, tokenizer: tokenizers.Tokenizer) -> None:
        self._tokenizer = tokenizer

    def count(self, texts: Sequence[str]) -> Sequence[int]:
        """See `TokenReader.count`."""
        return [len(each.ids) for each in self._tokenizer.encode_batch_fast(list(texts), add_special_tokens=False)]

    def read(self, text: str) -> Tokens:
        """See `TokenReader.read`; words are those of the tokenizer."""
        encoding = self._tokenizer.encode(text, add_special_tokens=False)
        starts, ends = np.array(encoding.offsets, dtype=np.int64).reshape(-1, 2).T
        words = [word is None or word != before for before, word in pairwise([None, *encoding.word_ids])]
        return Tokens(starts, starts >= np.concatenate([[0], ends[:-1]]), np.array(words, dtype=np.bool_))


class CountedTokens:
    """Tokens of a kinsplit tokenizer, where a model's own tokenizer is not available."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer

    def count(self, texts: Sequence[str]) -> Sequence[int]:
        """See `TokenReader.count`."""
        return self._tokenizer.count(texts).tolist() if texts else []

    def read(self, text: str) -> Tokens:
        """See `TokenReader.read`; words are what whitespace separates."""
        (starts,) = self._tokenizer.starts([text])
        words = [start > 0 and text[start - 1].isspace() for start in starts]
        return Tokens(starts, np.ones(len(starts), dtype=np.bool_), np.array(words, dtype=np.bool_))


def split_texts(texts: Sequence[str], tokens: TokenReader, budget: int) -> list[list[str]]:
    """Split every text that doesn't fit into slices that join to it, similarly long and between words where possible.

    Raises:
        EmbeddingError: A single character has more tokens than the budget.
    """
    return [
        [text] if count <= budget else _split(text, tokens, budget)
        for text, count in zip(texts, tokens.count(texts), strict=True)
    ]


def _split(text: str, tokens: TokenReader, budget: int) -> list[str]:
    cuts = [0, *_cuts(text, tokens.read(text), budget), len(text)]
    # A slice can have more tokens than it had inside the text (a word cut in two), so each is counted again.
    nested = split_texts([text[start:end] for start, end in pairwise(cuts)], tokens, budget)
    return list(chain.from_iterable(nested))


def _cuts(text: str, tokens: Tokens, budget: int) -> Iterator[int]:
    """Yield the offsets of the second and later slices, at least one."""
    starts = tokens.starts
    position, begin, total = 0, 0, len(starts)
    while total - position > budget:
        remaining = total - position
        # The mean weighs slices alike, so a last slice of a few tokens would weigh too much.
        even = position + -(-remaining // -(-remaining // budget))
        stops = np.arange(position + 1, position + budget + 1)
        stops = stops[tokens.is_boundary[stops] & (starts[stops] > begin)]
        near = stops[stops <= even]
        words = near[tokens.begins_word[near]]
        best = next((found for found in (words[-1:], near[-1:], stops[:1]) if len(found)), None)
        if best is None:  # A word whose tokens all have the same offset
            later = starts[starts > starts[position]]
            yield begin + _half(text[begin : later[0] if len(later) else len(text)], budget)
            return
        position = int(best[0])
        begin = int(starts[position])
        yield begin
    if begin == 0:  # Fewer offsets than counted tokens
        yield _half(text, budget)


def _half(text: str, budget: int) -> int:
    if len(text) < 2:
        raise EmbeddingError(f"The model's window leaves {budget} tokens for a text; {text!r} alone has more.")
    return len(text) // 2


class Window(NamedTuple):
    """One input of a model."""

    text: str
    encoding: Encoding


def read_windows(
    texts: Sequence[str], tokenizer: tokenizers.Tokenizer, window: int, prompt: str = ""
) -> list[list[Window]]:
    """Tokenise texts, each once unless it is too long: then its slices, which join to it, are tokenised again.

    Raises:
        EmbeddingError: The prompt leaves no room, or a single character has more tokens than it leaves.
    """
    taken = tokenizer.num_special_tokens_to_add(False)
    taken += len(tokenizer.encode(prompt, add_special_tokens=False).ids) if prompt else 0
    if window <= taken:
        raise EmbeddingError(f"The model's window of {window} tokens leaves none beside its prompt {prompt!r}.")
    return _read(texts, tokenizer, window, prompt, window - taken)


def _read(
    texts: Sequence[str], tokenizer: tokenizers.Tokenizer, window: int, prompt: str, budget: int
) -> list[list[Window]]:
    encodings = tokenizer.encode_batch_fast([prompt + text for text in texts] if prompt else list(texts))
    read = [[Window(text, encoding)] for text, encoding in zip(texts, encodings, strict=True)]
    for index, encoding in enumerate(encodings):
        if len(encoding.ids) > window:
            (slices,) = split_texts([texts[index]], ModelTokens(tokenizer), budget)
            # After the prompt a text can have more tokens than on its own: then its slices are made shorter.
            nested = _read(slices, tokenizer, window, prompt, budget if len(slices) > 1 else budget - 1)
            read[index] = list(chain.from_iterable(nested))
    return read


def mean_of_windows(vectors: NDArray[np.float32], counts: Sequence[int]) -> NDArray[np.float32]:
    """Average the vectors of each text's windows, `counts` of each in order, to one vector of length 1 per text."""
    if not counts:
        return np.zeros((0, vectors.shape[1]), dtype=np.float32)
    # The sum has the direction of the mean, and the length becomes 1 anyway.
    sums = np.add.reduceat(vectors, np.cumsum([0, *counts[:-1]]), axis=0, dtype=np.float32)
    norms = np.linalg.norm(sums, axis=1, keepdims=True)
    return np.asarray(sums / np.maximum(norms, np.finfo(np.float32).tiny), dtype=np.float32)


#: Assumed window of a model that declares none: that of BERT, more than enough for a chunk.
WINDOW = 512
#: Special tokens of BERT and most others: one before a text and one after it.
SPECIAL_TOKENS = 2


class SlicingEmbedder(CardedEmbedder):
    """Base of embedders that cut the texts themselves: a longer text than the window is the mean of its windows.

    Args:
        model: The model.
        window: Maximum number of tokens of one input; None for the one that the model declares, else 512.
        batch_size: Maximum number of texts per call.
    """

    def __init__(self, model: Any, window: int | None, batch_size: int) -> None:
        for field, value in (("window", window), ("batch_size", batch_size)):
            require(value is None or value >= 1, field, "must be at least 1", value, "Leave it out for the default.")
        self.model, self.batch_size, self._window = model, batch_size, window

    @property
    @abstractmethod
    def name(self) -> str:
        """The spec that makes this embedder, or a description of its model."""

    @functools.cached_property
    def dimension(self) -> int:
        """Length of a vector; determined by one short call."""
        return int(self.embed(["dimension"]).shape[1])

    @functools.cached_property
    def window(self) -> int:
        """Maximum number of tokens of one model input, including special tokens and prompts."""
        return self._window or self._declared.get("window") or WINDOW

    @functools.cached_property
    def card(self) -> ModelCard:
        """The card: what is known of the model, and before that what was asked for."""
        known = {**self._declared, "dimension": self.dimension, "window": self.window}
        return ModelCard(weights=self._weights, **known)

    def windows(self, texts: Sequence[str]) -> list[int]:
        """Count the windows of each text."""
        return [len(parts) for parts in self._slices(texts)]

    def embed(self, texts: Sequence[str], progress: Progress | None = None) -> NDArray[np.float32]:
        """Embed texts for an index; see `Embedder.embed`.

        Raises:
            EmbeddingError: The model gives anything but one finite vector per text that is not zero. Of a model on a
                server: `EmbedderUnavailableError` if it can't be reached, denies access or has no such model, and
                `TextRefusedError` if it refuses a text.
        """
        return self._embed(self._slices(texts), progress)

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """Embed a query, with the prefix for queries if there is one."""
        vector: NDArray[np.float32] = self._embed(self._slices([text], is_query=True))[0]
        return vector

    def _embed(self, slices: list[list[str]], progress: Progress | None = None) -> NDArray[np.float32]:
        flat = list(chain.from_iterable(slices))
        if not flat:
            return np.zeros((0, self.dimension), dtype=np.float32)
        vectors, done = np.zeros((0, 0), dtype=np.float32), 0
        for batch in self._batches(flat):
            found = self._embed_batch([flat[index] for index in batch])
            if not done:
                vectors = np.empty((len(flat), found.shape[1]), dtype=np.float32)
            if found.shape[1] != vectors.shape[1]:
                lengths = f"{vectors.shape[1]} and of {found.shape[1]} numbers"
                raise EmbeddingError(f"{self.name} returned vectors of {lengths}.")
            vectors[batch] = found
            done += len(batch)
            if progress:
                progress(done, len(flat))
        return mean_of_windows(vectors, [len(parts) for parts in slices])

    @property
    @abstractmethod
    def _weights(self) -> str:
        """Identity of the model on its card."""

    @property
    @abstractmethod
    def _declared(self) -> dict[str, Any]:
        """Fields of the card that are known."""

    @abstractmethod
    def _slices(self, texts: Sequence[str], *, is_query: bool = False) -> list[list[str]]:
        """Return the slices of each text that fit into the window, as the model is to read them."""

    @abstractmethod
    def _batches(self, texts: list[str]) -> Iterable[list[int]]:
        """Yield the indexes of the texts to embed in one call."""

    @abstractmethod
    def _embed_batch(self, texts: list[str]) -> NDArray[np.float32]: ...
