"""FastAPI dependencies of the routes, and the response helper that they share."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Annotated, Any, Concatenate, ParamSpec, TypeVar

from fastapi import Depends, Request
from fastapi.responses import Response
from pydantic import BaseModel, Field

from kinsplit.server import limits
from kinsplit.server.answers import AnswerStreams
from kinsplit.server.collections import Collections, OpenCollection, UploadFolders
from kinsplit.server.processes.previews import Previewer
from kinsplit.server.processes.viewer import Viewer
from kinsplit.server.settings import ServiceSettings
from kinsplit.server.threads import Workers

_P = ParamSpec("_P")
_T = TypeVar("_T")

StrategyName = Annotated[
    str | None,
    Field(
        max_length=limits.NAME,
        description="Indexed strategy to search (case-insensitive), or the name of its collection; "
        "GET /strategies lists both.",
    ),
]


def _state(name: str) -> Callable[[Request], Awaitable[Any]]:
    """Return a dependency that reads an attribute of `app.state`."""

    # Awaits nothing, but FastAPI would run a plain function in a thread.
    async def get(request: Request) -> Any:
        return getattr(request.app.state, name)

    return get


SettingsDep = Annotated[ServiceSettings, Depends(_state("settings"))]
CollectionsDep = Annotated[Collections, Depends(_state("collections"))]
#: For searches and lists.
WorkersDep = Annotated[Workers, Depends(_state("workers"))]
#: For whole documents and their files: a long one may take a second, and searches must not wait for it.
DocumentWorkersDep = Annotated[Workers, Depends(_state("document_workers"))]
#: For previews: a long text may take many seconds, and searches must not wait for it.
PreviewWorkersDep = Annotated[Workers, Depends(_state("preview_workers"))]
PreviewerDep = Annotated[Previewer, Depends(_state("previewer"))]
#: For calls of a language model, which may take minutes.
ModelWorkersDep = Annotated[Workers, Depends(_state("model_workers"))]
#: For uploaded files, which are embedded one after the other.
UploadWorkersDep = Annotated[Workers, Depends(_state("upload_workers"))]
UploadsDep = Annotated[UploadFolders | None, Depends(_state("uploads"))]
ViewerDep = Annotated[Viewer, Depends(_state("viewer"))]
AnswersDep = Annotated[AnswerStreams, Depends(_state("answers"))]


@dataclass(frozen=True, slots=True)
class PickedCollection:
    """The collection that a request has picked."""

    collection: OpenCollection
    collections: Collections

    def call(self, function: Callable[Concatenate[OpenCollection, _P], _T], *args: _P.args, **kwargs: _P.kwargs) -> _T:
        """Call a function with the collection; see `Collections.call`."""
        return self.collections.call(self.collection, function, *args, **kwargs)


async def _collection(collections: CollectionsDep, strategy: StrategyName = None) -> PickedCollection:
    return PickedCollection(collections.pick(strategy), collections)


CollectionDep = Annotated[PickedCollection, Depends(_collection)]


async def respond(workers: Workers, function: Callable[_P, BaseModel], *args: _P.args, **kwargs: _P.kwargs) -> Response:
    """Call a function in a thread and respond with its result as JSON.

    The thread also serialises the result: a long one would block the event loop.
    """

    def body() -> bytes:
        return function(*args, **kwargs).model_dump_json().encode()

    return Response(await workers.run(body), media_type="application/json")
