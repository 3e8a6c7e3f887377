"""Embedders of models on servers: of OpenAI's API, of Ollama, and of the providers that litellm knows."""

from __future__ import annotations

import functools
import importlib.util
import os
import re
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Unpack

from kinsplit.embedding.remote_models.base import EmbeddingAnswer, RemoteEmbedder, RemoteOptions, facts
from kinsplit.embedding.windows import CountedTokens
from kinsplit.errors import EmbedderUnavailableError, EmbeddingError, MissingExtraError, TokenizerError
from kinsplit.model_servers.clients import OPENAI, connect_ollama, connect_openai, of_ollama, of_openai, post
from kinsplit.model_servers.secrets import Secrets, error_message, quoted, read_key
from kinsplit.model_servers.server import FailedCall
from kinsplit.support.environment import Origin, Setting, check_address, found_values, look_up, variables
from kinsplit.tokenizers import resolve

if TYPE_CHECKING:
    from openai import OpenAI

# A response holds about 20 bytes for each number of a vector.
_CONNECTION: dict[str, Any] = {"longest": 128 << 20, "failed": EmbeddingError, "unavailable": EmbedderUnavailableError}
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
        window: Maximum number of tokens of one input; None for 8191 with OpenAI's own models, else for what the server
            tells, or 512 if it doesn't.
        pooling: How the model makes one vector of those of tokens, to be recorded; None for what the server tells.
        query_prefix: Text before each question, as the model was trained with; None for none.
        passage_prefix: Text before each text for an index, likewise.
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
        self, model: str, base_url: str | None = None, api_key: str | None = None, **options: Unpack[RemoteOptions]
    ) -> None:
        super().__init__(model, {"base_url": base_url}, **options)
        self._server = connect_openai(self.name, base_url, api_key, timeout=self.timeout, **_CONNECTION)

    def _request(self, texts: list[str]) -> EmbeddingAnswer | FailedCall:
        # Few others know base64, the client's default.
        more = {} if self._server.url == OPENAI else {"encoding_format": "float"}
        return self._server.attempt(self._send, {"model": self.model, "input": texts, **more, **self._requested})

    def _send(self, client: OpenAI, body: dict[str, Any]) -> EmbeddingAnswer:
        answer: Any = client.embeddings.create(**body)
        try:
            parts = sorted(answer.data, key=lambda part: part.index or 0)
            return EmbeddingAnswer([part.embedding for part in parts], getattr(answer.usage, "prompt_tokens", None))
        except (AttributeError, TypeError):
            raise EmbeddingError(f"{self.name}: the server answered with {quoted(answer)[:80]!r}.") from None

    @property
    def _is_own(self) -> bool:
        return self.model.startswith(_OWN)

    def _told(self) -> dict[str, Any]:
        return {"window": _OWN_WINDOW} if self._is_own else of_openai(self._server, self.model, embeds=True)

    @functools.cached_property
    def _tokens(self) -> Any:
        if self._is_own and importlib.util.find_spec("tiktoken"):
            with suppress(TokenizerError):  # Its vocabulary is not on this machine and can't be fetched.
                return CountedTokens(resolve(_OWN_TOKENIZER))
        return super()._tokens


# Not /v1/embeddings, which cuts off what is longer than the window without saying so.
_PATH = "/api/embed"
_BATCH, _TIMEOUT = 64, 300.0


class OllamaEmbedder(RemoteEmbedder):
    """An embedder for a model of an Ollama server; for its other arguments, see `OpenAIEmbedder`.

    Args:
        model: Name on the server, such as "nomic-embed-text".
        host: Address of the server; None takes OLLAMA_HOST, or this machine if that isn't set.
        window: Maximum number of tokens of one input; None for the model's own, which the server reports.
        timeout: Maximum seconds to wait for a response: the server may have to load the model first.

    Raises:
        InvalidParameterError: A number that is not positive, or a host that is not an address.
        MissingExtraError: OpenAI's client, which sends the requests, is not installed.
    """

    scheme = "ollama"

    def __init__(self, model: str, host: str | None = None, **options: Unpack[RemoteOptions]) -> None:
        chosen: RemoteOptions = {"batch_size": _BATCH, "timeout": _TIMEOUT, **options}
        super().__init__(model, {"host": host}, **chosen)
        self._server = connect_ollama(model, host, timeout=self.timeout, **_CONNECTION)

    def _request(self, texts: list[str]) -> EmbeddingAnswer | FailedCall:
        body = {"model": self.model, "input": texts, "truncate": False, **self._requested}
        return self._server.attempt(self._send, body)

    def _send(self, client: OpenAI, body: dict[str, Any]) -> EmbeddingAnswer:
        response = post(client, _PATH, body)
        try:
            answer = response.json()
            return EmbeddingAnswer(answer["embeddings"], answer.get("prompt_eval_count"))
        except (AttributeError, KeyError, TypeError, ValueError, RecursionError):
            raise EmbeddingError(f"{self._server.name}: the server answered with {response.text[:80]!r}.") from None

    def _told(self) -> dict[str, Any]:
        return self._server.call(of_ollama, {"model": self.model})


# Names of variables with which providers' keys are given.
_SECRET = re.compile(r"KEY|TOKEN|SECRET|PASSWORD|CREDENTIALS", re.IGNORECASE)
# Ends of the names of variables with which providers' addresses are given.
_ADDRESS = ("_BASE", "_BASE_URL", "_ENDPOINT", "_HOST", "_URL")
_RETRIES = 2


class LiteLLMEmbedder(RemoteEmbedder):
    """An embedder for a model of any provider that litellm knows; for its other arguments, see `OpenAIEmbedder`.

    Keys come from the variables that litellm reads, such as COHERE_API_KEY and VOYAGE_API_KEY. Of a `.env` that is
    merely found, PROVIDER_API_KEY is taken.

    Args:
        model: Provider and model as litellm writes them, such as "voyage/voyage-3.5".
        window: Maximum number of tokens of one input; None for that of litellm's table, else 512.

    Raises:
        InvalidParameterError: A number that is not positive, or an address from a less trusted source than the key.
        MissingExtraError: litellm is not installed.
    """

    scheme = "litellm"

    def __init__(self, model: str, **options: Unpack[RemoteOptions]) -> None:
        if importlib.util.find_spec("litellm") is None:
            raise MissingExtraError("litellm", "litellm")
        super().__init__(model, {}, **options)
        self._key = _checked_key(model)

    def _request(self, texts: list[str]) -> EmbeddingAnswer | FailedCall:
        more: dict[str, Any] = dict(self._requested)
        if self._key is not None and self._key.origin is Origin.FOUND:
            more["api_key"] = self._key.value  # It is not in the environment, where litellm looks.
        asked = {"model": self.model, "input": texts, "timeout": self.timeout, "num_retries": _RETRIES}
        library = _library()
        try:
            answer = library.embedding(**asked, **more)
        except Exception as error:  # litellm raises exceptions of several libraries.
            status = getattr(error, "status_code", 0)
            return FailedCall(self._failure(error), status if isinstance(status, int) else 0)
        return self._read(answer)

    def _read(self, answer: Any) -> EmbeddingAnswer:
        try:
            parts = sorted(answer.data, key=lambda part: part["index"] or 0)
            return EmbeddingAnswer([part["embedding"] for part in parts], getattr(answer.usage, "prompt_tokens", None))
        except (AttributeError, KeyError, TypeError):
            raise EmbeddingError(f"{self.name}: litellm answered with {quoted(answer)[:80]!r}.") from None

    def _failure(self, error: Exception) -> EmbeddingError:
        """Return an error without the exception behind it, whose message and request may hold a key."""
        message = str(error)
        for name, value in (*os.environ.items(), *found_values().items()):
            if _SECRET.search(name):
                message = Secrets(value).redact(message)
        return EmbeddingError(f"{self.name} failed: {type(error).__name__}: {error_message(message)}.")

    def _told(self) -> dict[str, Any]:
        window = facts(self.model).get("max_input_tokens")
        return {"window": window} if isinstance(window, int) and window > 0 else {}


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
    with variables({"LITELLM_LOCAL_MODEL_COST_MAP": "True", "LITELLM_MODE": "PRODUCTION"}):
        import litellm
    litellm.suppress_debug_info = True
    return litellm
