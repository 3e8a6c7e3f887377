"""What a route is given: the open collections, the threads, and the two together."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, ParamSpec

from fastapi import Depends, Query, Request
from fastapi.responses import Response
from pydantic import BaseModel

from kinsplit.server import bounds
from kinsplit.server.library import Library, Shelf
from kinsplit.server.settings import ServiceSettings
from kinsplit.server.workers import Workers

_P = ParamSpec("_P")

StrategyName = Annotated[
    str | None,
    Query(
        max_length=bounds.NAME,
        description="Which of the indexed strategies to ask, in any case, or the name of its collection; "
        "GET /strategies lists them.",
    ),
]


# None of them waits, but FastAPI would call a plain function in a thread.
async def _settings(request: Request) -> ServiceSettings:
    settings: ServiceSettings = request.app.state.settings
    return settings


async def _library(request: Request) -> Library:
    library: Library = request.app.state.library
    return library


async def _workers(request: Request) -> Workers:
    workers: Workers = request.app.state.workers
    return workers


async def _askers(request: Request) -> Workers:
    askers: Workers = request.app.state.askers
    return askers


SettingsOf = Annotated[ServiceSettings, Depends(_settings)]
LibraryOf = Annotated[Library, Depends(_library)]
WorkersOf = Annotated[Workers, Depends(_workers)]
AskersOf = Annotated[Workers, Depends(_askers)]


async def _shelf(library: LibraryOf, strategy: StrategyName = None) -> Shelf:
    return library.pick(strategy)


ShelfOf = Annotated[Shelf, Depends(_shelf)]


async def answer(workers: Workers, function: Callable[_P, BaseModel], *args: _P.args, **kwargs: _P.kwargs) -> Response:
    """Call a function in a thread, which also writes its answer as JSON: a long one would hold up the event loop."""

    def written() -> bytes:
        return function(*args, **kwargs).model_dump_json().encode()

    return Response(await workers.run(written), media_type="application/json")
