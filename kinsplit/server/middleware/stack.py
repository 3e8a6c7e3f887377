"""The middleware that guards the service and the MCP server alike."""

from __future__ import annotations

import re

from starlette.applications import Starlette
from starlette.middleware.cors import CORSMiddleware

from kinsplit.server.middleware.access import AccessControl, SecurityHeaders
from kinsplit.server.middleware.body_limits import BodyLimits
from kinsplit.server.middleware.metrics import Metrics
from kinsplit.server.middleware.request_log import RequestLog
from kinsplit.server.settings import ServiceSettings


def guard(
    app: Starlette,
    settings: ServiceSettings,
    metrics: Metrics,
    *,
    open_paths: re.Pattern[str] | None = None,
    has_uploads: bool = False,
) -> None:
    """Add the middleware to an application, innermost first."""
    app.add_middleware(
        BodyLimits,
        max_body=settings.max_body,
        max_upload=settings.max_upload if has_uploads else None,
        patience=settings.patience,
        hosts=settings.hosts,
        metrics=metrics,
    )
    app.add_middleware(AccessControl, settings=settings, metrics=metrics, open_paths=open_paths)
    if settings.cors_origins:
        app.add_middleware(
            CORSMiddleware,
            allow_origins=list(settings.cors_origins),
            allow_methods=["GET", "POST", "DELETE"],
            allow_headers=["*"],  # None is secret: requests from pages carry no cookies.
            expose_headers=["Retry-After", "X-Marked-Lines", "X-Marked-Top", "X-Request-ID"],
        )
    app.add_middleware(RequestLog, metrics=metrics, log_text=settings.log_text)
    app.add_middleware(SecurityHeaders)
