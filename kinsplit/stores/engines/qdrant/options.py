"""Location and options of a Qdrant collection, read from an address."""

from __future__ import annotations

from typing import Literal
from urllib.parse import parse_qsl, urlsplit, urlunsplit

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from kinsplit.errors import InvalidParameterError
from kinsplit.support.validation import first_fault


class QdrantOptions(BaseModel):
    """Options of a Qdrant server, and query parameters of a `qdrant:URL` address.

    Attributes:
        shard_number: Shards of a new collection; None for the server's default, one per node.
        replication_factor: Copies of each shard of a new collection; None for the server's default, 1.
        write_consistency_factor: Copies that must confirm a write; None for the server's default, 1.
        quantization: Quantization of a new collection's dense vectors: 8-bit "scalar" or 1-bit "binary", both kept in
            memory and rescored with the full vectors.
        on_disk: Whether a new collection keeps its full dense vectors on disk.
        timeout: Timeout of a request in seconds.
        grpc: Whether to use gRPC, on port 6334, instead of HTTP.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    shard_number: int | None = Field(default=None, ge=1)
    replication_factor: int | None = Field(default=None, ge=1)
    write_consistency_factor: int | None = Field(default=None, ge=1)
    quantization: Literal["none", "scalar", "binary"] = "none"
    on_disk: bool = False
    timeout: int = Field(default=60, ge=1)
    grpc: bool = False


def parse_location(place: str) -> tuple[str, QdrantOptions]:
    """Parse the part of an address after "qdrant:", such as "http://localhost:6333?shard_number=2".

    Returns:
        The location, which is a URL, a folder or ":memory:", and the options.

    Raises:
        InvalidParameterError: An option is unknown or has a wrong value, or the URL contains an API key.
    """
    if not is_url(place):
        return place, QdrantOptions()
    parts = urlsplit(place)
    if "@" in parts.netloc:
        remedy = "Set the environment variable KINSPLIT_QDRANT_API_KEY."
        raise InvalidParameterError("store", "can't hold a user or a key", parts.hostname, remedy)
    try:
        options = QdrantOptions.model_validate(dict(parse_qsl(parts.query, keep_blank_values=True)))
    except ValidationError as error:
        fault = first_fault(error.errors())
        remedy = f"Take of {', '.join(QdrantOptions.model_fields)}."
        # The value of an unknown option may be an API key.
        value = None if fault.is_unknown_field else fault.value
        raise InvalidParameterError(f"store option {fault.field!r}", fault.message, value, remedy) from None
    return urlunsplit((parts.scheme, parts.netloc, parts.path, "", "")), options


def is_url(place: str) -> bool:
    """Return whether a location is a server's URL rather than a folder or memory."""
    return place.startswith(("http://", "https://"))
