"""Location and options of a Qdrant collection, read from an address."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from ipaddress import ip_address
from typing import Literal
from urllib.parse import urlsplit, urlunsplit

from kinsplit.errors import InvalidParameterError, require
from kinsplit.stores.engines.catalog import StoreOptions, option

#: A server and its port, which is no folder that anybody has.
_SERVER = re.compile(r"(//)?(localhost|[\w.-]+:\d+)(?![^/?])")
#: Environment variable with the API key.
API_KEY = "KINSPLIT_QDRANT_API_KEY"


class QdrantOptions(StoreOptions):
    """Options of a Qdrant server, and query parameters of a `qdrant:URL` address.

    Attributes:
        grpc: Whether to use gRPC instead of HTTP.
        grpc_port: Port of gRPC.
        timeout: Timeout of a request in seconds.
        request_mb: Largest size of a request that writes, in MB. A server accepts 32 unless it is told otherwise.
        shard_number: Number of shards. By default one per node of the cluster.
        replication_factor: Number of copies of each shard.
        write_consistency_factor: Number of copies that must confirm a write.
        on_disk: Whether full dense vectors stay on disk instead of in memory; quantized ones don't.
        on_disk_payload: Whether texts and metadata stay on disk. Indexed values are always in memory.
        quantization: Smaller copies of dense vectors in memory: of 8 bits per number, or of 1 bit.
        hnsw_m: Links per point of the HNSW graph.
        hnsw_ef_construct: Number of neighbours considered when a point is added to the HNSW graph.
        hnsw_on_disk: Whether the HNSW graph stays on disk.
        indexing_threshold: Size in KB from which a segment gets an HNSW graph.
        tenant: Metadata key that almost every search filters by: points with the same value are stored together.
        read_consistency: Number of copies that a search asks, of which it shows what they have alike. By default one.
        hnsw_ef: Number of candidates during a search of the HNSW graph.
        rescore: Whether hits in quantized vectors are scored again with the full ones.
        oversampling: Candidates to rescore, as a multiple of the hits; binary quantization needs 2 or more.
    """

    grpc: bool = option(False, "connection")
    grpc_port: int = option(6334, "connection", ge=1, le=65535)
    timeout: int = option(60, "connection", ge=1)
    request_mb: int = option(8, "connection", ge=1)
    shard_number: int | None = option(None, "new collection", ge=1)
    replication_factor: int | None = option(None, "new collection", ge=1)
    write_consistency_factor: int | None = option(None, "new collection", ge=1)
    on_disk: bool = option(False, "new collection")
    on_disk_payload: bool | None = option(None, "new collection")
    quantization: Literal["none", "scalar", "binary"] = option("none", "new collection")
    hnsw_m: int | None = option(None, "new collection", ge=2)
    hnsw_ef_construct: int | None = option(None, "new collection", ge=4)
    hnsw_on_disk: bool | None = option(None, "new collection")
    indexing_threshold: int | None = option(None, "new collection", ge=1)
    tenant: str | None = option(None, "new collection", pattern=r"^[\w-]+$")
    read_consistency: Literal["majority", "quorum", "all"] | None = option(None, "search")
    hnsw_ef: int | None = option(None, "search", ge=1)
    rescore: bool = option(True, "search")
    oversampling: float | None = option(None, "search", ge=1)


def parse_location(place: str) -> tuple[str, QdrantOptions]:
    """Parse the part of an address after "qdrant:", such as "http://localhost:6333?shard_number=2".

    Returns:
        The location, which is a URL, a folder or ":memory:", and the options.

    Raises:
        InvalidParameterError: An option is unknown or has a wrong value, or the URL is malformed or holds an API key.
    """
    if not is_url(place):
        remedy = f"Write qdrant:http://{place.removeprefix('//')}, or qdrant:./{place} for a folder of that name."
        require(not _SERVER.match(place), "store", "must be a URL to name a server", f"qdrant:{place}", remedy)
        return place, QdrantOptions()
    with valid_url():
        parts = urlsplit(place)
    remedy = f"Set the environment variable {API_KEY}."
    require("@" not in parts.netloc, "store", "can't hold a user or a key", parts.hostname, remedy)
    return urlunsplit((parts.scheme, parts.netloc, parts.path, "", "")), QdrantOptions.parse(parts.query)


@contextmanager
def valid_url() -> Iterator[None]:
    """Turn the ValueError of a URL that can't be parsed into an InvalidParameterError."""
    try:
        yield
    except ValueError:
        # Without the URL and the reason, which may hold a key.
        rule, remedy = "must be the URL of a server", "Write for example qdrant:http://localhost:6333."
        raise InvalidParameterError("store", rule, "qdrant:...", remedy) from None


def is_url(place: str) -> bool:
    """Return whether a location is a server's URL rather than a folder or memory."""
    return place.startswith(("http://", "https://"))


def is_loopback(url: str) -> bool:
    """Return whether a URL names a server on this machine."""
    host = urlsplit(url).hostname or ""
    with suppress(ValueError):
        return ip_address(host).is_loopback
    return host == "localhost"
