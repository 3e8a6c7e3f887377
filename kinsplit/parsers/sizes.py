"""The parameters that strategies share, their defaults and the rules between them."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import AfterValidator, Field

from kinsplit.errors import InvalidParameterError
from kinsplit.parsers.sentences import check_language

#: Positive, and small enough for the arrays that lengths are kept in.
Size = Annotated[int, Field(gt=0, le=2**31 - 1, strict=True)]
#: Several sizes, each of which makes a level of chunks. More than anybody reads: every one costs as much as a cut.
Sizes = Annotated[tuple[Size, ...], Field(min_length=1, max_length=16)]
Overlap = Annotated[int, Field(ge=0, strict=True)]
Language = Annotated[
    str,
    AfterValidator(check_language),
    Field(description='Language of the sentences as an ISO 639-1 code, or "auto" to detect it.'),
]


def share(data: dict[str, Any], field: str, of: str, default: int, divisor: int) -> int:
    """Return a size that, where it is not given, is a share of another one.

    Args:
        data: The parameters as given.
        field: The parameter to find.
        of: The parameter that it is a share of.
        default: The default of that parameter.
        divisor: What it is divided by.

    Returns:
        The given value, whatever it is, or the share.
    """
    given = data.get(field)
    if given is not None:
        return given  # type: ignore[no-any-return]
    whole = data.get(of, default)
    return whole // divisor if isinstance(whole, int) else 0


def check_below(field: str, value: int, bound: str, limit: int) -> None:
    """Check that one size is smaller than another.

    Raises:
        InvalidParameterError: It is not.
    """
    if value >= limit:
        raise InvalidParameterError(
            field, f"must be smaller than {bound} ({limit})", value, f"Lower {field} or raise {bound}."
        )
