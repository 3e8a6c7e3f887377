"""What a sync has to write, decided without touching a database."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from kinsplit.chunk import Chunk
from kinsplit.embedding.texts import replace_surrogates
from kinsplit.errors import InvalidParameterError
from kinsplit.stores.payload import Payload, to_payload
from kinsplit.stores.protocol import SyncReport, Vectors, check_ids


@dataclass(frozen=True, slots=True)
class Plan:
    """The writes that make a stored source equal to its chunks, in the order in which they must happen.

    Attributes:
        upserts: Id and payload of points that are new or have another content; they need vectors.
        payloads: Id and payload of points whose content stayed.
        deletes: Ids of points that no chunk has any more.
        donors: By content hash, a stored point whose vectors a point in `upserts` takes over.
        report: What the plan comes to.
    """

    upserts: tuple[tuple[str, Payload], ...]
    payloads: tuple[tuple[str, Payload], ...]
    deletes: tuple[str, ...]
    donors: Mapping[str, str]
    report: SyncReport


def plan_sync(
    source_id: str,
    chunks: Sequence[Chunk],
    stored: Mapping[str, Payload],
    vectors: Mapping[str, Vectors],
    dimension: int,
) -> Plan:
    """Compare a source's chunks with what is stored.

    Args:
        source_id: The document's id.
        chunks: All its chunks.
        stored: Payload of each of its points, by id.
        vectors: By content hash, what the caller embedded.
        dimension: Length that a dense vector must have.

    Raises:
        InvalidParameterError: See `ChunkStore.sync`.
    """
    wanted = {chunk.id: to_payload(chunk) for chunk in chunks}
    _check_chunks(source_id, chunks, wanted)
    upserts = [(id_, payload) for id_, payload in wanted.items() if _content(payload) != _content(stored.get(id_))]
    rewritten = {id_ for id_, _ in upserts}
    payloads = [
        (id_, payload) for id_, payload in wanted.items() if id_ not in rewritten and not _equal(payload, stored[id_])
    ]
    hashes = {payload["content_hash"] for _, payload in upserts}
    holders = {payload["content_hash"]: id_ for id_, payload in stored.items()}
    donors = {hash_: holders[hash_] for hash_ in hashes if hash_ not in vectors and hash_ in holders}
    _check_vectors(upserts, vectors, donors, dimension)
    deletes = tuple(id_ for id_ in stored if id_ not in wanted)
    added = sum(id_ not in stored for id_ in wanted)
    updated = len(upserts) - added + len(payloads)
    report = SyncReport(added, updated, len(wanted) - added - updated, len(deletes))
    return Plan(tuple(upserts), tuple(payloads), deletes, donors, report)


def _content(payload: Payload | None) -> tuple[str, int] | None:
    """Return what a point's vectors depend on: the level decides under which name the sparse one is kept."""
    return None if payload is None else (payload["content_hash"], payload["level"])


def _equal(one: object, other: object) -> bool:
    """Compare JSON values; an engine may read a float's last digit differently from how it was written."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_equal(value, other[key]) for key, value in one.items())
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_equal, one, other))
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=1e-15)
    return type(one) is type(other) and one == other


def _check_chunks(source_id: str, chunks: Sequence[Chunk], wanted: Mapping[str, Payload]) -> None:
    if replace_surrogates(source_id) != source_id:
        remedy = "Give the document an id of valid Unicode."
        raise InvalidParameterError("source_id", "can't hold lone surrogates", source_id, remedy)
    check_ids(wanted)
    if len(wanted) < len(chunks):
        raise InvalidParameterError("chunks", "must have ids that differ", source_id, "Sync each chunk once.")
    for chunk in chunks:
        if chunk.source_id != source_id:
            rule = f"must all be of the source {source_id!r}"
            raise InvalidParameterError("chunks", rule, chunk.source_id, "Sync each source on its own.")


def _check_vectors(
    upserts: Sequence[tuple[str, Payload]],
    vectors: Mapping[str, Vectors],
    donors: Mapping[str, str],
    dimension: int,
) -> None:
    for id_, payload in upserts:
        hash_ = payload["content_hash"]
        if hash_ not in vectors:
            if hash_ not in donors:
                rule = f"must hold the content of chunk {id_}"
                raise InvalidParameterError("vectors", rule, hash_, "Embed every chunk that missing() returns.")
            continue
        dense = vectors[hash_].dense
        if dense.shape != (dimension,) or not np.isfinite(dense).all():
            rule = f"must be finite and of shape ({dimension},), as the collection's schema says"
            raise InvalidParameterError(f"vectors[{hash_!r}].dense", rule, dense, "Embed with the collection's model.")
