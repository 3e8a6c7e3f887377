"""JSON of chunks, passages, answers and events: the same in every door, which selects keys and adds its own.

Ranges are half-open. Offsets count code points of the document as it was indexed; `at` is in the text of an answer.
Metadata that describes the indexing machine, or belongs to a framework, is left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict, Field

from kinsplit.chunk import ABSOLUTE_PATH, FIELDS, GAP, Chunk, pages_of, select

if TYPE_CHECKING:
    from kinsplit.answering import Answer, Check, Citation, Event, Notice, Source
    from kinsplit.retrieval import Candidate, Passage, Passages

# The place of a chunk in its document.
_PLACE = [field.shown for field in FIELDS if field.shown not in (None, "source_id", "text")]

#: Description of `location` in the schemas.
LOCATION = "Course, title, section and pages or time in one line, for readers."


class RowView(BaseModel):
    """Base of the views of rows: a view takes its own keys from a row, and ignores the others."""

    model_config = ConfigDict(frozen=True)


class Extent(RowView):
    """The extent of a part of a document."""

    start: int = Field(description="First code point in the document.")
    end: int = Field(description="One past the last code point in the document.")
    pages: tuple[int, int] | None = Field(description="First and last page, from 1, if the document has pages.")


class RankedText(Extent):
    """What every door shows of a passage."""

    rank: int = Field(description="Rank, from 1.")
    score: float = Field(description="Score of the ranking; higher is better, and comparable within one search only.")
    source_id: str = Field(description="Id of the document.")
    location: str = Field(description=LOCATION)
    text: str = Field(description="Text of the passage; a blank line separates several spans.")
    chunks: list[str] = Field(description="Ids of all chunks of the passage, in document order.")


class Finding(RowView):
    """Findings about a search that accompany its passages at every door."""

    is_close: bool | None = Field(
        description="Whether any passage is close to the question, by meaning and by words; null if that isn't known. "
        "The passages are the best ones in any case."
    )
    named_course: str | None = Field(
        description="Course that the question names, if the collection has several; its passages rank higher."
    )
    notices: list[str] = Field(
        description="Remarks for the reader: that no passage is close, which course the question names, or, if nothing "
        "is found, each value of `where` that no chunk has, and near ones."
    )


def is_hidden(key: str) -> bool:
    """Return whether a metadata key describes the indexing machine or belongs to a framework."""
    return key in (ABSOLUTE_PATH, GAP) or key.startswith("_")


def visible_metadata(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Return metadata without the hidden keys."""
    return {key: value for key, value in metadata.items() if not is_hidden(key)}


def place_row(chunk: Chunk) -> dict[str, Any]:
    """Return the place of a chunk in its document, without its text."""
    return {**select(chunk, _PLACE), "pages": pages_of(chunk)}


def chunk_row(chunk: Chunk) -> dict[str, Any]:
    """Return a chunk with its text and metadata."""
    own = {"source_id": chunk.source_id, "text": chunk.text, "metadata": visible_metadata(chunk.metadata)}
    return {**place_row(chunk), **own}


def passage_row(passage: Passage, rank: int = 1) -> dict[str, Any]:
    """Return a passage with its rank, counted from 1."""
    return {
        "rank": rank,
        "score": passage.score,
        "scores": dict(passage.scores),
        **_given(passage, "source_id", "start", "end"),
        "spans": [list(span) for span in passage.spans],
        **_given(passage, "pages", "times", "location", "context"),
        "beside": passage.beside.to_dict(),
        "text": passage.text,
        "chunks": [chunk.id for chunk in passage.chunks],
        "related": [_given(chunk, "source_id", "text") for chunk in passage.related],
        "hits": [_hit(hit) for hit in passage.hits],
        "metadata": visible_metadata(passage.metadata),
    }


def finding_row(passages: Passages) -> dict[str, Any]:
    """Return what was found out about the question of a search."""
    return {**_given(passages, "is_close", "notices"), "named_course": passages.named_course or None}


def answer_row(answer: Answer) -> dict[str, Any]:
    """Return a finished answer."""
    return {
        **_given(answer, "question", "text", "verdict", "model"),
        "sources": [_source(source) for source in answer.sources],
        "citations": [_citation(citation) for citation in answer.citations],
        "checks": [_check(each) for each in answer.checks],
        "notices": [_notice(notice) for notice in answer.notices],
    }


def event_row(event: Event) -> tuple[str, dict[str, Any]]:
    """Return an event's name, for server-sent events, and its data."""
    from kinsplit.answering import CitationFound, Notice, SourcesFound, TextPiece, Withheld

    if isinstance(event, SourcesFound):
        return "sources", {"sources": [_source(source) for source in event.sources]}
    if isinstance(event, Withheld):
        return "withheld", {}
    if isinstance(event, TextPiece):
        return "text", {"text": event.text}
    if isinstance(event, CitationFound):
        return "citation", {"text": event.text, "citations": [_citation(each) for each in event.citations]}
    if isinstance(event, Notice):
        return "notice", _notice(event)
    return "finished", answer_row(event.answer)


def _given(part: object, *names: str) -> dict[str, Any]:
    """Return attributes by their names."""
    return {name: getattr(part, name) for name in names}


def _hit(hit: Candidate) -> dict[str, Any]:
    from kinsplit.retrieval.passage import location_of

    return {**place_row(hit.chunk), "location": location_of(hit.chunk), "score": hit.score, "scores": dict(hit.scores)}


def _source(source: Source) -> dict[str, Any]:
    return {
        **_given(source, "number", "source_id", "file", "pages", "section", "location", "score"),
        "start": source.spans[0].start,
        "end": source.spans[-1].end,
        "spans": [list(span) for span in source.spans],
        "context": source.beside.context,
        "beside": source.beside.to_dict(),
        **_chunk(source.best, "chunk_index", "total_chunks"),
        "text": source.text,
        "hits": [_hit(hit) for hit in source.passage.hits] if source.passage else [],
    }


def _citation(citation: Citation) -> dict[str, Any]:
    source, span = citation.source, citation.span
    return {
        "number": citation.number,
        "at": list(citation.at),
        "valid": source is not None,
        **{name: getattr(source, name, None) for name in ("source_id", "file")},
        "pages": citation.pages,
        **_chunk(citation.chunk, "chunk_index"),
        **{name: getattr(span, name, None) for name in ("start", "end")},
    }


def _check(check: Check) -> dict[str, Any]:
    evidence = [
        {
            "number": each.number,
            "start": each.span.start,
            "end": each.span.end,
            "pages": pages_of(each.chunk),
            **_chunk(each.chunk, "chunk_index"),
            **_given(each, "text", "score", "similarity", "overlap"),
        }
        for each in check.evidence
    ]
    own = {"at": list(check.at), "text": check.text, "cited": list(check.cited), "status": check.status}
    return {**own, "missing": list(check.missing), "evidence": evidence}


def _chunk(chunk: Chunk | None, *keys: str) -> dict[str, Any]:
    """Return a chunk's id and some of its fields, each None without a chunk."""
    return dict.fromkeys(("chunk_id", *keys)) if chunk is None else {"chunk_id": chunk.id, **select(chunk, keys)}


def _notice(notice: Notice) -> dict[str, str]:
    return _given(notice, "kind", "message")
