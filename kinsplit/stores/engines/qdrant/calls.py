"""Searches, reads by id and writes, as plain JSON or as messages, and filters in all forms that Qdrant's client takes.

The client's own functions copy each search deeply and make a model of each point, which takes longer than all the rest
of a search. Its lower layer, which has the same connections, keys and errors, is called with plain values instead; only
local mode has none.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple, TypeAlias
from urllib.parse import quote

import httpx
from pydantic_core import to_json
from qdrant_client import QdrantClient, grpc, models
from qdrant_client.conversions.conversion import GrpcToRest, RestToGrpc

from kinsplit.embedding.protocol import SparseVector
from kinsplit.stores.engines.qdrant.options import QdrantOptions
from kinsplit.stores.engines.qdrant.payload import FilterForms, filter_of, level_of, places_of, roots_of, unwrapped
from kinsplit.stores.engines.qdrant.points import FRAMEWORK_KEYS, EncodedWrite, to_body
from kinsplit.stores.filters import Condition, to_conditions
from kinsplit.stores.payload import Payload, Payloads, to_entry
from kinsplit.stores.store import FoundPoint
from kinsplit.stores.values import Entry, Query, layer_of

#: Largest number of cached entries, 1 kB each, and the seconds after which they are read anew.
_MOST_ENTRIES, _SECONDS = 20_000, 60.0

#: Parsed addresses.
_url = lru_cache(httpx.URL)
Consistency: TypeAlias = models.ReadConsistencyType | None
#: Payload keys to read; None for all that kinsplit reads.
Keys: TypeAlias = Sequence[str] | None


class Search(NamedTuple):
    """A query as the engine takes it.

    Attributes:
        query: The query.
        using: Name of the vectors that it compares.
        conditions: Its conditions.
        keys: Payload keys to read.
    """

    query: Query
    using: str | None
    conditions: Sequence[Condition]
    keys: Keys


def to_search(query: Query, keys: Keys, ready: Callable[[Sequence[Condition], int], Sequence[Condition]]) -> Search:
    """Return the search of a query, whose conditions on its level a function prepares."""
    layer = layer_of(query.level)
    using = layer.sparse if isinstance(query.vector, SparseVector) else layer.dense
    # A vector name that only one level uses needs no filter by level, for which local mode would read every payload.
    conditions = to_conditions(query.level if len(layer.levels) > 1 else None, query.where)
    return Search(query, using, ready(conditions, query.level), () if query.bare and keys is not None else keys)


class LocalCalls:
    """Calls by the client's own functions, as in its local mode.

    Args:
        collection: Own name of the collection.
        options: Options of the connection and of searches.
    """

    def __init__(self, collection: str, options: QdrantOptions) -> None:
        self._collection, self._timeout = collection, options.timeout
        # Collections without quantized vectors ignore it.
        quantization = models.QuantizationSearchParams(rescore=options.rescore, oversampling=options.oversampling)
        self._search_params = models.SearchParams(hnsw_ef=options.hnsw_ef, quantization=quantization)

    def rank(self, client: QdrantClient, searches: Sequence[Search], asked: Consistency) -> list[list[FoundPoint]]:
        """Return the points that each search finds, best first."""
        requests = [models.QueryRequest.model_validate(_to_json(each)) for each in searches]
        found = client.query_batch_points(self._collection, requests, consistency=asked)
        return [
            [FoundPoint(str(p.id), unwrapped(p.payload), p.score, p.version) for p in each.points] for each in found
        ]

    def read(self, client: QdrantClient, ids: Sequence[str], keys: Keys, asked: Consistency) -> dict[str, Payload]:
        """Return the payloads of points by id, or some of their keys."""
        found = client.retrieve(self._collection, ids, with_payload=shown(keys), consistency=asked)
        return {str(record.id): unwrapped(record.payload) for record in found}

    def write(self, client: QdrantClient, writes: Sequence[EncodedWrite]) -> None:
        """Send writes in one request."""
        made = models.UpdateOperations.model_validate_json(to_body(writes))
        client.batch_update_points(self._collection, made.operations, wait=True)


class HttpCalls(LocalCalls):
    """Calls of a server over HTTP; see `LocalCalls`."""

    def __init__(self, collection: str, options: QdrantOptions) -> None:
        super().__init__(collection, options)
        self._params = self._search_params.model_dump(mode="json", exclude_unset=True, exclude_none=True)

    def rank(self, client: QdrantClient, searches: Sequence[Search], asked: Consistency) -> list[list[FoundPoint]]:
        """Return the points that each search finds, best first."""
        body = {"searches": [_to_json(each, self._params) for each in searches]}
        return [
            [FoundPoint(str(p["id"]), unwrapped(p.get("payload")), p["score"], p["version"]) for p in each["points"]]
            for each in self._ask(client, "/points/query/batch", body, asked)
        ]

    def read(self, client: QdrantClient, ids: Sequence[str], keys: Keys, asked: Consistency) -> dict[str, Payload]:
        """Return the payloads of points by id, or some of their keys."""
        found = self._ask(client, "/points", {"ids": ids, "with_payload": shown(keys)}, asked)
        return {str(record["id"]): unwrapped(record.get("payload")) for record in found}

    def write(self, client: QdrantClient, writes: Sequence[EncodedWrite]) -> None:
        """Send writes in one request, as they are."""
        body: Any = to_body(writes)
        client.http.points_api.batch_update(self._collection, wait=True, update_operations=body)

    def _ask(self, client: QdrantClient, path: str, body: dict[str, Any], asked: Consistency) -> list[dict[str, Any]]:
        api, key = client.http.client, client.init_options["api_key"]
        # A request of the client's own parses the address and joins the headers each time, a quarter of its cost.
        query = f"?consistency={asked.value}" if asked else ""
        url = _url(f"{api.host}/collections/{quote(self._collection, safe='')}{path}{query}")
        headers = {"content-type": "application/json", **({"api-key": key} if key else {})}
        answer = api.send(httpx.Request("POST", url, headers=headers, content=to_json(body)), dict)
        return answer.get("result") or []


class GrpcCalls(LocalCalls):
    """Calls of a server over gRPC; see `LocalCalls`."""

    def __init__(self, collection: str, options: QdrantOptions) -> None:
        super().__init__(collection, options)
        self._params = RestToGrpc.convert_search_params(self._search_params)

    def rank(self, client: QdrantClient, searches: Sequence[Search], asked: Consistency) -> list[list[FoundPoint]]:
        """Return the points that each search finds, best first."""
        request = grpc.QueryBatchPoints(
            collection_name=self._collection,
            query_points=map(self._to_message, searches),
            read_consistency=RestToGrpc.convert_read_consistency(asked) if asked else None,
        )
        answers = client.grpc_points.QueryBatch(request, timeout=self._timeout).result
        return [[_found(p, own.keys) for p in each.result] for own, each in zip(searches, answers, strict=True)]

    def read(self, client: QdrantClient, ids: Sequence[str], keys: Keys, asked: Consistency) -> dict[str, Payload]:
        """Return the payloads of points by id, or some of their keys."""
        request = grpc.GetPoints(
            collection_name=self._collection,
            ids=[grpc.PointId(uuid=id_) for id_ in ids],
            with_payload=RestToGrpc.convert_with_payload_interface(shown(keys)),
            read_consistency=RestToGrpc.convert_read_consistency(asked) if asked else None,
        )
        found = client.grpc_points.Get(request, timeout=self._timeout).result
        return {point.id.uuid: unwrapped(GrpcToRest.convert_payload(point.payload)) for point in found}

    def _to_message(self, search: Search) -> grpc.QueryPoints:
        vector: Any = search.query.vector
        if isinstance(vector, SparseVector):
            nearest = grpc.VectorInput(sparse=grpc.SparseVector(indices=vector.indices, values=vector.values))
        else:
            nearest = grpc.VectorInput(dense=grpc.DenseVector(data=vector.tolist()))
        wanted = filter_of(_MESSAGES, search.conditions, roots_of(search.query.level))
        return grpc.QueryPoints(
            collection_name=self._collection,
            query=grpc.Query(nearest=nearest),
            using=search.using,
            limit=search.query.limit,
            filter=wanted and wanted.filter,
            params=self._params if search.using == "dense" else None,
            with_payload=RestToGrpc.convert_with_payload_interface(shown(search.keys)),
        )


def choose_calls(collection: str, options: QdrantOptions | None) -> LocalCalls:
    """Return the calls of a server with some options, or of the client's local mode."""
    kind = LocalCalls if options is None else GrpcCalls if options.grpc else HttpCalls
    return kind(collection, options or QdrantOptions())


class EntryCache:
    """Entries of ranked points, each kept for the version of its point, which every write raises. Thread-safe.

    A collection that was made anew, and a shard that was moved, count versions from the start. Therefore all entries
    are dropped after a minute.
    """

    def __init__(self) -> None:
        self._kept: dict[str, tuple[int, Entry]] = {}
        self._until = 0.0

    def read(self, versions: Mapping[str, int], fetch: Callable[[list[str]], Payloads]) -> dict[str, Entry]:
        """Return entries by id; those of points that were deleted in the meantime are missing.

        Args:
            versions: Versions of the points by id.
            fetch: Function that returns payloads by id.
        """
        if (now := time.monotonic()) > self._until or len(self._kept) > _MOST_ENTRIES:
            self._kept, self._until = {}, now + _SECONDS
        kept = self._kept
        found = {id_: own[1] for id_, version in versions.items() if (own := kept.get(id_)) and own[0] == version}
        if len(found) < len(versions):
            for id_, payload in fetch([id_ for id_ in versions if id_ not in found]).items():
                found[id_] = to_entry(id_, payload)
                kept[id_] = (versions[id_], found[id_])
        return found


def shown(keys: Keys) -> models.PayloadSelectorExclude | list[str] | bool:
    """Return the selector of payload keys."""
    return models.PayloadSelectorExclude(exclude=list(FRAMEWORK_KEYS)) if keys is None else places_of(keys) or False


def to_filter(conditions: Sequence[Condition]) -> models.Filter | None:
    """Return the filter of conditions, or None if everything matches."""
    found = filter_of(_JSON, conditions, roots_of(level_of(conditions)))
    return found and models.Filter.model_validate(found)


def _to_json(search: Search, params: dict[str, Any] | None = None) -> dict[str, Any]:
    vector: Any = search.query.vector
    is_sparse = isinstance(vector, SparseVector)
    nearest = {"indices": vector.indices, "values": vector.values} if is_sparse else vector.tolist()
    found = {"query": {"nearest": nearest}, "using": search.using, "limit": search.query.limit}
    if wanted := filter_of(_JSON, search.conditions, roots_of(search.query.level)):
        found["filter"] = wanted
    if params and search.using == "dense":
        found["params"] = params
    return {**found, "with_payload": shown(search.keys)}


_JSON = FilterForms(
    group=dict,
    has_id=lambda ids: {"has_id": ids},
    field=lambda path, **test: {"key": path, **test},
    numbers=dict,
    times=dict,
    any_of=lambda values: {"any": values},
    boolean=lambda value: {"value": value},
    empty=lambda path: {"is_empty": {"key": path}},
)


def _found(point: Any, keys: Keys) -> FoundPoint:
    payload = {} if keys == () else unwrapped(GrpcToRest.convert_payload(point.payload))
    return FoundPoint(point.id.uuid or str(point.id.num), payload, point.score, point.version)


def _field_message(path: str, **test: Any) -> grpc.Condition:
    names = {"datetime_range" if isinstance(each, grpc.DatetimeRange) else name: each for name, each in test.items()}
    return grpc.Condition(field=grpc.FieldCondition(key=path, **names))


_MESSAGES = FilterForms(
    group=lambda **parts: grpc.Condition(filter=grpc.Filter(**parts)),
    has_id=lambda ids: grpc.Condition(has_id=grpc.HasIdCondition(has_id=[grpc.PointId(uuid=id_) for id_ in ids])),
    field=_field_message,
    numbers=grpc.Range,
    times=lambda bounds: RestToGrpc.convert_datetime_range(models.DatetimeRange(**bounds)),
    any_of=lambda values: RestToGrpc.convert_match(models.MatchAny(any=values)),
    boolean=lambda value: grpc.Match(boolean=value),
    empty=lambda path: grpc.Condition(is_empty=grpc.IsEmptyCondition(key=path)),
)
