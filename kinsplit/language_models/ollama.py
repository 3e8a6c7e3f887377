"""Models of an Ollama server (https://github.com/ollama/ollama/blob/main/docs/api.md)."""

from __future__ import annotations

import codecs
import functools
import io
import json
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from kinsplit.errors import LanguageModelError, ModelUnavailableError
from kinsplit.language_models.protocol import USUAL_WINDOW, Pieces, Schema
from kinsplit.model_servers.clients import connect_ollama, of_ollama, post
from kinsplit.model_servers.messages import error_message
from kinsplit.models import ModelCard
from kinsplit.support.http import ResponseTooLongError

if TYPE_CHECKING:
    import httpx
    from openai import OpenAI

# Not /v1/chat/completions, which takes no context window: Ollama would silently drop the beginning of a longer prompt.
_PATH = "/api/chat"
_OPTIONAL = ("format", "think")


class OllamaModel:
    """A model of an Ollama server, with deterministic answers as far as the server can.

    Args:
        model: Name on the server, such as "llama3" or "qwen2.5:14b".
        host: Address of the server; None takes OLLAMA_HOST, or this machine if that isn't set. With OLLAMA_API_KEY,
            requests send that key.
        window: Requested context window in tokens, of which a larger one takes more memory; None for the model's own,
            at most 8192.
        timeout: Maximum seconds to wait for an answer.

    Raises:
        InvalidParameterError: The host is not a valid address.
        MissingExtraError: OpenAI's client is not installed.
    """

    def __init__(self, model: str, host: str | None = None, window: int | None = None, timeout: float = 300.0) -> None:
        self.model, self._window = model, window
        self.name = f"ollama:{model}"
        kinds: dict[str, Any] = {"failed": LanguageModelError, "unavailable": ModelUnavailableError}
        self._server = connect_ollama(model, host, timeout=timeout, **kinds)
        self.identity = f"{self.name} at {self._server.url}"

    @property
    def card(self) -> ModelCard:
        """Details of the model as reported by the server, with the window that requests ask for."""
        told = self._server.ask(lambda client, _: of_ollama(client, {"model": self.model})) or {}
        window = self._window or min(USUAL_WINDOW, told.get("window", USUAL_WINDOW))
        return ModelCard(weights=self.name, **{**told, "window": window})

    @functools.cached_property
    def window(self) -> int:
        """Maximum length of prompt and answer together, in the model's own tokens."""
        return self._window or self.card.window

    def complete(self, prompt: str, schema: Schema | None = None, max_tokens: int | None = None) -> str:
        """See `LanguageModel.complete`."""
        body = self._body(prompt, max_tokens)
        if schema is not None:
            body["format"] = schema
        return self._server.call(self._whole, body, _OPTIONAL)

    def stream(self, prompt: str, max_tokens: int | None = None) -> Pieces:
        """See `StreamingModel.stream`; each line of the response is a JSON object with a piece."""
        body = {**self._body(prompt, max_tokens), "stream": True}
        return self._server.stream(_open, self._pieces, body, _OPTIONAL)

    def _body(self, prompt: str, max_tokens: int | None) -> dict[str, Any]:
        options: dict[str, Any] = {"num_ctx": self.window, "temperature": 0, "seed": 0}
        if max_tokens is not None:
            options["num_predict"] = max_tokens
        # Thoughts would count towards the length of the answer.
        more = {"stream": False, "options": options, "think": False}
        return {"model": self.model, "messages": [{"role": "user", "content": prompt}], **more}

    def _whole(self, client: OpenAI, body: dict[str, Any]) -> str:
        response = post(client, _PATH, body)
        try:
            return str(response.json()["message"]["content"] or "")
        except (KeyError, TypeError, ValueError, RecursionError):
            raise LanguageModelError(f"{self.name}: the server answered with {response.text[:80]!r}.") from None

    def _pieces(self, response: httpx.Response) -> Pieces:
        for line in filter(str.strip, lines(response.iter_bytes())):
            try:
                part = json.loads(line)
                if isinstance(part, dict) and part.get("error"):
                    raise LanguageModelError(f"{self.name}: the server says: {error_message(part)}.")
                content = part["message"]["content"]
            except (KeyError, TypeError, ValueError, RecursionError):
                raise LanguageModelError(f"{self.name}: the server answered with {line[:80]!r}.") from None
            if content:
                yield str(content)
            if part.get("done"):
                return bool(part.get("done_reason") == "length")
        raise LanguageModelError(f"{self.name}: the response ended in the middle.")


def _open(client: OpenAI, body: dict[str, Any]) -> Any:
    import httpx
    from openai import Stream

    # The client returns a response unread if that is the type to cast to.
    return client.post(_PATH, cast_to=httpx.Response, body=body, stream=True, stream_cls=Stream[object])


#: Maximum characters of a line.
LONGEST = 4 << 20
_utf_8 = codecs.getincrementaldecoder("utf-8-sig")


def lines(chunks: Iterable[bytes]) -> Iterator[str]:
    r"""Yield the lines of a UTF-8 text, however it is chunked.

    Only `\n`, `\r\n` and `\r` end a line. Other line ends of `str.splitlines` (and thus httpx), such as U+2028, may
    occur inside a JSON string.

    Raises:
        ResponseTooLongError: A line is longer than `LONGEST`.
    """
    decoder = io.IncrementalNewlineDecoder(_utf_8("replace"), translate=True)
    # Parts of the current line, joined once: a long line may come in a million of them.
    held: list[str] = []
    length = 0
    for chunk in chunks:
        first, *others = decoder.decode(chunk).split("\n")
        held.append(first)
        if others:
            yield "".join(held)
            yield from others[:-1]
            held, length = [others[-1]], 0
        length += len(held[-1])
        if length > LONGEST:
            raise ResponseTooLongError(f"a line of more than {LONGEST:,} characters")
    held.append(decoder.decode(b"", final=True))
    # The decoder may hold back a carriage return, which ends a line.
    *whole, last = "".join(held).split("\n")
    yield from whole
    if last:
        yield last
