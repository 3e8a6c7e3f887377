"""A server that is asked over HTTP: what is tried again, what is given up, and when the server is left alone."""

from __future__ import annotations

import functools
import ssl
import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

import httpx
from tenacity import RetryCallState, Retrying, retry_if_exception_type

from kinsplit.errors import LanguageModelError, ModelUnavailableError

#: How often a call is tried, and a connection that is refused.
ATTEMPTS, CONNECTIONS = 3, 2
#: Seconds before the second try; doubled before each further one.
PAUSE = 1.0
#: Seconds before a server that refused a connection is tried again: it may be starting, but most often isn't there.
SHORT_PAUSE = 0.2
#: Longest wait that a server may ask for.
LONGEST_PAUSE = 60.0
#: Seconds for which a server that could not be used isn't asked again.
REST = 5.0
_CONNECT = 10.0
# The model isn't there, or the key is wrong: so it will be with every other prompt.
_UNAVAILABLE = frozenset({401, 403, 404, 405, 407, 501})
_TRANSIENT = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 529})
_BAD_REQUEST = frozenset({400, 422})


class _TransientError(LanguageModelError):
    """A failure that may be over soon.

    Args:
        message: What failed.
        pause: Seconds after which the server wants to be asked again.
        refused: Whether no connection was made.
    """

    def __init__(self, message: str, pause: float | None = None, *, refused: bool = False) -> None:
        super().__init__(message)
        self.pause, self.refused = pause, refused


class Server:
    """One model's server.

    Connection errors, timeouts, broken answers, 429 (after the time that the server asks for) and 5xx are tried again,
    a few times. Options that the server doesn't know are left out from then on. A server that can't be used at all is
    left alone for some seconds, so that of many calls only the first one waits.

    Args:
        name: The model, for messages.
        url: Where the server is.
        remedy: What to do if it can't be reached.
        headers: Sent with each call.
        timeout: Seconds to wait for an answer.
    """

    def __init__(
        self, name: str, url: str, remedy: str, headers: Mapping[str, str] | None = None, timeout: float = 300.0
    ) -> None:
        self.name, self.url, self.remedy, self.timeout = name, url.rstrip("/"), remedy, timeout
        self._headers = dict(headers or {})
        self._unknown: frozenset[str] = frozenset()
        self._down: tuple[float, ModelUnavailableError] | None = None

    def post(self, path: str, body: Mapping[str, Any], optional: Sequence[str] = ()) -> Any:
        """Send JSON and return what comes back.

        Args:
            path: Below the server's address.
            body: What to send.
            optional: Keys of the body that a server may not know, most doubtful first.

        Raises:
            ModelUnavailableError: The server can't be reached, has no such model, or lets nobody in.
            LanguageModelError: It failed otherwise.
        """
        if self._down is not None and time.monotonic() < self._down[0]:
            raise self._down[1]
        try:
            return self._known(path, body, optional)
        except _TransientError as error:
            if not error.refused:
                raise
            unavailable = ModelUnavailableError(f"{error} {self.remedy}")
            self._down = (time.monotonic() + REST, unavailable)
            raise unavailable from error
        except ModelUnavailableError as error:
            self._down = (time.monotonic() + REST, error)
            raise

    def _known(self, path: str, body: Mapping[str, Any], optional: Sequence[str]) -> Any:
        """Send what the server knows of a body."""
        while True:
            sent = {key: value for key, value in body.items() if key not in self._unknown}
            response = self._retried(path, sent)
            if response.status_code not in _BAD_REQUEST:
                return self._read(response)
            left = [key for key in optional if key in sent]
            if not left:
                raise LanguageModelError(f"{self.name}: {_problem(response)}")
            # The message says which one it was; where it doesn't, the most doubtful one is left out.
            self._unknown |= {next((key for key in left if key in response.text), left[0])}

    def _retried(self, path: str, body: Mapping[str, Any]) -> httpx.Response:
        again = Retrying(
            retry=retry_if_exception_type(_TransientError),
            stop=_is_enough,
            wait=_wait,
            reraise=True,
        )
        return again(self._send, path, body)

    def _send(self, path: str, body: Mapping[str, Any]) -> httpx.Response:
        timeout = httpx.Timeout(self.timeout, connect=min(self.timeout, _CONNECT))
        try:
            # A client for each call: a model takes seconds, a connection milliseconds, and none is left open.
            with httpx.Client(headers=self._headers, timeout=timeout, verify=_certificates()) as client:
                response = client.post(f"{self.url}{path}", json=body)
        except (httpx.InvalidURL, httpx.UnsupportedProtocol) as error:
            raise ModelUnavailableError(f"{self.name}: {self.url!r} is no address: {error}. {self.remedy}") from error
        except httpx.ConnectError as error:
            raise _TransientError(f"{self.name} is not reachable at {self.url}: {error}.", refused=True) from error
        except httpx.TimeoutException as error:
            rule = f"{self.name} gave no answer within {self.timeout:g} s ({type(error).__name__})."
            raise _TransientError(rule, refused=isinstance(error, httpx.ConnectTimeout)) from error
        except httpx.TransportError as error:
            raise _TransientError(f"{self.name}: the connection broke: {error}") from error
        if response.status_code in _TRANSIENT:
            pause = _asked_for(response)
            if pause is not None and pause > LONGEST_PAUSE:
                raise LanguageModelError(f"{self.name}: {_problem(response)}; it asks to wait for {pause:.0f} s.")
            raise _TransientError(f"{self.name}: {_problem(response)}", pause)
        if response.is_success and _json(response) is None:
            raise _TransientError(f"{self.name}: the answer is no JSON but {response.text[:80]!r}.")
        return response

    def _read(self, response: httpx.Response) -> Any:
        if response.is_success:
            return _json(response)
        if response.status_code in _UNAVAILABLE or response.is_redirect:
            raise ModelUnavailableError(f"{self.name}: {_problem(response)} {self.remedy}")
        raise LanguageModelError(f"{self.name}: {_problem(response)}")


def _failure(state: RetryCallState) -> _TransientError:
    error = state.outcome.exception() if state.outcome else None
    assert isinstance(error, _TransientError), "nothing else is tried again"  # noqa: S101
    return error


def _is_enough(state: RetryCallState) -> bool:
    return state.attempt_number >= (CONNECTIONS if _failure(state).refused else ATTEMPTS)


def _wait(state: RetryCallState) -> float:
    error = _failure(state)
    if error.pause is not None:
        return error.pause
    return SHORT_PAUSE if error.refused else PAUSE * 2 ** (state.attempt_number - 1)


def _asked_for(response: httpx.Response) -> float | None:
    """Return the seconds that a server asks to wait for."""
    value = response.headers.get("retry-after", "").strip()
    if value.isdecimal():
        return float(value)
    try:
        moment = parsedate_to_datetime(value)
    except ValueError:
        return None
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return max(0.0, (moment - datetime.now(UTC)).total_seconds())


def _json(response: httpx.Response) -> Any:
    try:
        return response.json()
    except (ValueError, RecursionError):
        return None


def _problem(response: httpx.Response) -> str:
    """Return what a server says is wrong, as one sentence."""
    answer = _json(response)
    told = answer.get("error", answer) if isinstance(answer, dict) else response.text
    told = told.get("message", told) if isinstance(told, dict) else told
    shown = " ".join(str(told).split())[:200].rstrip(".") or response.reason_phrase
    return f"status {response.status_code}: {shown}."


@functools.cache
def _certificates() -> ssl.SSLContext:
    return httpx.create_ssl_context()
