"""Embedding objects of LlamaIndex and LangChain, recognised by their methods, as embedders of kinsplit."""

from __future__ import annotations

import contextlib
import functools
import threading
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kinsplit.embedding.protocol import Progress, check_texts, unit_vectors
from kinsplit.embedding.windows import CountedTokens, mean_of_windows, split_texts
from kinsplit.errors import EmbeddingError, InvalidParameterError, require
from kinsplit.support.threads import call_either
from kinsplit.tokenizers import BUNDLED, Tokenizer, describe, resolve

#: Attributes in which the frameworks' adapters of sentence-transformers keep the model.
_LOCAL = ("_model", "_client", "client", "model")
#: LlamaIndex's own base class: its asynchronous methods run the model inside the event loop, one text at a time.
_BLOCKING = "llama_index.core.base.embeddings.base"


class Methods(NamedTuple):
    """Names of an object's methods."""

    texts: str
    query: str | None  # Method that embeds a query; None if `texts` does that too.
    atexts: str | None  # Asynchronous form of `texts`; None if it would block the event loop.
    aquery: str | None  # Asynchronous form of `query`, or None.


_PAIRS = (("get_text_embedding_batch", "get_query_embedding"), ("embed_documents", "embed_query"))


def methods_of(model: object) -> Methods:
    """Return the names of an object's methods.

    Raises:
        InvalidParameterError: It has neither the methods of LlamaIndex, nor those of LangChain, nor `embed`.
    """
    for texts, query in _PAIRS:
        if hasattr(model, texts) and hasattr(model, query):
            own = hasattr(model, f"a{texts}") and not _is_inherited(model, "_aget_text_embeddings")
            return Methods(texts, query, *((f"a{texts}", f"a{query}") if own else (None, None)))
    if callable(getattr(model, "embed", None)):
        return Methods("embed", "embed_query" if hasattr(model, "embed_query") else None, None, None)
    raise InvalidParameterError(
        "embedder",
        "must be a spec, an embedder of kinsplit, LlamaIndex or LangChain, or an object with embed(texts)",
        model,
        "It needs get_text_embedding_batch and get_query_embedding, or embed_documents and embed_query, or embed, "
        "which returns a vector for each of some texts. Give a model of sentence-transformers by its name: "
        "'st:NAME_OR_PATH'.",
    )


def _is_inherited(model: object, method: str) -> bool:
    maker = next((kind for kind in type(model).__mro__ if method in vars(kind)), None)
    return maker is not None and maker.__module__ == _BLOCKING


def local_model(model: object) -> Any:
    """Return the sentence-transformers model inside an object, or None."""
    inside = (getattr(model, name, None) for name in _LOCAL)
    return next((found for found in inside if hasattr(found, "max_seq_length") and hasattr(found, "tokenizer")), None)


def window_of(model: object) -> int | None:
    """Return the maximum number of tokens that an object declares for an input, or None."""
    declared = (getattr(model, "max_length", None), getattr(local_model(model), "max_seq_length", None))
    return min((length for length in declared if isinstance(length, int) and length > 0), default=None)


def prompts_of(model: object) -> list[str]:
    """Return the prompts that an object may put before a text, each once."""
    return sorted({prompt for prompt in _prompts(model) if prompt and isinstance(prompt, str)})


def _prompts(model: object) -> Iterator[Any]:
    for name in ("text_instruction", "query_instruction", "embed_instruction"):
        yield getattr(model, name, None)
    for name in ("encode_kwargs", "query_encode_kwargs"):
        if isinstance(options := getattr(model, name, None), dict):
            yield options.get("prompt")
    if isinstance(prompts := getattr(local_model(model), "prompts", None), dict):
        yield from prompts.values()


#: Window of an object that declares none: that of BERT, more than enough for a chunk.
WINDOW = 512
#: Special tokens of BERT and most others: one before a text and one after it.
_SPECIAL = 2
_BATCH = 128


class ForeignEmbedder:
    """A LlamaIndex `BaseEmbedding`, a LangChain `Embeddings`, or any object with their methods or with `embed(texts)`.

    No text longer than the window reaches the object: a longer one is embedded as the mean of its windows. Exceptions
    of the object are passed on unchanged.

    Args:
        model: The object. Its vectors are scaled to length 1.
        window: Maximum number of tokens of one input, including special tokens and prompts. None takes the value that
            the object declares (`max_length`, or `max_seq_length` of a sentence-transformers model inside), else 512.
        tokenizer: Tokenizer that counts those tokens; see `kinsplit.tokenizers.resolve`. None takes the tokenizer of a
            sentence-transformers model inside the object, else the bundled one.
        batch_size: Number of texts per call. None takes the object's `embed_batch_size`, else 128.
        version: Version of the object's vectors, to be changed whenever they change; with one, they may be cached on
            disk. None prevents that, since nothing else shows that the object's code was edited.
    """

    def __init__(
        self,
        model: object,
        window: int | None = None,
        tokenizer: str | object | None = None,
        batch_size: int | None = None,
        version: str | None = None,
    ) -> None:
        for field, value in (("window", window), ("batch_size", batch_size)):
            require(value is None or value >= 1, field, "must be at least 1", value, "Leave it out for the default.")
        self.model, self.version = model, version
        self._methods = methods_of(model)
        self._window, self._spec = window, tokenizer
        self.batch_size: int = batch_size or getattr(model, "embed_batch_size", None) or _BATCH
        # A model in this process is used by one thread at a time, since its tokenizer is not thread-safe.
        self._guard: AbstractContextManager[object] = (
            contextlib.nullcontext() if local_model(model) is None else threading.Lock()
        )

    @property
    def name(self) -> str:
        """A description of the object, which can't be resolved again."""
        return describe(self.model)

    @functools.cached_property
    def dimension(self) -> int:
        """Length of a vector; determined by one call of the object."""
        return int(self.embed(["dimension"]).shape[1])

    @functools.cached_property
    def window(self) -> int:
        """Maximum number of tokens of one model input, including special tokens and prompts."""
        return self._window or window_of(self.model) or WINDOW

    @property
    def repeatable(self) -> bool:
        """Whether a version was given."""
        return self.version is not None

    @property
    def fingerprint(self) -> str:
        """Type and name of the object, with assumed fixed weights, and whatever else affects the vectors."""
        parts = [self.name, str(self.dimension), str(self.window), *prompts_of(self.model)]
        return ":".join(parts if self.version is None else [*parts, f"version {self.version}"])

    def windows(self, texts: Sequence[str]) -> list[int]:
        """Count the windows of each text."""
        return [len(parts) for parts in self._slices(texts)]

    def embed(self, texts: Sequence[str], progress: Progress | None = None) -> NDArray[np.float32]:
        """Embed texts for an index; see `Embedder.embed`.

        Raises:
            EmbeddingError: The object returns anything but one finite vector per text that is not zero.
        """
        slices = self._slices(texts)
        flat = list(chain.from_iterable(slices))
        if not flat:
            return np.zeros((0, self.dimension), dtype=np.float32)
        # Similar lengths together, so that a local model pads little.
        order = sorted(range(len(flat)), key=lambda index: -len(flat[index]))
        vectors = np.zeros((0, 0), dtype=np.float32)
        for start in range(0, len(order), self.batch_size):
            batch = order[start : start + self.batch_size]
            answer = self._ask(self._methods.texts, self._methods.atexts, [flat[index] for index in batch])
            found = unit_vectors(answer, len(batch), self.name)
            if not start:
                vectors = np.empty((len(flat), found.shape[1]), dtype=np.float32)
            if found.shape[1] != vectors.shape[1]:
                raise EmbeddingError(
                    f"{self.name} returned vectors of {vectors.shape[1]} and of {found.shape[1]} numbers."
                )
            vectors[batch] = found
            if progress:
                progress(start + len(batch), len(order))
        return mean_of_windows(vectors, [len(parts) for parts in slices])

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """Embed a query with the object's method for queries; see `embed`."""
        vector: NDArray[np.float32] = self.embed([text])[0] if self._methods.query is None else self._query(text)
        return vector

    def _query(self, text: str) -> NDArray[np.float32]:
        (parts,) = self._slices([text])
        answers = (self._ask(str(self._methods.query), self._methods.aquery, part) for part in parts)
        vectors = [unit_vectors([answer], 1, self.name)[0] for answer in answers]
        mean: NDArray[np.float32] = mean_of_windows(np.stack(vectors), [len(parts)])[0]
        return mean

    def _ask(self, method: str, awaitable: str | None, argument: object) -> Any:
        """Call the object, by its asynchronous method if this thread works for an event loop."""
        own = getattr(self.model, method)
        with self._guard:
            return call_either(own, None if awaitable is None else getattr(self.model, awaitable), argument)

    def _slices(self, texts: Sequence[str]) -> list[list[str]]:
        return split_texts(check_texts(texts), CountedTokens(self._tokenizer), self._budget)

    @functools.cached_property
    def _tokenizer(self) -> Tokenizer:
        return resolve(self._spec or getattr(local_model(self.model), "tokenizer", BUNDLED))

    @functools.cached_property
    def _budget(self) -> int:
        """Tokens left for the text itself."""
        prompts = prompts_of(self.model)
        taken = _SPECIAL + (int(self._tokenizer.count(prompts).max()) if prompts else 0)
        if self.window <= taken:
            raise EmbeddingError(f"{self.name}: its window of {self.window} tokens leaves none beside its prompts.")
        return self.window - taken
