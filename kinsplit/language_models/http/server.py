"""Requests to a server of language models, with retries, redacted secrets and pauses after failures."""

from __future__ import annotations

import base64
import functools
import json
import re
import ssl
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from typing import Any, TypeVar
from urllib.parse import unquote

import httpx
from tenacity import RetryCallState, Retrying, retry_if_exception_type

from kinsplit.errors import LanguageModelError, ModelUnavailableError
from kinsplit.language_models.http.errors import BadRequestError, TransientError, as_json, check
from kinsplit.language_models.http.sse import lines
from kinsplit.language_models.protocol import Pieces
from kinsplit.support.http import Client, ExchangeTimeoutError, ResponseTooLongError, read_body, read_response

_CREDENTIALS = re.compile(r"(?<=//)(?P<name>[^:/?#]*)(?::(?P<password>[^/?#]*))?@")
# Text before an @ may be a password even if the address is invalid.
_ANY_CREDENTIALS = re.compile(r"^(\w+://)?.*@")

# A shorter key is a placeholder for servers that need none, such as "x". Of a longer secret, this many characters are
# matched, since a message may quote only the beginning of a response.
_LEAST_KEY = 8
_LEAST_PASSWORD = 4
# Possible characters between those of a secret in a message, where quotation marks may be escaped.
_ESCAPES = r"\\*"


def split_credentials(url: str) -> tuple[str, str, str]:
    """Return a URL without its credentials, the credentials as a header sends them, and the password."""
    found = _CREDENTIALS.search(url)
    if found is None:
        return url, "", ""
    password = unquote(found["password"] or "")
    token = base64.b64encode(f"{unquote(found['name'])}:{password}".encode()).decode()
    return url[: found.start()] + url[found.end() :], token, password


def redact_url(url: str) -> str:
    """Return a URL without its credentials, for messages."""
    return _ANY_CREDENTIALS.sub(r"\1", url)


class Secrets:
    """Secrets to be removed from messages, since a server may repeat them.

    Args:
        key: API key; one of a few characters is a placeholder.
        token: User name and password as a header sends them.
        password: The password.
    """

    def __init__(self, key: str, token: str, password: str) -> None:
        plain = [*([key] if len(key) >= _LEAST_KEY else []), *([password] if len(password) >= _LEAST_PASSWORD else [])]
        forms = (token, *plain, *(json.dumps(one)[1:-1] for one in plain))
        self._secrets = [bare for one in dict.fromkeys(forms) if (bare := one.replace("\\", ""))]

    def redact(self, text: str) -> str:
        """Return a text with `***` in place of each secret, also of an escaped or truncated one."""
        for secret in self._secrets:
            kept, at = [], 0
            for found in re.finditer(_ESCAPES.join(map(re.escape, secret[:_LEAST_KEY])), text):
                if found.start() >= at:
                    kept += [text[at : found.start()], "***"]
                    at = _end(text, found.end(), secret[_LEAST_KEY:])
            text = "".join([*kept, text[at:]])
        return text


def _end(text: str, at: int, rest: str) -> int:
    """Return the offset up to which a text continues with the rest of a secret."""
    for letter in rest:
        found = re.compile(_ESCAPES + re.escape(letter)).match(text, at)
        if found is None:
            break
        at = found.end()
    return at


#: Maximum number of attempts of a call, and of a refused connection.
ATTEMPTS, CONNECTIONS = 3, 2
#: Seconds before the second attempt; doubled before each further one.
PAUSE = 1.0
#: Seconds before the second attempt at a refused connection: the server may be starting, but is usually absent.
SHORT_PAUSE = 0.2


def retrying() -> Retrying:
    """Return a policy that repeats calls after a `TransientError`, and finally raises the last one."""
    return Retrying(retry=retry_if_exception_type(TransientError), stop=_is_enough, wait=_wait, reraise=True)


def _failure(state: RetryCallState) -> TransientError:
    error = state.outcome.exception() if state.outcome else None
    assert isinstance(error, TransientError), "nothing else is repeated"  # noqa: S101
    return error


def _is_enough(state: RetryCallState) -> bool:
    return state.attempt_number >= (CONNECTIONS if _failure(state).refused else ATTEMPTS)


def _wait(state: RetryCallState) -> float:
    error = _failure(state)
    if error.pause is not None:
        return error.pause
    return SHORT_PAUSE if error.refused else PAUSE * 2 ** (state.attempt_number - 1)


#: Seconds without requests after a server was unavailable.
REST = 5.0
#: Maximum bytes of a whole answer, and of a stream, where each token has an overhead of some hundred bytes.
LONGEST_ANSWER, LONGEST_STREAM = 4 << 20, 64 << 20
#: Maximum time of a stream, as a multiple of that of a whole answer.
STREAM_TIME = 12
_CONNECT = 10.0

T = TypeVar("T")


class Server:
    """One model's server.

    Responses are limited to `LONGEST_ANSWER` or `LONGEST_STREAM` bytes, and in time; see `kinsplit.support.http`.
    Connection errors, timeouts, broken answers, 429 (after the requested pause) and 5xx are retried a few times.
    Options that the server rejects are left out from then on. An unavailable server gets no requests for some seconds,
    so that of many calls only the first one waits.

    Args:
        name: Name of the model, for messages.
        url: URL of the server; credentials in it are sent with each call.
        remedy: Remedy if the server can't be reached.
        key: API key, sent with each call and never shown; "" sends none.
        timeout: Maximum seconds to wait for a whole answer, or for the next piece of a stream.

    Attributes:
        url: URL of the server, without credentials.
    """

    def __init__(self, name: str, url: str, remedy: str, key: str = "", timeout: float = 300.0) -> None:
        self.name, self.remedy, self.timeout = name, remedy, timeout
        address, token, password = split_credentials(url)
        self.url = address.rstrip("/")
        authorization = f"Basic {token}" if token else f"Bearer {key}" if key else ""
        self._headers = {"Authorization": authorization} if authorization else {}
        self._secrets = Secrets(key, token, password)
        self._unknown: frozenset[str] = frozenset()
        # End of the time without requests, and the error that began it.
        self._down: tuple[float, str] | None = None

    def post(self, path: str, body: Mapping[str, Any], read: Callable[[Any], T], optional: Sequence[str] = ()) -> T:
        """Send JSON and return the answer.

        Args:
            path: Path below the server's URL.
            body: Body of the request.
            read: Function that reads the answer's JSON, and raises a `LanguageModelError` if it is invalid.
            optional: Keys of the body that a server may reject, least supported first.

        Raises:
            ModelUnavailableError: The server can't be reached, has no such model, or denies access.
            LanguageModelError: The call failed otherwise.
        """
        return self._call(body, optional, functools.partial(self._send, path, read))

    def stream(
        self,
        path: str,
        body: Mapping[str, Any],
        read: Callable[[Iterator[str]], Pieces],
        optional: Sequence[str] = (),
    ) -> Pieces:
        """Send JSON and yield the pieces of the answer as they come; see `post`.

        Failures before the first piece are retried, later ones are not, since part of the answer was already yielded.
        Closing the generator closes the connection, which stops the server.

        Args:
            path: Path below the server's URL.
            body: Body of the request.
            read: Function that turns the response's lines into pieces, and raises a `TransientError` if they are
                invalid.
            optional: See `post`.
        """
        first, rest = self._call(body, optional, functools.partial(self._begin, path, read))
        with closing(rest):
            if first is not None:
                yield first
            return (yield from rest)

    def _call(self, body: Mapping[str, Any], optional: Sequence[str], send: Callable[[Mapping[str, Any]], T]) -> T:
        """Send a body with retries, unless the server was unavailable just now."""
        if self._down is not None and time.monotonic() < self._down[0]:
            raise ModelUnavailableError(self._down[1])
        try:
            return self._send_accepted(body, optional, send)
        except TransientError as error:
            if not error.refused:
                raise
            why = f"{error} {self.remedy}"
            self._down = (time.monotonic() + REST, why)
            raise ModelUnavailableError(why) from error
        except ModelUnavailableError as error:
            self._down = (time.monotonic() + REST, str(error))
            raise

    def _send_accepted(
        self, body: Mapping[str, Any], optional: Sequence[str], send: Callable[[Mapping[str, Any]], T]
    ) -> T:
        """Send the keys of a body that the server accepts."""
        unknown = self._unknown
        while True:
            sent = {key: value for key, value in body.items() if key not in unknown}
            try:
                answer = retrying()(send, sent)
            except BadRequestError as error:
                left = [key for key in optional if key in sent]
                if not left:
                    raise
                # If the message doesn't name the rejected key, the least supported one is left out.
                unknown |= {next((key for key in left if key in error.text), left[0])}
            else:
                # Only success shows that the server rejected these keys and not the prompt.
                self._unknown |= unknown
                return answer

    def _send(self, path: str, read: Callable[[Any], T], body: Mapping[str, Any]) -> T:
        with self._response(path, body, self.timeout) as response:
            whole = read_response(response, LONGEST_ANSWER)
            check(whole, self.name, self.remedy)
            answer = as_json(whole)
            if answer is None:
                raise TransientError(f"{self.name}: the answer is not JSON but {whole.text[:80]!r}.")
            return read(answer)

    def _begin(
        self, path: str, read: Callable[[Iterator[str]], Pieces], body: Mapping[str, Any]
    ) -> tuple[str | None, Pieces]:
        """Return the first piece of an answer, and the generator of all others."""
        pieces = self._pieces(path, read, body)
        try:
            return next(pieces), pieces
        except StopIteration as end:
            return None, _ended(end.value)

    def _pieces(self, path: str, read: Callable[[Iterator[str]], Pieces], sent: Mapping[str, Any]) -> Pieces:
        with self._response(path, sent, STREAM_TIME * self.timeout) as response:
            if not response.is_success:
                check(read_response(response, LONGEST_ANSWER), self.name, self.remedy)
            return (yield from read(lines(read_body(response, LONGEST_STREAM))))

    @contextmanager
    def _response(self, path: str, sent: Mapping[str, Any], seconds: float) -> Iterator[httpx.Response]:
        """Yield a response; failures become kinsplit's errors, without the secrets that some servers repeat."""
        connect = min(self.timeout, _CONNECT)
        try:
            # A client per call: a model takes seconds, a connection milliseconds, and none stays open.
            with self._failures(), Client(self.timeout, connect, self._headers, verify=_certificates()) as client:
                request = client.request("POST", f"{self.url}{path}", json=sent)
                with client.exchange(request, seconds) as response:
                    yield response
        except LanguageModelError as error:
            redacted = tuple(self._secrets.redact(str(each)) for each in error.args)
            if redacted == error.args:
                raise
            error.args = redacted
            raise error from None

    @contextmanager
    def _failures(self) -> Iterator[None]:
        try:
            yield
        except ResponseTooLongError as error:
            rule = f"{self.name}: the server sent {error}, which is no model's answer"
            raise LanguageModelError(f"{rule}. Check what runs at {self.url}.") from error
        except (httpx.InvalidURL, httpx.UnsupportedProtocol) as error:
            address = redact_url(self.url)
            # The error may quote a password in the URL.
            why = f": {error}" if address == self.url else ""
            raise ModelUnavailableError(
                f"{self.name}: {address!r} is not a valid address{why}. {self.remedy}"
            ) from None
        except httpx.ConnectError as error:
            raise TransientError(
                f"{self.name} is not reachable at {self.url}: {_reason(error)}.", refused=True
            ) from error
        except ExchangeTimeoutError as error:
            # A retry would take as long as this stream.
            kind = TransientError if error.seconds <= self.timeout else LanguageModelError
            raise kind(f"{self.name} gave no answer within {error.seconds:g} s.") from error
        except httpx.TimeoutException as error:
            rule = f"{self.name} gave no answer within {self.timeout:g} s ({type(error).__name__})."
            raise TransientError(rule, refused=isinstance(error, httpx.ConnectTimeout)) from error
        except (httpx.TransportError, httpx.DecodingError) as error:
            raise TransientError(f"{self.name}: the connection broke: {_reason(error)}.") from error


def _reason(error: httpx.RequestError) -> str:
    """Return the message of an error, or its type if it has none."""
    return " ".join(str(error).split())[:200].rstrip(".") or type(error).__name__


def _ended(is_cut: bool) -> Pieces:
    """Return a generator without pieces."""
    yield from ()
    return is_cut


@functools.cache
def _certificates() -> ssl.SSLContext:
    return httpx.create_ssl_context()
