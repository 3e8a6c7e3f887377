"""Plans of the writes of a sync or a put, computed without a database."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from kinsplit.chunk import STATE, Chunk, Content
from kinsplit.errors import InvalidParameterError, MissingContentError, require
from kinsplit.identity import course_of
from kinsplit.spans import replace_surrogates
from kinsplit.stores.payload import Payload, Payloads, Points, contents_of, to_payload
from kinsplit.stores.values import DocumentComparison, Embedded, SyncReport, Vectors, check_ids, check_level, layer_of


class Inventory(NamedTuple):
    """The points of a document after a sync, by which they can later be found unchanged without being read.

    Attributes:
        source_id: Id of the document.
        holder: Id of the point whose payload has the document's `STATE`.
        contents: Hash of the points' ids and contents; see `contents_of`.
        leaves: Number of leaves.
        points: Number of points of all levels.
    """

    source_id: str
    holder: str
    contents: str
    leaves: int
    points: int


@dataclass(frozen=True, slots=True)
class Plan:
    """Writes in their required order.

    Attributes:
        upserts: Ids and payloads of points that are new or have new content; they need vectors. Content that moves is
            written to its new point before its old point is overwritten, so that it survives an interruption, unless
            contents swap points in a ring. The point with a document's `STATE` comes last, so that the state is not
            stored without the contents that it stands for.
        payloads: Ids and payloads of points with unchanged content.
        deletes: Ids of the points to delete, each with that of its document.
        moves: Ids of written points that belong to another document so far, each with that one's.
        donors: Ids, by content, of stored points whose vectors points in `upserts` take over.
        report: Numbers of the changes.
        inventory: The source's points after a sync; None for other writes, and for a source without a `STATE`.
    """

    upserts: tuple[tuple[str, Payload], ...] = ()
    payloads: tuple[tuple[str, Payload], ...] = ()
    deletes: Mapping[str, str] = field(default_factory=dict)
    moves: Mapping[str, str] = field(default_factory=dict)
    donors: Mapping[Content, str] = field(default_factory=dict)
    report: SyncReport = field(default_factory=SyncReport)
    inventory: Inventory | None = None

    @property
    def ids(self) -> list[str]:
        """Ids of all points that are written or deleted."""
        return [*(id_ for id_, _ in (*self.upserts, *self.payloads)), *self.deletes]

    @property
    def departures(self) -> dict[str, str]:
        """Ids of the points that leave their documents, each with that of the document."""
        return {**self.deletes, **self.moves}

    @property
    def writes(self) -> bool:
        """Whether there is anything to write."""
        return bool(self.upserts or self.payloads or self.deletes)


def content_of(payload: Payload) -> Content:
    """Return the content of a point, which its vectors depend on."""
    return payload["level"], payload["content_hash"]


def missing_of(chunks: Sequence[Chunk], known: Iterable[Content]) -> list[Chunk]:
    """Return the chunks whose content is not known, the first of each content."""
    stored = set(known)
    new = {chunk.content_key: chunk for chunk in reversed(chunks) if chunk.content_key not in stored}
    return list(reversed(new.values()))


def compare(chunks: Sequence[Chunk], stored: Payloads) -> DocumentComparison:
    """Compare a document with the stored one."""
    alike = (_equal(to_payload(chunk), stored[chunk.id]) for chunk in chunks)
    if stored.keys() == {chunk.id for chunk in chunks} and all(alike):
        return DocumentComparison([], is_stored=True)
    is_renamed = any(chunk.id in stored and _are_renamed(to_payload(chunk), stored[chunk.id]) for chunk in chunks)
    missing = missing_of(chunks, map(content_of, stored.values()))
    return DocumentComparison(missing, is_stored=False, is_renamed=is_renamed)


def check_source(source_id: str) -> None:
    """Check that a document's id has no lone surrogates, which stores replace, or raise InvalidParameterError."""
    remedy = "Give the document an id of valid Unicode."
    require(replace_surrogates(source_id) == source_id, "source_id", "can't hold lone surrogates", source_id, remedy)


def plan_sync(source_id: str, chunks: Sequence[Chunk], stored: Payloads, vectors: Embedded, dimension: int) -> Plan:
    """Plan the writes that make a source equal to its chunks, with the errors of `ChunkStore.sync`."""
    check_source(source_id)
    rule = f"must all be of the source {source_id!r}"
    for chunk in chunks:
        require(chunk.source_id == source_id, "chunks", rule, chunk.source_id, "Sync each source on its own.")
    wanted = {chunk.id for chunk in chunks}
    check_ids(wanted)
    plan = plan_put(chunks, stored, vectors, dimension)
    deletes = {id_: source_id for id_ in stored if id_ not in wanted}
    report = replace(plan.report, deleted=_leaves(deletes, stored))
    return replace(plan, deletes=deletes, report=report, inventory=_inventory(source_id, chunks))


def plan_put(chunks: Sequence[Chunk], stored: Payloads, vectors: Embedded, dimension: int) -> Plan:
    """Plan the writes that add or replace chunks and leave others unchanged, with the errors of `ChunkStore.put`.

    `stored` may have further points than those with the same ids, which may donate vectors.
    """
    wanted = {chunk.id: to_payload(chunk) for chunk in chunks}
    _check_chunks(chunks, wanted)
    upserts, payloads = [], []
    for id_, payload in sorted(wanted.items(), key=lambda point: STATE in point[1]):
        new = id_ not in stored or content_of(payload) != content_of(stored[id_])
        if new or _are_renamed(payload, stored[id_]):
            upserts.append((id_, payload))
        elif not _equal(payload, stored[id_]):
            payloads.append((id_, payload))
    holders = {content_of(payload): id_ for id_, payload in stored.items()}
    contents = {content_of(payload) for _, payload in upserts}
    donors = {content: holders[content] for content in contents if content not in vectors and content in holders}
    _check_vectors(upserts, vectors, donors, dimension)
    added = _leaves((id_ for id_ in wanted if id_ not in stored), wanted)
    updated = _leaves((id_ for id_, _ in (*upserts, *payloads)), wanted) - added
    report = SyncReport(added, updated, _leaves(wanted, wanted) - added - updated)
    former = {id_: stored[id_]["source_id"] for id_ in wanted if id_ in stored}
    moves = {id_: source_id for id_, source_id in former.items() if source_id != wanted[id_]["source_id"]}
    return Plan(_givers_last(upserts, stored), tuple(payloads), moves=moves, donors=donors, report=report)


def _inventory(source_id: str, chunks: Sequence[Chunk]) -> Inventory | None:
    holder = next((chunk.id for chunk in chunks if chunk.metadata.get(STATE)), None)
    if holder is None:
        return None
    contents = contents_of({chunk.id: chunk.content_hash for chunk in chunks})
    return Inventory(source_id, holder, contents, sum(chunk.level == 0 for chunk in chunks), len(chunks))


def plan_removal(stored: Payloads) -> Plan:
    """Plan the deletion of stored points, given by their payloads by id."""
    return Plan(deletes={id_: payload["source_id"] for id_, payload in stored.items()})


def _leaves(ids: Iterable[str], payloads: Payloads) -> int:
    return sum(payloads[id_]["level"] == 0 for id_ in ids)


def _givers_last(upserts: Points, stored: Payloads) -> tuple[tuple[str, Payload], ...]:
    """Order points so that each comes after a point that takes over its stored content, if any."""
    if not stored:
        return tuple(upserts)
    payloads = dict(upserts)
    takers = {content_of(payload): id_ for id_, payload in upserts}
    ordered: dict[str, Payload] = {}
    for id_ in payloads:
        # A point, the point that takes over its content, the one that takes over that point's content, and so on.
        chain: dict[str, None] = {}
        taker: str | None = id_
        while taker is not None and taker not in ordered and taker not in chain:
            chain[taker] = None
            taker = takers.get(content_of(stored[taker])) if taker in stored else None
        ordered.update((link, payloads[link]) for link in reversed(chain))
    return tuple(ordered.items())


def _are_renamed(wanted: Payload, stored: Payload) -> bool:
    """Return whether the names of a chunk's course differ, which are among its terms."""
    return course_of(wanted) != course_of(stored)


def _equal(one: object, other: object) -> bool:
    """Compare JSON values, allowing for a change of a float's last digit by the engine."""
    if type(one) is not type(other):
        return False
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(map(_equal, one.values(), map(other.__getitem__, one)))
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_equal, one, other))
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=1e-15)
    return one == other


def _check_chunks(chunks: Sequence[Chunk], wanted: Payloads) -> None:
    if len(wanted) < len(chunks):
        twice = next(id_ for id_, times in Counter(chunk.id for chunk in chunks).items() if times > 1)
        raise InvalidParameterError("chunks", "must have ids that differ", twice, "Give each chunk once.")
    for chunk in chunks:
        check_level(chunk.level)
        check_source(chunk.source_id)


def _check_vectors(upserts: Points, vectors: Embedded, donors: Mapping[Content, str], dimension: int) -> None:
    for _, payload in upserts:
        content = content_of(payload)
        if content in vectors:
            _check_dense(content, vectors[content], dimension)
        elif content not in donors:
            raise MissingContentError(content)


def _check_dense(content: Content, given: Vectors, dimension: int) -> None:
    if layer_of(content[0]).dense is None:
        rule = "must be None for a whole document"
        require(given.dense is None, f"vectors[{content!r}].dense", rule, given.dense, "Give it terms alone.")
    elif given.dense is None or given.dense.shape != (dimension,) or not np.isfinite(given.dense).all():
        rule = f"must be finite and of shape ({dimension},), as the collection's schema says"
        remedy = "Embed with the collection's model."
        raise InvalidParameterError(f"vectors[{content!r}].dense", rule, given.dense, remedy)
