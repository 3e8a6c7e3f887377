"""Filters that users of other stores write, as filters of chunk stores."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from types import MappingProxyType
from typing import Any

from kinsplit.chunk import Chunk
from kinsplit.errors import InvalidParameterError
from kinsplit.integrations.shared.records import from_chunk, stored_id
from kinsplit.stores import ChunkStore
from kinsplit.stores.values import Where

#: Key of a chunk's text.
TEXT = "full_content"
# Operators on a part of a text, which read all chunks, each with the flags of its pattern.
_PATTERNS = {"$like": re.DOTALL, "$ilike": re.DOTALL | re.IGNORECASE}
_WILDCARDS = re.compile(r"\\(.)|([%_])|(.)", re.DOTALL)


def containing(text: str) -> str:
    """Return the pattern of `$like` for texts that contain a text."""
    literal = re.sub(r"([%_\\])", r"\\\1", text)
    return f"%{literal}%"


def with_matches(store: ChunkStore, where: Where, within: Where = MappingProxyType({})) -> Where:
    r"""Return a filter without the operators `$like` and `$ilike`, which the engines lack: with the ids that match.

    Both compare a text, or each text of a list, with a pattern in which "%" stands for any characters, "_" for one, and
    "\\" makes the next character an ordinary one; `$ilike` ignores case. The key `TEXT` is the chunk's own text. Chunks
    that don't match `within` are not read.

    Raises:
        InvalidParameterError: A pattern is not a text.
    """
    chunks = cache(lambda: store.find(within, None))

    def match(key: str, operator: str, pattern: object) -> Where:
        ids = _matching(chunks(), key, operator, pattern)
        if not ids:
            store.check_fields({key: pattern})
        return {"$id": ids}

    return _with_matches(where, match)


def _with_matches(where: Where, match: Callable[[str, str, object], Where]) -> Where:
    if not isinstance(where, Mapping):
        return where  # The store says what is wrong with it.
    found, parts = dict[str, Any](), list[Where]()
    for key, wanted in where.items():
        if key in ("$and", "$or") and isinstance(wanted, list | tuple):
            found[key] = [_with_matches(one, match) for one in wanted]
        elif key == "$not":
            found[key] = _with_matches(wanted, match)
        elif isinstance(wanted, Mapping) and _PATTERNS.keys() & wanted.keys():
            parts += [match(key, op, wanted[op]) for op in _PATTERNS.keys() & wanted.keys()]
            if rest := {op: value for op, value in wanted.items() if op not in _PATTERNS}:
                found[key] = rest
        elif isinstance(wanted, Mapping) and isinstance(inner := wanted.get("$not"), Mapping):
            rest = {op: value for op, value in wanted.items() if op != "$not"}
            parts.append({"$not": _with_matches({key: inner}, match)})
            found |= {key: rest} if rest else {}
        else:
            found[key] = wanted
    return {"$and": [*([found] if found else []), *parts]} if parts else found


def _matching(chunks: Sequence[Chunk], key: str, operator: str, pattern: object) -> list[str]:
    if not isinstance(pattern, str):
        remedy = 'Write for example {"title": {"$like": "Bird%"}}.'
        raise InvalidParameterError(f"where[{key!r}]", f"needs a text for {operator}", pattern, remedy)
    parts = ("".join([re.escape(a or c), {"%": ".*", "_": "."}.get(b, "")]) for a, b, c in _WILDCARDS.findall(pattern))
    wanted = re.compile("".join(parts), _PATTERNS[operator])
    return [
        chunk.id
        for chunk in chunks
        if any(isinstance(text, str) and wanted.fullmatch(text) for text in _texts(chunk, key))
    ]


def _texts(chunk: Chunk, key: str) -> Sequence[object]:
    stored: Any = {TEXT: chunk.text, **from_chunk(chunk).metadata}
    value = stored.get(key)
    for step in () if key in stored else key.split("."):
        stored = value = stored.get(step) if isinstance(stored, Mapping) else None
    return value if isinstance(value, list) else [value]


def is_of_qdrant(given: object) -> bool:
    """Return whether a filter is one of Qdrant's client."""
    return type(given).__module__.startswith("qdrant_client.")


def of_qdrant(given: Any, root: str = "") -> dict[str, Any]:
    """Return a `qdrant_client.models.Filter` as a filter of chunk stores.

    Args:
        given: The filter.
        root: Key with a dot under which the metadata lie, which is left out: "metadata." in LangChain's payloads.

    Raises:
        InvalidParameterError: It has a condition that other engines lack.
    """
    return _group(given.model_dump(exclude_none=True, by_alias=True), root)


def _group(given: Mapping[str, Any], root: str) -> dict[str, Any]:
    must, should, never = (_conditions(given.get(name), root) for name in ("must", "should", "must_not"))
    if unknown := given.keys() - {"must", "should", "must_not"}:
        raise _refused(given, unknown)
    parts = [*must, *([{"$or": should}] if should else []), *([{"$not": {"$or": never}}] if never else [])]
    return {"$and": parts} if parts else {}


def _conditions(given: Any, root: str) -> list[dict[str, Any]]:
    several = given if isinstance(given, list) else [] if given is None else [given]
    return [_condition(one, root) for one in several]


def _condition(one: Mapping[str, Any], root: str) -> dict[str, Any]:
    if not one.keys() - {"must", "should", "must_not"}:
        return _group(one, root)
    if "has_id" in one:
        return {"$id": [stored_id(str(id_)) for id_ in one["has_id"]]}
    for name in ("is_empty", "is_null"):
        if isinstance(one.get(name), Mapping):
            return {_key(one[name]["key"], root): None}
    if unknown := one.keys() - {"key", "match", "range", "is_empty", "is_null"}:
        raise _refused(one, unknown)
    operators: dict[str, Any] = {f"${name}": bound for name, bound in one.get("range", {}).items()}
    for name, value in one.get("match", {}).items():
        if name == "except":
            operators |= {"$nin": value, "$exists": True}
        elif name in ("text", "phrase"):
            operators["$like"] = containing(value)
        elif name in ("value", "any"):
            operators["$eq" if name == "value" else "$in"] = value
        else:
            raise _refused(one, {name})
    for name in ("is_empty", "is_null"):
        if name in one:
            operators["$exists"] = not one[name]
    return {_key(one["key"], root): operators}


def _key(key: str, root: str) -> str:
    if key == "page_content":
        return TEXT
    return key.removeprefix(root).replace('"', "")


def _refused(given: object, names: set[str]) -> InvalidParameterError:
    rule = f"can't have the condition {', '.join(map(repr, sorted(names)))} of Qdrant, which other engines lack"
    return InvalidParameterError("filter", rule, given, "Leave it out, or query the collection with Qdrant's client.")
