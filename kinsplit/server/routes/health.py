"""`GET /healthz` and `GET /readyz`: whether the service is there, and whether it can answer."""

from __future__ import annotations

from fastapi import APIRouter

from kinsplit.server.dependencies import LibraryOf, WorkersOf
from kinsplit.server.errors import RESPONSES
from kinsplit.server.models.operation import Health

router = APIRouter(tags=["operation"])


@router.get("/healthz", summary="Whether the service is there")
async def healthz() -> Health:
    """Answer without asking anything else."""
    return Health(status="ok")


@router.get("/readyz", summary="Whether the stores answer", responses={code: RESPONSES[code] for code in (503, 504)})
async def readyz(library: LibraryOf, workers: WorkersOf) -> Health:
    """Answer once every store does."""
    await workers.run(library.check)
    return Health(status="ok")
