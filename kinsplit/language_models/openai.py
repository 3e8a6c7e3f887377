"""Models of servers with OpenAI's chat API: OpenAI itself, vLLM, llama.cpp, LM Studio, gateways."""

from __future__ import annotations

import functools
import json
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from kinsplit.errors import LanguageModelError, ModelUnavailableError
from kinsplit.language_models.parsing import text_of
from kinsplit.language_models.protocol import USUAL_WINDOW, Pieces, Schema
from kinsplit.model_servers.clients import connect_openai, of_openai
from kinsplit.model_servers.messages import quoted
from kinsplit.models import ModelCard

if TYPE_CHECKING:
    from openai import OpenAI, Stream
    from openai.types.chat import ChatCompletionChunk

# Least supported first: many servers know no schemas, reasoning models no temperature.
_OPTIONAL = ("response_format", "max_tokens", "seed", "temperature")


class OpenAIModel:
    """A model behind `POST BASE_URL/chat/completions`, with deterministic answers if the server can.

    If a server rejects the schema, the maximum length, the seed or the temperature, later requests leave it out.

    Args:
        model: Name on the server.
        base_url: URL up to and including the version; None takes OPENAI_BASE_URL, or OpenAI's own if that isn't set.
        api_key: API key; None takes OPENAI_API_KEY, or sends no key if that isn't set.
        window: Context window in tokens; None for what the server tells, or 8192 if it doesn't.
        timeout: Maximum seconds to wait for an answer.

    Raises:
        InvalidParameterError: The key can't be sent.
        MissingExtraError: OpenAI's client is not installed.
    """

    def __init__(
        self,
        model: str,
        base_url: str | None = None,
        api_key: str | None = None,
        window: int | None = None,
        timeout: float = 300.0,
    ) -> None:
        self.model, self._window = model, window
        self.name = f"openai:{model}"
        kinds: dict[str, Any] = {"failed": LanguageModelError, "unavailable": ModelUnavailableError}
        self._server = connect_openai(self.name, base_url, api_key, timeout=timeout, **kinds)
        self.identity = f"{self.name} at {self._server.url}"

    @property
    def card(self) -> ModelCard:
        """Details of the model as reported by the server."""
        told = {"window": USUAL_WINDOW, **of_openai(self._server, self.model, embeds=False)}
        return ModelCard(weights=self.name, **{**told, "window": self._window or told["window"]})

    @functools.cached_property
    def window(self) -> int:
        """Maximum length of prompt and answer together, in the model's own tokens."""
        return self._window or self.card.window

    def complete(self, prompt: str, schema: Schema | None = None, max_tokens: int | None = None) -> str:
        """See `LanguageModel.complete`."""
        body = self._body(prompt, max_tokens)
        if schema is not None:
            format_ = {"name": "answer", "strict": True, "schema": schema}
            body["response_format"] = {"type": "json_schema", "json_schema": format_}
        return self._server.call(self._whole, body, _OPTIONAL)

    def stream(self, prompt: str, max_tokens: int | None = None) -> Pieces:
        """See `StreamingModel.stream`; the pieces are server-sent events."""
        body = {**self._body(prompt, max_tokens), "stream": True}
        return self._server.stream(_open, self._pieces, body, _OPTIONAL)

    def _body(self, prompt: str, max_tokens: int | None) -> dict[str, Any]:
        messages = [{"role": "user", "content": prompt}]
        body: dict[str, Any] = {"model": self.model, "messages": messages, "temperature": 0, "seed": 0}
        if max_tokens is not None:
            body["max_tokens"] = max_tokens
        return body

    def _whole(self, client: OpenAI, body: dict[str, Any]) -> str:
        content, reason = self._read(client.chat.completions.create(**body), is_piece=False)
        self._check(reason)
        return content

    def _pieces(self, parts: Stream[ChatCompletionChunk]) -> Pieces:
        reason = None
        for part in _events(parts):
            content, last = self._read(part, is_piece=True)
            reason = last or reason
            if content:
                yield content
        self._check(reason)
        if reason is None:
            raise LanguageModelError(f"{self.name}: the response ended in the middle.")
        return reason == "length"

    def _read(self, answer: Any, *, is_piece: bool) -> tuple[str, str | None]:
        try:
            # Not by attributes, since some servers send lists of parts, or whole messages as pieces.
            told = answer if isinstance(answer, dict) else answer.to_dict(warnings=False)
            if is_piece and not told["choices"]:  # The last piece may contain only token counts.
                return "", None
            choice = told["choices"][0]
            message = (choice.get("delta") if is_piece else None) or choice.get("message")
            return _message_text({} if message is None and is_piece else message), choice.get("finish_reason")
        except (AttributeError, KeyError, IndexError, TypeError, ValueError, RecursionError):
            raise LanguageModelError(f"{self.name}: the server answered with {quoted(answer)[:80]!r}.") from None

    def _check(self, reason: object) -> None:
        if reason == "content_filter":
            raise LanguageModelError(f"{self.name}: a filter of the server stopped the answer.")


def _open(client: OpenAI, body: dict[str, Any]) -> Stream[ChatCompletionChunk]:
    opened: Stream[ChatCompletionChunk] = client.chat.completions.create(**body)
    return opened


def _events(parts: Stream[ChatCompletionChunk]) -> Iterator[Any]:
    """Yield the pieces of an answer; a server that can't stream sends a whole one."""
    kind = parts.response.headers.get("content-type", "")
    return iter([json.loads(parts.response.read())]) if kind.startswith("application/json") else iter(parts)


def _message_text(message: Mapping[str, Any]) -> str:
    return text_of(message.get("content")) or text_of(message.get("refusal"))
