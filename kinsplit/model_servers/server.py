"""Calls of a model's server, with limits, redacted secrets, error messages on one line and pauses after failures."""

from __future__ import annotations

import functools
import importlib.util
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from kinsplit.errors import KinsplitError, MissingExtraError
from kinsplit.model_servers.secrets import Secrets, error_message, error_of_body, split_credentials
from kinsplit.support.environment import redact_url
from kinsplit.support.extras import needs

with needs("openai"):
    import httpx

    from kinsplit.support.http import PACKING, RequestLimits, ResponseTooLongError, certificates

if TYPE_CHECKING:
    from openai import OpenAI

#: Number of times that the client repeats a call after a failure that may pass.
RETRIES = 2
#: Seconds without requests after a server was unavailable.
REST = 5.0
#: Maximum bytes of a whole answer, and of a stream, where each token has an overhead of some hundred bytes.
LONGEST_ANSWER, LONGEST_STREAM = 4 << 20, 16 << 20
#: Maximum time of a stream, as a multiple of that of a whole answer.
STREAM_TIME = 12
_CONNECT = 10.0
# No such model, or a wrong key: every other request would fail too.
_UNAVAILABLE = frozenset({401, 403, 404, 405, 407, 501})
_BAD_REQUEST = frozenset({400, 422})
# What Ollama says of a model that can't do what it was asked for, with 501 or in older versions with 500.
_UNSUPPORTED = "does not support"

T = TypeVar("T")
#: Function that sends a body and reads the answer, or raises a `failed` of the server if it can't.
Send = Callable[["OpenAI", dict[str, Any]], T]
_Pieces = Generator[str, None, bool]
_Read = Callable[[Any], _Pieces]


class FailedCall(NamedTuple):
    """A failed call."""

    error: KinsplitError
    status: int = 0  # Status of the response; 0 without one.
    text: str = ""  # Body of the response of a rejected request, else "".
    is_unavailable: bool = False


class ModelServer:
    """One model's server, called through OpenAI's client.

    The client repeats a call after connection errors, timeouts, 408, 409, 429 (after the requested pause) and 5xx,
    unless the response says that the model can't do this.
    Options that the server rejects are left out from then on. Responses are limited in bytes and in time. An
    unavailable server gets no requests for some seconds, so that of many calls only the first one waits. No error that
    is raised, nor the chain behind it, holds the key.

    Args:
        name: Name of the model, for messages.
        url: URL of the server; credentials in it are sent with each call.
        remedy: Remedy if the server can't be reached.
        key: API key, sent with each call and never shown; "" sends none.
        missing: Name of the variable of a key that the server needs and that isn't set, or "".
        timeout: Maximum seconds to wait for a whole answer, or for the next piece of a stream.
        longest: Maximum bytes of a whole answer.
        failed: Class of the errors of failed calls.
        unavailable: Class of the errors of a server that can't be reached, has no such model, or denies access.

    Raises:
        MissingExtraError: OpenAI's client is not installed.
    """

    def __init__(
        self,
        name: str,
        url: str,
        remedy: str,
        *,
        key: str = "",
        missing: str = "",
        timeout: float = 300.0,
        longest: int = LONGEST_ANSWER,
        failed: type[KinsplitError],
        unavailable: type[KinsplitError],
    ) -> None:
        if importlib.util.find_spec("openai") is None:
            raise MissingExtraError("openai", "openai")
        self.name, self.remedy, self.timeout, self.longest = name, remedy, timeout, longest
        self.missing, self.failed, self.unavailable = missing, failed, unavailable
        address, token, password = split_credentials(url)
        self.url = address.rstrip("/")
        self._authorization = f"Basic {token}" if token else f"Bearer {key}" if key else ""
        self._secrets = Secrets(key, token, password)
        self._unknown: frozenset[str] = frozenset()
        # End of the time without requests, and the error that began it.
        self._down: tuple[float, str] | None = None

    def call(self, send: Send[T], body: Mapping[str, Any], optional: Sequence[str] = ()) -> T:
        """Call the server by a function that sends a body and reads the answer, or raises a `failed` if it can't.

        The optional keys of the body, least supported first, are those that a server may reject.

        Raises:
            KinsplitError: A `failed` or an `unavailable`.
        """
        outcome = self.attempt(send, body, optional)
        if isinstance(outcome, FailedCall):
            raise outcome.error
        return outcome

    def attempt(self, send: Send[T], body: Mapping[str, Any], optional: Sequence[str] = ()) -> T | FailedCall:
        """Do the same as `call`, but return a failure."""
        return self._accepted(body, optional, functools.partial(self._try, send))

    def ask(self, send: Send[T]) -> T | None:
        """Ask for what only some servers know; return None where it isn't told, which fails no other call."""
        if (self._down is not None and time.monotonic() < self._down[0]) or self._obstacle():
            return None
        outcome = self._try(send, {})
        if not isinstance(outcome, FailedCall):
            return outcome
        if not outcome.status:  # The server itself can't be reached.
            self._noted(outcome)
        return None

    def stream(self, send: Send[Any], read: _Read, body: Mapping[str, Any], optional: Sequence[str] = ()) -> _Pieces:
        """Call the server and yield the pieces of the answer as they come; see `call`.

        Closing the generator closes the connection, which stops the server.
        """
        begun = self._accepted(body, optional, functools.partial(self._begin, send, read))
        if isinstance(begun, FailedCall):
            raise begun.error
        first, rest = begun
        with closing(rest):
            if first is not None:
                yield first
            ended = yield from rest
        if isinstance(ended, FailedCall):
            raise self._noted(ended).error
        return ended

    def _accepted(
        self, body: Mapping[str, Any], optional: Sequence[str], attempt: Callable[[dict[str, Any]], T | FailedCall]
    ) -> T | FailedCall:
        """Make a call with the keys of a body that the server accepts, unless it was unavailable just now."""
        if self._down is not None and time.monotonic() < self._down[0]:
            return FailedCall(self.unavailable(self._down[1]))
        if why := self._obstacle():
            return FailedCall(self.unavailable(f"{self.name}: {why}. {self.remedy}"))
        unknown = self._unknown
        while True:
            sent = {key: value for key, value in body.items() if key not in unknown}
            outcome = attempt(sent)
            if not isinstance(outcome, FailedCall):
                # Only success shows that the server rejected these keys and not the request.
                self._unknown |= unknown
                return outcome
            left = [key for key in optional if key in sent]
            if outcome.status not in _BAD_REQUEST or not left:
                return self._noted(outcome)
            # If the message doesn't name the rejected key, the least supported one is left out.
            unknown |= {next((key for key in left if key in outcome.text), left[0])}

    def _noted(self, failure: FailedCall) -> FailedCall:
        """Return a failure, after which an unavailable server rests."""
        if failure.is_unavailable:
            self._down = (time.monotonic() + REST, str(failure.error))
        return failure

    def _try(self, send: Send[T], sent: dict[str, Any]) -> T | FailedCall:
        with self._open(self.longest) as (client, limits):
            try:
                answer = send(client, sent)
            except _expected() as error:
                return self._failure(error, limits)
        return answer

    def _begin(
        self, send: Send[Any], read: _Read, sent: dict[str, Any]
    ) -> tuple[str | None, Generator[str, None, bool | FailedCall]] | FailedCall:
        """Return the first piece of an answer and the generator of all others, or the failure before it."""
        pieces = self._pieces(send, read, sent)
        try:
            return next(pieces), pieces
        except StopIteration as end:
            return end.value if isinstance(end.value, FailedCall) else (None, _ended(end.value))

    def _pieces(self, send: Send[Any], read: _Read, sent: dict[str, Any]) -> Generator[str, None, bool | FailedCall]:
        with self._open(LONGEST_STREAM, STREAM_TIME * self.timeout) as (client, limits):
            try:
                with closing(send(client, sent)) as opened:
                    return (yield from read(opened))
            except _expected() as error:
                return self._failure(error, limits)

    @contextmanager
    def _open(self, longest: int, seconds: float | None = None) -> Iterator[tuple[OpenAI, RequestLimits]]:
        """Yield a client for one call; a model takes seconds and a connection milliseconds, so that none stays open."""
        import openai

        limits = RequestLimits(self.timeout, seconds, longest)
        timeout = httpx.Timeout(self.timeout, connect=min(self.timeout, _CONNECT))
        hooks: Any = {"request": [limits.begin, self._authorize], "response": [limits.limit, _settle]}
        with httpx.Client(headers=PACKING, timeout=timeout, event_hooks=hooks, verify=certificates()) as http:
            try:
                options: dict[str, Any] = {"http_client": http, "timeout": timeout, "max_retries": RETRIES}
                # The key itself is set on each request, so that the client can't show it.
                yield openai.OpenAI(api_key="-", base_url=self.url, **options), limits
            finally:
                limits.watchdog.stop()

    def _authorize(self, request: httpx.Request) -> None:
        request.headers.pop("Authorization", None)
        if self._authorization:
            request.headers["Authorization"] = self._authorization

    def _failure(self, error: Exception, limits: RequestLimits) -> FailedCall:
        """Return the failure behind an error, without the secrets that some servers repeat."""
        found = self._explained(error, limits)
        message = self._secrets.redact(str(found.error))
        # A new error, so that neither traceback nor chain lead to the request and to the whole response.
        return found._replace(error=type(found.error)(message))

    def _explained(self, error: Exception, limits: RequestLimits) -> FailedCall:
        import openai

        cause = error.__cause__ if isinstance(error, openai.APIConnectionError) and error.__cause__ else error
        if limits.excess is not None:
            rule = f"{self.name}: the server sent {limits.excess.what}, which is no model's answer"
            return FailedCall(self.failed(f"{rule}. Check what runs at {self.url}."))
        if isinstance(error, openai.APIStatusError):
            return self._rejected(error.response)
        if limits.watchdog.is_over:
            return FailedCall(self.failed(f"{self.name} gave no answer within {limits.watchdog.seconds:g} s."))
        if isinstance(cause, httpx.ConnectError | httpx.ConnectTimeout):
            message = f"{self.name} is not reachable at {self.url}: {_reason(cause)}. {self.remedy}"
            return FailedCall(self.unavailable(message), is_unavailable=True)
        if isinstance(error, openai.APITimeoutError) or isinstance(cause, httpx.TimeoutException):
            rule = f"{self.name} gave no answer within {self.timeout:g} s ({type(cause).__name__})."
            return FailedCall(self.failed(rule))
        if isinstance(cause, httpx.TransportError | httpx.DecodingError):
            return FailedCall(self.failed(f"{self.name}: the connection broke: {_reason(cause)}."))
        if isinstance(error, openai.APIError) and error.body is not None:
            return FailedCall(self.failed(f"{self.name}: the server says: {error_message(error.body)}."))
        if isinstance(error, KinsplitError):
            return FailedCall(error)
        rule = f"{self.name}: the server answered with something else than JSON: {_reason(error)}"
        return FailedCall(self.failed(f"{rule}."))

    def _obstacle(self) -> str:
        """Return why no request can be sent, or "".

        The client itself would take an invalid URL for a failure that may pass.
        """
        if self.missing:
            return f"{self.missing} is not set"
        why = ""
        try:
            url = httpx.URL(self.url)
        except httpx.InvalidURL as error:
            why = f": {error}"
        else:
            if url.scheme in ("http", "https") and url.host and "@" not in self.url:
                return ""
        address = redact_url(self.url)
        # The error may quote a password in the URL.
        return f"{address!r} is not a valid address{why if address == self.url else ''}"

    def _rejected(self, response: Any) -> FailedCall:
        """Return the failure of a response with an error status, whose body was read."""
        status = int(response.status_code)
        message = f"{self.name}: status {status}: {error_of_body(response.text) or response.reason_phrase}."
        pause = response.headers.get("retry-after", "").strip()
        if status == 429 and pause:
            message = f"{message} It asks to wait: {pause[:40]}{' s' if pause.isdecimal() else ''}."
        if _is_unsupported(response):
            remedy = "Choose a model that does: the server's list of models says what each is for."
            return FailedCall(self.unavailable(f"{message} {remedy}"), status, is_unavailable=True)
        if status in _UNAVAILABLE or 300 <= status < 400:
            return FailedCall(self.unavailable(f"{message} {self.remedy}"), status, is_unavailable=True)
        return FailedCall(self.failed(message), status, response.text)


@functools.cache
def _expected() -> tuple[type[Exception], ...]:
    """Return the errors of a call: those of the client, of httpx, of reading, and kinsplit's own."""
    import openai

    own = (KinsplitError, ResponseTooLongError, ValueError, RecursionError)
    return (*own, openai.OpenAIError, httpx.HTTPError, httpx.InvalidURL, httpx.StreamError)


def _is_unsupported(response: httpx.Response) -> bool:
    """Return whether a response, which was read, says that the model can't do what it was asked for."""
    return response.status_code == 501 or (response.status_code == 500 and _UNSUPPORTED in response.text)


def _settle(response: httpx.Response) -> None:
    """Keep the client from repeating a request that the server will never answer."""
    if response.status_code in (500, 501):
        response.read()
        if _is_unsupported(response):
            response.headers["x-should-retry"] = "false"


def _reason(error: Exception) -> str:
    return " ".join(str(error).split())[:200].rstrip(".") or type(error).__name__


def _ended(is_cut: bool) -> Generator[str, None, bool | FailedCall]:
    yield from ()
    return is_cut
