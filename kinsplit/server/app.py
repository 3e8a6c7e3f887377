"""The application: routers, and what surrounds every request."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager

from fastapi import APIRouter, FastAPI
from starlette.middleware.cors import CORSMiddleware

import kinsplit
from kinsplit.server.answers import Answers
from kinsplit.server.collections import Library
from kinsplit.server.errors import RESPONSES, add_handlers
from kinsplit.server.middleware.access import ADMITTED, Gate
from kinsplit.server.middleware.body_limits import Traffic
from kinsplit.server.middleware.request_log import Observed
from kinsplit.server.middleware.security_headers import SecurityHeaders
from kinsplit.server.previews import Previewer
from kinsplit.server.routes import (
    ask,
    chunk,
    document,
    document_chunks,
    documents,
    filters,
    health,
    metrics,
    page,
    search,
    strategies,
)
from kinsplit.server.settings import ServiceSettings
from kinsplit.server.threads import Workers

#: In the order in which an address is looked for: the more special one first.
_ROUTERS: tuple[APIRouter, ...] = (
    search.router,
    ask.router,
    chunk.router,
    strategies.router,
    documents.router,
    filters.router,
    document_chunks.router,
    document.router,
    metrics.router,
)


def create_app(settings: ServiceSettings, library: Library, previewer: Previewer | None = None) -> FastAPI:
    """Make the application.

    Args:
        settings: The settings.
        library: The open collections; closed when the application ends.
        previewer: Makes the previews; None makes one, which ends with the application.
    """
    own = Previewer(settings.timeout)
    figures = library.metrics
    workers = Workers(settings.threads, settings.queue, settings.timeout, figures)
    previewers = Workers(1, settings.queue, settings.timeout, figures)
    askers = Workers(settings.answers, settings.answers, settings.answer_timeout, figures)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        # A model that is slow blocks a thread for each of its answers, and none of those that search.
        asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(settings.answers + 2))
        yield
        for each in (workers, previewers, askers):
            await each.close()
        own.close()
        library.close()

    app = FastAPI(
        title="kinsplit",
        summary="Search in documents whose chunks know their kin.",
        version=kinsplit.__version__,
        lifespan=lifespan,
        # Both load scripts from elsewhere.
        docs_url=None,
        redoc_url=None,
    )
    app.state.settings, app.state.library = settings, library
    app.state.workers, app.state.previewers, app.state.askers = workers, previewers, askers
    app.state.previewer = previewer or own
    app.state.answers = Answers(settings.answers, settings.answer_timeout, figures, settings.log_text)
    app.state.gate = Gate(settings, figures)
    add_handlers(app)
    app.include_router(health.router)
    app.include_router(page.router)
    for router in _ROUTERS:
        app.include_router(router, dependencies=[ADMITTED], responses=RESPONSES)
    # The last one added is the first to see a request.
    app.add_middleware(
        Traffic,
        max_body=settings.max_body,
        patience=settings.patience,
        hosts=settings.hosts,
        metrics=figures,
    )
    if settings.cors_origins:
        app.add_middleware(
            CORSMiddleware,
            allow_origins=list(settings.cors_origins),
            allow_methods=["GET", "POST"],
            allow_headers=["Authorization", "Content-Type", "X-API-Key", "X-Request-ID"],
            expose_headers=["Retry-After", "X-Request-ID"],
        )
    app.add_middleware(Observed, metrics=figures, log_text=settings.log_text)
    app.add_middleware(SecurityHeaders)
    return app
