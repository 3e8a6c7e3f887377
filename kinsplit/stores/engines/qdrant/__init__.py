"""Qdrant, as a server or in the client's local mode."""

from __future__ import annotations

import os

from kinsplit.stores.engines import Engine, deferred
from kinsplit.stores.engines.qdrant.options import QdrantOptions, is_url, parse_location

# Otherwise gRPC, which reads this when it is imported, prints lines of its own about a certificate.
os.environ.setdefault("GRPC_VERBOSITY", "ERROR")

#: The engine for the registry.
ENGINE = Engine(
    deferred("kinsplit.stores.engines.qdrant.store:QdrantStore.open", "qdrant", parse_location),
    deferred("kinsplit.stores.engines.qdrant.store:QdrantCatalog", "qdrant", parse_location),
    "a Qdrant server, a cluster or Qdrant Cloud; a path or memory for some 20,000 chunks",
    "qdrant_client",
    "qdrant",
    options=QdrantOptions,
    is_server=is_url,
)
