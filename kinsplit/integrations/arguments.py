"""Arguments that a framework passes on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kinsplit.errors import InvalidParameterError


def refuse_unknown(arguments: Mapping[str, Any]) -> None:
    """Make sure that nothing is left of the arguments that a framework passes on as they are.

    Raises:
        InvalidParameterError: Something is, such as a misspelt name or what only another store understands.
    """
    for name, value in arguments.items():
        raise InvalidParameterError(name, "is not a known argument", value, "Leave it out.")
