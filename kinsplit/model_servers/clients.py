"""Connections to servers of models, with OpenAI's API and of Ollama, and what these declare about their models."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from kinsplit.errors import InvalidParameterError, require
from kinsplit.identity import UNSTORED
from kinsplit.model_servers.secrets import OLLAMA_KEY, OPENAI_KEY, read_key
from kinsplit.model_servers.server import ModelServer
from kinsplit.support.environment import Origin, Setting, check_address, look_up, redact_url

if TYPE_CHECKING:
    import httpx
    from openai import OpenAI

#: URL of OpenAI's own servers.
OPENAI = "https://api.openai.com/v1"
OPENAI_ADDRESS, OLLAMA_ADDRESS = "OPENAI_BASE_URL", "OLLAMA_HOST"


def connect_openai(name: str, base_url: str | None, api_key: str | None, **options: Any) -> ModelServer:
    """Return the server of a model; see `ModelServer` for the options.

    The URL goes up to and including the version; None takes OPENAI_BASE_URL, or OpenAI's own if that isn't set. No API
    key takes OPENAI_API_KEY, or sends none if that isn't set.

    Raises:
        InvalidParameterError: The key can't be sent, or comes from a more trusted source than the URL.
        MissingExtraError: OpenAI's client is not installed.
    """
    key = read_key(api_key, OPENAI_KEY)
    url = (_address("base_url", base_url or None, OPENAI_ADDRESS, key) or OPENAI).strip().rstrip("/")
    other = f"or {OPENAI_ADDRESS} in the environment for another server"
    remedy = f"Set {OPENAI_KEY} in the environment or in .env, {other}."
    missing = OPENAI_KEY if url == OPENAI and key is None else ""
    return ModelServer(name, url, remedy, key="" if key is None else key.value, missing=missing, **options)


_PORT = 11434


def connect_ollama(model: str, host: str | None, **options: Any) -> ModelServer:
    """Return the server of an Ollama model; see `ModelServer` for the options.

    No host takes OLLAMA_HOST, or this machine if that isn't set.

    Raises:
        InvalidParameterError: The host is not a valid address, or the key comes from a more trusted source than it.
        MissingExtraError: OpenAI's client is not installed.
    """
    key = read_key(None, OLLAMA_KEY)
    url = _url(_address("host", host, OLLAMA_ADDRESS, key))
    remedy = f"Run `ollama serve` and `ollama pull {model}`, or set {OLLAMA_ADDRESS}."
    return ModelServer(f"ollama:{model}", url, remedy, key="" if key is None else key.value, **options)


def _address(field: str, given: str | None, variable: str, key: Setting | None) -> str:
    """Return the address that is given, or else that of the variable, after a check; "" for none."""
    stored = given == UNSTORED
    address = look_up(variable) if given is None or stored else Setting(field, given, Origin.GIVEN)
    rule = "is that of a server of your own, whose address is not stored"
    remedy = f"Set {variable}, or give the model again with its {field}."
    require(address is not None or not stored, field, rule, given, remedy)
    if address is None:
        return ""
    check_address(address, key)
    return address.value


def post(client: OpenAI, path: str, body: dict[str, Any]) -> httpx.Response:
    """Send a body to a path of Ollama's own API, for which the client has no method."""
    import httpx

    return client.post(path, cast_to=httpx.Response, body=body)


def _url(host: str) -> str:
    """Return the full URL of an address in the form of OLLAMA_HOST, `[scheme://]host[:port]`."""
    text = host.strip() or "127.0.0.1"
    bare = "://" not in text
    try:
        parts = urlsplit(f"http://{text}" if bare else text)
        port = parts.port or (_PORT if bare else None)
    except ValueError as error:
        remedy = "Write for example 'http://127.0.0.1:11434'."
        # The error may quote a password in the address.
        why = f": {error}" if redact_url(host) == host else ""
        raise InvalidParameterError("OLLAMA_HOST", f"must be an address{why}", redact_url(host), remedy) from None
    # A server can listen on all addresses; a client needs one.
    name = "127.0.0.1" if parts.hostname in (None, "0.0.0.0") else parts.hostname  # noqa: S104
    name = f"[{name}]" if ":" in name else name
    who = parts.netloc[: parts.netloc.rindex("@") + 1] if "@" in parts.netloc else ""
    return f"{parts.scheme}://{who}{name}{f':{port}' if port else ''}{parts.path.rstrip('/')}"


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
