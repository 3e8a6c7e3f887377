"""Embedding objects of LlamaIndex and LangChain, recognised by their methods, as embedders of kinsplit."""

from __future__ import annotations

import contextlib
import functools
import threading
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kinsplit.embedding.protocol import check_texts, unit_vectors
from kinsplit.embedding.windows import SPECIAL_TOKENS, CountedTokens, SlicingEmbedder, mean_of_windows, split_texts
from kinsplit.errors import EmbeddingError, InvalidParameterError
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
# Methods that embed texts, and in objects without another one, queries too.
_ALONE = ("embed", "embed_documents")


def methods_of(model: object) -> Methods:
    """Return the names of an object's methods.

    Raises:
        InvalidParameterError: It has neither the methods of LlamaIndex, nor those of LangChain, nor one for texts.
    """
    is_class = isinstance(model, type)
    for texts, query in () if is_class else _PAIRS:
        if hasattr(model, texts) and hasattr(model, query):
            own = hasattr(model, f"a{texts}") and not _is_inherited(model, "_aget_text_embeddings")
            return Methods(texts, query, *((f"a{texts}", f"a{query}") if own else (None, None)))
    for texts in () if is_class else _ALONE:
        if callable(getattr(model, texts, None)):
            return Methods(texts, "embed_query" if hasattr(model, "embed_query") else None, None, None)
    rule = "must be a spec, an embedder of kinsplit, LlamaIndex or LangChain, or an object that embeds texts"
    remedy = (
        "It needs get_text_embedding_batch and get_query_embedding, or embed_documents, or embed, which returns a "
        "vector for each of some texts. Give a model of sentence-transformers by its name: "
        "'st:NAME_OR_PATH'."
    )
    raise InvalidParameterError("embedder", rule, model, remedy)


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


_BATCH = 128


class ForeignEmbedder(SlicingEmbedder):
    """A LlamaIndex `BaseEmbedding`, a LangChain `Embeddings`, or any object with their methods or with `embed(texts)`.

    An object with `embed(texts)` or `embed_documents(texts)` alone embeds queries as texts, too.

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
        own = getattr(model, "embed_batch_size", None) or _BATCH
        super().__init__(model, window, own if batch_size is None else batch_size)
        self.version, self._spec = version, tokenizer
        self._methods = methods_of(model)
        # A model in this process is used by one thread at a time, since its tokenizer is not thread-safe.
        self._guard: AbstractContextManager[object] = (
            contextlib.nullcontext() if local_model(model) is None else threading.Lock()
        )

    @property
    def name(self) -> str:
        """A description of the object, which can't be resolved again."""
        return describe(self.model)

    @property
    def repeatable(self) -> bool:
        """Whether a version was given."""
        return self.version is not None

    @property
    def _weights(self) -> str:
        """Type, name and version of the object, and the prompts that it may put before a text."""
        parts = [self.name, *prompts_of(self.model)]
        return ":".join(parts if self.version is None else [*parts, f"version {self.version}"])

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """Embed a query with the object's method for queries; see `embed`."""
        if self._methods.query is None:
            return super().embed_query(text)
        (parts,) = self._slices([text])
        answers = (self._ask(self._methods.query, self._methods.aquery, part) for part in parts)
        vectors = [unit_vectors([answer], 1, self.name)[0] for answer in answers]
        mean: NDArray[np.float32] = mean_of_windows(np.stack(vectors), [len(parts)])[0]
        return mean

    def _ask(self, method: str, awaitable: str | None, argument: object) -> Any:
        """Call the object, by its asynchronous method if this thread works for an event loop."""
        own = getattr(self.model, method)
        with self._guard:
            return call_either(own, None if awaitable is None else getattr(self.model, awaitable), argument)

    @property
    def _declared(self) -> dict[str, Any]:
        return {"window": window_of(self.model)}

    def _batches(self, texts: list[str]) -> Iterator[list[int]]:
        # Similar lengths together, so that a local model pads little.
        order = sorted(range(len(texts)), key=lambda index: -len(texts[index]))
        return (order[start : start + self.batch_size] for start in range(0, len(order), self.batch_size))

    def _embed_batch(self, texts: list[str]) -> NDArray[np.float32]:
        return unit_vectors(self._ask(self._methods.texts, self._methods.atexts, texts), len(texts), self.name)

    def _slices(self, texts: Sequence[str], *, is_query: bool = False) -> list[list[str]]:  # noqa: ARG002
        return split_texts(check_texts(texts), CountedTokens(self._tokenizer), self._budget)

    @functools.cached_property
    def _tokenizer(self) -> Tokenizer:
        return resolve(self._spec or getattr(local_model(self.model), "tokenizer", BUNDLED))

    @functools.cached_property
    def _budget(self) -> int:
        """Tokens left for the text itself."""
        prompts = prompts_of(self.model)
        taken = SPECIAL_TOKENS + (int(self._tokenizer.count(prompts).max()) if prompts else 0)
        if self.window <= taken:
            raise EmbeddingError(f"{self.name}: its window of {self.window} tokens leaves none beside its prompts.")
        return self.window - taken
