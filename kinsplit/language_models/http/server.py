"""A server that is asked over HTTP: what is tried again, what is given up, and when the server is left alone."""

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
from kinsplit.support.http import Client, ExchangeTimeoutError, ResponseTooLongError, body, read_response

_CREDENTIALS = re.compile(r"(?<=//)(?P<name>[^:/?#]*)(?::(?P<password>[^/?#]*))?@")
# What stands before an @ may be a password even where the address is none.
_ANY_CREDENTIALS = re.compile(r"^(\w+://)?.*@")

# Fewer characters of a key are a placeholder for servers that want none, such as "x"; and of a longer secret so many
# are enough to hide it, since a message may quote no more of what a server said than its beginning.
_LEAST_KEY = 8
_LEAST_PASSWORD = 4
# Characters that may stand between those of a secret in a message: quoting it may escape quotation marks.
_ESCAPES = r"\\*"


def split_credentials(url: str) -> tuple[str, str, str]:
    """Return an address without the name and the password in it, these as a header sends them, and the password."""
    found = _CREDENTIALS.search(url)
    if found is None:
        return url, "", ""
    password = unquote(found["password"] or "")
    token = base64.b64encode(f"{unquote(found['name'])}:{password}".encode()).decode()
    return url[: found.start()] + url[found.end() :], token, password


def redact_url(url: str) -> str:
    """Return what is given as an address as messages may show it."""
    return _ANY_CREDENTIALS.sub(r"\1", url)


class Secrets:
    """Secrets that no message may hold, although a server that gets them may repeat them.

    Args:
        key: A key; one of a few characters is none.
        token: A name and a password as a header sends them.
        password: The password.
    """

    def __init__(self, key: str, token: str, password: str) -> None:
        plain = [*([key] if len(key) >= _LEAST_KEY else []), *([password] if len(password) >= _LEAST_PASSWORD else [])]
        forms = (token, *plain, *(json.dumps(one)[1:-1] for one in plain))
        self._secrets = [bare for one in dict.fromkeys(forms) if (bare := one.replace("\\", ""))]

    def redact(self, text: str) -> str:
        """Return a text with `***` in the place of each secret, also of one that is escaped or cut."""
        for secret in self._secrets:
            kept, at = [], 0
            for found in re.finditer(_ESCAPES.join(map(re.escape, secret[:_LEAST_KEY])), text):
                if found.start() >= at:
                    kept += [text[at : found.start()], "***"]
                    at = _end(text, found.end(), secret[_LEAST_KEY:])
            text = "".join([*kept, text[at:]])
        return text


def _end(text: str, at: int, rest: str) -> int:
    """Return how far a text goes on with the rest of a secret."""
    for letter in rest:
        found = re.compile(_ESCAPES + re.escape(letter)).match(text, at)
        if found is None:
            break
        at = found.end()
    return at


#: How often a call is tried, and a connection that is refused.
ATTEMPTS, CONNECTIONS = 3, 2
#: Seconds before the second try; doubled before each further one.
PAUSE = 1.0
#: Seconds before a server that refused a connection is tried again: it may be starting, but most often isn't there.
SHORT_PAUSE = 0.2


def retrying() -> Retrying:
    """Return what calls a function again that raised a `TransientError`, and at last raises what it raised."""
    return Retrying(retry=retry_if_exception_type(TransientError), stop=_is_enough, wait=_wait, reraise=True)


def _failure(state: RetryCallState) -> TransientError:
    error = state.outcome.exception() if state.outcome else None
    assert isinstance(error, TransientError), "nothing else is tried again"  # noqa: S101
    return error


def _is_enough(state: RetryCallState) -> bool:
    return state.attempt_number >= (CONNECTIONS if _failure(state).refused else ATTEMPTS)


def _wait(state: RetryCallState) -> float:
    error = _failure(state)
    if error.pause is not None:
        return error.pause
    return SHORT_PAUSE if error.refused else PAUSE * 2 ** (state.attempt_number - 1)


#: Seconds for which a server that could not be used isn't asked again.
REST = 5.0
#: Most bytes of a whole answer, and of a stream, in which each token has some hundred bytes around it.
LONGEST_ANSWER, LONGEST_STREAM = 4 << 20, 64 << 20
#: How many times as long as for a whole answer a stream may take until its end.
STREAM_TIME = 12
_CONNECT = 10.0

T = TypeVar("T")


class Server:
    """One model's server.

    What it sends is read up to `LONGEST_ANSWER` or `LONGEST_STREAM`, and no longer than its time; see
    `kinsplit.support.http`.
    Connection errors, timeouts, broken answers, 429 (after the time that the server asks for) and 5xx are tried again,
    a few times. Options that the server doesn't know are left out from then on. A server that can't be used at all is
    left alone for some seconds, so that of many calls only the first one waits.

    Args:
        name: The model, for messages.
        url: Where the server is; a name and a password in it are sent with each call.
        remedy: What to do if it can't be reached.
        key: Sent with each call, and shown nowhere; without one none is sent.
        timeout: Seconds to wait for a whole answer, or for the next piece of one.

    Attributes:
        url: Where the server is, without name and password.
    """

    def __init__(self, name: str, url: str, remedy: str, key: str = "", timeout: float = 300.0) -> None:
        self.name, self.remedy, self.timeout = name, remedy, timeout
        address, token, password = split_credentials(url)
        self.url = address.rstrip("/")
        authorization = f"Basic {token}" if token else f"Bearer {key}" if key else ""
        self._headers = {"Authorization": authorization} if authorization else {}
        self._secrets = Secrets(key, token, password)
        self._unknown: frozenset[str] = frozenset()
        # Until when it is left alone, and why.
        self._down: tuple[float, str] | None = None

    def post(self, path: str, body: Mapping[str, Any], read: Callable[[Any], T], optional: Sequence[str] = ()) -> T:
        """Send JSON and return what the answer says.

        Args:
            path: Below the server's address.
            body: What to send.
            read: Returns what the JSON that comes back says; raises a `LanguageModelError` where it makes no sense.
            optional: Keys of the body that a server may not know, most doubtful first.

        Raises:
            ModelUnavailableError: The server can't be reached, has no such model, or lets nobody in.
            LanguageModelError: It failed otherwise.
        """
        return self._asked(body, optional, functools.partial(self._send, path, read))

    def stream(
        self,
        path: str,
        body: Mapping[str, Any],
        read: Callable[[Iterator[str]], Pieces],
        optional: Sequence[str] = (),
    ) -> Pieces:
        """Send JSON and yield the pieces of the answer as they come; see `post`.

        What fails before the first piece is tried again, what fails later is not: a part of the answer is already told.
        Closing the generator closes the connection, by which a server knows to stop.

        Args:
            path: Below the server's address.
            body: What to send.
            read: Turns the response's lines into the pieces of the answer; raises a `TransientError` where they don't
                make sense.
            optional: See `post`.
        """
        first, rest = self._asked(body, optional, functools.partial(self._begin, path, read))
        with closing(rest):
            if first is not None:
                yield first
            return (yield from rest)

    def _asked(self, body: Mapping[str, Any], optional: Sequence[str], send: Callable[[Mapping[str, Any]], T]) -> T:
        """Send a body as often and in as many forms as it takes, unless the server is left alone."""
        if self._down is not None and time.monotonic() < self._down[0]:
            raise ModelUnavailableError(self._down[1])
        try:
            return self._known(body, optional, send)
        except TransientError as error:
            if not error.refused:
                raise
            why = f"{error} {self.remedy}"
            self._down = (time.monotonic() + REST, why)
            raise ModelUnavailableError(why) from error
        except ModelUnavailableError as error:
            self._down = (time.monotonic() + REST, str(error))
            raise

    def _known(self, body: Mapping[str, Any], optional: Sequence[str], send: Callable[[Mapping[str, Any]], T]) -> T:
        """Send what the server knows of a body."""
        unknown = self._unknown
        while True:
            sent = {key: value for key, value in body.items() if key not in unknown}
            try:
                answer = retrying()(send, sent)
            except BadRequestError as error:
                left = [key for key in optional if key in sent]
                if not left:
                    raise
                # The message says which one it was; where it doesn't, the most doubtful one is left out.
                unknown |= {next((key for key in left if key in error.text), left[0])}
            else:
                # Only now it is known that the options were what the server didn't take, and not the prompt.
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
            return (yield from read(lines(body(response, LONGEST_STREAM))))

    @contextmanager
    def _response(self, path: str, sent: Mapping[str, Any], seconds: float) -> Iterator[httpx.Response]:
        """Yield a response; failures are told as ours, and without what lets us in, which some servers repeat."""
        connect = min(self.timeout, _CONNECT)
        try:
            # A client for each call: a model takes seconds, a connection milliseconds, and none is left open.
            with self._failures(), Client(self.timeout, connect, self._headers, verify=_certificates()) as client:
                request = client.request("POST", f"{self.url}{path}", json=sent)
                with client.exchange(request, seconds) as response:
                    yield response
        except LanguageModelError as error:
            told = tuple(self._secrets.redact(str(each)) for each in error.args)
            if told == error.args:
                raise
            error.args = told
            raise error from None

    @contextmanager
    def _failures(self) -> Iterator[None]:
        try:
            yield
        except ResponseTooLongError as error:
            rule = f"{self.name}: the server sent {error}, which is no model's answer"
            raise LanguageModelError(f"{rule}. Look what runs at {self.url}.") from error
        except (httpx.InvalidURL, httpx.UnsupportedProtocol) as error:
            address = redact_url(self.url)
            # What is wrong with an address may quote its password.
            why = f": {error}" if address == self.url else ""
            raise ModelUnavailableError(f"{self.name}: {address!r} is no address{why}. {self.remedy}") from None
        except httpx.ConnectError as error:
            raise TransientError(
                f"{self.name} is not reachable at {self.url}: {_told(error)}.", refused=True
            ) from error
        except ExchangeTimeoutError as error:
            # A stream that was read for so long would not be over sooner the next time.
            kind = TransientError if error.seconds <= self.timeout else LanguageModelError
            raise kind(f"{self.name} gave no answer within {error.seconds:g} s.") from error
        except httpx.TimeoutException as error:
            rule = f"{self.name} gave no answer within {self.timeout:g} s ({type(error).__name__})."
            raise TransientError(rule, refused=isinstance(error, httpx.ConnectTimeout)) from error
        except (httpx.TransportError, httpx.DecodingError) as error:
            raise TransientError(f"{self.name}: the connection broke: {_told(error)}.") from error


def _told(error: httpx.RequestError) -> str:
    """Return what an error says, or if it says nothing, what it is."""
    return " ".join(str(error).split())[:200].rstrip(".") or type(error).__name__


def _ended(is_cut: bool) -> Pieces:
    """Return the generator of no further pieces."""
    yield from ()
    return is_cut


@functools.cache
def _certificates() -> ssl.SSLContext:
    return httpx.create_ssl_context()
