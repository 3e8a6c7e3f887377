"""Models of any server with OpenAI's chat interface: OpenAI itself, vLLM, llama.cpp, LM Studio, gateways."""

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
# Most doubtful first: many servers know no schemas, reasoning models no temperature.
_OPTIONAL = ("response_format", "max_tokens", "seed", "temperature")


class OpenAIModel:
    """A model that is asked by `POST BASE_URL/chat/completions`. It answers the same each time, if the server can.

    What a server refuses of the schema, the longest answer, the seed and the temperature is left out from then on.

    Args:
        model: Its name there.
        base_url: Address up to and with the version; None takes OPENAI_BASE_URL, and OpenAI's own where it isn't set.
        api_key: None takes OPENAI_API_KEY; without one none is sent.
        window: Its context window, in tokens.
        timeout: Seconds to wait for an answer.

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
            rule, remedy = "must be printable ASCII without blanks", "Look whether OPENAI_API_KEY holds the key alone."
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
        """See `StreamingModel.stream`; the pieces come as server-sent events."""
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
            content = _said(choice["message"])
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
                # The last event may hold no choice but the number of tokens; a server that can't stream, a message.
                choice = part["choices"][0] if part["choices"] else {}
                content = _said(choice.get("delta") or choice.get("message") or {})
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
        """Make sure that an answer that ended for some reason is one."""
        if reason == "content_filter":
            raise LanguageModelError(f"{self.name}: a filter of the server stopped the answer.")


def _said(message: Mapping[str, Any]) -> str:
    """Return what a message says, or by what it refuses to say anything."""
    return text_of(message.get("content")) or text_of(message.get("refusal"))
