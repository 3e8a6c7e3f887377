"""Embedder for models of an Ollama server (https://github.com/ollama/ollama/blob/main/docs/api.md)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kinsplit.embedding.remote_models.base import BATCH_TOKENS, LONGEST_RESPONSE, Answer, Rejection, RemoteEmbedder
from kinsplit.errors import EmbedderUnavailableError, EmbeddingError
from kinsplit.model_servers.ollama import connect_ollama, post
from kinsplit.model_servers.server import Failure

if TYPE_CHECKING:
    from openai import OpenAI

# Not /v1/embeddings, which cuts off what is longer than the window without saying so.
_PATH = "/api/embed"
_BATCH = 64


class OllamaEmbedder(RemoteEmbedder):
    """An embedder for a model of an Ollama server, whose window the server reports.

    Args:
        model: Name on the server, such as "nomic-embed-text".
        host: Address of the server; None takes OLLAMA_HOST, or this machine if that isn't set.
        dimensions: Requested length of the vectors, for models that can shorten them; None for the model's own.
        window: Maximum number of tokens of one input; None for the model's own.
        price: See `OpenAIEmbedder`.
        batch_size: Maximum number of texts in a request.
        batch_tokens: Maximum number of tokens in a request.
        timeout: Maximum seconds to wait for a response: the server may have to load the model first.

    Raises:
        InvalidParameterError: A number that is not positive, or a host that is not an address.
        MissingExtraError: OpenAI's client, which sends the requests, is not installed.
    """

    scheme = "ollama"

    def __init__(
        self,
        model: str,
        host: str | None = None,
        dimensions: int | None = None,
        window: int | None = None,
        price: float | None = None,
        batch_size: int = _BATCH,
        batch_tokens: int = BATCH_TOKENS,
        timeout: float = 300.0,
    ) -> None:
        super().__init__(model, {}, dimensions, window, price, batch_size, batch_tokens)
        limits: dict[str, Any] = {"timeout": timeout, "longest": LONGEST_RESPONSE}
        self._server = connect_ollama(model, host, **limits, failed=EmbeddingError, unavailable=EmbedderUnavailableError)

    def _request(self, texts: list[str]) -> Answer | Rejection:
        body: dict[str, Any] = {"model": self.model, "input": texts, "truncate": False}
        if self.dimensions is not None:
            body["dimensions"] = self.dimensions
        outcome = self._server.attempt(self._send, body)
        return Rejection(outcome.error, outcome.status) if isinstance(outcome, Failure) else outcome

    def _send(self, client: OpenAI, body: dict[str, Any]) -> Answer:
        response = post(client, _PATH, body)
        try:
            answer = response.json()
            return Answer(answer["embeddings"], answer.get("prompt_eval_count"))
        except (AttributeError, KeyError, TypeError, ValueError, RecursionError):
            raise EmbeddingError(f"{self._server.name}: the server answered with {response.text[:80]!r}.") from None

    def _known_window(self) -> int | None:
        return self._server.call(_window, {"model": self.model})


def _window(client: OpenAI, body: dict[str, Any]) -> int | None:
    """Return the context length of a model, whose key begins with its architecture; None if the server doesn't say."""
    answer = post(client, "/api/show", body).json()
    known = answer.get("model_info") if isinstance(answer, dict) else None
    lengths = (value for key, value in (known or {}).items() if key.endswith(".context_length"))
    return next((length for length in lengths if isinstance(length, int) and length > 0), None)
