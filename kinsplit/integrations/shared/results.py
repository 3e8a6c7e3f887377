"""Passages as both frameworks return them: a text, its place as metadata, and every score under one key."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from kinsplit.chunk import Chunk
from kinsplit.identity import chunk_id, content_hash
from kinsplit.integrations.shared.metadata import slimmed
from kinsplit.integrations.shared.origins import FINDING, SPANS
from kinsplit.integrations.shared.records import from_chunk
from kinsplit.retrieval import Passage


class Result(NamedTuple):
    """A passage, or a file that belongs to one.

    Attributes:
        id: Made of the passage's place, so the same for the same passage.
        text: Its text.
        metadata: The document's, the passage's place in it, and `FINDING`.
        score: Higher is better; None where nothing gave one.
    """

    id: str
    text: str
    metadata: dict[str, Any]
    score: float | None


def to_results(passages: Iterable[Passage], *, slim: bool = False) -> list[Result]:
    """Return passages as results, each followed by the related files that came with it.

    Args:
        passages: The passages.
        slim: Whether metadata are those for a prompt; see `kinsplit.integrations.shared.metadata.slimmed`.
    """
    results = []
    for passage in passages:
        finding = {
            "score": passage.score,
            "scores": dict(passage.scores),
            "hits": [{"id": from_chunk(hit.chunk).id, "score": hit.score} for hit in passage.hits],
        }
        result = to_result(passage, finding)
        results.append(result)
        results += [to_related(chunk, result) for chunk in passage.related]
    return [result._replace(metadata=slimmed(result.metadata)) for result in results] if slim else results


def to_result(passage: Passage, finding: Mapping[str, Any]) -> Result:
    """Return a passage as a result.

    Args:
        passage: The passage.
        finding: How it was found; see `FINDING`.
    """
    metadata = {
        **passage.metadata,
        "source_id": passage.source_id,
        "char_start": passage.start,
        "char_end": passage.end,
        "content_hash": content_hash(passage.text, passage.context),
    }
    apart = [list(span) for span in passage.spans] if len(passage.spans) > 1 else []
    if apart:
        metadata[SPANS] = apart
    if "start_index" in metadata:  # LangChain's name, which the best hit brought along.
        metadata |= {"start_index": passage.start, "end_index": passage.end}
    if passage.pages:
        metadata["page_start"], metadata["page_end"] = passage.pages
    if passage.times:
        metadata["time_start"], metadata["time_end"] = passage.times
    if passage.context:
        metadata["context"] = passage.context
    metadata[FINDING] = dict(finding)
    kind = f"passage {apart}" if apart else "passage"
    identity = chunk_id(passage.source_id, kind, passage.start, passage.end)
    return Result(identity, passage.text, metadata, finding["score"])


def judged(metadata: Mapping[str, Any], score: float, before: float | None) -> dict[str, Any]:
    """Return the metadata of what a reranker has judged.

    Args:
        metadata: Its metadata so far.
        score: The reranker's.
        before: The score so far, kept as that of the stage `retrieval` where no stage has left its own.
    """
    finding = metadata.get(FINDING) or {}
    scores = dict(finding.get("scores") or ({} if before is None else {"retrieval": before}))
    scores["rerank_passage" if "rerank" in scores else "rerank"] = score
    return {**metadata, FINDING: {**finding, "score": score, "scores": scores}}


def judged_text(text: str, metadata: Mapping[str, Any]) -> str:
    """Return what a reranker reads: a chunk's context, where it has one, before its text."""
    context = metadata.get("context")
    return f"{context}\n\n{text}" if isinstance(context, str) and context else text


def to_related(chunk: Chunk, result: Result) -> Result:
    """Return another file of a result's group as a result."""
    item = from_chunk(chunk)
    finding: dict[str, Any] = {"score": result.score, "scores": {}, "hits": [], "related_to": result.id}
    return Result(item.id, item.text, {**item.metadata, FINDING: finding}, result.score)
