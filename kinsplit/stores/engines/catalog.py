"""Catalogs: the collections at an address, and their names."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Literal, Self
from urllib.parse import parse_qsl

from pydantic import ConfigDict, Field, ValidationError

from kinsplit.errors import CollectionNotFoundError, ForeignCollectionError, InvalidParameterError, StoreError, require
from kinsplit.stores.schema import LISTED, check_change, check_own, no_collection, parse_schema
from kinsplit.stores.values import Schema
from kinsplit.support.literals import type_name
from kinsplit.support.settings import Documented, first_fault


@dataclass(frozen=True, slots=True)
class CollectionInfo:
    """A collection of a catalog.

    Attributes:
        name: Name of the collection.
        schema: Its schema; None if this version of kinsplit can't read it.
        documents: Number of its documents; None if they can't be counted, as in a collection that is locked.
        chunks: Number of its leaves; None if they can't be counted.
        bytes: Size on disk, with indexes; None if the engine doesn't tell.
        problem: Why it can't be used as it is, with the remedy; None if it can.
    """

    name: str
    schema: Schema | None
    documents: int | None
    chunks: int | None
    bytes: int | None
    problem: str | None = None


class Catalog(ABC):
    """The collections at an address.

    Every change is atomic: a process that is killed in the middle leaves the old or the new state. Open stores keep the
    collection that they opened, whatever its name becomes, until it is dropped. What kinsplit didn't make is neither
    listed nor changed.

    An engine provides the abstract methods. The key of a collection is what the engine itself knows it by, whatever its
    name; changes get kinsplit's own collections only.

    Args:
        place: Folder, server or database, for errors.
    """

    def __init__(self, place: object) -> None:
        self._place = place

    def collections(self) -> list[CollectionInfo]:
        """Return the collections that kinsplit made, in order of their names.

        One that can't be read or measured is among them, with its problem, and hides no other.
        """
        with self._reading():
            names = sorted(self._names().items())
        found = (self._told(name, key) for name, key in names)
        return [info for info in found if info is not None]

    def _told(self, name: str, key: Any) -> CollectionInfo | None:
        """Return what is known of a collection; None if kinsplit didn't make it."""
        schema, problem = None, None
        sizes: tuple[int | None, int | None, int | None] = (None, None, None)
        try:
            with self._reading():
                stored = self._stored(key)
                try:
                    schema = parse_schema(name, stored)
                except ForeignCollectionError:
                    return None
                except StoreError as error:
                    problem = str(error)
                sizes = self._measure(name, key, schema)
        except CollectionNotFoundError:
            return None  # It was dropped since.
        except StoreError as error:
            problem = problem or str(error)
        return CollectionInfo(name, schema, *sizes, problem)

    def check(self, name: str) -> None:
        """Check that kinsplit made the collection of a name, and may therefore change it.

        Raises:
            CollectionNotFoundError: There is no such collection.
            ForeignCollectionError: Something else made it.
        """
        with self._reading():
            self._own(self._names(), name)

    def identity(self, name: str) -> str:
        """Return a text that stands for the collection which has a name now, in one cheap call.

        Once the name belongs to another collection, the text differs.

        Raises:
            CollectionNotFoundError: There is no such collection.
        """
        with self._reading():
            return self._identity(self._own(self._names(), name))

    def drop(self, name: str) -> None:
        """Delete a collection with everything in it.

        Raises:
            CollectionNotFoundError: There is no such collection.
            ForeignCollectionError: Something else than kinsplit made it.
            StoreLockedError: The engine's collections are opened by one process at a time, and this one is open.
        """
        with self._dropping():
            self._drop(name, self._own(self._names(), name))

    def rename(self, old: str, new: str) -> None:
        """Give a collection another name, which no collection has.

        Raises:
            InvalidParameterError: The new name is not allowed.
            CollectionNotFoundError: There is no such collection.
            ForeignCollectionError, StoreLockedError: See `drop`.
            StoreError: There is a collection of the new name, or the engine can't rename this one.
        """
        with self._naming():
            names = self._names()
            check_change(self._place, names, old, new, is_switch=False)
            self._rename(old, self._own(names, old), new)

    def switch(self, one: str, other: str) -> None:
        """Exchange the names of two collections, in one step for every reader.

        Raises:
            InvalidParameterError: The names are the same.
            CollectionNotFoundError: One of them does not exist.
            ForeignCollectionError, StoreLockedError: See `drop`.
            StoreError: The engine can't rename one of them.
        """
        with self._naming():
            names = self._names()
            check_change(self._place, names, one, other, is_switch=True)
            self._switch({name: self._own(names, name) for name in (one, other)})

    def close(self) -> None:  # noqa: B027 - most engines hold nothing open
        """Release the connection, if there is one. A second call does nothing."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _own(self, names: Mapping[str, Any], name: str) -> Any:
        """Return the key of a collection that kinsplit made."""
        if name not in names:
            raise no_collection(self._place, name, names, LISTED)
        check_own(f"{self._place}/{name}", self._stored(names[name]))
        return names[name]

    @abstractmethod
    def _reading(self) -> AbstractContextManager[object]:
        """Return a context manager in which the engine's errors become kinsplit's."""

    def _naming(self) -> AbstractContextManager[object]:
        """Return `_reading` that also keeps others from changing any name."""
        return self._reading()

    def _dropping(self) -> AbstractContextManager[object]:
        """Return `_reading` that also keeps others from giving the name away."""
        return self._naming()

    @abstractmethod
    def _names(self) -> Mapping[str, Any]:
        """Return the keys of all collections by name, whoever made them."""

    @abstractmethod
    def _stored(self, key: Any) -> object:
        """Return the JSON that lies where kinsplit stores a collection's schema; None if there is nothing."""

    @abstractmethod
    def _measure(self, name: str, key: Any, schema: Schema | None) -> tuple[int | None, int | None, int | None]:
        """Return the numbers of documents and of leaves, and the bytes; see `CollectionInfo`."""

    def _identity(self, key: Any) -> str:
        """Return the text of `identity`."""
        return str(key)

    @abstractmethod
    def _drop(self, name: str, key: Any) -> None:
        """Delete a collection."""

    @abstractmethod
    def _rename(self, name: str, key: Any, new: str) -> None:
        """Give a collection a name that is free."""

    @abstractmethod
    def _switch(self, keys: dict[str, Any]) -> None:
        """Exchange the names of two collections, given by their keys by name."""


#: What an option acts on: every connection, a collection when it is made, its first load, or searches.
Scope = Literal["connection", "new collection", "first load", "search"]


def option(default: Any, scope: Scope, **rules: Any) -> Any:
    """Return a pydantic field of an option, which the docstring of its class describes."""
    return Field(default, json_schema_extra={"scope": scope}, **rules)


class StoreOptions(Documented):
    """Options of one kind of server. The fields are read from addresses; `kinsplit stores` lists them."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    @classmethod
    def parse(cls, query: str) -> Self:
        """Return the options of an address's query string, or raise InvalidParameterError."""
        pairs = parse_qsl(query, keep_blank_values=True)
        names = [name for name, _ in pairs]
        for name in names:
            require(names.count(name) <= 1, f"store option {name!r}", "can't be given twice", None, "Give it once.")
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
        """Check that a collection was made with the options that an address gives, or raise InvalidParameterError."""
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
