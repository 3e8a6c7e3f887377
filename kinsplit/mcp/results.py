"""Passages, answers and documents of a collection as results of the tools."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any

from kinsplit.answering import Answer
from kinsplit.chunk import Chunk, heading_path
from kinsplit.errors import InvalidParameterError
from kinsplit.identity import chunk_id
from kinsplit.mcp.models import (
    Answered,
    AnswerSource,
    DocumentEntry,
    DocumentExcerpt,
    Documents,
    PassageResult,
    SentenceCheck,
)
from kinsplit.retrieval import Candidate, Passage, cite, join
from kinsplit.server.collections import Collections, OpenCollection
from kinsplit.server.responses import visible_metadata

#: Characters of an excerpt; a longer one is read in several calls.
MOST = 20_000
_UNKNOWN = "list_documents lists the ids."


def to_found(rank: int, passage: Passage) -> PassageResult:
    """Return a passage with its rank, counted from 1."""
    return PassageResult(
        citation=passage.citation,
        document=passage.source_id,
        start=passage.start,
        end=passage.end,
        pages=passage.pages,
        section=heading_path(passage.context),
        rank=rank,
        score=passage.score,
        chunks=[chunk.id for chunk in passage.chunks],
        text=passage.text,
    )


def to_answered(collection: str, answer: Answer) -> Answered:
    """Return an answer."""
    sources = [
        AnswerSource(
            citation=cite(each.source_id, each.spans[0].start, each.spans[-1].end, each.pages),
            document=each.source_id,
            start=each.spans[0].start,
            end=each.spans[-1].end,
            pages=each.pages,
            section=each.section,
            number=each.number,
            text=each.text,
        )
        for each in answer.sources
    ]
    return Answered(
        collection=collection,
        answer=answer.text,
        verdict=answer.verdict,
        model=answer.model,
        sources=sources,
        checks=[
            SentenceCheck(sentence=each.text, status=each.status, cited=list(each.cited)) for each in answer.checks
        ],
        notices=[notice.message for notice in answer.notices],
    )


def read_chunk(collection: OpenCollection, id_: str, before: int, after: int, *, parent: bool) -> DocumentExcerpt:
    """Read a chunk with its siblings, or its parent.

    Raises:
        InvalidParameterError: There is no such chunk, or it has no parent.
    """
    store = collection.index.store
    found = next(iter(store.get([id_])), None)
    if found is None:
        remedy = "Take an id from `chunks` in a result of search."
        raise InvalidParameterError("chunk", "must be the id of a chunk", id_, remedy)
    if parent:
        whole = next(iter(store.get([found.parent_id])), None) if found.parent_id else None
        if whole is None:
            raise InvalidParameterError("parent", "needs a chunk with a parent", id_, "Use before and after instead.")
        return _excerpt(collection, [whole])
    first, last = max(0, found.index - before), min(found.total - 1, found.index + after)
    where = {"source_id": found.source_id, "chunk_index": {"$gte": first, "$lte": last}}
    return _excerpt(collection, store.find(where, found.level))


def read_span(
    collection: OpenCollection, document: str, start: int, end: int, before: int, after: int
) -> DocumentExcerpt:
    """Read the chunks of a document that a range touches, with their siblings.

    Raises:
        InvalidParameterError: There is no such document, or the range is empty or beyond its end.
    """
    chunks = collection.index.store.find({"source_id": document}, level=0)
    if not chunks:
        raise InvalidParameterError("document", "must be the id of a document", document, _UNKNOWN)
    touched = [n for n, chunk in enumerate(chunks) if any(s.start < end and start < s.end for s in chunk.spans)]
    if not touched:
        length = max(chunk.end for chunk in chunks)
        remedy = f"Its text ends at {length}."
        raise InvalidParameterError("start", "must be before end and within the text", f"{start} to {end}", remedy)
    return _excerpt(collection, chunks[max(0, touched[0] - before) : touched[-1] + after + 1])


def _excerpt(collection: OpenCollection, chunks: Sequence[Chunk]) -> DocumentExcerpt:
    """Return as many of consecutive chunks as fit, at least one."""
    fitting: list[Chunk] = []
    for chunk in chunks:
        if fitting and sum(len(each.text) for each in fitting) + len(chunk.text) > MOST:
            break
        fitting.append(chunk)
    passage, last = join(fitting, [Candidate(fitting[0], 0.0)]), fitting[-1]
    following = chunk_id(last.source_id, collection.index.strategy.fingerprint, last.level, last.index + 1)
    next_id = last.next_id or (following if last.index + 1 < last.total else None)
    beyond = next(iter(collection.index.store.get([next_id])), None) if next_id else None
    return DocumentExcerpt(
        citation=passage.citation,
        document=passage.source_id,
        start=passage.start,
        end=passage.end,
        pages=passage.pages,
        section=heading_path(passage.context),
        text=passage.text,
        chunks=[chunk.id for chunk in passage.chunks],
        first_chunk=fitting[0].index,
        total_chunks=fitting[0].total,
        next_start=None if beyond is None else max(passage.end, beyond.start),
        metadata=visible_metadata(passage.metadata),
    )


def list_page(
    collections: Collections, collection: OpenCollection, where: Mapping[str, Any] | None, offset: int, limit: int
) -> Documents:
    """List the documents of a collection that match a filter."""
    store = collection.index.store
    sources = store.sources(0, where)
    page = dict(islice(sources.items(), offset, offset + limit))
    fingerprint = collection.index.strategy.fingerprint
    first = {chunk.source_id: chunk for chunk in store.get([chunk_id(id_, fingerprint, 0, 0) for id_ in page])}
    rows = [
        DocumentEntry(document=id_, chunks=number, metadata=_metadata(first.get(id_))) for id_, number in page.items()
    ]
    return Documents(
        collection=collection.name,
        collections=[each.name for each in collections],
        total=len(sources),
        offset=offset,
        documents=rows,
    )


def _metadata(chunk: Chunk | None) -> dict[str, Any]:
    return {} if chunk is None else visible_metadata(join([chunk], [Candidate(chunk, 0.0)]).metadata)
