"""Pydantic models of the frameworks that have no state besides their fields."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self

from pydantic import ConfigDict

from kinsplit.support.settings import CheckedModel

_STATE = ("__dict__", "__pydantic_fields_set__", "__pydantic_private__")


class FieldModel(CheckedModel):
    """A model whose constructor checks its fields and derives everything else, also when one of them is set later."""

    model_config = ConfigDict(arbitrary_types_allowed=True)

    #: Private attributes that a copy shares unless one of these fields has changed, such as an open collection.
    shared: ClassVar[Mapping[str, Sequence[str]]] = {}

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """Return a copy with some fields changed; stores, indexes and models are the same."""
        del deep
        given = {name: value for name, value in self.__dict__.items() if name in self.model_fields_set}
        made = type(self)(**{**given, **(update or {})})
        for attribute, fields in self.shared.items():
            if all(getattr(made, field) == getattr(self, field) for field in fields):
                setattr(made, attribute, getattr(self, attribute))
        return made

    def __copy__(self) -> Self:
        return self.model_copy()

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> Self:
        return self.model_copy()

    def __setattr__(self, name: str, value: object) -> None:
        if name not in type(self).model_fields:
            super().__setattr__(name, value)
            return
        made = self.model_copy(update={name: value})
        for state in _STATE:
            object.__setattr__(self, state, getattr(made, state))
