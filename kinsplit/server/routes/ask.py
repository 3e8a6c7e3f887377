"""`POST /ask`: a streamed answer with citations."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from typing import Annotated, Any

from fastapi import APIRouter, Body
from fastapi.responses import Response, StreamingResponse
from pydantic import Field

from kinsplit.answering import answer
from kinsplit.errors import CollectionNotFoundError
from kinsplit.server import limits
from kinsplit.server.collections import OpenCollection
from kinsplit.server.dependencies import AnswersDep, CollectionsDep, ViewerDep
from kinsplit.server.request_options import Conditions, offered

router = APIRouter(tags=["search"])


class AskRequest(offered("ask")):  # type: ignore[misc]
    """A question, with the options of its search and of the answer."""

    question: str = Field(min_length=1, max_length=limits.QUERY, description="The question.")
    where: dict[str, Any] | Conditions | None = Field(
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
    options = question.options(collections)

    async def begin(collection: OpenCollection) -> tuple[bytes, AsyncGenerator[bytes, None]]:
        events = answer(collection.index, question.question, collections.model, **options)
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
