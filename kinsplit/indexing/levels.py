"""Construction of a document's chunks of all levels, as they are stored."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import fields, replace
from hashlib import blake2b

import kinsplit
from kinsplit.chunk import DOCUMENT, FILE_DIGEST, GAP, SEPARATOR, STATE, Chunk, Document
from kinsplit.identity import DOCUMENT_CONTEXT, chunk_id, content_hash, document_hash, embedding_hash, title_of
from kinsplit.parsers import Strategy
from kinsplit.parsers.base import position
from kinsplit.spans import Span, blank_before, merge_spans, shared
from kinsplit.stores.json_values import to_json
from kinsplit.stores.payload import contents_of, state_of

#: Largest parent, in characters, that is made from a flat strategy's chunks: about 500 to 1,000 tokens of English.
PARENT_LENGTH = 4000


def complete(
    document: Document, split: Sequence[Chunk], strategy: Strategy, *, late: bool = False, unfinished: bool = False
) -> list[Chunk]:
    """Return the chunks of all levels of a document, with the metadata that indexing adds; nothing without chunks.

    If the strategy made leaves only, they get parents: the document's sections, told by the leaves' headings, or runs
    of siblings if a section is longer than `PARENT_LENGTH` or there are no sections. The top level is a chunk of the
    whole document, which repeats no text and exists to be ranked. With late chunking, vectors depend on the whole
    document, and so do the content hashes. An unfinished document, which lacks placements, is made again by the next
    run.
    """
    leaves = [chunk for chunk in split if chunk.level == 0]
    if not leaves:
        return []
    gathered = any(len(chunk.spans) > 1 for chunk in split)
    parents, parent_ids = (
        _parents(document, leaves, strategy.fingerprint, gathered) if len(leaves) == len(split) else ([], {})
    )
    levels = [*parents, *split]
    text_hash = document_hash([document.text]) if late else ""
    completed: list[Chunk] = []
    for number, chunk in enumerate(levels):
        metadata = {**chunk.metadata, **({DOCUMENT_CONTEXT: f"{text_hash}:{chunk.start}"} if late else {})}
        completed.append(
            replace(
                chunk,
                parent_id=parent_ids.get(chunk.id, chunk.parent_id),
                content_hash=embedding_hash(chunk.text, chunk.context, metadata) if late else chunk.content_hash,
                metadata={
                    **metadata,
                    "strategy": strategy.name,
                    **_gap(document.text, chunk, levels[number - 1] if number else None, gathered),
                },
            )
        )
    whole = _whole(document, completed, strategy, gathered)
    if not unfinished and (origin := origin_of(document, strategy)):
        contents = contents_of({chunk.id: chunk.content_hash for chunk in (whole, *completed)})
        whole = replace(whole, metadata={**whole.metadata, STATE: state_of(origin, contents)})
    return [whole, *completed]


def origin_of(document: Document, strategy: Strategy) -> str | None:
    """Return a hash, as 32 hexadecimal digits, of all that a document's chunks are made from besides the parameters.

    None if the strategy could make other chunks in another run.
    """
    if not strategy.repeatable:
        return None
    made = {each.name: getattr(document, each.name) for each in fields(document)}
    made |= {"metadata": to_json(document.metadata, "metadata"), "strategy": strategy.name}
    made["version"] = kinsplit.__version__
    # ASCII, since a text may have lone surrogates.
    return blake2b(json.dumps(made, sort_keys=True).encode(), digest_size=16).hexdigest()


def _whole(document: Document, chunks: Sequence[Chunk], strategy: Strategy, gathered: bool) -> Chunk:
    end = len(document.text)
    return Chunk(
        id=chunk_id(document.id, strategy.fingerprint, DOCUMENT, 0),
        source_id=document.id,
        index=0,
        total=1,
        level=DOCUMENT,
        spans=(Span(0, end),),
        text="",
        content_hash=document_hash(
            (chunk.content_hash for chunk in chunks if chunk.level == 0), title_of(document.metadata)
        ),
        metadata={
            **document.metadata,
            "strategy": strategy.name,
            **position(document, 0, end),
            **({GAP: blank_before(document.text, 0)} if gathered else {}),
            **({FILE_DIGEST: document.digest} if document.digest else {}),
        },
    )


def _gap(text: str, chunk: Chunk, previous: Chunk | None, gathered: bool) -> dict[str, str]:
    """Return the white space between a chunk and its previous sibling.

    If chunks have several spans, the text between two siblings may belong to others.
    """
    if gathered:
        return {GAP: blank_before(text, chunk.start)}
    if previous is not None and previous.level == chunk.level and previous.end < chunk.start:
        return {GAP: text[previous.end : chunk.start]}
    return {}


def _parents(
    document: Document, leaves: Sequence[Chunk], fingerprint: str, gathered: bool
) -> tuple[list[Chunk], dict[str, str]]:
    """Return the parents of leaves, and the parent's id by each leaf's id."""
    runs = list(_runs(leaves, document.text, gathered))
    ids = [chunk_id(document.id, fingerprint, 1, index) for index in range(len(runs))]
    around = [None, *ids, None]
    parents: list[Chunk] = []
    before: tuple[Span, ...] = ()
    for index, run in enumerate(runs):
        spans = _spans(run, document.text, gathered)
        text = SEPARATOR.join(document.text[start:end] for start, end in spans)
        beside = replace(run[0].beside, placement="")
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
                beside=beside,
                content_hash=content_hash(text, beside.context),
                metadata={**document.metadata, **position(document, spans[0].start, spans[-1].end)},
            )
        )
        before = spans
    return parents, {leaf.id: ids[index] for index, run in enumerate(runs) for leaf in run}


def _spans(run: Sequence[Chunk], text: str, gathered: bool) -> tuple[Span, ...]:
    """Return the spans of a parent: those of its leaves if they are gathered, else one from first to last."""
    if gathered:
        return merge_spans((span for leaf in run for span in leaf.spans), text)
    return (Span(min(leaf.start for leaf in run), max(leaf.end for leaf in run)),)


def _runs(leaves: Sequence[Chunk], text: str, gathered: bool) -> Iterator[Sequence[Chunk]]:
    """Yield the leaves by section; sections that are too long are cut into runs of about equal length."""
    first = 0
    for last in range(1, len(leaves) + 1):
        if last == len(leaves) or leaves[last].beside.headings != leaves[first].beside.headings:
            section = leaves[first:last]
            length = sum(end - start for start, end in _spans(section, text, gathered))
            yield from _even(section, min(len(section), -(-length // PARENT_LENGTH)))
            first = last


def _even(section: Sequence[Chunk], parts: int) -> Iterator[Sequence[Chunk]]:
    """Yield a section in parts of about equally many chunks."""
    size, more = divmod(len(section), parts)
    first = 0
    for part in range(parts):
        last = first + size + (part < more)
        yield section[first:last]
        first = last
