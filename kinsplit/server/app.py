"""The FastAPI application: routers and middleware."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager

from fastapi import APIRouter, FastAPI, Security
from fastapi.security import APIKeyHeader, HTTPBearer
from starlette.middleware.gzip import GZipMiddleware

import kinsplit
from kinsplit.registry import Registry, instance
from kinsplit.server import limits
from kinsplit.server.answers import AnswerStreams
from kinsplit.server.collections import Collections, UploadFolders
from kinsplit.server.errors import RESPONSES, add_handlers
from kinsplit.server.middleware.stack import guard
from kinsplit.server.processes.previews import Previewer
from kinsplit.server.processes.viewer import Viewer
from kinsplit.server.routes import operation, page, uploads
from kinsplit.server.settings import ServiceSettings
from kinsplit.server.threads import Workers, YieldingWorkers

#: The routes in the order in which paths are matched: the more specific one first. Those of other packages are entry
#: points of the group `kinsplit.routes`, come last, and need a key like the others.
ROUTES: Registry[APIRouter] = Registry(
    "routes",
    "route",
    {
        **{name: f"kinsplit.server.routes.{name}:router" for name in ("search", "ask", "chunk", "strategies")},
        **{name: f"kinsplit.server.routes.{name}:router" for name in ("files", "documents")},
        "metrics": "kinsplit.server.routes.operation:metrics_router",
    },
    instance(APIRouter),
)
#: All other paths need a key, if the service has keys.
_OPEN_PATHS = re.compile(r"/|/page/.*|/healthz|/readyz|/openapi\.json")
#: For OpenAPI; `AccessControl` checks the keys.
_KEYS = [
    Security(APIKeyHeader(name="X-API-Key", auto_error=False, description="API key, if the service has keys.")),
    Security(HTTPBearer(auto_error=False, description="API key as a bearer token.")),
]


def create_app(settings: ServiceSettings, collections: Collections, previewer: Previewer | None = None) -> FastAPI:
    """Create the application, which closes the collections when it shuts down; None makes a previewer of its own.

    Raises:
        KinsplitError: The folder of uploads can't be used; see `UploadFolders`.
    """
    folders = None
    if settings.uploads is not None:
        folders = UploadFolders(settings.uploads, collections, log_text=settings.log_text)
    own_previewer, metrics = Previewer(settings.timeout), collections.metrics
    viewer = Viewer(settings, metrics)
    workers = Workers(settings.threads, settings.queue, settings.timeout, metrics)
    document_workers = YieldingWorkers(settings.queue, settings.timeout, metrics, others=workers)
    preview_workers = Workers(1, settings.queue, settings.timeout, metrics)
    upload_workers = Workers(1, settings.queue, limits.UPLOAD_SECONDS, metrics)
    model_workers = Workers(settings.answers, settings.answers, settings.answer_timeout, metrics)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        # A slow model blocks one thread per answer, and must not block those that search.
        asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(settings.answers + 2))
        collections.start()
        yield
        for each in (workers, document_workers, preview_workers, model_workers, upload_workers):
            await each.close()
        own_previewer.close()
        viewer.renderer.close()
        if folders is not None:
            folders.close()
        collections.close()

    app = FastAPI(
        title="kinsplit",
        summary="Search in documents whose chunks know their kin.",
        version=kinsplit.__version__,
        lifespan=lifespan,
        # Both load scripts from other hosts.
        docs_url=None,
        redoc_url=None,
    )
    app.state.settings, app.state.collections = settings, collections
    app.state.workers, app.state.preview_workers, app.state.model_workers = workers, preview_workers, model_workers
    app.state.document_workers = document_workers
    app.state.upload_workers, app.state.uploads = upload_workers, folders
    app.state.previewer = previewer or own_previewer
    app.state.viewer = viewer
    app.state.answers = AnswerStreams(settings.answers, settings.answer_timeout, metrics, settings.log_text)
    # Events of answers are sent as they are: packed, they would wait for each other.
    app.add_middleware(GZipMiddleware, minimum_size=1000, compresslevel=5)
    _add_routes(app, has_uploads=folders is not None)
    guard(app, settings, metrics, open_paths=_OPEN_PATHS, has_uploads=folders is not None)
    return app


def _add_routes(app: FastAPI, *, has_uploads: bool) -> None:
    add_handlers(app)
    app.include_router(operation.health_router)
    app.include_router(page.router)
    routers = list(ROUTES.load_all().values())
    for router in [*routers, uploads.router] if has_uploads else routers:
        app.include_router(router, dependencies=_KEYS, responses=RESPONSES)
