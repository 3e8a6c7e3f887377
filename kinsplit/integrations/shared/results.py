"""Search results for both frameworks: a text, its position as metadata, and all scores under one key."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from kinsplit.chunk import Chunk
from kinsplit.identity import chunk_id, content_hash
from kinsplit.integrations.shared.metadata import slimmed
from kinsplit.integrations.shared.origins import FINDING, SPANS
from kinsplit.integrations.shared.pages import OFFSETS
from kinsplit.integrations.shared.records import from_chunk
from kinsplit.retrieval import Passage


class Result(NamedTuple):
    """A passage, or a related file.

    Attributes:
        id: Id computed from the passage's position, so that the same passage has the same id.
        text: Its text.
        metadata: Metadata of the document, the passage's position in it, and `FINDING`.
        score: Score, higher is better; None if there is none.
    """

    id: str
    text: str
    metadata: dict[str, Any]
    score: float | None


def to_results(passages: Iterable[Passage], *, slim: bool = False) -> list[Result]:
    """Return passages as results, each followed by its related files.

    Args:
        passages: The passages.
        slim: Whether to keep only the metadata for a prompt; see `kinsplit.integrations.shared.metadata.slimmed`.
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
        finding: Value of the metadata key `FINDING`.
    """
    metadata = {
        **{key: value for key, value in passage.metadata.items() if key not in OFFSETS},
        "source_id": passage.source_id,
        "char_start": passage.start,
        "char_end": passage.end,
        "content_hash": content_hash(passage.text, passage.context),
    }
    apart = [list(span) for span in passage.spans] if len(passage.spans) > 1 else []
    if apart:
        metadata[SPANS] = apart
    if "start_index" in metadata:  # LangChain's key, from the best hit.
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


def with_rerank_score(metadata: Mapping[str, Any], score: float, before: float | None) -> dict[str, Any]:
    """Return the metadata of a reranked node or document.

    Args:
        metadata: Its metadata.
        score: Score of the reranker.
        before: Its earlier score, recorded as that of the stage `retrieval` if no stage has recorded one.
    """
    finding = metadata.get(FINDING) or {}
    scores = dict(finding.get("scores") or ({} if before is None else {"retrieval": before}))
    scores["rerank_passage" if "rerank" in scores else "rerank"] = score
    return {**metadata, FINDING: {**finding, "score": score, "scores": scores}}


def text_to_rerank(text: str, metadata: Mapping[str, Any]) -> str:
    """Return the text that a reranker reads: a chunk's context, if it has one, and its text."""
    context = metadata.get("context")
    return f"{context}\n\n{text}" if isinstance(context, str) and context else text


def to_related(chunk: Chunk, result: Result) -> Result:
    """Return another file of a result's group as a result."""
    item = from_chunk(chunk)
    finding: dict[str, Any] = {"score": result.score, "scores": {}, "hits": [], "related_to": result.id}
    return Result(item.id, item.text, {**item.metadata, FINDING: finding}, result.score)
