"""Names and schemas of collections, checked the same way by every engine."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Any, get_args

from kinsplit.embedding.protocol import EmbeddingContext
from kinsplit.errors import CollectionNotFoundError, ForeignCollectionError, SchemaMismatchError, StoreError, require
from kinsplit.stores.values import LAYOUT, Schema

_REMEDY = "Delete the collection and index again, or open it with the version of kinsplit that made it."
#: Advice to those who name a collection that does not exist.
LISTED = "`kinsplit collections` lists them."
_COLLECTION = re.compile(r"\w[\w.-]*")
#: Fields of a stored schema, of whatever version of kinsplit, by which a collection is known as kinsplit's own.
_MARKS = frozenset({"fingerprint", "sparse", "version"})
# Providers whose models are known to a collection by their specs.
_SERVERS = frozenset({"openai", "ollama", "litellm"})
# Largest number of other collections that an error names.
_SHOWN = 10


def check_collection(name: str) -> None:
    """Check that every engine accepts the name of a collection, or raise InvalidParameterError."""
    rule = "must be letters and digits, with '-', '_' and '.' inside"
    require(isinstance(name, str) and _COLLECTION.fullmatch(name), "collection", rule, name, "Choose another name.")


def schema_to_create(location: object, collection: str, schema: Schema | None, known: Iterable[str] = ()) -> Schema:
    """Return the schema to create a collection with, or raise CollectionNotFoundError if there is no schema."""
    if schema is None:
        raise no_collection(location, collection, known, "Index documents into it first.")
    return schema


def no_collection(location: object, collection: str, known: Iterable[str], remedy: str) -> CollectionNotFoundError:
    """Return the error that a collection does not exist."""
    return CollectionNotFoundError(f"There is no collection {collection!r} in {location}{_others(known)}. {remedy}")


def check_change(location: object, known: Iterable[str], old: str, new: str, *, is_switch: bool) -> None:
    """Check that a collection can be renamed, or that two can exchange their names.

    Raises:
        InvalidParameterError: The new name is not allowed, or equal to the old one.
        CollectionNotFoundError: A collection does not exist.
        StoreError: The new name is taken.
    """
    check_collection(new)
    require(old != new, "collection", "must differ from the other name", new, "Give two names.")
    names = set(known)
    for name in (old, new) if is_switch else (old,):
        if name not in names:
            raise no_collection(location, name, names, LISTED)
    if not is_switch and new in names:
        raise StoreError(
            f"There is a collection {new!r} in {location} already. Choose another name, drop it, or let the two "
            "exchange their names with `kinsplit switch`."
        )


def _others(names: Iterable[str]) -> str:
    first = [repr(name) for name in itertools.islice(sorted(names), _SHOWN + 1)]
    more = ["..."] if len(first) > _SHOWN else []
    return f", which has {', '.join([*first[:_SHOWN], *more])}" if first else ""


def check_own(location: object, stored: object) -> Mapping[str, Any]:
    """Return the stored schema of a collection, or raise ForeignCollectionError if it is none of kinsplit's."""
    if isinstance(stored, Mapping) and stored.keys() >= _MARKS:
        return stored
    raise ForeignCollectionError(location)


def parse_schema(location: object, stored: object) -> Schema:
    """Return the schema of a collection's JSON.

    Raises:
        ForeignCollectionError: It is no schema of any version of kinsplit.
        StoreError: This version of kinsplit can't read it.
    """
    try:
        schema = Schema(**check_own(location, stored))
    except TypeError as error:
        raise StoreError(f"{location}: This version can't read the schema: {error}. {_REMEDY}") from error
    if schema.embedding_context not in get_args(EmbeddingContext):
        known = ", ".join(map(repr, get_args(EmbeddingContext)))
        rule = f"its embedding_context is {schema.embedding_context!r}, and this version knows {known}"
        raise StoreError(f"{location}: This version can't read the schema: {rule}. {_REMEDY}")
    return schema


def check_schema(location: object, stored: Schema, asked: Schema | None) -> None:
    """Compare the schema that a collection was made with and the one it is opened with, if any.

    Raises:
        SchemaMismatchError: They differ, or the collection has the layout of another version of kinsplit.
    """
    if stored.version != LAYOUT:
        made = f"its layout is {stored.version!r}, and this version reads {LAYOUT}"
        raise SchemaMismatchError(f"{location} was made by another version of kinsplit: {made}. {_REMEDY}")
    if asked is None:
        return
    old, new = _facts(stored), _facts(asked)
    names = [name for name in {**old, **new} if old.get(name) != new.get(name)]
    if any(name.startswith("strategy") for name in names):
        # The fingerprint differs whenever a parameter does, and explains less.
        names = [name for name in names if name != "fingerprint"]
    differences = [f"{name} is {old.get(name)!r} there and {new.get(name)!r} here" for name in names]
    if differences:
        remedy = _remedy(old, new) if "model" in names else ""
        raise SchemaMismatchError(
            f"{location} was made with another model or strategy: {'; '.join(differences)}. "
            f"{remedy}Use another collection name, or delete the collection and index again."
        )


def _remedy(stored: Mapping[str, Any], asked: Mapping[str, Any]) -> str:
    """Return the first sentence of the remedy: a collection that was made with another model needs no new one."""
    (weights, _, there), (own, _, here) = (str(facts["model"]).partition("?") for facts in (stored, asked))
    lacking = "&".join(option for option in there.split("&") if option not in here.split("&"))
    if weights == own and lacking:
        return f"Give the embedder with the options that it had: ?{lacking}. "
    given = f" {weights}" if weights.partition(":")[0] in _SERVERS else ""
    return f"Give the embedder that it was made with: --embedder{given}, or KINSPLIT_EMBEDDER. "


def _facts(schema: Schema) -> dict[str, Any]:
    """Return the values by which schemas are compared, with the strategy's parameters as separate values."""
    facts = asdict(schema)
    del facts["weights"]  # They change searches alone.
    try:
        strategy = json.loads(schema.strategy)
        parameters = {f"strategy.{key}": value for key, value in strategy["parameters"].items()}
        return {**facts, "strategy": strategy["name"], "strategy.sentences": strategy.get("sentences"), **parameters}
    except (ValueError, TypeError, KeyError, AttributeError):
        return facts
