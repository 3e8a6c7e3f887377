"""Client of MediaWiki's API that follows its etiquette: one request at a time, with a name, and with pauses.

Source: https://www.mediawiki.org/wiki/API:Etiquette
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Self

import httpx
from tenacity import RetryCallState, Retrying, retry_if_exception_type, stop_after_attempt

import kinsplit
from kinsplit.errors import FetchError, InvalidParameterError
from kinsplit.support.http import Client, ResponseTooLongError, read_response

ATTEMPTS = 5
#: Seconds before the second try; doubled before each further one, unless the server says how long to wait.
PAUSE = 1.0
#: Longest pause in seconds that a server may request.
LONGEST_PAUSE = 120.0
#: Maximum size of an answer in bytes, several times the longest article, and its maximum time in seconds.
LONGEST, SECONDS = 8 << 20, 120.0
#: Maximum number of parts of an answer: twice the maximum number of titles in a request.
MOST_PARTS = 100
_TIMEOUT = 30.0
_REDIRECTS = 20
# Seconds by which Wikipedia's databases may lag behind before requests pause; the etiquette's own value.
_MAX_LAG = 5
_TRANSIENT = frozenset({408, 429, 500, 502, 503, 504})
_BUSY = frozenset({"maxlag", "ratelimited", "readonly"})
_LANGUAGE = re.compile(r"[a-z]{2,}(-[a-z]+)*")


class _BusyError(FetchError):
    """A failure that may pass, and the pause in seconds that the server requests."""

    def __init__(self, message: str, pause: float | None = None) -> None:
        super().__init__(message)
        self.pause = pause


class Api:
    """The API of one wiki.

    Args:
        language: Language code of the Wikipedia, such as "en" or "de".
        contact: E-mail address or page by which the wiki's operators can reach you.
        url: URL of another wiki's `api.php`.

    Raises:
        InvalidParameterError: The language is not a language code, or the contact can't be sent.
    """

    def __init__(self, language: str = "en", contact: str | None = None, url: str | None = None) -> None:
        if not _LANGUAGE.fullmatch(language):
            raise InvalidParameterError("language", "must be a code such as en or de", language, "Give the code.")
        self.url = url or f"https://{language}.wikipedia.org/w/api.php"
        # For messages, without a password.
        self._shown = re.sub(r"^([^/]*//).*@", r"\1", self.url)
        if contact and not (contact.isascii() and contact.isprintable()):
            raise InvalidParameterError("contact", "must be printable ASCII", contact, "Give an address or a page.")
        who = f"kinsplit/{kinsplit.__version__} ({contact or 'no contact given'})"
        self._client = Client(_TIMEOUT, _TIMEOUT, {"user-agent": who})

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._client.close()

    def query(self, parameters: Mapping[str, str]) -> dict[str, Any]:
        """Send a query and return the whole `query` of the answer, with the parts of its pages joined.

        Raises:
            FetchError: The wiki can't be reached, is busy for too long, or rejects the query.
        """
        request = {"action": "query", "format": "json", "formatversion": "2", "maxlag": str(_MAX_LAG), **parameters}
        found: dict[str, Any] = {}
        pages: dict[str, dict[str, Any]] = {}
        more: dict[str, str] = {}
        for _ in range(MOST_PARTS):
            answer = self._query_with_retries({**request, **more})
            try:
                part = answer.get("query") or {}
                found |= part
                for page in part.get("pages", []):
                    pages.setdefault(page["title"], {}).update(page)
            except (AttributeError, KeyError, TypeError, ValueError):
                raise FetchError(f"{self._shown}: its pages are not those of a wiki. Is it an api.php?") from None
            goes_on = answer.get("continue")
            if goes_on is None:
                return {**found, "pages": list(pages.values())}
            if goes_on == more:
                raise FetchError(f"{self._shown} goes round in circles: it continues with what it said before.")
            more = goes_on
        raise FetchError(f"{self._shown} has no end: {MOST_PARTS} parts of an answer came. Ask for fewer titles.")

    def _query_with_retries(self, parameters: Mapping[str, str]) -> dict[str, Any]:
        again = Retrying(
            retry=retry_if_exception_type(_BusyError), stop=stop_after_attempt(ATTEMPTS), wait=_wait, reraise=True
        )
        return again(self._query, parameters)

    def _query(self, parameters: Mapping[str, str]) -> dict[str, Any]:
        try:
            response = self._send(self._client.request("GET", self.url, params=dict(parameters)))
        except ResponseTooLongError as error:
            raise FetchError(f"{self._shown} sent {error}. Is it a wiki's api.php?") from error
        except (httpx.InvalidURL, httpx.UnsupportedProtocol) as error:
            raise FetchError(f"{self._shown} is not a valid address: {str(error).rstrip('.')}.") from error
        except httpx.RequestError as error:
            reason = str(error) or type(error).__name__
            raise _BusyError(f"{self._shown} can't be reached: {reason}. Check the network.") from error
        pause = _requested_pause(response)
        if response.status_code in _TRANSIENT:
            raise self._busy(f"status {response.status_code}", pause)
        if not response.is_success:
            raise FetchError(f"{self._shown} answered with status {response.status_code}.")
        try:
            answer = response.json()
        except (ValueError, RecursionError):
            raise FetchError(
                f"{self._shown} answered with something other than JSON. Is it a wiki's api.php?"
            ) from None
        problem = answer.get("error") if isinstance(answer, dict) else {"info": "its answer is not an object"}
        if problem:
            problem = problem if isinstance(problem, dict) else {"info": str(problem)}
            info = str(problem.get("info") or problem.get("code"))[:200]
            raise self._busy(info, pause) if problem.get("code") in _BUSY else FetchError(f"{self._shown}: {info}")
        return dict(answer)

    def _send(self, request: httpx.Request) -> httpx.Response:
        """Send a request and follow its redirects."""
        for _ in range(1 + _REDIRECTS):
            with self._client.exchange(request, SECONDS) as response:
                if response.next_request is None:
                    return read_response(response, LONGEST)
                request = response.next_request
        raise FetchError(f"{self._shown} redirects without end.")

    def _busy(self, reason: str, pause: float | None) -> FetchError:
        message = f"{self._shown} is busy: {reason.rstrip('.')}. Try again later."
        if pause is not None and pause > LONGEST_PAUSE:
            return FetchError(f"{message} It asks to wait for {pause:.0f} s.")
        return _BusyError(message, pause)


def _wait(state: RetryCallState) -> float:
    error = state.outcome.exception() if state.outcome else None
    pause = error.pause if isinstance(error, _BusyError) else None
    return PAUSE * 2 ** (state.attempt_number - 1) if pause is None else pause


def _requested_pause(response: httpx.Response) -> float | None:
    value = response.headers.get("retry-after", "").strip()
    return float(value) if value.isdecimal() else None
