"""Frozen settings, checked when they are made."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from kinsplit.errors import InvalidParameterError

#: pydantic's words, and those of the other errors here.
_WORDS = {
    "should be greater than or equal to": "must be at least",
    "should be less than or equal to": "must be at most",
    "should be": "must be",
}


class Settings(BaseModel):
    """A pydantic model whose first mistake is raised as an `InvalidParameterError`."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)

    def __init__(self, **values: Any) -> None:
        try:
            super().__init__(**values)
        except ValidationError as error:
            raise self._first(error) from None

    @classmethod
    def _first(cls, error: ValidationError) -> InvalidParameterError:
        first = error.errors()[0]
        path = [str(part) for part in first["loc"]]
        if isinstance(own := first.get("ctx", {}).get("error"), InvalidParameterError):
            # A validator's, or of settings inside these, which names its field itself.
            above = path[:-1] if path[-1:] == [own.field] else path
            return own.of(".".join([*above, own.field]))
        field = ".".join(path) or cls.__name__
        known = f"{cls.__name__} has: {', '.join(cls.model_fields)}."
        if first["type"] == "extra_forbidden":
            return InvalidParameterError(field, "is not known here", first["input"], known)
        rule = first["msg"].removeprefix("Value error, ").removeprefix("Input ")
        for theirs, ours in _WORDS.items():
            rule = rule.replace(theirs, ours)
        info = cls.model_fields.get(str(first["loc"][0])) if first["loc"] else None
        default = info.get_default(call_default_factory=True) if info and not info.is_required() else None
        if info is None or info.is_required():
            remedy = known
        else:
            remedy = "Leave it out for none." if default is None else f"The default is {default!r}."
        return InvalidParameterError(field, rule[0].lower() + rule[1:], first["input"], remedy)
