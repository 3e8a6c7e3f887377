"""A Qdrant server for tests: the client's local mode behind HTTP, which checks every request against Qdrant's models.

The models are those that qdrant-client generates from the OpenAPI description of the server.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from pydantic import TypeAdapter
from pydantic_core import to_jsonable_python
from qdrant_client import QdrantClient
from qdrant_client.http import models

from tests.local_server import QuietHandler, running
from tests.stores.qdrant_refusals import RefusalError, Refusals, plain

#: Body of each request by method and path below "/collections".
BODIES: dict[tuple[str, str], Any] = {
    ("PUT", "/C"): models.CreateCollection,
    ("PATCH", "/C"): models.UpdateCollection,
    ("PUT", "/C/index"): models.CreateFieldIndex,
    ("PUT", "/C/points"): models.PointInsertOperations,
    ("POST", "/C/points"): models.PointRequest,
    ("POST", "/C/points/batch"): models.UpdateOperations,
    ("POST", "/C/points/count"): models.CountRequest,
    ("POST", "/C/points/delete"): models.PointsSelector,
    ("POST", "/C/points/query"): models.QueryRequest,
    ("POST", "/C/points/query/batch"): models.QueryRequestBatch,
    ("POST", "/C/points/scroll"): models.ScrollRequest,
    ("POST", "/C/facet"): models.FacetRequest,
    ("POST", "/aliases"): models.ChangeAliasesOperation,
}


def parsed(model: Any, body: Any) -> Any:
    """Return a body as a model, after checking that the model holds every field of it, at any depth, unchanged."""
    request = TypeAdapter(model).validate_python(body)
    kept = TypeAdapter(model).dump_python(request, mode="json", exclude_unset=True, by_alias=True)
    assert kept == body, f"{model}: {kept} is left of {body}"
    return request


@dataclass
class Server:
    """State of the server.

    Attributes:
        client: Its data.
        key: API key that requests must have; None for any.
        version: Version that it reports.
        requests: Method, path and body of each request.
        connections: Ports from which requests came.
        faults: Messages of requests that no model allows.
        port: Port that it listens on.
        consistencies: Consistency that each read asked for.
        refusals: What it refuses besides.
        second: Data of the second replica, for collections with two.
    """

    client: QdrantClient = field(default_factory=lambda: QdrantClient(":memory:"))
    second: QdrantClient = field(default_factory=lambda: QdrantClient(":memory:"))
    refusals: Refusals = field(default_factory=Refusals)
    key: str | None = None
    version: str = "1.16.3"
    requests: list[tuple[str, str, Any]] = field(default_factory=list)
    connections: set[int] = field(default_factory=set)
    faults: list[str] = field(default_factory=list)
    port: int = 0
    consistencies: list[Any] = field(default_factory=list)
    _created: dict[str, dict[str, Any]] = field(default_factory=dict)
    _indexes: dict[str, dict[str, Any]] = field(default_factory=dict)
    _reads: int = 0
    _versions: dict[tuple[str, str], int] = field(default_factory=dict)
    _operations: int = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def sent(self, method: str, path: str) -> list[Any]:
        """Return the bodies of the requests to a path; "C" stands for any collection."""
        pattern = re.compile("/collections" + re.sub(r"^/C", "/[^/]+", path))
        return [body for verb, place, body in self.requests if verb == method and pattern.fullmatch(place)]

    def indexes(self, name: str) -> dict[str, Any]:
        """Return the payload indexes of a collection by path; a test may change them."""
        return self._indexes[name]

    def answer(self, method: str, place: str, query: dict[str, Any], body: Any, size: int = 0) -> Any:
        """Return the result of a request of so many bytes."""
        if (method, place) == ("GET", "/aliases"):
            return self.client.get_aliases()
        _, _, *parts = map(unquote, place.split("/"))
        if not parts:
            return self.client.get_collections()
        name = parts[0]
        path = "/" + "/".join(parts if name == "aliases" else ["C", *parts[1:]])
        if name != "aliases":
            indexes, known = self._indexes.get(name, {}), frozenset(self._created)
            self.refusals.check(method, name, path.removeprefix("/C"), body, indexes, size, known)
        request = parsed(BODIES[method, path], body) if body is not None else None
        match method, path:
            case "GET", "/C/exists":
                return {"exists": self.client.collection_exists(name)}
            case "GET", "/C":
                return self._info(name)
            case "PUT", "/C":
                return self._create(name, request, body)
            case "PATCH", "/C":
                self._created[name].setdefault("hnsw_config", {}).update(body.get("hnsw_config") or {})
                return self.client.update_collection(name, metadata=request.metadata)
            case "DELETE", "/C":
                self.second.delete_collection(name)
                return self.client.delete_collection(name)
            case "PUT", "/C/index":
                schema = body["field_schema"]
                kind = schema if isinstance(schema, str) else schema["type"]
                params = None if isinstance(schema, str) else schema
                self._indexes[name][plain(request.field_name)] = {"data_type": kind, "params": params, "points": 0}
            case "DELETE", path if path.startswith("/C/index/"):
                del self._indexes[name][plain(parts[2])]
            case "POST", "/C/points/batch":
                assert query["wait"] == ["true"]
                self._count(name, request.operations)
                return self._write(name, lambda client: client.batch_update_points(name, request.operations))
            case "POST", "/C/points/delete":
                self._write(name, lambda client: client.delete(name, request))
            case "POST", path if path in _FOUND:
                limit = request.limit if path == "/C/points/scroll" else None
                found = self._read(name, query, lambda client: _found(client, name, path, request), limit)
                return self._with_versions(name, found) if path.startswith("/C/points/query") else found
            case "POST", "/aliases":
                return self.client.update_collection_aliases(request.actions)
            case _:
                raise NotImplementedError(path)
        return {"operation_id": 1, "status": "completed"}

    def _count(self, name: str, operations: list[Any]) -> None:
        """Give the points that operations write their versions, which local mode does not have."""
        for operation in operations:
            self._operations += 1
            if isinstance(operation, models.UpsertOperation):
                ids = [point.id for point in operation.upsert.points]
            else:
                ids = getattr(getattr(operation, "overwrite_payload", None), "points", ())
            self._versions.update({(name, id_): self._operations for id_ in ids})

    def _with_versions(self, name: str, found: Any) -> Any:
        if isinstance(found, list):
            return [self._with_versions(name, ranking) for ranking in found]
        points = to_jsonable_python(found)["points"]
        versions = [self._versions.get((name, point["id"]), 0) for point in points]
        return models.QueryResponse(
            points=[{**point, "version": version} for point, version in zip(points, versions, strict=True)]
        )

    def _replicas(self, name: str) -> list[QdrantClient]:
        return [self.client, self.second][: self._created.get(name, {}).get("replication_factor") or 1]

    def _write(self, name: str, write: Callable[[QdrantClient], Any]) -> Any:
        done = [write(client) for client in self._replicas(name)[: 1 if self.refusals.is_down else None]]
        self.refusals.after_write()
        return done[0]

    def _read(self, name: str, query: dict[str, Any], read: Callable[[QdrantClient], Any], limit: int | None) -> Any:
        """Read from the replicas in turn, or what all of them have alike."""
        self.consistencies.append(query.get("consistency"))
        replicas = self._replicas(name)
        if query.get("consistency") == ["all"]:
            found = _alike([to_jsonable_python(read(client)) for client in replicas])
            if limit and len(found["points"]) < limit:
                found["next_page_offset"] = None  # It takes a page without the points that differ for the last one.
            return found
        self._reads += 1
        return read(replicas[self._reads % len(replicas)])

    def _create(self, name: str, request: models.CreateCollection, body: dict[str, Any]) -> bool:
        self._created[name], self._indexes[name] = body, {}
        for client in self._replicas(name):
            client.create_collection(
                name,
                vectors_config=request.vectors,
                sparse_vectors_config=request.sparse_vectors,
                metadata=request.metadata,
            )
        return True

    def _info(self, name: str) -> Any:
        info = to_jsonable_python(self.client.get_collection(name))
        created = self._created[name]
        for option in ("shard_number", "replication_factor", "write_consistency_factor", "on_disk_payload"):
            info["config"]["params"][option] = created.get(option)
        info["payload_schema"] = self._indexes[name]
        info["config"]["hnsw_config"].update(created.get("hnsw_config") or {})
        info["config"]["optimizer_config"].update(created.get("optimizers_config") or {})
        info["config"]["quantization_config"] = created.get("quantization_config")
        info["config"]["strict_mode_config"] = self.refusals.strict or None
        return info


#: Paths of the requests that read points.
_FOUND = {path for method, path in BODIES if method == "POST"} - {"/C/points/batch", "/C/points/delete", "/aliases"}


def _found(client: QdrantClient, name: str, path: str, request: Any) -> Any:
    """Return what a request finds in one replica."""
    if path == "/C/points/query":
        return _found(client, name, f"{path}/batch", models.QueryRequestBatch(searches=[request]))[0]
    match path:
        case "/C/points":
            return client.retrieve(name, request.ids, request.with_payload, request.with_vector)
        case "/C/points/count":
            found = client.count(name, request.filter).count
            return models.CountResult(count=found if request.exact else found + 1)  # an estimate
        case "/C/points/query/batch":
            # Local mode compares all vectors, and warns of parameters.
            searches = [search.model_copy(update={"params": None}) for search in request.searches]
            return client.query_batch_points(name, searches)
        case "/C/facet":
            found = client.facet(name, request.key, request.filter, limit=request.limit)
            estimates = [models.FacetValueHit(value=hit.value, count=hit.count + 1) for hit in found.hits]
            return found if request.exact else models.FacetResponse(hits=estimates)
    points, offset = client.scroll(
        name,
        request.filter,
        limit=request.limit,
        offset=request.offset,
        with_payload=request.with_payload,
        with_vectors=request.with_vector,
    )
    return {"points": points, "next_page_offset": offset}


def _alike(answers: list[Any]) -> Any:
    """Return what all replicas answer alike."""
    first = answers[0]
    if isinstance(first, list):
        if first and isinstance(first[0], dict) and "points" in first[0]:
            return list(map(_alike, map(list, zip(*answers, strict=True))))
        return [each for each in first if all(each in other for other in answers)]
    if "count" in first:
        return min(answers, key=lambda answer: answer["count"])
    if "hits" in first:
        counts = [{hit["value"]: hit["count"] for hit in answer["hits"]} for answer in answers]
        return {
            "hits": [
                {"value": value, "count": min(each[value] for each in counts)}
                for value in counts[0]
                if all(value in each for each in counts)
            ]
        }
    return {**first, "points": _alike([answer["points"] for answer in answers])}


@contextmanager
def qdrant_server() -> Iterator[Server]:
    """Run a server until the block ends, and check then that every request was of its model."""
    server, one_at_a_time = Server(), threading.Lock()

    class Handler(QuietHandler):
        protocol_version = "HTTP/1.1"

        def _answer(self) -> None:
            length = int(self.headers.get("content-length", 0))
            body = json.loads(self.rfile.read(length)) if length else None
            place = urlsplit(self.path)
            server.requests.append((self.command, place.path, body))
            server.connections.add(self.client_address[1])
            if server.key is not None and self.headers.get("api-key") != server.key:
                self.respond(b"Must provide an API key or an Authorization bearer token", 401, {})
                return
            if place.path == "/":
                found = {"title": "qdrant - vector search engine", "version": server.version}
                self.respond(json.dumps(found).encode(), 200, {"content-type": "application/json"})
                return
            headers = {}
            try:
                with one_at_a_time:
                    result = server.answer(self.command, place.path, parse_qs(place.query), body, length)
                plain = to_jsonable_python(result, exclude_none=True)
                document, status = {"result": plain, "status": "ok", "time": 0.0}, 200
            except RefusalError as error:
                document, status = {"status": {"error": error.message}, "time": 0.0}, error.status
                headers = error.headers
            except ValueError as error:
                document, status = {"status": {"error": str(error)}, "time": 0.0}, 400
                if "not found" not in str(error):
                    server.faults.append(str(error))
            except (AssertionError, LookupError, NotImplementedError) as error:
                document, status = {"status": {"error": repr(error)}, "time": 0.0}, 500
                server.faults.append(repr(error))
            self.respond(json.dumps(document).encode(), status, {"content-type": "application/json", **headers})

    for method in ("GET", "PUT", "POST", "PATCH", "DELETE"):
        setattr(Handler, f"do_{method}", Handler._answer)
    with running(Handler) as server.port:
        try:
            yield server
        finally:
            server.client.close()
            server.second.close()
    assert server.faults == []
