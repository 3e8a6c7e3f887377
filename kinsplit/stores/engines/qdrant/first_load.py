"""First load of a collection on a Qdrant server, without its HNSW graph, which is built once at the end.

A key of the collection's metadata holds the number of links that the graph will have and the time of the load. If the
process dies, the next load ends what this one began, and so does the first opening after an hour. Until then, searches
compare all vectors.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from qdrant_client import AsyncQdrantClient, models

#: Keys of the metadata: the links per point, and the time of the load in seconds since 1970.
POSTPONED, SINCE = "kinsplit_hnsw_m", "kinsplit_load_since"
#: Seconds after which a load that has not ended counts as abandoned; an index built during a load only slows it down.
_ABANDONED = 3600


def is_abandoned(info: models.CollectionInfo) -> bool:
    """Return whether the HNSW graph was postponed so long ago that nobody may be about to build it."""
    metadata = info.config.metadata or {}
    return bool(metadata.get(POSTPONED)) and time.time() - (metadata.get(SINCE) or 0) > _ABANDONED


async def postpone_graph(client: AsyncQdrantClient, collection: str) -> bool:
    """Postpone the HNSW graph of an empty collection, or of one whose first load was interrupted.

    Returns:
        Whether it is postponed, so that `build_graph` must follow.
    """
    from qdrant_client import models

    info = await client.get_collection(collection)
    links = (info.config.metadata or {}).get(POSTPONED)
    if info.points_count and not links:
        return False
    metadata = {POSTPONED: links or info.config.hnsw_config.m, SINCE: int(time.time())}
    await client.update_collection(collection, hnsw_config=models.HnswConfigDiff(m=0), metadata=metadata)
    return True


async def build_graph(client: AsyncQdrantClient, collection: str, info: models.CollectionInfo | None = None) -> None:
    """Make the server build the HNSW graph that was postponed; it does so in the background."""
    from qdrant_client import models

    info = info or await client.get_collection(collection)
    links = (info.config.metadata or {}).get(POSTPONED)
    if links:
        done = {POSTPONED: None, SINCE: None}
        await client.update_collection(collection, hnsw_config=models.HnswConfigDiff(m=links), metadata=done)
