"""Location and options of a Qdrant collection, read from an address."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal
from urllib.parse import urlsplit, urlunsplit

from kinsplit.errors import CollectionNotFoundError, InvalidParameterError, KinsplitError, StoreError, require
from kinsplit.stores.engines.catalog import StoreOptions, option

#: Environment variable with the API key.
API_KEY = "KINSPLIT_QDRANT_API_KEY"


class QdrantOptions(StoreOptions):
    """Options of a Qdrant server, and query parameters of a `qdrant:URL` address.

    Attributes:
        grpc: Whether to use gRPC instead of HTTP.
        grpc_port: Port of gRPC.
        timeout: Timeout of a request in seconds.
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
        hnsw_ef: Number of candidates during a search of the HNSW graph.
        rescore: Whether hits in quantized vectors are scored again with the full ones.
        oversampling: Candidates to rescore, as a multiple of the hits; binary quantization needs 2 or more.
    """

    grpc: bool = option(False, "connection")
    grpc_port: int = option(6334, "connection", ge=1, le=65535)
    timeout: int = option(60, "connection", ge=1)
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


_REFUSED = (
    f"the server refuses access. Set the environment variable {API_KEY} to a key that may read and write collections"
)
_UNREACHABLE = "no server answers: {}. Check the address, and that the server is running"
_SLOW = "the server did not answer in time. Give the address a higher timeout, such as ?timeout=300"
#: What servers and the local mode say of a collection that does not exist.
_GONE = re.compile("Collection .* (doesn't exist|not found)")
_STRANGER = "the answer is not that of a Qdrant server. Check the address"


@contextmanager
def qdrant_errors(name: str) -> Iterator[None]:
    """Turn the client's errors into one-line errors, which never contain the API key.

    Raises:
        CollectionNotFoundError: The collection was dropped after it was opened.
        StoreError: The client raised another error.
    """
    try:
        yield
    except KinsplitError:
        raise
    except Exception as error:  # The client's REST, gRPC and local modes raise different errors.
        if _GONE.search(reason := _reason(error)):
            raise CollectionNotFoundError(f"{name} was dropped. Open the collection that has its name now.") from error
        raise StoreError(f"{name}: {reason}") from error


def _reason(error: Exception) -> str:
    # Lazily, since the extra may be missing when the error is another one.
    from grpc import RpcError
    from httpx import TimeoutException, TransportError
    from qdrant_client.http.exceptions import ResponseHandlingException, UnexpectedResponse

    if isinstance(error, UnexpectedResponse):
        return _http_reason(error.status_code, error.content, str(error))
    if isinstance(error, RpcError):
        return _grpc_reason(error)
    cause = error.source if isinstance(error, ResponseHandlingException) else error
    if isinstance(cause, TimeoutException):
        return _SLOW
    if isinstance(cause, TransportError):
        return _UNREACHABLE.format(_line(cause))
    return _STRANGER if isinstance(error, ResponseHandlingException | json.JSONDecodeError) else _line(error)


def _http_reason(status: int | None, content: bytes, text: str) -> str:
    if status in (401, 403):
        return _REFUSED
    try:
        return str(json.loads(content)["status"]["error"])
    except (ValueError, TypeError, KeyError):
        # An error page of a proxy or of another server.
        return f"{_STRANGER} (status {status})" if status is not None and status < 500 else " ".join(text.split())


def _grpc_reason(error: Exception) -> str:
    from grpc import StatusCode

    # The public interface of a call's error is grpc.Call, which RpcError does not declare.
    code, details = getattr(error, "code", lambda: None)(), getattr(error, "details", lambda: "")()
    if code in (StatusCode.UNAUTHENTICATED, StatusCode.PERMISSION_DENIED):
        return _REFUSED
    if code == StatusCode.DEADLINE_EXCEEDED:
        return _SLOW
    return _UNREACHABLE.format(details) if code == StatusCode.UNAVAILABLE else details or _line(error)


def _line(error: Exception) -> str:
    return " ".join(str(error).split()) or type(error).__name__
