"""Models of an Ollama server (https://github.com/ollama/ollama/blob/main/docs/api.md)."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

from kinsplit.errors import InvalidParameterError, LanguageModelError
from kinsplit.language_models.http.errors import TransientError, error_message, quoted
from kinsplit.language_models.http.server import Server, redact_url
from kinsplit.language_models.protocol import USUAL_WINDOW, Pieces, Schema

_PORT = 11434
_PATH = "/api/chat"
_OPTIONAL = ("format", "think")


class OllamaModel:
    """A model of an Ollama server, with deterministic answers as far as the server can.

    Args:
        model: Name on the server, such as "llama3" or "qwen2.5:14b".
        host: Address of the server; None takes OLLAMA_HOST, or this machine if that isn't set.
        window: Requested context window in tokens. A larger one takes more memory.
        timeout: Maximum seconds to wait for an answer.

    Raises:
        InvalidParameterError: The host is not a valid address.
    """

    def __init__(self, model: str, host: str | None = None, window: int = USUAL_WINDOW, timeout: float = 300.0) -> None:
        url = _url(os.environ.get("OLLAMA_HOST", "") if host is None else host)
        self.model, self.window = model, window
        self.name = f"ollama:{model}"
        remedy = f"Run `ollama serve` and `ollama pull {model}`, or set OLLAMA_HOST."
        self._server = Server(self.name, url, remedy, timeout=timeout)
        self.identity = f"{self.name} at {self._server.url}"

    def complete(self, prompt: str, schema: Schema | None = None, max_tokens: int | None = None) -> str:
        """See `LanguageModel.complete`."""
        body = self._body(prompt, max_tokens)
        if schema is not None:
            body["format"] = schema
        return self._server.post(_PATH, body, self._text, _OPTIONAL)

    def stream(self, prompt: str, max_tokens: int | None = None) -> Pieces:
        """See `StreamingModel.stream`; each line of the response is a JSON object with a piece."""
        body = {**self._body(prompt, max_tokens), "stream": True}
        return self._server.stream(_PATH, body, self._read, _OPTIONAL)

    def _body(self, prompt: str, max_tokens: int | None) -> dict[str, Any]:
        options: dict[str, Any] = {"num_ctx": self.window, "temperature": 0, "seed": 0}
        if max_tokens is not None:
            options["num_predict"] = max_tokens
        return {
            "model": self.model,
            "messages": [{"role": "user", "content": prompt}],
            "stream": False,
            "options": options,
            # Thoughts would count towards the length of the answer.
            "think": False,
        }

    def _text(self, answer: Any) -> str:
        try:
            return str(answer["message"]["content"] or "")
        except (KeyError, TypeError, RecursionError):
            raise LanguageModelError(f"{self.name}: the server answered with {quoted(answer)[:80]!r}.") from None

    def _read(self, lines: Iterator[str]) -> Pieces:
        for line in filter(str.strip, lines):
            try:
                part = json.loads(line)
                if isinstance(part, dict) and part.get("error"):
                    raise TransientError(f"{self.name}: the server says: {error_message(part)}.")
                content = part["message"]["content"]
            except (KeyError, TypeError, ValueError, RecursionError):
                raise TransientError(f"{self.name}: the server answered with {line[:80]!r}.") from None
            if content:
                yield str(content)
            if part.get("done"):
                return bool(part.get("done_reason") == "length")
        raise TransientError(f"{self.name}: the response ended in the middle.")


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
