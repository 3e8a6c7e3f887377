"""Connections to servers with OpenAI's API: OpenAI itself, vLLM, llama.cpp, LM Studio, gateways."""

from __future__ import annotations

from typing import Any

from kinsplit.errors import InvalidParameterError
from kinsplit.model_servers.secrets import read_key
from kinsplit.model_servers.server import ModelServer
from kinsplit.support.environment import Origin, Setting, check_address, look_up

#: URL of OpenAI's own servers.
OPENAI = "https://api.openai.com/v1"
OPENAI_KEY, OPENAI_ADDRESS = "OPENAI_API_KEY", "OPENAI_BASE_URL"


def connect_openai(name: str, base_url: str | None, api_key: str | None, **options: Any) -> ModelServer:
    """Return the server of a model.

    Args:
        name: Name of the model, for messages.
        base_url: URL up to and including the version; None takes OPENAI_BASE_URL, or OpenAI's own if that isn't set.
        api_key: API key; None takes OPENAI_API_KEY, or sends no key if that isn't set.
        **options: See `ModelServer`.

    Raises:
        InvalidParameterError: The key can't be sent, or comes from a more trusted source than the URL.
        MissingExtraError: OpenAI's client is not installed.
    """
    key = read_key(api_key, OPENAI_KEY)
    address = Setting("base_url", base_url, Origin.GIVEN) if base_url else look_up(OPENAI_ADDRESS)
    if address is not None:
        check_address(address, key)
    url = (OPENAI if address is None else address.value).strip().rstrip("/")
    remedy = f"Set {OPENAI_KEY} in the environment or in .env, or {OPENAI_ADDRESS} in the environment for another server."
    missing = OPENAI_KEY if url == OPENAI and key is None else ""
    return ModelServer(name, url, remedy, key="" if key is None else key.value, missing=missing, **options)


def required_address(model: str) -> str:
    """Return the URL in OPENAI_BASE_URL, for a model that must not be asked for at OpenAI itself.

    Args:
        model: Name of the model.

    Raises:
        InvalidParameterError: It isn't set.
    """
    address = look_up(OPENAI_ADDRESS)
    if address is None:
        rule = "is a model on a server of your own, whose address is not stored"
        remedy = f"Set {OPENAI_ADDRESS}, or give the model again with its base_url."
        raise InvalidParameterError("model", rule, model, remedy)
    return address.value
