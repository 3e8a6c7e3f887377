"""A document's chunks, completed by the levels above them: parents and the document itself."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from kinsplit.chunk import DOCUMENT, SEPARATOR, Chunk, Document, heading_path
from kinsplit.identity import chunk_id, content_hash, document_hash
from kinsplit.spans import Span, merge_spans, shared

#: Longest parent, in characters, that is made of a flat strategy's chunks: about 500 to 1,000 tokens of English.
PARENT_LENGTH = 4000


def with_kin(document: Document, chunks: Sequence[Chunk], fingerprint: str) -> list[Chunk]:
    """Return the chunks of all levels of a document.

    Where the strategy made leaves only, they get parents: the document's sections, as the leaves' contexts tell them,
    or runs of siblings where a section is longer than `PARENT_LENGTH` or there are none. On top comes a chunk for the
    whole document, which repeats no text: it is there to be ranked.

    Args:
        document: The document.
        chunks: What the strategy made of it.
        fingerprint: The strategy's, which is part of every id.

    Returns:
        The document, the parents and the leaves; nothing for a document without chunks.
    """
    leaves = [chunk for chunk in chunks if chunk.level == 0]
    if not leaves:
        return []
    complete = list(chunks) if len(leaves) < len(chunks) else _with_parents(document, leaves, fingerprint)
    return [_whole(document, leaves, fingerprint), *complete]


def _whole(document: Document, leaves: Sequence[Chunk], fingerprint: str) -> Chunk:
    return Chunk(
        id=chunk_id(document.id, fingerprint, DOCUMENT, 0),
        source_id=document.id,
        index=0,
        total=1,
        level=DOCUMENT,
        spans=(Span(0, len(document.text)),),
        text="",
        content_hash=document_hash(leaf.content_hash for leaf in leaves),
        metadata=document.metadata,
    )


def _with_parents(document: Document, leaves: Sequence[Chunk], fingerprint: str) -> list[Chunk]:
    places = _Places(document.text, any(len(leaf.spans) > 1 for leaf in leaves))
    runs = list(_runs(leaves, places))
    ids = [chunk_id(document.id, fingerprint, 1, index) for index in range(len(runs))]
    around = [None, *ids, None]
    parents: list[Chunk] = []
    before: tuple[Span, ...] = ()
    for index, run in enumerate(runs):
        spans = places.of(run)
        text, context = SEPARATOR.join(document.text[start:end] for start, end in spans), run[0].context
        parents.append(
            Chunk(
                id=ids[index],
                source_id=document.id,
                index=index,
                total=len(runs),
                level=1,
                spans=spans,
                text=text,
                overlap=shared(before, spans),
                prev_id=around[index],
                next_id=around[index + 2],
                context=context,
                content_hash=content_hash(text, context),
                metadata=document.metadata,
            )
        )
        before = spans
    children = [replace(leaf, parent_id=ids[index]) for index, run in enumerate(runs) for leaf in run]
    return [*parents, *children]


class _Places(NamedTuple):
    """Where parents lie.

    Attributes:
        text: The document's.
        gathered: Whether leaves have several spans, so that what lies between two of them may belong to others.
    """

    text: str
    gathered: bool

    def of(self, run: Sequence[Chunk]) -> tuple[Span, ...]:
        """Return where the parent of some leaves lies: from the first to the last one, or just where they lie."""
        if self.gathered:
            return merge_spans((span for leaf in run for span in leaf.spans), self.text)
        return (Span(min(leaf.start for leaf in run), max(leaf.end for leaf in run)),)


def _runs(leaves: Sequence[Chunk], places: _Places) -> Iterator[Sequence[Chunk]]:
    """Yield the leaves by section, sections that are too long in runs of about equal length."""
    first = 0
    for last in range(1, len(leaves) + 1):
        if last == len(leaves) or heading_path(leaves[last].context) != heading_path(leaves[first].context):
            yield from _even(leaves[first:last], places)
            first = last


def _even(section: Sequence[Chunk], places: _Places) -> Iterator[Sequence[Chunk]]:
    length = sum(end - start for start, end in places.of(section))
    parts = min(len(section), -(-length // PARENT_LENGTH))
    size, more = divmod(len(section), parts)
    first = 0
    for part in range(parts):
        last = first + size + (part < more)
        yield section[first:last]
        first = last
