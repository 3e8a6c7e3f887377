"""Exceptions of other libraries' models as kinsplit's own."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from kinsplit.errors import KinsplitError, LanguageModelError, ModelUnavailableError
from kinsplit.model_servers.messages import error_message


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
    # Not imported, which takes as long as a strategy without a model: where it isn't loaded, nothing raised its errors.
    httpx = sys.modules.get("httpx")
    kinds = (ConnectionRefusedError, *([httpx.ConnectError] if httpx is not None else []))
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        if isinstance(error, kinds):
            return True
        seen.add(id(error))
        error = error.__cause__ or error.__context__
    return False
