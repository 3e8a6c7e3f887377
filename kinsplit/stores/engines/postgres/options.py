"""Connection string and options of a Postgres collection, read from an address."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import model_validator

from kinsplit.errors import InvalidParameterError
from kinsplit.stores.engines.catalog import StoreOptions, option

#: Largest number of candidates that pgvector takes at once.
MOST_CANDIDATES = 1000
#: A search reads so many lists by default: the factor times their number to the power.
PROBES = 0.6, 0.75
_MEMORY = r"^[1-9][0-9]*(kB|MB|GB|TB)$"


class PostgresOptions(StoreOptions):
    """Options of a Postgres collection, and query parameters of a `pgvector:postgresql://...` address.

    Attributes:
        halfvec: Whether dense vectors are stored with 16 bits per number: half the space, and an index for up to 4,000
            dimensions instead of 2,000.
        dense_index: Index of the dense vectors: a graph, which grows with every write, or lists of similar vectors,
            which are built in a fraction of the time from the chunks that there are.
        hnsw_m: Links per row of the HNSW graph.
        hnsw_ef_construct: Number of neighbours considered when a row is added to the HNSW graph.
        partition_by: Metadata key by whose hash the chunks are partitioned, such as subject or source_id. Each
            partition has its own indexes, and a filter by the key searches its partitions only.
        partitions: Number of partitions, with partition_by.
        maintenance_work_mem: Memory of the server for building an index, such as 8GB. By default a graph gets what it
            needs, up to 256 MB or, if they are larger, the server's shared_buffers or its own setting.
        build_workers: Number of further processes of the server that build an index.
        hnsw_ef: Number of candidates during a search of the HNSW graph. Above 1,000, the search is continued until it
            has so many.
        ivfflat_probes: Number of lists to read with dense_index=ivfflat. By default 0.6 times their number to the power
            of 3/4: an eighth of 500 lists, and an eleventh of 2,000.
    """

    halfvec: bool = option(False, "new collection")
    dense_index: Literal["hnsw", "ivfflat"] = option("hnsw", "new collection")
    hnsw_m: int = option(16, "new collection", ge=2, le=100)
    hnsw_ef_construct: int = option(256, "new collection", ge=4, le=1000)
    partition_by: str | None = option(None, "new collection", pattern=r"^[\w-]+$")
    partitions: int = option(16, "new collection", ge=2, le=1000)
    maintenance_work_mem: str | None = option(None, "first load", pattern=_MEMORY)
    build_workers: int | None = option(None, "first load", ge=0, le=1024)
    hnsw_ef: int = option(MOST_CANDIDATES, "search", ge=1, le=100_000)
    ivfflat_probes: int | None = option(None, "search", ge=1, le=32_768)

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.hnsw_ef_construct < 2 * self.hnsw_m:
            rule, remedy = f"must be at least twice hnsw_m, which is {self.hnsw_m}", "Raise it, or lower hnsw_m."
            raise InvalidParameterError("store option 'hnsw_ef_construct'", rule, self.hnsw_ef_construct, remedy)
        if "partitions" in self.model_fields_set and self.partition_by is None:
            rule, remedy = "needs partition_by", "Give the key to partition by."
            raise InvalidParameterError("store option 'partitions'", rule, self.partitions, remedy)
        return self


def parse_dsn(dsn: str) -> tuple[str, PostgresOptions]:
    """Split the part of an address after "pgvector:" into libpq's connection string and kinsplit's options.

    Options are query parameters of a URL; all others there are libpq's own.

    Raises:
        InvalidParameterError: An option has a wrong value.
    """
    if not dsn.startswith(("postgresql://", "postgres://")):
        return dsn, PostgresOptions()
    place, _, query = dsn.partition("?")
    own: list[str] = []
    others: list[str] = []
    for part in query.split("&"):
        (own if part.partition("=")[0] in PostgresOptions.model_fields else others).append(part)
    rest = "&".join(filter(None, others))
    return f"{place}?{rest}" if rest else place, PostgresOptions.parse("&".join(own))


def unknown_options(dsn: str, known: set[str]) -> InvalidParameterError | None:
    """Return the error for a query parameter that is neither libpq's nor kinsplit's, or None if there is none."""
    query = dsn.partition("?")[2] if dsn.startswith(("postgresql://", "postgres://")) else ""
    for name in (part.partition("=")[0] for part in query.split("&")):
        if name and name not in known:
            remedy = f"Options are {', '.join(PostgresOptions.model_fields)}, and the parameters of libpq."
            # Without the value, which may be a password.
            return InvalidParameterError(f"store option {name!r}", "is not known", None, remedy)
    return None
