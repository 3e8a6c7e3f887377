"""What a server's response says: an answer, a failure that may pass, or one that won't."""

from __future__ import annotations

from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any

from kinsplit.errors import LanguageModelError, ModelUnavailableError

if TYPE_CHECKING:
    import httpx
from collections.abc import Iterator
from contextlib import contextmanager

from kinsplit.errors import KinsplitError

#: Longest wait that a server may ask for, in seconds.
LONGEST_PAUSE = 60.0
# The model isn't there, or the key is wrong: so it will be with every other prompt.
_UNAVAILABLE = frozenset({401, 403, 404, 405, 407, 501})
_TRANSIENT = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 529})
_BAD_REQUEST = frozenset({400, 422})
# Characters that a message quotes.
_TOLD = 200


class TransientError(LanguageModelError):
    """A failure that may be over soon.

    Args:
        message: What failed.
        pause: Seconds after which the server wants to be asked again.
        refused: Whether no connection was made.
    """

    def __init__(self, message: str, pause: float | None = None, *, refused: bool = False) -> None:
        super().__init__(message)
        self.pause, self.refused = pause, refused


class BadRequestError(LanguageModelError):
    """The server doesn't take what was sent.

    Args:
        message: What the server says, for a person.
        text: All that it says.
    """

    def __init__(self, message: str, text: str) -> None:
        super().__init__(message)
        self.text = text


def check(response: httpx.Response, name: str, remedy: str) -> None:
    """Make sure that a response, of which the body was read, is no failure.

    Args:
        response: The response.
        name: The model, for messages.
        remedy: What to do if it can't be used.

    Raises:
        TransientError: It may pass.
        BadRequestError: Another request might be taken.
        ModelUnavailableError: The server has no such model, or lets nobody in.
        LanguageModelError: Any other failure.
    """
    if response.is_success:
        return
    told = f"{name}: {_problem(response)}"
    if response.status_code in _TRANSIENT:
        pause = _asked_for(response)
        if pause is not None and pause > LONGEST_PAUSE:
            raise LanguageModelError(f"{told}; it asks to wait for {pause:.0f} s.")
        raise TransientError(told, pause)
    if response.status_code in _BAD_REQUEST:
        raise BadRequestError(told, response.text)
    if response.status_code in _UNAVAILABLE or response.is_redirect:
        raise ModelUnavailableError(f"{told} {remedy}")
    raise LanguageModelError(told)


def as_json(response: httpx.Response) -> Any:
    """Return what a body holds, or None if it is no JSON."""
    try:
        return response.json()
    except (ValueError, RecursionError):
        return None


def error_message(answer: Any) -> str:
    """Return what is wrong according to an answer, such as one with the key `error`, as one line."""
    told = answer
    for keys in (("error", "detail", "message"), ("message",)):
        if isinstance(told, dict):
            told = next((told[key] for key in keys if told.get(key)), told)
    return " ".join(quoted(told)[: 10 * _TOLD].split())[:_TOLD].rstrip(".")


def quoted(answer: Any) -> str:
    """Return what an answer looks like; lists in lists may be too deep to be written out."""
    try:
        return str(answer)
    except RecursionError:
        return f"{type(answer).__name__} in {type(answer).__name__} without end"


def _problem(response: httpx.Response) -> str:
    """Return what a server says is wrong, as one sentence."""
    answer = as_json(response)
    shown = error_message(answer if isinstance(answer, dict) else response.text) or response.reason_phrase
    return f"status {response.status_code}: {shown}."


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


@contextmanager
def wrap_errors(name: str) -> Iterator[None]:
    """Raise what a model of a framework, or of somebody's own, raises in the block as a `LanguageModelError`.

    Args:
        name: The model's, for the message.

    Raises:
        ModelUnavailableError: No connection could be made.
        LanguageModelError: Anything else.
    """
    try:
        yield
    except KinsplitError:
        raise
    except Exception as error:  # Whatever they may raise.
        kind = ModelUnavailableError if _is_unreachable(error) else LanguageModelError
        raise kind(f"{name} failed: {type(error).__name__}: {error_message(str(error))}.") from error


def _is_unreachable(error: BaseException | None) -> bool:
    """Return whether an error, or one that led to it, says that no connection could be made."""
    import httpx  # Here, since to load it takes as long as to load a strategy that asks no model.

    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        if isinstance(error, ConnectionRefusedError | httpx.ConnectError):
            return True
        seen.add(id(error))
        error = error.__cause__ or error.__context__
    return False
