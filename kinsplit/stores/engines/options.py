"""Options of servers, given as query parameters of their addresses."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, Self
from urllib.parse import parse_qsl

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from kinsplit.errors import InvalidParameterError
from kinsplit.support.literals import type_name
from kinsplit.support.settings import first_fault

#: What an option acts on: every connection, a collection when it is made, its first load, or searches.
Scope = Literal["connection", "new collection", "first load", "search"]


def option(default: Any, scope: Scope, description: str, **rules: Any) -> Any:
    """Return a pydantic field of an option.

    Args:
        default: Default; None for the server's.
        scope: What it acts on.
        description: Meaning, as a noun phrase.
        **rules: Constraints of `pydantic.Field`.
    """
    return Field(default, description=description, json_schema_extra={"scope": scope}, **rules)


class StoreOptions(BaseModel):
    """Options of one kind of server. The fields are read from addresses; `kinsplit stores` lists them."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    @classmethod
    def parse(cls, query: str) -> Self:
        """Return the options of an address's query string.

        Raises:
            InvalidParameterError: An option is unknown, is given twice or has a wrong value.
        """
        pairs = parse_qsl(query, keep_blank_values=True)
        names = [name for name, _ in pairs]
        for name in names:
            if names.count(name) > 1:
                raise InvalidParameterError(f"store option {name!r}", "can't be given twice", None, "Give it once.")
        try:
            return cls.model_validate(dict(pairs))
        except ValidationError as error:
            fault = first_fault(error.errors())
            if fault.cause is not None:
                raise fault.cause from None
            remedy = f"Options are {', '.join(cls.model_fields)}."
            if fault.is_unknown_field:
                # Without the value, which may be an API key.
                raise InvalidParameterError(f"store option {fault.field!r}", "is not known", None, remedy) from None
            raise InvalidParameterError(f"store option {fault.field!r}", fault.rule, fault.value, remedy) from None

    def of_new(self) -> dict[str, Any]:
        """Return the options of new collections by name."""
        scopes = {name: scope_of(field) for name, field in type(self).model_fields.items()}
        return {name: getattr(self, name) for name, scope in scopes.items() if scope == "new collection"}

    def check_made(self, place: str, made: Mapping[str, Any]) -> None:
        """Check that an existing collection was made with the options that the address gives, if any.

        Args:
            place: Collection, for errors.
            made: Its options, by name.

        Raises:
            InvalidParameterError: One of them differs.
        """
        for name, value in self.of_new().items():
            if name in self.model_fields_set and made.get(name) != value:
                remedy = "Leave it out, or copy the collection into a new one that is made with it."
                rule = f"is {made.get(name)!r} in {place}, which exists, and can't be changed"
                raise InvalidParameterError(f"store option {name!r}", rule, value, remedy)


def scope_of(field: Any) -> Scope:
    """Return what the option of a pydantic field acts on."""
    scope: Scope = field.json_schema_extra["scope"]
    return scope


def describe(options: type[StoreOptions]) -> list[dict[str, Any]]:
    """Return name, default, type, scope and meaning of each option as JSON values."""
    return [
        {
            "name": name,
            "default": field.default,
            "type": type_name(field.annotation).removesuffix(" | null"),
            "scope": scope_of(field),
            "description": field.description,
        }
        for name, field in options.model_fields.items()
    ]


def default_text(default: Any) -> str:
    """Return a default in the syntax of a query string; a dash stands for the server's own, or for none."""
    return "-" if default is None else str(default).lower()


def reference(options: type[StoreOptions]) -> str:
    """Return the options as a table in Markdown."""
    rows = (
        f"| `{row['name']}` | {row['scope']} | {default_text(row['default'])} | {row['type']} | {row['description']} |"
        for row in ({**each, "type": each["type"].replace("|", "\\|")} for each in describe(options))
    )
    return "\n".join(["| option | applies to | default | type | meaning |", "|---|---|---|---|---|", *rows])
