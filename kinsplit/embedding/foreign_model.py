"""What an embedding object of LlamaIndex or LangChain says of itself; neither framework is imported."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from kinsplit.errors import InvalidParameterError

#: Where the frameworks' adapters of sentence-transformers keep the model.
_LOCAL = ("_model", "_client", "client", "model")
#: LlamaIndex's own base class: its asynchronous methods run the model inside the event loop, one text at a time.
_BLOCKING = "llama_index.core.base.embeddings.base"


class Methods(NamedTuple):
    """Names of an object's methods.

    Attributes:
        texts: Embeds a list of texts.
        query: Embeds a question; None where `texts` does that too.
        atexts: Does as `texts`, asynchronously; None where that would block the event loop.
        aquery: Does as `query`, asynchronously, or None.
    """

    texts: str
    query: str | None
    atexts: str | None
    aquery: str | None


def is_foreign(value: object) -> bool:
    """Return whether an object embeds as LlamaIndex's or LangChain's do."""
    return any(hasattr(value, texts) and hasattr(value, query) for texts, query in _PAIRS)


_PAIRS = (("get_text_embedding_batch", "get_query_embedding"), ("embed_documents", "embed_query"))


def methods_of(model: object) -> Methods:
    """Return the names of an object's methods.

    Raises:
        InvalidParameterError: It embeds neither as LlamaIndex's objects nor as LangChain's, and has no `embed` either.
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
    """Return the most tokens that an object says its model reads at once, or None if it doesn't say."""
    said = (getattr(model, "max_length", None), getattr(local_model(model), "max_seq_length", None))
    return min((length for length in said if isinstance(length, int) and length > 0), default=None)


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
