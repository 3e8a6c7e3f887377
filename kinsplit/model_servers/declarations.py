"""Declarations of servers about their models, as fields of a card."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from kinsplit.model_servers.clients import OPENAI, post
from kinsplit.model_servers.server import ModelServer

if TYPE_CHECKING:
    from openai import OpenAI

# Keys under which servers with OpenAI's API list a model's window: vLLM, Mistral and LM Studio, gateways, Groq.
_WINDOWS = ("max_model_len", "max_context_length", "context_length", "context_window")
# What GGUF's number means.
_POOLINGS = {1: "mean", 2: "cls", 3: "last"}
# Batch that llama.cpp reads at once, unless it is told otherwise: of a longer text it makes no vector.
_BATCH = 512


def of_openai(server: ModelServer, model: str, *, embeds: bool) -> dict[str, Any]:
    """Return a model's details from a server with OpenAI's API; OpenAI itself reports none and isn't asked.

    `GET /models` is asked first, then llama.cpp's `/props` or the `/info` of text-embeddings-inference.
    """
    if server.url == OPENAI:
        return {}
    root = server.url.removesuffix("/v1")
    told = server.ask(lambda client, _: _get(client, "/models")) or {}
    listed = [each for each in told.get("data") or () if isinstance(each, dict)]
    entry = next((each for each in listed if each.get("id") == model), listed[0] if len(listed) == 1 else {})
    if isinstance(meta := entry.get("meta"), dict):
        props = {} if embeds else server.ask(lambda client, _: _get(client, f"{root}/props")) or {}
        window = (props.get("default_generation_settings") or {}).get("n_ctx")
        if not embeds:
            return _known(window=window)
        return _known(window=min(meta.get("n_ctx_train") or _BATCH, _BATCH), dimension=meta.get("n_embd"))
    if window := next(_sizes(entry, _WINDOWS), None):
        return {"window": window}
    info = server.ask(lambda client, _: _get(client, f"{root}/info")) or {} if embeds else {}
    kind = info.get("model_type")
    pooling = (kind.get("embedding") or {}).get("pooling") if isinstance(kind, dict) else None
    return _known(window=next(_sizes(info, ("max_input_length",)), None), pooling=pooling)


def models_of(server: ModelServer) -> list[str] | None:
    """Return the names of the models that a server lists at `GET /v1/models`; None if it lists none."""
    root = server.url.removesuffix("/v1")
    told = server.ask(lambda client, _: _get(client, f"{root}/v1/models"))
    return None if told is None else [str(each.get("id")) for each in told.get("data") or () if isinstance(each, dict)]


def of_ollama(client: OpenAI, body: dict[str, Any]) -> dict[str, Any]:
    """Return a model's details from Ollama, which reads the metadata of its GGUF file."""
    told = post(client, "/api/show", body).json()
    return of_gguf(told.get("model_info") or {}) if isinstance(told, dict) else {}


def of_gguf(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the metadata of a GGUF file says; most keys begin with the model's architecture."""
    ends = {key.partition(".")[2]: value for key, value in metadata.items()}
    tokenizer, tokens = metadata.get("tokenizer.ggml.model"), metadata.get("tokenizer.ggml.tokens")
    named = f"{tokenizer}/{len(tokens)}" if isinstance(tokens, list) else tokenizer
    # Only models that embed say how they pool; of others, this is the length of a state.
    lengths = ("embedding_length_out", "embedding_length") if "pooling_type" in ends else ()
    return _known(
        dimension=next(_sizes(ends, lengths), None),
        window=next(_sizes(ends, ("context_length",)), None),
        pooling=_POOLINGS.get(ends.get("pooling_type", 0)),
        tokenizer=named,
        languages=tuple(metadata.get("general.languages") or ()),
        licence=metadata.get("general.license"),
    )


def _get(client: OpenAI, path: str) -> dict[str, Any]:
    import httpx

    answer = client.get(path, cast_to=httpx.Response).json()
    return answer if isinstance(answer, dict) else {}


def _sizes(entry: Mapping[str, Any], keys: Iterable[str]) -> Iterator[int]:
    return (size for key in keys if isinstance(size := entry.get(key), int) and size > 0)


def _known(**fields: Any) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value}
