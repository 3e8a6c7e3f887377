"""Models of servers with OpenAI's chat API: OpenAI itself, vLLM, llama.cpp, LM Studio, gateways."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from typing import Any

from kinsplit.errors import InvalidParameterError, LanguageModelError, ModelUnavailableError
from kinsplit.language_models.http.errors import TransientError, error_message, quoted
from kinsplit.language_models.http.server import Server
from kinsplit.language_models.http.sse import events
from kinsplit.language_models.parsing import text_of
from kinsplit.language_models.protocol import USUAL_WINDOW, Pieces, Schema

_PATH = "/chat/completions"
_OPENAI = "https://api.openai.com/v1"
_REMEDY = "Set OPENAI_API_KEY, or OPENAI_BASE_URL for another server."
_DONE = "[DONE]"
# Least supported first: many servers know no schemas, reasoning models no temperature.
_OPTIONAL = ("response_format", "max_tokens", "seed", "temperature")


class OpenAIModel:
    """A model behind `POST BASE_URL/chat/completions`, with deterministic answers if the server can.

    If a server rejects the schema, the maximum length, the seed or the temperature, later requests leave it out.

    Args:
        model: Name on the server.
        base_url: URL up to and including the version; None takes OPENAI_BASE_URL, or OpenAI's own if that isn't set.
        api_key: API key; None takes OPENAI_API_KEY, or sends no key if that isn't set.
        window: Context window in tokens.
        timeout: Maximum seconds to wait for an answer.

    Raises:
        InvalidParameterError: The key can't be sent.
    """

    def __init__(
        self,
        model: str,
        base_url: str | None = None,
        api_key: str | None = None,
        window: int = USUAL_WINDOW,
        timeout: float = 300.0,
    ) -> None:
        url = (base_url or os.environ.get("OPENAI_BASE_URL") or _OPENAI).strip().rstrip("/")
        key = (api_key or os.environ.get("OPENAI_API_KEY") or "").strip()
        if not key.isascii() or not key.isprintable() or " " in key:
            rule, remedy = "must be printable ASCII without blanks", "Check that OPENAI_API_KEY holds only the key."
            raise InvalidParameterError("api_key", rule, f"{len(key)} characters", remedy)
        self.model, self.window = model, window
        self.name = f"openai:{model}"
        self._lacks_key = url == _OPENAI and not key
        self._server = Server(self.name, url, _REMEDY, key, timeout)
        self.identity = f"{self.name} at {self._server.url}"

    def complete(self, prompt: str, schema: Schema | None = None, max_tokens: int | None = None) -> str:
        """See `LanguageModel.complete`."""
        body = self._body(prompt, max_tokens)
        if schema is not None:
            format_ = {"name": "answer", "strict": True, "schema": schema}
            body["response_format"] = {"type": "json_schema", "json_schema": format_}
        return self._server.post(_PATH, body, self._text, _OPTIONAL)

    def stream(self, prompt: str, max_tokens: int | None = None) -> Pieces:
        """See `StreamingModel.stream`; the pieces are server-sent events."""
        body = {**self._body(prompt, max_tokens), "stream": True}
        return self._server.stream(_PATH, body, self._read, _OPTIONAL)

    def _body(self, prompt: str, max_tokens: int | None) -> dict[str, Any]:
        if self._lacks_key:
            raise ModelUnavailableError(f"{self.name}: no key is set. {_REMEDY}")
        body: dict[str, Any] = {
            "model": self.model,
            "messages": [{"role": "user", "content": prompt}],
            "temperature": 0,
            "seed": 0,
        }
        if max_tokens is not None:
            body["max_tokens"] = max_tokens
        return body

    def _text(self, answer: Any) -> str:
        try:
            choice = answer["choices"][0]
            content = _message_text(choice["message"])
        except (AttributeError, KeyError, IndexError, TypeError, RecursionError):
            raise LanguageModelError(f"{self.name}: the server answered with {quoted(answer)[:80]!r}.") from None
        self._check(choice.get("finish_reason"))
        return content

    def _read(self, lines: Iterator[str]) -> Pieces:
        reason, is_done = None, False
        for data in events(lines):
            if is_done := data.strip() == _DONE:
                break
            try:
                part = json.loads(data)
                if isinstance(part, dict) and part.get("error"):
                    raise TransientError(f"{self.name}: the server says: {error_message(part)}.")
                # The last event may contain only token counts; a server that can't stream sends a message.
                choice = part["choices"][0] if part["choices"] else {}
                content = _message_text(choice.get("delta") or choice.get("message") or {})
                reason = choice.get("finish_reason") or reason
            except (AttributeError, KeyError, TypeError, ValueError, RecursionError):
                raise TransientError(f"{self.name}: the server answered with {data[:80]!r}.") from None
            if content:
                yield content
        self._check(reason)
        if reason is None and not is_done:
            raise TransientError(f"{self.name}: the response ended in the middle.")
        return bool(reason == "length")

    def _check(self, reason: object) -> None:
        """Raise an error if a filter ended the answer."""
        if reason == "content_filter":
            raise LanguageModelError(f"{self.name}: a filter of the server stopped the answer.")


def _message_text(message: Mapping[str, Any]) -> str:
    """Return the text of a message, or of its refusal."""
    return text_of(message.get("content")) or text_of(message.get("refusal"))
