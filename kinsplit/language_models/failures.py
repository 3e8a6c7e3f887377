"""Whatever a language model raises, as an error of kinsplit."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from kinsplit.errors import KinsplitError, LanguageModelError, ModelUnavailableError
from kinsplit.language_models.responses import told_by


@contextmanager
def told_as_ours(name: str) -> Iterator[None]:
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
        raise kind(f"{name} failed: {type(error).__name__}: {told_by(str(error))}.") from error


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
