"""What a route is given: the open collections, the threads, and the two together."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Annotated, Any, ParamSpec

from fastapi import Depends, Query, Request
from fastapi.responses import Response
from pydantic import BaseModel

from kinsplit.server import limits
from kinsplit.server.answers import Answers
from kinsplit.server.collections import Library, Shelf
from kinsplit.server.previews import Previewer
from kinsplit.server.settings import ServiceSettings
from kinsplit.server.threads import Workers

_P = ParamSpec("_P")

StrategyName = Annotated[
    str | None,
    Query(
        max_length=limits.NAME,
        description="Which of the indexed strategies to ask, in any case, or the name of its collection; "
        "GET /strategies lists them.",
    ),
]


def _state(name: str) -> Callable[[Request], Awaitable[Any]]:
    """Return what gives a route something of the application."""

    # It waits for nothing, but FastAPI would call a plain function in a thread.
    async def get(request: Request) -> Any:
        return getattr(request.app.state, name)

    return get


SettingsOf = Annotated[ServiceSettings, Depends(_state("settings"))]
LibraryOf = Annotated[Library, Depends(_state("library"))]
#: For searches and documents.
WorkersOf = Annotated[Workers, Depends(_state("workers"))]
#: For previews: a long text may take many seconds, and searches shall not wait for it.
PreviewersOf = Annotated[Workers, Depends(_state("previewers"))]
PreviewerOf = Annotated[Previewer, Depends(_state("previewer"))]
#: For what asks a language model, which may take minutes.
AskersOf = Annotated[Workers, Depends(_state("askers"))]
AnswersOf = Annotated[Answers, Depends(_state("answers"))]


async def _shelf(library: LibraryOf, strategy: StrategyName = None) -> Shelf:
    return library.pick(strategy)


ShelfOf = Annotated[Shelf, Depends(_shelf)]


async def answer(workers: Workers, function: Callable[_P, BaseModel], *args: _P.args, **kwargs: _P.kwargs) -> Response:
    """Call a function in a thread, which also writes its answer as JSON: a long one would hold up the event loop."""

    def written() -> bytes:
        return function(*args, **kwargs).model_dump_json().encode()

    return Response(await workers.run(written), media_type="application/json")
