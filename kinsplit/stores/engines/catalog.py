"""Catalogs: the collections at an address, and their names."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Generic, Literal, NamedTuple, Protocol, Self, TypeVar
from urllib.parse import parse_qsl

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from kinsplit.errors import InvalidParameterError
from kinsplit.stores.schema import LISTED, check_change, check_own, no_collection
from kinsplit.stores.values import Schema
from kinsplit.support.literals import type_name
from kinsplit.support.settings import first_fault

#: What an engine itself knows a collection by, whatever its name.
Key = TypeVar("Key")


@dataclass(frozen=True, slots=True)
class CollectionInfo:
    """A collection of a catalog.

    Attributes:
        name: Name of the collection.
        schema: Its schema; None if this version of kinsplit can't read it.
        documents: Number of its documents; None if they can't be counted, as in a collection that is locked.
        chunks: Number of its leaves; None if they can't be counted.
        bytes: Size on disk, with indexes; None if the engine doesn't tell.
    """

    name: str
    schema: Schema | None
    documents: int | None
    chunks: int | None
    bytes: int | None


class Catalog(Protocol):
    """The collections at an address.

    Every change is atomic: a process that is killed in the middle leaves the old or the new state. Open stores keep the
    collection that they opened, whatever its name becomes, until it is dropped. What kinsplit didn't make is neither
    listed nor changed.
    """

    def collections(self) -> list[CollectionInfo]:
        """Return the collections that kinsplit made, in order of their names."""
        ...

    def check(self, name: str) -> None:
        """Check that kinsplit made the collection of a name, and may therefore change it.

        Raises:
            CollectionNotFoundError: There is no such collection.
            ForeignCollectionError: Something else made it.
        """
        ...

    def identity(self, name: str) -> str:
        """Return a text that stands for the collection which has a name now, in one cheap call.

        Once the name belongs to another collection, the text differs.

        Raises:
            CollectionNotFoundError: There is no such collection.
        """
        ...

    def drop(self, name: str) -> None:
        """Delete a collection with everything in it.

        Raises:
            CollectionNotFoundError: There is no such collection.
            ForeignCollectionError: Something else than kinsplit made it.
            StoreLockedError: The engine's collections are opened by one process at a time, and this one is open.
        """
        ...

    def rename(self, old: str, new: str) -> None:
        """Give a collection another name, which no collection has.

        Raises:
            InvalidParameterError: The new name is not allowed.
            CollectionNotFoundError: There is no such collection.
            ForeignCollectionError, StoreLockedError: See `drop`.
            StoreError: There is a collection of the new name, or the engine can't rename this one.
        """
        ...

    def switch(self, one: str, other: str) -> None:
        """Exchange the names of two collections, in one step for every reader.

        Raises:
            InvalidParameterError: The names are the same.
            CollectionNotFoundError: One of them does not exist.
            ForeignCollectionError, StoreLockedError: See `drop`.
            StoreError: The engine can't rename one of them.
        """
        ...

    def close(self) -> None:
        """Release the connection. A second call does nothing."""
        ...

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()


class Named(NamedTuple, Generic[Key]):
    """A collection as an engine finds it.

    Attributes:
        name: Its name.
        key: What the engine itself knows it by.
    """

    name: str
    key: Key


class EngineCatalog(Catalog, Generic[Key]):
    """`Catalog` on top of a few reads and changes that each engine provides, which see kinsplit's own collections only.

    Args:
        place: Folder, server or database, for errors.
    """

    def __init__(self, place: object) -> None:
        self._place = place

    def check(self, name: str) -> None:
        """Check that kinsplit made the collection of a name; see `Catalog.check`."""
        with self._reading():
            self._own(self._names(), name)

    def drop(self, name: str) -> None:
        """Delete a collection; see `Catalog.drop`."""
        with self._dropping():
            self._drop(self._own(self._names(), name))

    def rename(self, old: str, new: str) -> None:
        """Give a collection another name; see `Catalog.rename`."""
        with self._naming():
            names = self._names()
            check_change(self._place, names, old, new, is_switch=False)
            self._rename(self._own(names, old), new)

    def switch(self, one: str, other: str) -> None:
        """Exchange the names of two collections; see `Catalog.switch`."""
        with self._naming():
            names = self._names()
            check_change(self._place, names, one, other, is_switch=True)
            self._switch(self._own(names, one), self._own(names, other))

    def _own(self, names: Mapping[str, Key], name: str) -> Named[Key]:
        """Return a collection that kinsplit made."""
        if name not in names:
            raise no_collection(self._place, name, names, LISTED)
        check_own(f"{self._place}/{name}", self._stored(names[name]))
        return Named(name, names[name])

    @abstractmethod
    def _reading(self) -> AbstractContextManager[object]:
        """Return a context manager in which the engine's errors become kinsplit's."""

    @abstractmethod
    def _dropping(self) -> AbstractContextManager[object]:
        """Return `_reading` that also keeps others from giving the name away."""

    @abstractmethod
    def _naming(self) -> AbstractContextManager[object]:
        """Return `_reading` that also keeps others from changing any name."""

    @abstractmethod
    def _names(self) -> Mapping[str, Key]:
        """Return the keys of all collections by name, whoever made them."""

    @abstractmethod
    def _stored(self, key: Key) -> object:
        """Return the JSON that lies where kinsplit stores a collection's schema; None if there is nothing."""

    @abstractmethod
    def _drop(self, found: Named[Key]) -> None:
        """Delete a collection."""

    @abstractmethod
    def _rename(self, found: Named[Key], new: str) -> None:
        """Give a collection a name that is free."""

    @abstractmethod
    def _switch(self, one: Named[Key], other: Named[Key]) -> None:
        """Exchange the names of two collections."""


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
