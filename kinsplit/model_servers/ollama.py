"""Connections to Ollama servers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from kinsplit.errors import InvalidParameterError
from kinsplit.model_servers.secrets import read_key, redact_url
from kinsplit.model_servers.server import ModelServer
from kinsplit.support.environment import Origin, Setting, check_address, look_up

if TYPE_CHECKING:
    import httpx
    from openai import OpenAI

OLLAMA_KEY, OLLAMA_ADDRESS = "OLLAMA_API_KEY", "OLLAMA_HOST"
_PORT = 11434


def connect_ollama(model: str, host: str | None, **options: Any) -> ModelServer:
    """Return the server of an Ollama model.

    Args:
        model: Name of the model.
        host: Address of the server; None takes OLLAMA_HOST, or this machine if that isn't set.
        **options: See `ModelServer`.

    Raises:
        InvalidParameterError: The host is not a valid address, or the key comes from a more trusted source than it.
        MissingExtraError: OpenAI's client is not installed.
    """
    key = read_key(None, OLLAMA_KEY)
    address = look_up(OLLAMA_ADDRESS) if host is None else Setting("host", host, Origin.GIVEN)
    if address is not None:
        check_address(address, key)
    url = _url("" if address is None else address.value)
    remedy = f"Run `ollama serve` and `ollama pull {model}`, or set {OLLAMA_ADDRESS}."
    return ModelServer(f"ollama:{model}", url, remedy, key="" if key is None else key.value, **options)


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
