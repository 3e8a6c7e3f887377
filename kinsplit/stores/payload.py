"""Payloads: flat dictionaries of chunks, which every engine stores and both frameworks show."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from hashlib import blake2b
from typing import Any, TypeAlias

from kinsplit.chunk import FIELDS, PLACED, RECORD, RESERVED, STATE, Beside, Chunk, select
from kinsplit.details import flat
from kinsplit.errors import StoreError, require
from kinsplit.identity import COURSE_NAMES, title_of
from kinsplit.spans import Span, replace_surrogates
from kinsplit.stores.json_values import to_json, to_stored
from kinsplit.stores.values import Entry

Payload = dict[str, Any]
#: Payloads by id, and pairs of an id and a payload.
Payloads: TypeAlias = Mapping[str, Payload]
Points: TypeAlias = Sequence[tuple[str, Payload]]

#: Length of `content_preview` in characters.
PREVIEW = 300

# Keys of the fields that every payload has, and the attributes that are read from a payload.
_KEYS = [field.stored for field in FIELDS if field.stored is not None and not field.is_optional]
_ATTRIBUTES = {key: field.attribute for field in FIELDS if (key := field.stored) in _KEYS and not field.is_computed}

# Keys that frameworks show in other fields or not at all.
_NOT_METADATA = frozenset(
    {"full_content", "content_preview", "content_length", "token_count", "context", "beside", RECORD, STATE}
)


def check_metadata(metadata: Mapping[str, Any]) -> None:
    """Check that a document's metadata can be stored next to a chunk's own keys, with the errors of `to_payload`."""
    _refuse(metadata, RESERVED | PLACED)
    for key, value in metadata.items():
        to_json(value, f"metadata[{key!r}]")


def to_payload(chunk: Chunk) -> Payload:
    """Return the payload of a chunk: its fields, and its metadata at top level.

    Raises:
        InvalidParameterError: A key of the metadata is reserved, or `to_json` can't convert a value.
    """
    _refuse(chunk.metadata, RESERVED)
    payload: Payload = select(chunk, _KEYS)
    for key in ("source_id", "context", "full_content"):
        payload[key] = replace_surrogates(payload[key])
    payload["content_preview"] = payload["full_content"][:PREVIEW]
    payload["content_length"] = len(payload["full_content"])
    if len(chunk.spans) > 1:
        payload |= select(chunk, ["spans"])
    if beside := chunk.beside.to_dict():
        payload["beside"] = to_json(beside, "beside")
    for key, value in chunk.metadata.items():
        # Most values are strings, and there are many for each chunk.
        stored = replace_surrogates(value) if type(value) is str else to_stored(to_json(value, f"metadata[{key!r}]"))
        payload[replace_surrogates(key)] = stored
    return payload


def to_metadata(chunk_id: str, payload: Payload) -> dict[str, Any]:
    """Return the flat metadata that a framework shows: all keys that have a value, except the text, and the id."""
    shown = {key: value for key, value in payload.items() if key not in _NOT_METADATA}
    return flat({**shown, "chunk_id": chunk_id, **Beside.of(payload).to_metadata()})


def from_payload(chunk_id: str, payload: Mapping[str, Any]) -> Chunk:
    """Return the chunk of a payload.

    Values without a JSON type come back as `to_json` converts them, whole floats as integers, and some engines round
    the 17th digit of a float; everything else is equal.

    Raises:
        StoreError: A key is missing or has an invalid value.
    """
    try:
        return _chunk(chunk_id, payload)
    except (KeyError, TypeError, ValueError) as error:
        problem = f"{error} is missing" if isinstance(error, KeyError) else str(error)
        raise StoreError(
            f"The payload of point {chunk_id} is damaged, or not kinsplit's: {problem}. "
            "Delete the point, or its source, and index that again."
        ) from error


def _chunk(chunk_id: str, payload: Mapping[str, Any]) -> Chunk:
    spans = payload.get("spans") or [(payload["char_start"], payload["char_end"])]
    return Chunk(
        id=chunk_id,
        spans=tuple(Span(start, end) for start, end in spans),
        beside=Beside.of(payload),
        metadata={key: value for key, value in payload.items() if key not in RESERVED},
        **{attribute: payload[key] for key, attribute in _ATTRIBUTES.items()},
    )


def contents_of(hashes: Mapping[str, str]) -> str:
    """Return the hash of a document's chunks, of all levels."""
    return _hash(f"{id_} {content_hash}" for id_, content_hash in sorted(hashes.items()))


def state_of(origin: str, contents: str) -> str:
    """Return the hash of a stored document, which tells that nothing has to be written, from that of its origin."""
    return _hash((origin, contents))


def _hash(lines: Iterable[str]) -> str:
    return blake2b("\n".join(lines).encode(), digest_size=16).hexdigest()


# Attributes of `Entry` by payload key.
_ENTRY = {key: attribute for key, attribute in _ATTRIBUTES.items() if attribute in Entry._fields}
_ENTRY["content_length"] = "length"

#: Keys of a payload that `to_entry` reads.
ENTRY_KEYS = (*_ENTRY, "sibling_files", "title", *COURSE_NAMES)


def to_entry(chunk_id: str, payload: Mapping[str, Any]) -> Entry:
    """Return the entry of a ranking from the `ENTRY_KEYS` of a payload."""
    siblings = payload.get("sibling_files")
    return Entry(
        id=chunk_id,
        sibling_files=tuple(name for name in siblings if isinstance(name, str)) if isinstance(siblings, list) else (),
        title=title_of(payload),
        course=tuple(name for key in COURSE_NAMES if isinstance(name := payload.get(key), str)),
        **{attribute: payload[key] for key, attribute in _ENTRY.items()},
    )


def _refuse(metadata: Mapping[str, Any], keys: frozenset[str]) -> None:
    for key in metadata:
        require(isinstance(key, str), "metadata", "must have strings as keys", key, "Rename the key.")
        remedy = "Rename the key in the document's metadata."
        require(key not in keys, "metadata", f"can't have the key {key!r}, which kinsplit uses", key, remedy)
