"""`GET /healthz`, `GET /readyz` and `GET /metrics`."""

from __future__ import annotations

from fastapi import APIRouter
from fastapi.responses import Response
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

from kinsplit.server.dependencies import CollectionsDep, WorkersDep
from kinsplit.server.errors import RESPONSES
from kinsplit.server.models import Health

#: Open without an API key. Many monitors, and `wget --spider`, check with HEAD.
health_router = APIRouter(tags=["operation"])
metrics_router = APIRouter(tags=["operation"])


@health_router.get("/healthz", summary="Check that the service is running")
@health_router.head("/healthz", include_in_schema=False)
async def healthz() -> Health:
    """Respond without contacting any store."""
    return Health(status="ok")


@health_router.get(
    "/readyz", summary="Check that the stores respond", responses={code: RESPONSES[code] for code in (503, 504)}
)
@health_router.head("/readyz", include_in_schema=False)
async def readyz(collections: CollectionsDep, workers: WorkersDep) -> Health:
    """Respond once every store has responded."""
    await workers.run(collections.check)
    return Health(status="ok")


@metrics_router.get("/metrics", summary="Read the metrics", response_class=Response)
async def metrics(collections: CollectionsDep) -> Response:
    """Return all metrics in the format of Prometheus."""
    return Response(generate_latest(collections.metrics.registry), headers={"Content-Type": CONTENT_TYPE_LATEST})
