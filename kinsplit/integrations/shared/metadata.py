"""A chunk's place and kin as metadata, the same in every framework, also for chunks of chunks."""

from __future__ import annotations

import warnings
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, groupby, pairwise
from types import MappingProxyType
from typing import Any, NamedTuple

from kinsplit.chunk import FIELDS, Chunk, select
from kinsplit.errors import InvalidParameterError
from kinsplit.identity import DOCUMENT_CONTEXT, content_hash
from kinsplit.integrations.shared.origins import CONTEXT, FINDING, SPANS, Origin, is_marked, spans_of
from kinsplit.parsers.strategies.semantic import SIMILARITY_GAP
from kinsplit.spans import blank_before, shared
from kinsplit.stores.payload import GAP

# Fields of a chunk that its metadata hold only where they apply, or not at all.
_APART = {CONTEXT, SPANS, "content_hash", "full_content", "token_count"}
_FIELDS = tuple(field.stored for field in FIELDS if field.stored is not None and field.stored not in _APART)

#: Keys in every chunk's metadata, excluded from the text that embedding and language models read.
BOOKKEEPING = (*_FIELDS, "strategy", "content_hash")

#: `BOOKKEEPING` and the other excluded keys, which only some chunks have.
HIDDEN = (*BOOKKEEPING, SPANS, GAP, SIMILARITY_GAP, DOCUMENT_CONTEXT)

_REPLACED = frozenset({*HIDDEN, CONTEXT})
# How a passage was found says nothing about its chunks.
_DROPPED = _REPLACED | {FINDING}


# Keys that `slimmed` leaves out.
_PLACE = frozenset(
    {"source_id", "level", "chunk_index", "char_start", "char_end", "content_hash", SPANS, DOCUMENT_CONTEXT}
)
_UNNEEDED = (frozenset(HIDDEN) - _PLACE) | {"start_index", "end_index", "absolute_path", "sibling_files"}


class Piece(NamedTuple):
    """A chunk as an adapter needs it.

    Attributes:
        id: Its id.
        text: Its text.
        metadata: What kinsplit says about it: `BOOKKEEPING`, and `SPANS`, `CONTEXT` and `GAP` where they apply.
        said: What its strategy says about it, unless the document's own metadata say something else.
    """

    id: str
    text: str
    metadata: dict[str, Any]
    said: Mapping[str, Any]


def inherited(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the chunks of a text take over from its metadata: all that kinsplit doesn't say itself."""
    return {key: value for key, value in metadata.items() if key not in _DROPPED}


def slimmed(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Return the metadata of a chunk or passage for a prompt: the document's own, the chunk's place, and its score.

    Left are `source_id`, `level`, `chunk_index`, `char_start`, `char_end`, `spans`, `content_hash` and `context`, by
    which it can be expanded by its kin and split again; of how it was found only the score. Metadata of anything else
    stay as they are.
    """
    if not is_marked(metadata):
        return dict(metadata)
    kept = {key: value for key, value in metadata.items() if key not in _UNNEEDED}
    if FINDING in kept:
        kept[FINDING] = {key: value for key, value in kept[FINDING].items() if key in ("score", "related_to")}
    return kept


def is_slim(metadata: Mapping[str, Any]) -> bool:
    """Whether metadata are those of a chunk, without what `slimmed` leaves out."""
    return "chunk_index" in metadata and "total_chunks" not in metadata


def check_inputs(names: Sequence[str], metadatas: Iterable[Mapping[str, Any]]) -> None:
    """Make sure that texts can be told apart, and warn where their own metadata will be replaced.

    Args:
        names: The texts' names.
        metadatas: The metadata of those that are whole documents.

    Raises:
        InvalidParameterError: Two texts have the same name.
    """
    if len(set(names)) < len(names):
        name = Counter(names).most_common(1)[0][0]
        remedy = "Give each document an id of its own, or split them one after the other."
        raise InvalidParameterError("documents", "must have different ids", name, remedy)
    replaced = sorted(_REPLACED.intersection(chain.from_iterable(metadatas)))
    if replaced:
        keys = ", ".join(map(repr, replaced))
        warnings.warn(f"metadata: in the chunks {keys} will be kinsplit's own. Rename the keys.", stacklevel=3)


def arrange(
    strategy: str,
    origins: Sequence[Origin],
    texts: Sequence[str],
    chunked: Sequence[Sequence[Chunk]],
    ids: Mapping[str, str] = MappingProxyType({}),
) -> list[list[Piece]]:
    """Give chunks their place in their documents and link them to their kin.

    Chunks of a whole document keep what the strategy says. Chunks of chunks are counted and linked through all the
    given chunks of their document, in the given order, and those of the top level have the chunk that they come from
    as parent.

    Args:
        strategy: The strategy's name.
        origins: Where the texts come from.
        texts: The texts.
        chunked: The chunks of each text.
        ids: For each chunk's id the one to use instead; ids that are missing stay.

    Returns:
        The pieces of each text, in the order of its chunks.
    """
    arranged = [
        [_piece(strategy, origin, chunk, gap, ids) for chunk, gap in zip(chunks, _gaps(text, chunks), strict=True)]
        for origin, text, chunks in zip(origins, texts, chunked, strict=True)
    ]
    if len({origin.source_id for origin in origins}) < len(origins):
        lines: defaultdict[tuple[object, ...], list[list[Piece]]] = defaultdict(list)
        for origin, pieces in zip(origins, arranged, strict=True):
            for level, run in groupby(pieces, key=lambda piece: piece.metadata["level"]):
                lines[origin.source_id, origin.level, level].append(list(run))
        for runs in lines.values():
            _join(runs)
    return arranged


def _gaps(text: str, chunks: Sequence[Chunk]) -> list[str | None]:
    """Return the white space between each chunk and the sibling before it, None where there is none or more than that.

    Where a strategy gathers what lies apart, other chunks may lie between siblings; there it is the white space before
    each chunk, whatever lies before that.
    """
    if any(len(chunk.spans) > 1 for chunk in chunks):
        return [blank_before(text, chunk.start) for chunk in chunks]
    between = [
        text[before.end : chunk.start] if before is not None and before.level == chunk.level else ""
        for before, chunk in zip([None, *chunks], chunks, strict=False)
    ]
    return [gap if gap.isspace() else None for gap in between]


def _piece(strategy: str, origin: Origin, chunk: Chunk, gap: str | None, ids: Mapping[str, str]) -> Piece:
    spans = origin.locate(chunk.spans)
    context = _nested(origin.context, chunk.context)
    metadata = {
        **select(chunk, _FIELDS),
        "source_id": origin.source_id,
        "parent_id": _renamed(chunk.parent_id, ids) or origin.parent_id,
        "prev_id": _renamed(chunk.prev_id, ids),
        "next_id": _renamed(chunk.next_id, ids),
        "char_start": spans[0].start if spans else None,
        "char_end": spans[-1].end if spans else None,
        "strategy": strategy,
        "content_hash": chunk.content_hash if context == chunk.context else content_hash(chunk.text, context),
    }
    if spans and len(spans) > 1:
        metadata[SPANS] = [list(span) for span in spans]
    if context:
        metadata[CONTEXT] = context
    if gap is not None:
        metadata[GAP] = gap
    return Piece(ids.get(chunk.id, chunk.id), chunk.text, metadata, chunk.metadata)


def _renamed(old: str | None, ids: Mapping[str, str]) -> str | None:
    return None if old is None else ids.get(old, old)


def _nested(outer: str, inner: str) -> str:
    """Return the context of a chunk of a chunk, in which a path of headings is not repeated."""
    if not outer or not inner:
        return outer or inner
    return outer if outer.endswith(inner) else f"{outer}\n{inner}"


def _join(runs: Sequence[Sequence[Piece]]) -> None:
    """Count and link the pieces of one level of one document that come from several of its chunks."""
    pieces = [piece for run in runs for piece in run]
    for index, metadata in enumerate(piece.metadata for piece in pieces):
        metadata["chunk_index"] = index
        metadata["total_chunks"] = len(pieces)
        metadata["is_chunked"] = len(pieces) > 1
        metadata["prev_id"] = pieces[index - 1].id if index else None
        metadata["next_id"] = pieces[index + 1].id if index + 1 < len(pieces) else None
    for before, after in pairwise(runs):
        after[0].metadata["overlap"] = _shared(before[-1].metadata, after[0].metadata)


def _shared(before: Mapping[str, Any], after: Mapping[str, Any]) -> int:
    """Return by how much a piece begins inside the one before."""
    first, second = spans_of(before), spans_of(after)
    return 0 if first is None or second is None else shared(first, second)
