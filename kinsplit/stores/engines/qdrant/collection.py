"""Clients of Qdrant, and collections, whose schema is stored in their metadata when they are created.

A collection of Qdrant can't be renamed, but an alias can be moved in one step. Therefore a new collection `notes` is
created as `notes@1` with the alias `notes`. One that was created without an alias is found under its own name.

First load of a collection on a Qdrant server, without its HNSW graph, which is built once at the end. A key of the
collection's metadata holds the number of links that the graph will have and the time of the load. If the process dies,
the next load ends what this one began, and so does the first opening after an hour. Until then, searches compare all
vectors.
"""

from __future__ import annotations

import os
import re
import time
import warnings
from collections.abc import Container
from contextlib import suppress
from dataclasses import asdict
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import httpx
from qdrant_client import QdrantClient, models
from qdrant_client.http.exceptions import UnexpectedResponse

from kinsplit.chunk import ABOVE
from kinsplit.errors import ForeignCollectionError, KinsplitWarning, StoreError, StoreLockedError
from kinsplit.stores.engines.qdrant.errors import qdrant_errors
from kinsplit.stores.engines.qdrant.indexes import index_of
from kinsplit.stores.engines.qdrant.limits import CollectionLimits, once
from kinsplit.stores.engines.qdrant.options import API_KEY, QdrantOptions, is_loopback, is_url, valid_url
from kinsplit.stores.engines.qdrant.payload import INDEXES, places_of
from kinsplit.stores.schema import check_own, check_schema, parse_schema, schema_to_create
from kinsplit.stores.values import DENSE, SPARSE, Schema
from kinsplit.support.environment import read
from kinsplit.support.http import certificates

#: Keys of the metadata: the links per point, and the time of the load in seconds since 1970.
POSTPONED, SINCE = "kinsplit_hnsw_m", "kinsplit_load_since"
#: Seconds after which a load that has not ended counts as abandoned; an index built during a load only slows it down.
_ABANDONED = 3600


def is_abandoned(info: models.CollectionInfo) -> bool:
    """Return whether the HNSW graph was postponed so long ago that nobody may be about to build it."""
    metadata = info.config.metadata or {}
    return bool(metadata.get(POSTPONED)) and time.time() - (metadata.get(SINCE) or 0) > _ABANDONED


def postpone_graph(client: QdrantClient, collection: str) -> bool:
    """Postpone the HNSW graph of an empty or half loaded collection; return whether `build_graph` must follow."""
    info = client.get_collection(collection)
    links = (info.config.metadata or {}).get(POSTPONED)
    # Without a graph, strict mode may refuse every search.
    if (info.points_count and not links) or not CollectionLimits.of(info).exact:
        return False
    metadata = {POSTPONED: links or info.config.hnsw_config.m, SINCE: int(time.time())}
    client.update_collection(collection, hnsw_config=models.HnswConfigDiff(m=0), metadata=metadata)
    return True


def build_graph(client: QdrantClient, collection: str, info: models.CollectionInfo | None = None) -> None:
    """Make the server build the HNSW graph that was postponed; it does so in the background."""
    info = info or client.get_collection(collection)
    links = (info.config.metadata or {}).get(POSTPONED)
    if links:
        done = {POSTPONED: None, SINCE: None}
        client.update_collection(collection, hnsw_config=models.HnswConfigDiff(m=links), metadata=done)


#: Key of the schema in the collection's metadata.
_METADATA = "kinsplit"
#: Oldest version that stores metadata of collections.
_OLDEST = (1, 16)


def open_collection(
    client: QdrantClient, place: str, options: QdrantOptions, collection: str, schema: Schema | None
) -> tuple[str, Schema, models.CollectionInfo]:
    """Open a collection, or create it, with the errors of `open_store`, which close the client.

    Returns:
        The name of the collection that has the given alias, which stays the same when the alias moves; its schema, and
        what the server tells of it.
    """
    name = f"{place}/{collection}"
    try:
        with qdrant_errors(name):
            if is_url(place):
                _check_version(place, client.info())
            aliases = aliases_of(client)
            own_name = aliases.get(collection, collection)
            exists = own_name != collection or client.collection_exists(collection)
            if not exists:
                new = schema_to_create(place, collection, schema, [] if schema else names_of(client))
                own_name = _create_numbered(client, options, collection, set(aliases.values()), new)
                client.update_collection_aliases([alias(collection, own_name)])
            info = client.get_collection(own_name)
            found = parse_schema(name, stored_schema(info))
            check_schema(name, found, schema)
            if is_url(place):
                if exists:
                    options.check_made(name, _made(info, options))
                if _complete(client, own_name, info, options):
                    info = client.get_collection(own_name)
    except BaseException:
        client.close()
        raise
    return own_name, found, info


def stored_schema(info: models.CollectionInfo) -> object:
    """Return what a collection's metadata has as its schema; None if there is nothing."""
    return (info.config.metadata or {}).get(_METADATA)


def is_finished(info: models.CollectionInfo) -> bool:
    """Return whether a server's collection has the indexes without which its documents can't be listed."""
    return {"source_id", f"{ABOVE}.source_id"} <= info.payload_schema.keys()


def aliases_of(client: QdrantClient) -> dict[str, str]:
    """Return the own names of the collections by alias."""
    return {each.alias_name: each.collection_name for each in client.get_aliases().aliases}


def names_of(client: QdrantClient) -> dict[str, str]:
    """Return the own names of all collections by the names that they are opened by."""
    aliases = aliases_of(client)
    named = set(aliases.values())
    found = client.get_collections().collections
    return {**{each.name: each.name for each in found if each.name not in named}, **aliases}


def alias(name: str, own_name: str) -> models.CreateAliasOperation:
    """Return the operation that makes a name the alias of a collection, whatever it was before."""
    return models.CreateAliasOperation(create_alias=models.CreateAlias(collection_name=own_name, alias_name=name))


def _check_version(place: str, found: models.VersionInfo) -> None:
    version = re.match(r"(\d+)\.(\d+)", found.version)
    if "qdrant" not in found.title.lower() or version is None:
        raise StoreError(f"{place} answers, but it is not a Qdrant server. Check the address.")
    if (int(version[1]), int(version[2])) < _OLDEST:
        oldest = ".".join(map(str, _OLDEST))
        raise StoreError(f"{place} runs Qdrant {found.version}; kinsplit needs {oldest} or newer. Update the server.")


def _made(info: models.CollectionInfo, options: QdrantOptions) -> dict[str, Any]:
    """Return the options that a collection was made with, by name."""
    config = info.config
    params, hnsw = config.params, config.hnsw_config
    vectors = params.vectors[DENSE[0]] if isinstance(params.vectors, dict) else None
    kinds = [kind for kind in ("scalar", "binary") if hasattr(config.quantization_config, kind)]
    return {
        "shard_number": params.shard_number,
        "replication_factor": params.replication_factor,
        "write_consistency_factor": params.write_consistency_factor,
        "on_disk": bool(vectors and vectors.on_disk),
        "on_disk_payload": params.on_disk_payload,
        "quantization": kinds[0] if kinds else "none",
        "hnsw_m": (info.config.metadata or {}).get(POSTPONED) or hnsw.m,
        "hnsw_ef_construct": hnsw.ef_construct,
        "hnsw_on_disk": bool(hnsw.on_disk),
        "indexing_threshold": config.optimizer_config.indexing_threshold,
        # An interrupted creation may have left it out.
        "tenant": _tenant(info) or options.tenant,
    }


def _tenant(info: models.CollectionInfo) -> str | None:
    """Return the key of a collection's tenants, if any."""
    tenants = [key for key, found in info.payload_schema.items() if getattr(found.params, "is_tenant", None)]
    return tenants[0].removeprefix(f"{ABOVE}.") if tenants else None


def _complete(client: QdrantClient, collection: str, info: models.CollectionInfo, options: QdrantOptions) -> bool:
    """Create what an interrupted creation left out, and the HNSW graph that an interrupted first load postponed.

    Returns:
        Whether payload indexes were created.
    """
    wanted = _indexes(options.tenant or _tenant(info))
    tenant = options.tenant if _tenant(info) is None else None
    made, room = 0, CollectionLimits.of(info).indexes
    for key, kind in wanted.items():
        if room is not None and len(info.payload_schema) + made >= room:
            break
        if tenant is not None and key.removeprefix(f"{ABOVE}.") == tenant and key in info.payload_schema:
            client.delete_payload_index(collection, key, wait=True)
        elif key in info.payload_schema:
            continue
        once(collection, partial(client.create_payload_index, collection, key, kind, wait=True), is_write=True)
        made += 1
    if is_abandoned(info):
        build_graph(client, collection, info)
    return bool(made)


def open_client(place: str, options: QdrantOptions) -> QdrantClient:
    """Connect to a server, or open the client's local mode.

    Raises:
        InvalidParameterError: The URL is malformed.
        StoreLockedError: The folder is already open.
        StoreError: The folder can't be opened.
    """
    if is_url(place) or place == ":memory:":
        if place.startswith("http://") and not is_loopback(place) and read(API_KEY):
            rule = "the API key is sent without encryption, and whoever reads along can use it"
            warnings.warn(KinsplitWarning(f"{place}: {rule}. Use a server with https://."), stacklevel=3)
        # The client would say it with its own source, also of this machine.
        with valid_url(), warnings.catch_warnings(action="ignore", category=UserWarning):
            return QdrantClient(**_arguments(place, options))
    # If the folder is locked, the client leaves its lock file to the garbage collector.
    with warnings.catch_warnings(action="ignore", category=ResourceWarning):
        try:
            # Every call goes through one lock, so SQLite's check is not needed.
            return QdrantClient(path=str(Path(place).expanduser()), force_disable_check_same_thread=True)
        except OSError as error:
            raise StoreError(f"{place}: {error.strerror}. Choose a folder that you may read and write.") from error
        except RuntimeError as error:
            if "already accessed" not in str(error):
                raise
    where = "in another process, or by a client of your own in this one"
    raise StoreLockedError(f"{place} is open {where}. Close it there first.")


def _arguments(place: str, options: QdrantOptions) -> dict[str, Any]:
    if place == ":memory:":
        return {"location": place}
    if options.grpc and (trusted := os.environ.get("SSL_CERT_FILE")):
        # gRPC knows no other name for it.
        os.environ.setdefault("GRPC_DEFAULT_SSL_ROOTS_FILE_PATH", trusted)
    return {
        "url": place,
        "api_key": read(API_KEY),
        "timeout": options.timeout,
        "prefer_grpc": options.grpc,
        "grpc_port": options.grpc_port,
        # The check would print a warning if no server answers.
        "check_compatibility": False,
        "verify": certificates(),
        # The client's own choice for this machine is a new connection for each request.
        "limits": httpx.Limits(max_connections=100, max_keepalive_connections=20),
    }


def _create_numbered(
    client: QdrantClient, options: QdrantOptions, collection: str, aliased: Container[str], schema: Schema
) -> str:
    """Create a collection under the next number, or take over one that lacks its alias, and return its own name."""
    numbered = (f"{collection}@{number}" for number in count(1))
    while True:
        own_name = next(name for name in numbered if name not in aliased)
        _create(client, options, own_name, schema)
        # Something else may have a collection of this name.
        with suppress(ForeignCollectionError):
            check_own(own_name, stored_schema(client.get_collection(own_name)))
            return own_name


def _create(client: QdrantClient, options: QdrantOptions, collection: str, schema: Schema) -> None:

    cosine, on_disk = models.Distance.COSINE, True if options.on_disk else None
    dense = models.VectorParams(size=schema.dimension, distance=cosine, on_disk=on_disk)
    hnsw = {"m": options.hnsw_m, "ef_construct": options.hnsw_ef_construct, "on_disk": options.hnsw_on_disk}
    hnsw = {name: value for name, value in hnsw.items() if value is not None}
    threshold = options.indexing_threshold
    try:
        client.create_collection(
            collection,
            vectors_config=dict.fromkeys(DENSE, dense),
            sparse_vectors_config={name: models.SparseVectorParams(modifier=models.Modifier.IDF) for name in SPARSE},
            shard_number=options.shard_number,
            replication_factor=options.replication_factor,
            write_consistency_factor=options.write_consistency_factor,
            on_disk_payload=options.on_disk_payload,
            hnsw_config=models.HnswConfigDiff(**hnsw) if hnsw else None,
            optimizers_config=models.OptimizersConfigDiff(indexing_threshold=threshold) if threshold else None,
            quantization_config=_quantization(options),
            metadata={_METADATA: asdict(schema)},
        )
    except (UnexpectedResponse, ValueError):
        # If another process created the collection first, that one is opened.
        if not client.collection_exists(collection):
            raise


def _quantization(options: QdrantOptions) -> models.ScalarQuantization | models.BinaryQuantization | None:
    if options.quantization == "scalar":
        config = models.ScalarQuantizationConfig(type=models.ScalarType.INT8, always_ram=True)
        return models.ScalarQuantization(scalar=config)
    if options.quantization == "binary":
        return models.BinaryQuantization(binary=models.BinaryQuantizationConfig(always_ram=True))
    return None


def _indexes(tenant: str | None) -> dict[str, Any]:
    """Return the payload indexes by key, those first without which nothing can be listed."""
    first = sorted(INDEXES, key=lambda key: not key.endswith(("source_id", "level")))
    indexes: dict[str, Any] = {key: index_of(INDEXES[key]) for key in first}
    if tenant is not None:
        of_tenants = models.KeywordIndexParams(type=models.KeywordIndexType.KEYWORD, is_tenant=True)
        indexes |= dict.fromkeys(places_of([tenant]), of_tenants)
    return indexes
