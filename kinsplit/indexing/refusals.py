"""Batches of texts of which an embedding model refuses some: those are found, and the others embedded.

A batch that fails is divided until the items are found that fail alone, which takes about twice the logarithm of their
number in calls for each. Whether the model refuses texts or is down altogether is told by a short text, which is
embedded when a batch fails, and again when an item failed and nothing has been embedded since.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from kinsplit import errors

Item = TypeVar("Item")
Result = TypeVar("Result")

#: Text that every model embeds.
PROBE = "probe"


@dataclass(frozen=True)
class Division(Generic[Item, Result]):
    """The way in which a batch of items is divided that fails."""

    # Name of the model, for errors; None for work without a model, in which limits alone are refusals.
    model: str | None
    work: Callable[[Sequence[Item]], Sequence[Result]]
    probe: Callable[[], object]  # Embeds a short text.
    name_of: Callable[[Item], str]
    texts_of: Callable[[Item], Collection[str]] = lambda _: ()

    def settle(self, items: Sequence[Item]) -> list[Result | errors.KinsplitError]:
        """Work on items together, and divide them where that fails; an item that the model refuses gives the error.

        A model that fails with any text raises EmbedderUnavailableError.
        """
        found: dict[int, Result | errors.KinsplitError] = {}
        todo = [range(len(items))] if items else []
        # The failure of an item since which nothing has succeeded.
        doubt: Exception | None = None
        while todo:
            part = todo.pop()
            try:
                found.update(zip(part, self.work([items[at] for at in part]), strict=True))
                doubt = None
                continue
            except Exception as error:  # Models of others raise exceptions of any kind.
                failure = error
            if not self._is_refusal(failure):
                raise failure
            if len(part) == 1:
                if doubt is not None:
                    self._check(doubt)
                found[part[0]], doubt = self._refusal(items[part[0]], failure), failure
                continue
            if len(part) == len(items):
                self._check(failure)
            todo += reversed(self._parts(part, items, failure))
        if doubt is not None:
            self._check(doubt)
        return [found[at] for at in range(len(items))]

    def _is_refusal(self, error: Exception) -> bool:
        if self.model is None:
            return isinstance(error, errors.LimitTooSmallError)
        return not isinstance(error, errors.EmbedderUnavailableError)

    def _check(self, failure: Exception) -> None:
        """Check that a failure is about texts, since the model embeds a short one."""
        if isinstance(failure, errors.LimitTooSmallError):
            return
        try:
            self.probe()
        except Exception as error:
            cause = error
        else:
            return
        # An error of another kind has a remedy of its own, such as the command that installs an extra.
        is_known = isinstance(cause, errors.KinsplitError) and not isinstance(cause, errors.EmbeddingError)
        if is_known or isinstance(cause, errors.EmbedderUnavailableError):
            raise cause
        rule = f"{self.model} embeds no text, not even a short one: {_reason(cause)}"
        raise errors.EmbedderUnavailableError(f"{rule}. Check the model and its server.") from cause

    def _parts(self, part: range, items: Sequence[Item], failure: Exception) -> list[range]:
        """Return the halves of a part, or what lies around an item whose text a server has refused by name."""
        start = end = len(part) // 2
        if isinstance(failure, errors.TextRefusedError):
            known = (number for number, at in enumerate(part) if failure.text in self.texts_of(items[at]))
            if (number := next(known, None)) is not None:
                start, end = number, number + 1
        return [each for each in (part[:start], part[start:end], part[end:]) if each]

    def _refusal(self, item: Item, failure: Exception) -> errors.KinsplitError:
        if isinstance(failure, errors.LimitTooSmallError):
            return failure
        reason = _reason(failure)
        if not reason.startswith(str(self.model)):
            reason = f"{self.model} refuses it: {reason}"
        rule = f"{errors.inline(self.name_of(item))}: {reason}"
        refusal = errors.EmbeddingError(
            f"{rule}. It is not stored, and a former version stays. Choose smaller chunks, or leave it out."
        )
        # Its traceback would keep the whole batch.
        refusal.__cause__ = failure.with_traceback(None)
        return refusal


def _reason(error: Exception) -> str:
    """Return the message of an error within a line, without a full stop; with its type if it is not kinsplit's."""
    message = errors.inline(" ".join(str(error).split()).rstrip("."))
    return (
        message if isinstance(error, errors.KinsplitError) else ": ".join(filter(None, (type(error).__name__, message)))
    )
