"""The first fault that pydantic reports, as field, rule and value of kinsplit's errors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from kinsplit.errors import InvalidParameterError

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails


class Fault(NamedTuple):
    """One value that pydantic rejects.

    Attributes:
        path: Names and indexes that lead to the value, the outermost first.
        kind: pydantic's name of the broken rule, such as "extra_forbidden".
        message: pydantic's own words.
        value: The rejected value.
        cause: The error that a validator of kinsplit raised, with a field, rule and remedy of its own.
    """

    path: tuple[str, ...]
    kind: str
    message: str
    value: object
    cause: InvalidParameterError | None

    @property
    def field(self) -> str:
        """The path in one piece, such as "rerank.top_n"; empty where the fault is that of the whole."""
        return ".".join(self.path)

    @property
    def rule(self) -> str:
        """The message in the form that follows "FIELD: "."""
        rule = self.message.removeprefix("Value error, ").removeprefix("Input ")
        return rule[0].lower() + rule[1:]

    @property
    def is_unknown_field(self) -> bool:
        """Whether there is no field of that name."""
        return self.kind == "extra_forbidden"


def first_fault(errors: Sequence[ErrorDetails]) -> Fault:
    """Return the first of the errors that pydantic lists with `errors()`."""
    first = errors[0]
    cause = first.get("ctx", {}).get("error")
    return Fault(
        path=tuple(map(str, first["loc"])),
        kind=first["type"],
        message=first["msg"],
        value=first.get("input"),
        cause=cause if isinstance(cause, InvalidParameterError) else None,
    )
