"""Connections to servers with OpenAI's API: OpenAI itself, vLLM, llama.cpp, LM Studio, gateways."""

from __future__ import annotations

import os
from typing import Any

from kinsplit.model_servers.secrets import read_key
from kinsplit.model_servers.server import ModelServer

#: URL of OpenAI's own servers.
OPENAI = "https://api.openai.com/v1"


def connect(name: str, base_url: str | None, api_key: str | None, **options: Any) -> ModelServer:
    """Return the server of a model.

    Args:
        name: Name of the model, for messages.
        base_url: URL up to and including the version; None takes OPENAI_BASE_URL, or OpenAI's own if that isn't set.
        api_key: API key; None takes OPENAI_API_KEY, or sends no key if that isn't set.
        **options: See `ModelServer`.

    Raises:
        InvalidParameterError: The key can't be sent.
        MissingExtraError: OpenAI's client is not installed.
    """
    url = (base_url or os.environ.get("OPENAI_BASE_URL") or OPENAI).strip().rstrip("/")
    key = read_key(api_key, "OPENAI_API_KEY")
    remedy = "Set OPENAI_API_KEY in the environment or in .env, or OPENAI_BASE_URL for another server."
    missing = "OPENAI_API_KEY" if url == OPENAI and not key else ""
    return ModelServer(name, url, remedy, key=key, missing=missing, **options)
