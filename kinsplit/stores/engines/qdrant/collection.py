"""Clients of Qdrant, and collections, whose schema is stored in their metadata when they are created.

A collection of Qdrant can't be renamed, but an alias can be moved in one step. Therefore a new collection `notes` is
created as `notes@1` with the alias `notes`. One that was created without an alias is found under its own name.
"""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kinsplit.errors import CollectionNotFoundError, KinsplitError, StoreError, StoreLockedError
from kinsplit.stores.engines.qdrant.options import QdrantOptions, is_url
from kinsplit.stores.engines.qdrant.payload import INDEXES
from kinsplit.stores.protocol import Schema
from kinsplit.stores.schema import DENSE, SPARSE, check_schema, parse_schema, schema_to_create
from kinsplit.support.extras import needs

if TYPE_CHECKING:
    from qdrant_client import AsyncQdrantClient, QdrantClient, models

API_KEY = "KINSPLIT_QDRANT_API_KEY"
#: What a server and the local mode say of a collection that was deleted.
_GONE = re.compile("Collection [^ ]+ (doesn't exist|not found)")
#: Key of the schema in the collection's metadata.
_METADATA = "kinsplit"


async def open_collection(
    client: AsyncQdrantClient, place: str, options: QdrantOptions, collection: str, schema: Schema | None
) -> tuple[str, Schema]:
    """Open a collection, creating it if it does not exist. On errors, close the client.

    Returns:
        The name of the collection that has the given alias, which stays the same when the alias moves; and its schema.

    Raises:
        StoreError: An error or one of its subclasses; see `kinsplit.stores.open_store`.
    """
    name = f"{place}/{collection}"
    try:
        with qdrant_errors(name):
            aliases = await aliases_of(client)
            own_name = aliases.get(collection, collection)
            if own_name == collection and not await client.collection_exists(collection):
                new = schema_to_create(place, collection, schema, [] if schema else await names_of(client))
                # One without an alias was left by an interrupted creation.
                numbered = (f"{collection}@{number}" for number in count(1))
                own_name = next(name for name in numbered if name not in aliases.values())
                await _create(client, options, own_name, new)
                await client.update_collection_aliases([alias(collection, own_name)])
            info = await client.get_collection(own_name)
            found = own_schema(name, info)
            if found is None:
                raise StoreError(
                    f"{name} holds no schema of kinsplit in its metadata, so something else made it, or a server older "
                    "than Qdrant 1.16. Choose another name."
                )
            check_schema(name, found, schema)
            # An interrupted creation may have left some out.
            missing = INDEXES.keys() - info.payload_schema.keys() if is_url(place) else set()
            for key, kind in _indexes().items():
                if key in missing:
                    await client.create_payload_index(own_name, key, kind, wait=True)
    except BaseException:
        await client.close()
        raise
    return own_name, found


def own_schema(name: str, info: models.CollectionInfo) -> Schema | None:
    """Return the schema in a collection's metadata, or None if something else made the collection.

    Raises:
        StoreError: This version of kinsplit can't read it.
    """
    stored = (info.config.metadata or {}).get(_METADATA)
    return parse_schema(name, stored) if isinstance(stored, dict) else None


async def aliases_of(client: AsyncQdrantClient) -> dict[str, str]:
    """Return the own names of the collections by alias."""
    return {each.alias_name: each.collection_name for each in (await client.get_aliases()).aliases}


async def names_of(client: AsyncQdrantClient) -> dict[str, str]:
    """Return the own names of all collections by the names that they are opened by."""
    aliases = await aliases_of(client)
    named = set(aliases.values())
    found = (await client.get_collections()).collections
    return {**{each.name: each.name for each in found if each.name not in named}, **aliases}


def alias(name: str, own_name: str) -> models.CreateAliasOperation:
    """Return the operation that makes a name the alias of a collection, whatever it was before."""
    from qdrant_client import models

    return models.CreateAliasOperation(create_alias=models.CreateAlias(collection_name=own_name, alias_name=name))


@contextmanager
def qdrant_errors(name: str) -> Iterator[None]:
    """Turn the client's errors, which never contain the API key, into one-line errors."""
    try:
        yield
    except KinsplitError:
        raise
    except Exception as error:  # The client's REST, gRPC and local modes raise different errors.
        reason = " ".join(str(error).split())
        if _GONE.search(reason):
            raise CollectionNotFoundError(f"{name} was dropped. Open the collection that has its name now.") from error
        raise StoreError(f"{name}: {reason or type(error).__name__}") from error


def open_client(place: str, options: QdrantOptions) -> QdrantClient:
    """Connect to a server, or open the client's local mode.

    Raises:
        MissingExtraError: qdrant-client is not installed.
        StoreLockedError: The folder is already open.
        StoreError: The folder can't be opened.
    """
    with needs("qdrant"):
        from qdrant_client import QdrantClient
    if is_url(place) or place == ":memory:":
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
    raise StoreLockedError(
        f"{place} is open in another process, or by a client of your own in this one. Close it there first."
    )


def open_async_client(place: str, options: QdrantOptions) -> AsyncQdrantClient:
    """Connect to a server, or open a new database in memory.

    Raises:
        MissingExtraError: qdrant-client is not installed.
    """
    with needs("qdrant"):
        from qdrant_client import AsyncQdrantClient
    return AsyncQdrantClient(**_arguments(place, options))


def _arguments(place: str, options: QdrantOptions) -> dict[str, Any]:
    if place == ":memory:":
        return {"location": place}
    return {
        "url": place,
        "api_key": os.environ.get(API_KEY),
        "timeout": options.timeout,
        "prefer_grpc": options.grpc,
        # The check would print a warning if no server answers.
        "check_compatibility": False,
    }


async def _create(client: AsyncQdrantClient, options: QdrantOptions, collection: str, schema: Schema) -> None:
    from qdrant_client import models
    from qdrant_client.http.exceptions import UnexpectedResponse

    dense = models.VectorParams(
        size=schema.dimension, distance=models.Distance.COSINE, on_disk=True if options.on_disk else None
    )
    try:
        await client.create_collection(
            collection,
            vectors_config=dict.fromkeys(DENSE, dense),
            sparse_vectors_config={name: models.SparseVectorParams(modifier=models.Modifier.IDF) for name in SPARSE},
            shard_number=options.shard_number,
            replication_factor=options.replication_factor,
            write_consistency_factor=options.write_consistency_factor,
            quantization_config=_quantization(options),
            metadata={_METADATA: asdict(schema)},
        )
    except (UnexpectedResponse, ValueError):
        # If another process created the collection first, that one is opened.
        if not await client.collection_exists(collection):
            raise


def _quantization(options: QdrantOptions) -> models.ScalarQuantization | models.BinaryQuantization | None:
    from qdrant_client import models

    if options.quantization == "scalar":
        config = models.ScalarQuantizationConfig(type=models.ScalarType.INT8, always_ram=True)
        return models.ScalarQuantization(scalar=config)
    if options.quantization == "binary":
        return models.BinaryQuantization(binary=models.BinaryQuantizationConfig(always_ram=True))
    return None


def _indexes() -> dict[str, Any]:
    """Return the payload indexes by key; chunk_index also gets a range index, to read a run of siblings."""
    from qdrant_client import models

    kinds = {
        "keyword": models.PayloadSchemaType.KEYWORD,
        "uuid": models.PayloadSchemaType.UUID,
        "integer": models.IntegerIndexParams(type=models.IntegerIndexType.INTEGER, lookup=True, range=True),
    }
    return {key: kinds[kind] for key, kind in INDEXES.items()}
