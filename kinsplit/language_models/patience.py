"""How long a model that fails is still asked."""

from __future__ import annotations

import threading

from kinsplit.errors import LanguageModelError, ModelUnavailableError

#: How often a question is asked if the answer can't be used.
ATTEMPTS = 3
# After so many failures in a row the model isn't asked any more: each may have taken minutes.
_FAILURES = 3


class Patience:
    """Counts failures, from any thread: a model that is away, or fails three times in a row, is given up."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._failures = 0
        self._given_up: LanguageModelError | None = None

    @property
    def given_up(self) -> LanguageModelError | None:
        """The failure for which the model isn't asked any more."""
        return self._given_up

    def count(self, error: LanguageModelError | None) -> None:
        """Count what came of a question: a failure, or None for an answer."""
        with self._lock:
            self._failures = 0 if error is None else self._failures + 1
            if isinstance(error, ModelUnavailableError) or self._failures >= _FAILURES:
                self._given_up = error
