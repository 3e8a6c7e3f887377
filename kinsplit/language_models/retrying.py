"""What is tried again of a call to a server, how often, and after which pause."""

from __future__ import annotations

from tenacity import RetryCallState, Retrying, retry_if_exception_type

from kinsplit.language_models.responses import TransientError

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
