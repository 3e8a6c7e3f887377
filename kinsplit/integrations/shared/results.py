"""Search results for both frameworks, and their reranking: a text, its position, and all scores under one key."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, ClassVar, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, PrivateAttr

from kinsplit import embedding
from kinsplit.chunk import Chunk
from kinsplit.details import details, flat
from kinsplit.embedding.protocol import Embedder
from kinsplit.errors import require
from kinsplit.identity import content_hash
from kinsplit.index import Index
from kinsplit.integrations.shared.metadata import slimmed
from kinsplit.integrations.shared.origins import CONTEXT
from kinsplit.integrations.shared.pages import OFFSETS
from kinsplit.integrations.shared.records import from_chunk
from kinsplit.keywords import SearchKeywords
from kinsplit.options import SearchOptions
from kinsplit.retrieval import Passage, Passages, Reranker, create_reranker, related_once
from kinsplit.support.settings import FieldModel


class Result(NamedTuple):
    """A passage, or a related file."""

    id: str  # That of the passage's best chunk, by which evaluators and document stores know it.
    text: str
    metadata: dict[str, Any]  # Those of the document, the passage's position in it, and `kinsplit.details.details`.
    score: float | None  # Higher is better.


def to_results(passages: Passages, *, slim: bool = False) -> list[Result]:
    """Return passages as results, each followed by its related files that have none, all of them or `slimmed`.

    Each passage's metadata say whether any is close to the question, if that is known, and which course it names.
    """
    results = []
    finding = {"is_close": passages.is_close, "named_course": passages.named_course or None}
    known = {key: value for key, value in finding.items() if value is not None}
    for passage, related in zip(passages, related_once(passages), strict=True):
        hits = [(from_chunk(hit.chunk).id, hit.score) for hit in passage.hits]
        best = from_chunk(passage.best.chunk)
        result = to_result(passage, best.id, best.metadata, to_finding(passage.score, passage.scores, hits))
        result = result._replace(metadata=result.metadata | known)
        results.append(result)
        results += [to_related(chunk, result) for chunk in related]
    return [result._replace(metadata=slimmed(result.metadata)) for result in results] if slim else results


def to_result(passage: Passage, id_: str, best: Mapping[str, Any], finding: Mapping[str, Any]) -> Result:
    """Return a passage as a result with the id of its best hit, from the metadata of that, and what was found."""
    chunks = [from_chunk(chunk) for chunk in passage.chunks]
    metadata = {
        **{key: value for key, value in passage.metadata.items() if key not in OFFSETS},
        "chunk_id": best.get("chunk_id", id_),
        "source_id": passage.source_id,
        "prev_id": chunks[0].metadata.get("prev_id"),
        "next_id": chunks[-1].metadata.get("next_id"),
        "char_start": passage.start,
        "char_end": passage.end,
        "content_hash": content_hash(passage.text, passage.context),
    }
    if len(passage.spans) > 1:
        metadata["spans"] = [list(span) for span in passage.spans]
    if "start_index" in metadata:  # LangChain's key, from the best hit.
        metadata |= {"start_index": passage.start, "end_index": passage.end}
    metadata["location"] = passage.location
    if passage.pages:
        metadata["page_start"], metadata["page_end"] = passage.pages
    if passage.times:
        metadata["time_start"], metadata["time_end"] = passage.times
    metadata |= passage.beside.to_metadata()
    return Result(id_, passage.text, flat(metadata, **finding, chunks=[item.id for item in chunks]), finding["score"])


def to_finding(
    score: float | None, scores: Mapping[str, float], hits: Iterable[tuple[str, float | None]]
) -> dict[str, Any]:
    """Return what was found: the score of the last stage, those of all stages, and the ids and scores of hits."""
    return {"score": score, "scores": dict(scores), "hits": [{"id": id_, "score": own} for id_, own in hits]}


def to_related(chunk: Chunk, result: Result) -> Result:
    """Return another file of a result's group as a result."""
    item = from_chunk(chunk)
    return related_to(result.id, result.score, item.id, item.text, item.metadata)


def related_to(to: str, score: float | None, id_: str, text: str, metadata: Mapping[str, Any]) -> Result:
    """Return a file that is related to the hit or passage of an id as a result."""
    own = {"chunk_id": id_, **metadata}
    return Result(id_, text, flat(own, **to_finding(score, {}, ()), related_to=to), score)


NAME = "search_documents"
DESCRIPTION = (
    "Find the passages of the indexed documents that answer a question, by meaning and by words. Each passage is an "
    "exact slice of its document, under a citation with document, pages and range."
)


class SearchArguments(BaseModel):
    """Arguments of the tool."""

    question: str = Field(description="The question, in a whole sentence with the words that matter.")
    where: dict[str, Any] | None = Field(
        default=None, description='Filter on metadata, such as {"subject": "cs", "year": {"$gte": 2020}}.'
    )


def tool_search(index: Index, options: SearchKeywords) -> Callable[[str, dict[str, Any] | None], Passages]:
    """Return a search with checked options, to which a call adds its question and its filter."""
    remedy = 'Open one, such as kinsplit.Index("edge:./kinsplit-data").'
    require(isinstance(index, Index), "index", "must be an Index of kinsplit", index, remedy)
    SearchOptions(**options)

    def search(question: str, where: dict[str, Any] | None) -> Passages:
        filters = [each for each in (options.get("where"), where) if each]
        both = {"$and": filters} if len(filters) > 1 else filters[0] if filters else None
        given: SearchKeywords = {**options, "where": both}
        return index.search(question, **given)

    return search


def to_prompt(passages: Passages) -> str:
    """Return passages as a language model reads them: numbered, each under its citation and headings, after notices."""
    parts = [
        f"[{number}] {' | '.join(filter(None, (passage.citation, passage.context)))}\n{passage.text}"
        for number, passage in enumerate(passages, 1)
    ]
    return "\n\n".join([*passages.notices, *(parts or ["Nothing was found."])])


class RerankStage(FieldModel):
    """The fields of `Rerank`, and the reranker of them."""

    model_config = ConfigDict(extra="forbid")

    reranker: Any = Field(exclude=True)
    top_n: int | None = Field(default=None, ge=1, description="Maximum number of results to return.")
    embedder: Any = Field(default="bundled", exclude=True)

    shared: ClassVar = {"_reranker": ("reranker", "embedder")}
    _reranker: Reranker | None = PrivateAttr()

    def __init__(
        self,
        reranker: str | Reranker,
        *,
        top_n: int | None = None,
        embedder: str | Embedder = "bundled",
        **data: object,
    ) -> None:
        super().__init__(reranker=reranker, top_n=top_n, embedder=embedder, **data)
        self._reranker = _reranker(reranker, embedder)


def _reranker(reranker: str | Reranker, embedder: str | Embedder) -> Reranker | None:
    """Return a reranker, or the one of a name, whose late interaction has this embedder; see `create_reranker`."""
    if not isinstance(reranker, str):
        remedy = 'Give an object with rerank(query, texts), or the name of a reranker, such as "late".'
        is_object = isinstance(reranker, Reranker) and not isinstance(reranker, type)
        require(is_object, "reranker", "must be a reranker or the name of one", reranker, remedy)
        return reranker
    return create_reranker(reranker, embedding.create(embedder) if isinstance(embedder, str) else embedder)


def with_rerank_score(metadata: Mapping[str, Any], score: float, before: float | None) -> dict[str, Any]:
    """Return metadata with a reranker's score, and the one before as that of `retrieval` if no stage recorded one."""
    scores = details(metadata).get("scores") or ({} if before is None else {"retrieval": before})
    stage = "rerank_passage" if "rerank" in scores else "rerank"
    return flat(metadata, score=score, scores={**scores, stage: score})


def text_to_rerank(text: str, metadata: Mapping[str, Any]) -> str:
    """Return the text that a reranker reads: a chunk's context, if it has one, and its text."""
    context = metadata.get(CONTEXT)
    return f"{context}\n\n{text}" if isinstance(context, str) and context else text
