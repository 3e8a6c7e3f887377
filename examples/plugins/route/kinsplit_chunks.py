"""`GET /chunks/{id}`: a chunk by its id, with its text, place and kin."""

from typing import Annotated, Any

from fastapi import APIRouter, Path

from kinsplit.server.collections import OpenCollection
from kinsplit.server.dependencies import CollectionDep, WorkersDep
from kinsplit.server.errors import RequestError
from kinsplit.wire import chunk_row

router = APIRouter(tags=["chunks"])


@router.get("/chunks/{id}", summary="Return a chunk")
async def chunk(
    collection: CollectionDep, workers: WorkersDep, id: Annotated[str, Path(description="Id of the chunk.")]
) -> dict[str, Any]:
    """Return the chunk of an id, such as the `parent_id` of another one."""
    return await workers.run(collection.call, _read, id)


def _read(collection: OpenCollection, id: str) -> dict[str, Any]:
    found = collection.index.store.get([id])
    if not found:
        raise RequestError(404, "must be the id of a chunk", "Take an id from GET /search.", field="id", value=id)
    return chunk_row(found[0])
