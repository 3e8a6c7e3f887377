"""Passages, answers and documents of a collection as results of the tools, whose schemas models read.

Ranges are half-open and count Unicode code points of the document as it was indexed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any

from pydantic import Field

from kinsplit.answering import Answer
from kinsplit.chunk import Chunk, heading_path
from kinsplit.errors import InvalidParameterError, require
from kinsplit.identity import chunk_id
from kinsplit.retrieval import Candidate, Passage, cite, join
from kinsplit.server.collections import Collections, OpenCollection
from kinsplit.wire import Extent, RankedText, RowView, answer_row, passage_row, visible_metadata

#: Characters of an excerpt; a longer one is read in several calls.
MOST = 20_000
_UNKNOWN = "list_documents lists the ids."


class DocumentPlace(Extent):
    """A part of a document."""

    citation: str = Field(description="How to cite it: the document, its pages if it has any, and the range.")
    source_id: str = Field(description="Id of the document, for `read`.")
    section: str = Field(description="Headings above it, or empty.")


class PassageResult(DocumentPlace, RankedText):
    """A passage that answers the question."""


class FoundPassages(RowView):
    """The passages found for a question."""

    collection: str = Field(description="Collection that was searched.")
    passages: list[PassageResult] = Field(description="Passages, best first; empty if nothing was found or fits.")


class AnswerSource(DocumentPlace):
    """A passage that an answer cites by its number."""

    number: int = Field(description="Number in the answer's citations, such as [1].")
    text: str = Field(description="Text of the passage.")


class SentenceCheck(RowView):
    """The check of one sentence of the answer against the passages it cites."""

    text: str = Field(description="The sentence.")
    status: str = Field(description="found, not_found, uncited or no_such_source.")
    cited: list[int] = Field(description="Numbers of the passages that it cites.")


class Answered(RowView):
    """An answer with its sources."""

    collection: str = Field(description="Collection that was searched.")
    text: str = Field(description="The answer, with citations such as [1].")
    verdict: str = Field(
        description="supported, partly_supported or unsupported by its sources; not_in_material; quoted, if no model "
        "answered and sentences are quoted instead; or broken_off."
    )
    model: str | None = Field(description="Language model that answered, if any.")
    sources: list[AnswerSource] = Field(description="The passages, best first.")
    checks: list[SentenceCheck] = Field(description="Check of each sentence.")
    notices: list[dict[str, str]] = Field(description="Remarks for the reader, each with its `kind` and `message`.")


class DocumentExcerpt(DocumentPlace):
    """A part of a document as it was indexed."""

    text: str = Field(description="The text; a blank line separates parts that don't adjoin.")
    chunks: list[str] = Field(description="Ids of its chunks, in document order.")
    first_chunk: int = Field(description="Index of its first chunk in the document, from 0.")
    total_chunks: int = Field(description="Number of chunks of the document.")
    next_start: int | None = Field(description="Where to continue reading by `start`; null at the end of the document.")
    metadata: dict[str, Any] = Field(description="Metadata of the document.")


class DocumentEntry(RowView):
    """A document of a collection."""

    source_id: str = Field(description="Id of the document.")
    chunks: int = Field(description="Number of chunks.")
    metadata: dict[str, Any] = Field(description="Metadata, which `where` can test.")


class Documents(RowView):
    """A page of the documents of a collection, ordered by id."""

    collection: str = Field(description="Collection that was listed.")
    collections: list[str] = Field(description="All collections.")
    total: int = Field(description="Number of documents that match.")
    offset: int = Field(description="Number of documents before this page.")
    documents: list[DocumentEntry]


def to_found(collection: str, passages: Sequence[Passage]) -> FoundPassages:
    """Return the passages that a search found."""
    rows = [
        _cited(passage_row(passage, rank), heading_path(passage.context)) for rank, passage in enumerate(passages, 1)
    ]
    return FoundPassages.model_validate({"collection": collection, "passages": rows})


def to_answered(collection: str, answer: Answer) -> Answered:
    """Return an answer."""
    row = answer_row(answer)
    sources = [_cited(source, source["section"]) for source in row["sources"]]
    return Answered.model_validate({**row, "collection": collection, "sources": sources})


def _cited(row: dict[str, Any], section: str) -> dict[str, Any]:
    """Return the row of a passage with its citation and the headings above it."""
    citation = cite(row["source_id"], row["start"], row["end"], row["pages"])
    return {**row, "citation": citation, "section": section}


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
    collection: OpenCollection, source_id: str, start: int, end: int, before: int, after: int
) -> DocumentExcerpt:
    """Read the chunks of a document that a range touches, with their siblings.

    Raises:
        InvalidParameterError: There is no such document, or the range is empty or beyond its end.
    """
    chunks = collection.index.store.find({"source_id": source_id}, level=0)
    require(chunks, "source_id", "must be the id of a document", source_id, _UNKNOWN)
    touched = [n for n, chunk in enumerate(chunks) if any(s.start < end and start < s.end for s in chunk.spans)]
    length = max(chunk.end for chunk in chunks)
    remedy = f"Its text ends at {length}."
    require(touched, "start", "must be before end and within the text", f"{start} to {end}", remedy)
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
    return DocumentExcerpt.model_validate(
        {
            **_cited(passage_row(passage), heading_path(passage.context)),
            "first_chunk": fitting[0].index,
            "total_chunks": fitting[0].total,
            "next_start": None if beyond is None else max(passage.end, beyond.start),
        }
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
        DocumentEntry(source_id=id_, chunks=number, metadata=_metadata(first.get(id_))) for id_, number in page.items()
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
