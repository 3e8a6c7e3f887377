"""The metadata of chunks, the same in both frameworks, and also for chunks of chunks."""

from __future__ import annotations

import warnings
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from itertools import chain, groupby, pairwise
from operator import attrgetter
from types import MappingProxyType
from typing import Any, NamedTuple

from kinsplit.chunk import FIELDS, GAP, SIMILARITY_GAP, Beside, Chunk
from kinsplit.details import DETAILS, details, flat
from kinsplit.errors import InvalidParameterError
from kinsplit.identity import DOCUMENT_CONTEXT, content_hash
from kinsplit.integrations.shared.origins import CONTEXT, TextOrigin, has_chunk_metadata, spans_of
from kinsplit.integrations.shared.pages import OFFSETS, PAGES, FrameworkPage, first_page, page_metadata
from kinsplit.spans import blank_before, shared

# Fields of a chunk that its metadata hold only where they apply, or not at all.
_APART = {CONTEXT, "beside", "spans", "char_start", "char_end", "content_hash", "full_content", "token_count"}
_STORED = {
    "chunk_id": "id",
    **{field.stored: field.attribute for field in FIELDS if field.stored is not None and field.stored not in _APART},
}
_FIELDS, _VALUES = tuple(_STORED), attrgetter(*_STORED.values())
_IDS = ("chunk_id", "parent_id", "prev_id", "next_id")

#: Keys in every chunk's metadata, excluded from the text that embedding and language models read; offsets are missing
#: if they aren't known.
BOOKKEEPING = (*_FIELDS, "char_start", "char_end", "strategy", "content_hash")

#: `BOOKKEEPING` and the other excluded keys, which only some chunks have.
HIDDEN = (*BOOKKEEPING, DETAILS, GAP, SIMILARITY_GAP, DOCUMENT_CONTEXT)

_REPLACED = frozenset({*HIDDEN, CONTEXT, "beside", "spans"}) - {DETAILS}
# The scores of a passage don't apply to its chunks.
_DROPPED = _REPLACED | {DETAILS, PAGES}


# Keys of `HIDDEN` that `slimmed` keeps, and all keys that it leaves out.
_POSITION = frozenset(
    {"chunk_id", "source_id", "level", "chunk_index", "char_start", "char_end", "content_hash", DOCUMENT_CONTEXT}
)
_UNNEEDED = (
    (frozenset(HIDDEN) - _POSITION)
    | {*OFFSETS}
    | {"start_index", "end_index", "absolute_path", "sibling_files", "previous_file", "next_file"}
)
_NEEDED_DETAILS = ("spans", "beside", "score", "related_to")


class FrameworkPiece(NamedTuple):
    """A chunk prepared for a framework."""

    id: str
    text: str
    metadata: dict[str, Any]  # `BOOKKEEPING`, as far as it has values, and what else applies, not flat yet.
    extra: Mapping[str, Any]  # The strategy's metadata, which the document's own override.
    page: Mapping[str, Any] = MappingProxyType({})  # Metadata of the page on which it starts that others don't share.

    def flat(self, inherited: Mapping[str, Any]) -> dict[str, Any]:
        """Return the flat metadata of the chunk, with those that it inherits."""
        return flat({**self.extra, **inherited, **self.metadata})


def inherited(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Return the metadata that the chunks of a text inherit: all keys that kinsplit doesn't set."""
    dropped = _DROPPED | {*OFFSETS} if has_chunk_metadata(metadata) else _DROPPED
    return {key: value for key, value in metadata.items() if key not in dropped}


def slimmed(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Return the metadata of a chunk or passage for a prompt: the document's own, the chunk's position, and its score.

    The keys `chunk_id`, `source_id`, `level`, `chunk_index`, `char_start`, `char_end`, `content_hash` and `context` of
    kinsplit remain, and of its details `spans` and `beside`, which are enough to expand it by its kin and to split it
    again; and of the search result, the score. Metadata of other texts are unchanged.
    """
    if not has_chunk_metadata(metadata):
        return dict(metadata)
    kept = {key: value for key, value in metadata.items() if key not in _UNNEEDED}
    own = details(metadata)
    return flat(kept, **{key: own[key] for key in _NEEDED_DETAILS if key in own})


def is_slim(metadata: Mapping[str, Any]) -> bool:
    """Return whether these are slim metadata of a chunk; see `slimmed`."""
    return "chunk_index" in metadata and "total_chunks" not in metadata


def check_inputs(names: Sequence[str], texts: Sequence[str], metadatas: Iterable[Mapping[str, Any]]) -> list[int]:
    """Return the indices of the texts without repeated ones, and warn if kinsplit's keys will replace metadata.

    Raises:
        InvalidParameterError: Two different texts have the same name.
    """
    first: dict[str, int] = {}
    for index, name in enumerate(names):
        other = first.setdefault(name, index)
        if texts[other] != texts[index]:
            rule = f"must have different ids if their texts differ, but those at {other} and {index} have the same"
            remedy = "Give each document an id of its own, or split them separately."
            raise InvalidParameterError("documents", rule, name, remedy)
    replaced = sorted(_REPLACED.intersection(chain.from_iterable(metadatas)))
    if replaced:
        keys = ", ".join(map(repr, replaced))
        warnings.warn(f"metadata: kinsplit's own values replace {keys} in the chunks. Rename the keys.", stacklevel=3)
    return list(first.values())


def arrange(
    strategy: str,
    origins: Sequence[TextOrigin],
    texts: Sequence[str],
    chunked: Sequence[Sequence[Chunk]],
    pages: Sequence[Sequence[FrameworkPage]],
    ids: Mapping[str, str] = MappingProxyType({}),
) -> list[list[FrameworkPiece]]:
    """Locate chunks in their documents and link them to their kin.

    Chunks of a whole document keep their positions and links. Chunks of chunks are numbered and linked across all the
    given chunks of their document, in the given order, and those of the top level get the chunk that was split as
    parent.

    Args:
        strategy: Name of the strategy.
        origins: Origins of the texts.
        texts: The texts.
        chunked: The chunks of each text.
        pages: The pages of each text's document, as far as the text extends; see `kinsplit.integrations.shared.pages`.
        ids: Ids that replace those of the chunks; other ids stay.

    Returns:
        The pieces of each text, in the order of its chunks.
    """
    arranged = [
        [_piece(strategy, origin, chunk, gap, ids, own) for chunk, gap in zip(chunks, _gaps(text, chunks), strict=True)]
        for origin, text, chunks, own in zip(origins, texts, chunked, pages, strict=True)
    ]
    if len({origin.source_id for origin in origins}) < len(origins):
        lines: defaultdict[tuple[object, ...], list[list[FrameworkPiece]]] = defaultdict(list)
        for origin, pieces in zip(origins, arranged, strict=True):
            for level, run in groupby(pieces, key=lambda piece: piece.metadata["level"]):
                lines[origin.source_id, origin.level, level].append(list(run))
        for runs in lines.values():
            _join(runs)
    return arranged


def _gaps(text: str, chunks: Sequence[Chunk]) -> list[str | None]:
    """Return the white space between each chunk and its previous sibling; None without any, or if there is other text.

    If chunks have several spans, other chunks may lie between siblings: then it is the white space before each chunk.
    """
    if any(len(chunk.spans) > 1 for chunk in chunks):
        return [blank_before(text, chunk.start) for chunk in chunks]
    between = [
        text[before.end : chunk.start] if before is not None and before.level == chunk.level else ""
        for before, chunk in zip([None, *chunks], chunks, strict=False)
    ]
    return [gap if gap.isspace() else None for gap in between]


def _piece(
    strategy: str,
    origin: TextOrigin,
    chunk: Chunk,
    gap: str | None,
    ids: Mapping[str, str],
    pages: Sequence[FrameworkPage],
) -> FrameworkPiece:
    spans = origin.locate(chunk.spans)
    beside = _nested(origin.beside, chunk.beside)
    metadata = dict(zip(_FIELDS, _VALUES(chunk), strict=True))
    for key in _IDS if ids else ():
        metadata[key] = ids.get(metadata[key], metadata[key])
    metadata["source_id"] = origin.source_id
    metadata["parent_id"] = metadata["parent_id"] or origin.parent_id
    metadata["strategy"] = strategy
    metadata["content_hash"] = (
        chunk.content_hash if beside is chunk.beside else content_hash(chunk.text, beside.context)
    )
    if spans:
        metadata["char_start"], metadata["char_end"] = spans[0].start, spans[-1].end
    if spans and len(spans) > 1:
        metadata["spans"] = [list(span) for span in spans]
    if beside:
        metadata |= beside.to_metadata()
    if gap is not None:
        metadata[GAP] = gap
    own: Mapping[str, Any] = {}
    if pages and spans:
        metadata |= page_metadata(pages, spans)
        own = first_page(pages, spans[0].start)
    return FrameworkPiece(metadata["chunk_id"], chunk.text, metadata, chunk.metadata, own)


def _nested(outer: Beside, inner: Beside) -> Beside:
    """Return what stands beside a chunk of a chunk, without repeating headings."""
    if not outer:
        return inner
    titles = outer.headings
    known = next(n for n in range(len(titles) + 1) if titles[n:] == inner.headings[: len(titles) - n])
    stated = {field.name: getattr(inner, field.name) or getattr(outer, field.name) for field in fields(Beside)}
    both = Beside(**{**stated, "headings": (*titles[:known], *inner.headings)})
    return inner if both == inner else both


def _join(runs: Sequence[Sequence[FrameworkPiece]]) -> None:
    """Number and link the pieces of one level of one document that come from several of its chunks."""
    pieces = [piece for run in runs for piece in run]
    for index, metadata in enumerate(piece.metadata for piece in pieces):
        metadata |= {"chunk_index": index, "total_chunks": len(pieces), "is_chunked": len(pieces) > 1}
        metadata["prev_id"] = pieces[index - 1].id if index else None
        metadata["next_id"] = pieces[index + 1].id if index + 1 < len(pieces) else None
    for before, after in pairwise(runs):
        after[0].metadata["overlap"] = _shared(before[-1].metadata, after[0].metadata)


def _shared(before: Mapping[str, Any], after: Mapping[str, Any]) -> int:
    """Return the length of the overlap of a piece with the previous one."""
    first, second = spans_of(before), spans_of(after)
    return 0 if first is None or second is None else shared(first, second)
