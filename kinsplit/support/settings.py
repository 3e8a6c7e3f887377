"""Frozen settings, validated when they are created; fields checked again when one is set; and the first fault found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

from pydantic import BaseModel, ConfigDict, GetCoreSchemaHandler, ValidationError
from pydantic_core import CoreSchema

from kinsplit.errors import InvalidParameterError
from kinsplit.hints import question
from kinsplit.support.docstrings import described
from kinsplit.support.literals import type_name

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails


class Fault(NamedTuple):
    """One value that pydantic rejects."""

    path: tuple[str, ...]
    kind: str  # pydantic's name of the broken rule, such as "extra_forbidden".
    message: str
    value: object
    cause: InvalidParameterError | None

    @property
    def field(self) -> str:
        """The path in one piece, such as "rerank.top_n"; empty where the fault is that of the whole."""
        return ".".join(self.path)

    @property
    def rule(self) -> str:
        """The message in the form that follows "FIELD: ", and in the words of kinsplit's other errors."""
        rule = self.message.removeprefix("Value error, ").removeprefix("Input ")
        rule = rule[0].lower() + rule[1:]
        for theirs, ours in _WORDS.items():
            rule = rule.replace(theirs, ours)
        return rule

    @property
    def is_unknown_field(self) -> bool:
        """Whether there is no field of that name."""
        return self.kind == "extra_forbidden"


def first_fault(errors: Sequence[ErrorDetails]) -> Fault:
    """Return the first of the errors that pydantic lists with `errors()`."""
    first = errors[0]
    cause = first.get("ctx", {}).get("error")
    own = cause if isinstance(cause, InvalidParameterError) else None
    # What lacks a field is no value of it.
    value = None if first["type"] == "missing" else first.get("input")
    return Fault(tuple(map(str, first["loc"])), first["type"], first["msg"], value, own)


# pydantic's wording -> that of kinsplit's other errors.
_WORDS = {
    "should be a valid dictionary or object to extract fields from": "must be an object",
    "should be greater than or equal to": "must be at least",
    "should be less than or equal to": "must be at most",
    "should be": "must be",
    "string should have": "must have",
    "field required": "is required",
    "extra inputs are not permitted": "is not known here",
}


class Documented(BaseModel):
    """A pydantic model whose docstring describes its fields, under `Attributes`."""

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        texts = described(cls.__doc__, "Attributes")
        for name in texts.keys() & cls.__pydantic_fields__.keys():
            cls.__pydantic_fields__[name].description = texts[name].text
        return handler(source)


class CheckedModel(BaseModel):
    """A pydantic model that raises its first fault as an `InvalidParameterError`."""

    #: Arguments that stand beside the fields in the call that takes them, for errors.
    beside: ClassVar[tuple[str, ...]] = ()

    def __init__(self, **values: Any) -> None:
        try:
            super().__init__(**values)
        except ValidationError as error:
            raise self._as_parameter_error(error) from None

    @classmethod
    def _as_parameter_error(cls, error: ValidationError) -> InvalidParameterError:
        fault = first_fault(error.errors())
        if fault.cause is not None:
            # A validator's error, or that of nested settings, names its field relative to them.
            above = fault.path[:-1] if fault.path[-1:] == (fault.cause.field,) else fault.path
            return fault.cause.of(".".join([*above, fault.cause.field]))
        field = fault.field or cls.__name__
        names = [*cls.beside, *cls.model_fields]
        known = f"Known here: {', '.join(names)}."
        if fault.is_unknown_field:
            asked = question("parameter", fault.path[-1], names)
            return InvalidParameterError(field, "is not known here", fault.value, asked + known)
        rule = fault.rule
        alternatives = {each["loc"][1:] for each in error.errors() if each["loc"][:1] == error.errors()[0]["loc"][:1]}
        if len(alternatives) > 1 and (union := cls.model_fields.get(fault.path[0])):
            field, rule = fault.path[0], f"must be {type_name(union.annotation)}"
        info = cls.model_fields.get(fault.path[0]) if fault.path else None
        default = info.get_default(call_default_factory=True) if info and not info.is_required() else None
        if info is None or info.is_required():
            remedy = known
        else:
            remedy = "Leave it out." if default is None else f"The default is {default!r}."
        return InvalidParameterError(field, rule, fault.value, question(field, fault.value) + remedy)


class Settings(CheckedModel, Documented):
    """Frozen settings, without unknown ones."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)

    @classmethod
    def part(cls, values: Mapping[str, Any]) -> tuple[Self, dict[str, Any]]:
        """Return the settings among keyword arguments, and the other arguments."""
        own = {name: value for name, value in values.items() if name in cls.model_fields}
        return cls(**own), {name: value for name, value in values.items() if name not in own}

    def given(self) -> dict[str, Any]:
        """Return the settings that differ from their defaults."""
        fields = type(self).model_fields.items()
        return {name: value for name, info in fields if (value := getattr(self, name)) != info.default}


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
