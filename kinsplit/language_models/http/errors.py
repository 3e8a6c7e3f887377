"""Errors of servers and models, transient and permanent."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any

from kinsplit.errors import KinsplitError, LanguageModelError, ModelUnavailableError

if TYPE_CHECKING:
    import httpx

#: Longest pause in seconds that a server may request.
LONGEST_PAUSE = 60.0
# No such model, or a wrong key: every other prompt would fail too.
_UNAVAILABLE = frozenset({401, 403, 404, 405, 407, 501})
_TRANSIENT = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 529})
_BAD_REQUEST = frozenset({400, 422})
# Maximum number of quoted characters in a message.
_QUOTED = 200


class TransientError(LanguageModelError):
    """A failure that may pass soon.

    Args:
        message: Description of the failure.
        pause: Pause in seconds that the server requests.
        refused: Whether the connection failed.
    """

    def __init__(self, message: str, pause: float | None = None, *, refused: bool = False) -> None:
        super().__init__(message)
        self.pause, self.refused = pause, refused


class BadRequestError(LanguageModelError):
    """The server rejects the request.

    Args:
        message: Error message for users.
        text: Full text of the response.
    """

    def __init__(self, message: str, text: str) -> None:
        super().__init__(message)
        self.text = text


def check(response: httpx.Response, name: str, remedy: str) -> None:
    """Raise an error if a response, whose body was read, is a failure.

    Args:
        response: The response.
        name: Name of the model, for messages.
        remedy: Remedy for an unavailable model.

    Raises:
        TransientError: The failure may pass.
        BadRequestError: The server might accept another request.
        ModelUnavailableError: The server has no such model, or denies access.
        LanguageModelError: Any other failure.
    """
    if response.is_success:
        return
    message = f"{name}: {_problem(response)}"
    if response.status_code in _TRANSIENT:
        pause = _requested_pause(response)
        if pause is not None and pause > LONGEST_PAUSE:
            raise LanguageModelError(f"{message}; it asks to wait for {pause:.0f} s.")
        raise TransientError(message, pause)
    if response.status_code in _BAD_REQUEST:
        raise BadRequestError(message, response.text)
    if response.status_code in _UNAVAILABLE or response.is_redirect:
        raise ModelUnavailableError(f"{message} {remedy}")
    raise LanguageModelError(message)


def as_json(response: httpx.Response) -> Any:
    """Return the value of a JSON body, or None if it is not valid JSON."""
    try:
        return response.json()
    except (ValueError, RecursionError):
        return None


def error_message(answer: Any) -> str:
    """Return the error message in an answer, such as one with the key `error`, on one line."""
    message = answer
    for keys in (("error", "detail", "message"), ("message",)):
        if isinstance(message, dict):
            message = next((message[key] for key in keys if message.get(key)), message)
    return " ".join(quoted(message)[: 10 * _QUOTED].split())[:_QUOTED].rstrip(".")


def quoted(answer: Any) -> str:
    """Return an answer as text, even if it is nested too deeply for that."""
    try:
        return str(answer)
    except RecursionError:
        return f"{type(answer).__name__} in {type(answer).__name__} without end"


def _problem(response: httpx.Response) -> str:
    """Return the error of a response as one sentence."""
    answer = as_json(response)
    shown = error_message(answer if isinstance(answer, dict) else response.text) or response.reason_phrase
    return f"status {response.status_code}: {shown}."


def _requested_pause(response: httpx.Response) -> float | None:
    """Return the pause in seconds that a server requests."""
    value = response.headers.get("retry-after", "").strip()
    if value.isdecimal():
        return float(value)
    try:
        moment = parsedate_to_datetime(value)
    except ValueError:
        return None
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return max(0.0, (moment - datetime.now(UTC)).total_seconds())


@contextmanager
def wrap_errors(name: str) -> Iterator[None]:
    """Convert exceptions of a framework's model, or of a user's own, into `LanguageModelError`.

    Args:
        name: Name of the model, for the message.

    Raises:
        ModelUnavailableError: The connection failed.
        LanguageModelError: Any other failure.
    """
    try:
        yield
    except KinsplitError:
        raise
    except Exception as error:  # Models raise exceptions of any kind.
        kind = ModelUnavailableError if _is_unreachable(error) else LanguageModelError
        raise kind(f"{name} failed: {type(error).__name__}: {error_message(str(error))}.") from error


def _is_unreachable(error: BaseException | None) -> bool:
    """Return whether a failed connection is the error or one of its causes."""
    import httpx  # Here, since the import takes as long as that of a strategy without a model.

    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        if isinstance(error, ConnectionRefusedError | httpx.ConnectError):
            return True
        seen.add(id(error))
        error = error.__cause__ or error.__context__
    return False
