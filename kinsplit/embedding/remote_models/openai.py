"""Embedder for models of OpenAI, and of other servers with its API."""

from __future__ import annotations

import functools
import importlib.util
from typing import TYPE_CHECKING, Any

from kinsplit.embedding.remote_models.base import (
    BATCH,
    BATCH_TOKENS,
    LONGEST_RESPONSE,
    Answer,
    Rejection,
    RemoteEmbedder,
)
from kinsplit.embedding.windows import CountedTokens
from kinsplit.errors import EmbedderUnavailableError, EmbeddingError, InvalidParameterError, TokenizerError
from kinsplit.model_servers.openai import OPENAI, connect_openai
from kinsplit.model_servers.secrets import redact_url
from kinsplit.model_servers.server import Failure, quoted
from kinsplit.tokenizers import resolve

if TYPE_CHECKING:
    from openai import OpenAI

# Of OpenAI's own models, see https://platform.openai.com/docs/guides/embeddings.
_OWN, _OWN_WINDOW, _OWN_TOKENIZER = "text-embedding-", 8191, "tiktoken:cl100k_base"


class OpenAIEmbedder(RemoteEmbedder):
    """An embedder for a model behind `POST BASE_URL/embeddings`: OpenAI, vLLM, llama.cpp, LM Studio, gateways.

    Tokens are counted by tiktoken for OpenAI's own models if it is installed, and else estimated, rather too high.

    Args:
        model: Name on the server, such as "text-embedding-3-small".
        base_url: URL up to and including the version; None takes OPENAI_BASE_URL, or OpenAI's own if that isn't set.
        api_key: API key; None takes OPENAI_API_KEY, or sends no key if that isn't set.
        dimensions: Requested length of the vectors, for models that can shorten them; None for the model's own.
        window: Maximum number of tokens of one input; None for 8191 with OpenAI's own models, else 512.
        price: Price of a million tokens in US dollars; None takes KINSPLIT_EMBEDDING_PRICE, or else the table of
            litellm if that is installed.
        batch_size: Maximum number of texts in a request.
        batch_tokens: Maximum number of tokens in a request.
        timeout: Maximum seconds to wait for a response.

    Raises:
        InvalidParameterError: A number that is not positive, a key that can't be sent, or a URL with a password.
        MissingExtraError: OpenAI's client is not installed.
    """

    scheme = "openai"

    def __init__(
        self,
        model: str,
        base_url: str | None = None,
        api_key: str | None = None,
        dimensions: int | None = None,
        window: int | None = None,
        price: float | None = None,
        batch_size: int = BATCH,
        batch_tokens: int = BATCH_TOKENS,
        timeout: float = 120.0,
    ) -> None:
        if base_url is not None and redact_url(base_url) != base_url:
            # The URL is part of the name, which collections and results record.
            remedy = "Set OPENAI_BASE_URL to the whole URL instead."
            raise InvalidParameterError("base_url", "must not hold a password", redact_url(base_url), remedy)
        super().__init__(model, {"base_url": base_url}, dimensions, window, price, batch_size, batch_tokens)
        limits: dict[str, Any] = {"timeout": timeout, "longest": LONGEST_RESPONSE}
        kinds: dict[str, Any] = {"failed": EmbeddingError, "unavailable": EmbedderUnavailableError}
        self._server = connect_openai(self.name, base_url, api_key, **limits, **kinds)

    def _request(self, texts: list[str]) -> Answer | Rejection:
        body: dict[str, Any] = {"model": self.model, "input": texts}
        if self._server.url != OPENAI:
            body["encoding_format"] = "float"  # Few others know base64, the client's default.
        if self.dimensions is not None:
            body["dimensions"] = self.dimensions
        outcome = self._server.attempt(self._send, body)
        return Rejection(outcome.error, outcome.status) if isinstance(outcome, Failure) else outcome

    def _send(self, client: OpenAI, body: dict[str, Any]) -> Answer:
        answer: Any = client.embeddings.create(**body)
        try:
            parts = sorted(answer.data, key=lambda part: part.index or 0)
            return Answer([part.embedding for part in parts], getattr(answer.usage, "prompt_tokens", None))
        except (AttributeError, TypeError):
            raise EmbeddingError(f"{self.name}: the server answered with {quoted(answer)[:80]!r}.") from None

    @property
    def _is_own(self) -> bool:
        return self.model.startswith(_OWN)

    def _known_window(self) -> int | None:
        return _OWN_WINDOW if self._is_own else None

    @functools.cached_property
    def _tokens(self) -> Any:
        if self._is_own and importlib.util.find_spec("tiktoken"):
            try:
                return CountedTokens(resolve(_OWN_TOKENIZER))
            except TokenizerError:  # Its vocabulary is not on this machine and can't be fetched.
                return super()._tokens
        return super()._tokens
