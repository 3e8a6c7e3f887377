"""Embedder for models of any provider that litellm knows: Cohere, Voyage, Bedrock, Vertex AI and others."""

from __future__ import annotations

import functools
import importlib.util
import os
import re
from typing import Any

from kinsplit.embedding.remote_models.base import BATCH, BATCH_TOKENS, Answer, Rejection, RemoteEmbedder
from kinsplit.embedding.remote_models.prices import facts
from kinsplit.errors import EmbeddingError, MissingExtraError
from kinsplit.model_servers.secrets import Secrets, read_key
from kinsplit.model_servers.server import error_message, quoted
from kinsplit.support.environment import Origin, Setting, check_address, found_values, look_up

# Names of variables with which providers' keys are given.
_SECRET = re.compile(r"KEY|TOKEN|SECRET|PASSWORD|CREDENTIALS", re.IGNORECASE)
# Ends of the names of variables with which providers' addresses are given.
_ADDRESS = ("_BASE", "_BASE_URL", "_ENDPOINT", "_HOST", "_URL")
_RETRIES = 2


class LiteLLMEmbedder(RemoteEmbedder):
    """An embedder for a model of any provider that litellm knows.

    Keys come from the variables that litellm reads, such as COHERE_API_KEY and VOYAGE_API_KEY. Of a `.env` that is
    merely found, PROVIDER_API_KEY is taken.

    Args:
        model: Provider and model as litellm writes them, such as "voyage/voyage-3.5".
        dimensions: Requested length of the vectors, for models that can shorten them; None for the model's own.
        window: Maximum number of tokens of one input; None for that of litellm's table, else 512.
        price: See `OpenAIEmbedder`.
        batch_size: Maximum number of texts in a request.
        batch_tokens: Maximum number of tokens in a request.
        timeout: Maximum seconds to wait for a response.

    Raises:
        InvalidParameterError: A number that is not positive, or an address from a less trusted source than the key.
        MissingExtraError: litellm is not installed.
    """

    scheme = "litellm"

    def __init__(
        self,
        model: str,
        dimensions: int | None = None,
        window: int | None = None,
        price: float | None = None,
        batch_size: int = BATCH,
        batch_tokens: int = BATCH_TOKENS,
        timeout: float = 120.0,
    ) -> None:
        if importlib.util.find_spec("litellm") is None:
            raise MissingExtraError("litellm", "litellm")
        super().__init__(model, {}, dimensions, window, price, batch_size, batch_tokens)
        self.timeout = timeout
        self._key = _checked_key(model)

    def _request(self, texts: list[str]) -> Answer | Rejection:
        more: dict[str, Any] = {} if self.dimensions is None else {"dimensions": self.dimensions}
        if self._key is not None and self._key.origin is Origin.FOUND:
            more["api_key"] = self._key.value  # It is not in the environment, where litellm looks.
        library = _library()
        try:
            answer = library.embedding(
                model=self.model, input=texts, timeout=self.timeout, num_retries=_RETRIES, **more
            )
        except Exception as error:  # litellm raises exceptions of several libraries.
            status = getattr(error, "status_code", 0)
            failed = Rejection(self._failure(error), status if isinstance(status, int) else 0)
        else:
            return self._read(answer)
        return failed

    def _read(self, answer: Any) -> Answer:
        try:
            parts = sorted(answer.data, key=lambda part: part["index"] or 0)
            return Answer([part["embedding"] for part in parts], getattr(answer.usage, "prompt_tokens", None))
        except (AttributeError, KeyError, TypeError):
            raise EmbeddingError(f"{self.name}: litellm answered with {quoted(answer)[:80]!r}.") from None

    def _failure(self, error: Exception) -> EmbeddingError:
        """Return an error without the exception behind it, whose message and request may hold a key."""
        message = str(error)
        for name, value in (*os.environ.items(), *found_values().items()):
            if _SECRET.search(name):
                message = Secrets(value).redact(message)
        return EmbeddingError(f"{self.name} failed: {type(error).__name__}: {error_message(message)}.")

    def _known_window(self) -> int | None:
        window = facts(self.model).get("max_input_tokens")
        return window if isinstance(window, int) and window > 0 else None


def _checked_key(model: str) -> Setting | None:
    """Return the key of a model's provider, after a check of the addresses to which litellm may send it."""
    prefix = f"{model.partition('/')[0].upper()}_"
    key = read_key(None, f"{prefix}API_KEY")
    for name in (*os.environ, *found_values()):
        address = look_up(name) if name.startswith(prefix) and name.endswith(_ADDRESS) else None
        if address is not None:
            check_address(address, key)
    return key


@functools.cache
def _library() -> Any:
    """Import litellm without letting it fetch its table of prices, write to stdout, or read a `.env` by itself."""
    during = {"LITELLM_LOCAL_MODEL_COST_MAP": "True", "LITELLM_MODE": "PRODUCTION"}
    before = {name: os.environ.get(name) for name in during}
    os.environ.update(during)
    try:
        import litellm
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
    litellm.suppress_debug_info = True
    return litellm
