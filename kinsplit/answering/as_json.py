"""Answers and events as JSON, the same for the command line and the service."""

from __future__ import annotations

from typing import Any

from kinsplit.answering.values import (
    Answer,
    Check,
    Citation,
    CitationFound,
    Event,
    Notice,
    Source,
    SourcesFound,
    TextPiece,
    pages_of,
)
from kinsplit.chunk import Chunk, select


def to_dict(answer: Answer) -> dict[str, Any]:
    """Return a finished answer. Offsets are in code points: `at` in the answer's text, all others in a document."""
    return {
        "question": answer.question,
        "text": answer.text,
        "verdict": answer.verdict,
        "model": answer.model,
        "sources": [_source(source) for source in answer.sources],
        "citations": [_citation(citation) for citation in answer.citations],
        "checks": [_check(each) for each in answer.checks],
        "notices": [_notice(notice) for notice in answer.notices],
    }


def event_to_dict(event: Event) -> tuple[str, dict[str, Any]]:
    """Return an event's name, for server-sent events, and its data."""
    if isinstance(event, SourcesFound):
        return "sources", {"sources": [_source(source) for source in event.sources]}
    if isinstance(event, TextPiece):
        return "text", {"text": event.text}
    if isinstance(event, CitationFound):
        return "citation", {"text": event.text, "citations": [_citation(each) for each in event.citations]}
    if isinstance(event, Notice):
        return "notice", _notice(event)
    return "finished", to_dict(event.answer)


def _source(source: Source) -> dict[str, Any]:
    return {
        "number": source.number,
        "source_id": source.source_id,
        "file": source.file,
        "pages": source.pages,
        "section": source.section,
        "score": source.score,
        "start": source.spans[0].start,
        "end": source.spans[-1].end,
        "spans": [list(span) for span in source.spans],
        **_chunk(source.best, "chunk_index", "total_chunks"),
        "text": source.text,
    }


def _citation(citation: Citation) -> dict[str, Any]:
    source, span, chunk = citation.source, citation.span, citation.chunk
    return {
        "number": citation.number,
        "at": list(citation.at),
        "valid": source is not None,
        "source_id": source.source_id if source else None,
        "file": source.file if source else None,
        "pages": citation.pages,
        **_chunk(chunk, "chunk_index"),
        "start": span.start if span else None,
        "end": span.end if span else None,
    }


def _check(check: Check) -> dict[str, Any]:
    return {
        "at": list(check.at),
        "text": check.text,
        "cited": list(check.cited),
        "status": check.status,
        "missing": list(check.missing),
        "evidence": [
            {
                "number": each.number,
                "start": each.span.start,
                "end": each.span.end,
                "pages": pages_of(each.chunk),
                **_chunk(each.chunk, "chunk_index"),
                "text": each.text,
                "score": each.score,
                "cosine": each.cosine,
                "overlap": each.overlap,
            }
            for each in check.evidence
        ],
    }


def _chunk(chunk: Chunk | None, *keys: str) -> dict[str, Any]:
    """Return a chunk's id and some of its fields, each None without a chunk."""
    if chunk is None:
        return dict.fromkeys(("chunk_id", *keys))
    return {"chunk_id": chunk.id, **select(chunk, keys)}


def _notice(notice: Notice) -> dict[str, str]:
    return {"kind": notice.kind, "message": notice.message}
