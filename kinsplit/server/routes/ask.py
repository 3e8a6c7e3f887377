"""`POST /ask`: a streamed answer with citations."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from typing import Annotated, Any

from fastapi import APIRouter, Body
from fastapi.responses import Response, StreamingResponse
from pydantic import Field

from kinsplit.answering import LONGEST, TOP_K, answer
from kinsplit.errors import CollectionNotFoundError
from kinsplit.server import limits
from kinsplit.server.collections import OpenCollection
from kinsplit.server.dependencies import AnswersDep, CollectionsDep, ViewerDep
from kinsplit.server.models import Model
from kinsplit.server.request_options import RANKINGS, parse_filter, pick_reranker

router = APIRouter(tags=["search"])

Condition = Annotated[str, Field(max_length=limits.CONDITION)]


class AskRequest(Model):
    """A question, with the options of its search."""

    question: str = Field(min_length=1, max_length=limits.QUERY, description="The question.")
    strategy: str | None = Field(default=None, max_length=limits.NAME, description="See GET /search.")
    top_k: int | None = Field(
        default=None,
        ge=1,
        le=limits.TOP_K,
        description=f"Maximum number of passages. Default: as many as fit, or {TOP_K} without a model.",
    )
    window: int | None = Field(default=None, ge=0, le=limits.WINDOW, description="See GET /search.")
    ranking: str = Field(
        default="kin", max_length=limits.NAME, description="See GET /search.", json_schema_extra=RANKINGS
    )
    rerank: str = Field(default="none", max_length=limits.NAME, description="See GET /search.")
    diversity: float = Field(default=0.0, ge=0, le=1, description="See GET /search.")
    budget: int | None = Field(default=None, ge=1, le=limits.BUDGET, description="See GET /search.")
    context_share: float | None = Field(default=None, ge=0, lt=1, description="See GET /search.")
    max_tokens: int = Field(
        default=LONGEST, ge=1, le=4 * LONGEST, description="Maximum length of the answer in tokens."
    )
    render: bool = Field(default=False, description="See GET /search.")
    where: dict[str, Any] | Annotated[list[Condition], Field(max_length=limits.CONDITIONS)] | None = Field(
        default=None, description="Metadata filter, as a JSON object or as conditions; see GET /search."
    )


#: OpenAPI schema of one event.
_EVENT = {
    "type": "object",
    "required": ["event", "data"],
    "properties": {
        "event": {"enum": ["sources", "text", "citation", "notice", "finished", "error"]},
        "data": {"type": "string", "description": "JSON."},
    },
}


@router.post(
    "/ask",
    summary="Answer a question from the documents",
    response_class=Response,
    responses={200: {"description": "Server-sent events.", "content": {"text/event-stream": {"schema": _EVENT}}}},
)
async def ask(
    collections: CollectionsDep, answers: AnswersDep, viewer: ViewerDep, question: Annotated[AskRequest, Body()]
) -> Response:
    """Answer with citations of file, page and chunk, and check each sentence against the passages it cites.

    Every event carries JSON. `sources` comes first, with the passages. `text` is a piece of the answer, `citation` a
    citation marker, `notice` a remark for the reader. `finished` comes last, with the whole answer, its verdict and its
    checks; on failure `error` takes its place. Without a language model the best sentences are quoted.
    """
    where, rerank = parse_filter(question.where), pick_reranker(question.rerank, collections)

    async def begin(collection: OpenCollection) -> tuple[bytes, AsyncGenerator[bytes, None]]:
        events = answer(
            collection.index,
            question.question,
            collections.model,
            max_tokens=question.max_tokens,
            top_k=question.top_k,
            window=question.window,
            ranking=question.ranking,
            rerank=rerank,
            diversity=question.diversity,
            budget=question.budget,
            context_share=question.context_share,
            where=where,
        )
        stream = answers.stream(events, viewer if question.render else None)
        # A failure before the first event becomes an ordinary error response.
        return await anext(stream), stream

    collection = collections.pick(question.strategy)
    try:
        first, stream = await begin(collection)
    except CollectionNotFoundError:
        # Dropped, and another may have its name.
        current = await asyncio.to_thread(collections.follow, collection)
        if current is collection:
            raise
        first, stream = await begin(current)
    # Keeps nginx from buffering the events.
    headers = {"X-Accel-Buffering": "no"}
    return StreamingResponse(_chain(first, stream), headers=headers, media_type="text/event-stream")


async def _chain(first: bytes, stream: AsyncGenerator[bytes, None]) -> AsyncIterator[bytes]:
    async with aclosing(stream):
        yield first
        async for event in stream:
            yield event
