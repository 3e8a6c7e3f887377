"""`GET /metrics`: the figures that Prometheus reads."""

from __future__ import annotations

from fastapi import APIRouter
from fastapi.responses import Response
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

from kinsplit.server.dependencies import LibraryOf

router = APIRouter(tags=["operation"])


@router.get("/metrics", summary="Read the figures", response_class=Response)
async def metrics(library: LibraryOf) -> Response:
    """Write all figures as Prometheus reads them."""
    return Response(generate_latest(library.metrics.registry), headers={"Content-Type": CONTENT_TYPE_LATEST})
