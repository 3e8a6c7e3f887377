"""Models of servers: those with OpenAI's chat API (OpenAI itself, vLLM, llama.cpp, LM Studio, gateways), and Ollama."""

from __future__ import annotations

import codecs
import functools
import io
import json
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from kinsplit.errors import LanguageModelError, ModelUnavailableError
from kinsplit.language_models.parsing import text_of
from kinsplit.language_models.protocol import USUAL_WINDOW, Pieces, Schema
from kinsplit.model_servers.clients import connect_ollama, connect_openai, of_ollama, of_openai, post
from kinsplit.model_servers.secrets import error_message, quoted
from kinsplit.models import ModelCard
from kinsplit.support.http import ResponseTooLongError

if TYPE_CHECKING:
    import httpx
    from openai import OpenAI, Stream
    from openai.types.chat import ChatCompletionChunk

    from kinsplit.model_servers.server import ModelServer

_ERRORS: dict[str, Any] = {"failed": LanguageModelError, "unavailable": ModelUnavailableError}


class _ServerModel(ABC):
    """A model of a server."""

    #: Fields of a request that a server may reject, the least supported first; later requests leave them out.
    optional: ClassVar[tuple[str, ...]]

    def __init__(self, model: str, server: ModelServer, window: int | None) -> None:
        self.model, self._server, self._window = model, server, window
        self.name = server.name
        self.identity = f"{self.name} at {server.url}"

    @property
    @abstractmethod
    def card(self) -> ModelCard:
        """Details of the model as reported by the server."""

    @functools.cached_property
    def window(self) -> int:
        """Maximum length of prompt and answer together, in the model's own tokens."""
        return self._window or self.card.window

    def complete(self, prompt: str, schema: Schema | None = None, max_tokens: int | None = None) -> str:
        """See `LanguageModel.complete`."""
        return self._server.call(self._whole, self._body(prompt, schema, max_tokens), self.optional)

    def stream(self, prompt: str, max_tokens: int | None = None) -> Pieces:
        """See `StreamingModel.stream`."""
        body = {**self._body(prompt, None, max_tokens), "stream": True}
        return self._server.stream(self._open, self._pieces, body, self.optional)

    @abstractmethod
    def _body(self, prompt: str, schema: Schema | None, max_tokens: int | None) -> dict[str, Any]: ...

    @abstractmethod
    def _whole(self, client: OpenAI, body: dict[str, Any]) -> str: ...

    @abstractmethod
    def _open(self, client: OpenAI, body: dict[str, Any]) -> Any:
        """Start an answer in pieces."""

    @abstractmethod
    def _pieces(self, answer: Any) -> Pieces: ...


class OpenAIModel(_ServerModel):
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

    # Many servers know no schemas, reasoning models no temperature.
    optional = ("response_format", "max_tokens", "seed", "temperature")

    def __init__(
        self,
        model: str,
        base_url: str | None = None,
        api_key: str | None = None,
        window: int | None = None,
        timeout: float = 300.0,
    ) -> None:
        server = connect_openai(f"openai:{model}", base_url, api_key, timeout=timeout, **_ERRORS)
        super().__init__(model, server, window)

    @property
    def card(self) -> ModelCard:
        """Details of the model as reported by the server."""
        told = {"window": USUAL_WINDOW, **of_openai(self._server, self.model, embeds=False)}
        return ModelCard(weights=self.name, **{**told, "window": self._window or told["window"]})

    def _body(self, prompt: str, schema: Schema | None, max_tokens: int | None) -> dict[str, Any]:
        messages = [{"role": "user", "content": prompt}]
        body: dict[str, Any] = {"model": self.model, "messages": messages, "temperature": 0, "seed": 0}
        if max_tokens is not None:
            body["max_tokens"] = max_tokens
        if schema is not None:
            format_ = {"name": "answer", "strict": True, "schema": schema}
            body["response_format"] = {"type": "json_schema", "json_schema": format_}
        return body

    def _whole(self, client: OpenAI, body: dict[str, Any]) -> str:
        content, reason = self._read(client.chat.completions.create(**body), is_piece=False)
        self._check(reason)
        return content

    def _open(self, client: OpenAI, body: dict[str, Any]) -> Stream[ChatCompletionChunk]:
        opened: Stream[ChatCompletionChunk] = client.chat.completions.create(**body)
        return opened

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


def _events(parts: Stream[ChatCompletionChunk]) -> Iterator[Any]:
    """Yield the pieces of an answer; a server that can't stream sends a whole one."""
    kind = parts.response.headers.get("content-type", "")
    return iter([json.loads(parts.response.read())]) if kind.startswith("application/json") else iter(parts)


def _message_text(message: Mapping[str, Any]) -> str:
    return text_of(message.get("content")) or text_of(message.get("refusal"))


# Not /v1/chat/completions, which takes no context window: Ollama would silently drop the beginning of a longer prompt.
_PATH = "/api/chat"


class OllamaModel(_ServerModel):
    """A model of an Ollama server, with deterministic answers as far as the server can.

    See https://github.com/ollama/ollama/blob/main/docs/api.md; each line of a streamed answer is a JSON object.

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

    optional = ("format", "think")

    def __init__(self, model: str, host: str | None = None, window: int | None = None, timeout: float = 300.0) -> None:
        super().__init__(model, connect_ollama(model, host, timeout=timeout, **_ERRORS), window)

    @property
    def card(self) -> ModelCard:
        """Details of the model as reported by the server, with the window that requests ask for."""
        told = self._server.ask(lambda client, _: of_ollama(client, {"model": self.model})) or {}
        window = self._window or min(USUAL_WINDOW, told.get("window", USUAL_WINDOW))
        return ModelCard(weights=self.name, **{**told, "window": window})

    def _body(self, prompt: str, schema: Schema | None, max_tokens: int | None) -> dict[str, Any]:
        options: dict[str, Any] = {"num_ctx": self.window, "temperature": 0, "seed": 0}
        if max_tokens is not None:
            options["num_predict"] = max_tokens
        # Thoughts would count towards the length of the answer.
        more = {"stream": False, "options": options, "think": False}
        asked = {"model": self.model, "messages": [{"role": "user", "content": prompt}], **more}
        return asked if schema is None else {**asked, "format": schema}

    def _whole(self, client: OpenAI, body: dict[str, Any]) -> str:
        response = post(client, _PATH, body)
        try:
            return str(response.json()["message"]["content"] or "")
        except (KeyError, TypeError, ValueError, RecursionError):
            raise LanguageModelError(f"{self.name}: the server answered with {response.text[:80]!r}.") from None

    def _open(self, client: OpenAI, body: dict[str, Any]) -> Any:
        import httpx
        from openai import Stream

        # The client returns a response unread if that is the type to cast to.
        return client.post(_PATH, cast_to=httpx.Response, body=body, stream=True, stream_cls=Stream[object])

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
