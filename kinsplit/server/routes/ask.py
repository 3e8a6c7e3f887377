"""`POST /ask`: a question in, an answer with citations out, while it is written."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from typing import Annotated, Any

from fastapi import APIRouter, Body
from fastapi.responses import Response, StreamingResponse
from pydantic import Field

from kinsplit.answering import LONGEST, TOP_K, answer
from kinsplit.server import limits
from kinsplit.server.dependencies import AnswersOf, LibraryOf
from kinsplit.server.models.base import Model
from kinsplit.server.request_options import filter_of, pick_reranker

router = APIRouter(tags=["search"])

Condition = Annotated[str, Field(max_length=limits.CONDITION)]


class Question(Model):
    """A question, and how to look for its answer."""

    question: str = Field(min_length=1, max_length=limits.QUERY, description="The question.")
    strategy: str | None = Field(default=None, max_length=limits.NAME, description="As of GET /search.")
    top_k: int = Field(default=TOP_K, ge=1, le=limits.TOP_K, description="Most passages that the model reads.")
    window: int = Field(default=1, ge=0, le=limits.WINDOW, description="As of GET /search.")
    rerank: str = Field(default="none", max_length=limits.NAME, description="As of GET /search.")
    budget: int | None = Field(default=None, ge=1, le=limits.BUDGET, description="As of GET /search.")
    max_tokens: int = Field(default=LONGEST, ge=1, le=4 * LONGEST, description="Longest answer in tokens.")
    where: dict[str, Any] | Annotated[list[Condition], Field(max_length=limits.CONDITIONS)] | None = Field(
        default=None, description="The filter itself, or conditions as of GET /search."
    )


#: One of the events, as OpenAPI describes it.
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
async def ask(library: LibraryOf, answers: AnswersOf, question: Annotated[Question, Body()]) -> Response:
    """Answer with citations to file, page and chunk, each sentence looked up in what it cites.

    The events, each with JSON for data: `sources` first, the passages; `text`, a piece of the answer; `citation`, a
    marker in it; `notice`, what should be known; `finished` last, the whole answer with its verdict and checks; or
    `error`. Without a language model the best sentences are quoted.
    """
    events = answer(
        library.pick(question.strategy).index,
        question.question,
        library.model,
        max_tokens=question.max_tokens,
        top_k=question.top_k,
        window=question.window,
        rerank=pick_reranker(question.rerank, library),
        budget=question.budget,
        where=filter_of(question.where),
    )
    lines = answers.lines(events)
    # What fails before anything is said is answered as everywhere else.
    first = await anext(lines)
    # nginx would keep what is written until there is more of it.
    return StreamingResponse(_after(first, lines), headers={"X-Accel-Buffering": "no"}, media_type="text/event-stream")


async def _after(first: bytes, lines: AsyncGenerator[bytes, None]) -> AsyncIterator[bytes]:
    async with aclosing(lines):
        yield first
        async for line in lines:
            yield line
