"""gRPC in front of the Qdrant server of the tests: each call becomes the HTTP request that means the same."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any
from urllib.parse import quote

import grpc as transport
from pydantic_core import to_jsonable_python
from qdrant_client import grpc
from qdrant_client.conversions.conversion import GrpcToRest, RestToGrpc
from qdrant_client.grpc import collections_service_pb2_grpc, points_service_pb2_grpc, qdrant_pb2_grpc
from qdrant_client.http import models

from tests.stores.qdrant_refusals import RefusalError
from tests.stores.qdrant_server import Server


def _maybe(message: Any, name: str, convert: Any = lambda value: value) -> Any:
    return convert(getattr(message, name)) if message.HasField(name) else None


def _record(record: models.Record) -> grpc.RetrievedPoint:
    return RestToGrpc.convert_record(record.model_copy(update={"payload": record.payload or {}}))


class _Services(
    qdrant_pb2_grpc.QdrantServicer,
    collections_service_pb2_grpc.CollectionsServicer,
    points_service_pb2_grpc.PointsServicer,
):
    """Services whose calls take turns.

    Args:
        server: Server that answers.
    """

    def __init__(self, server: Server) -> None:
        self._server, self._turn = server, threading.Lock()

    def _ask(self, method: str, path: str, body: Any = None, query: Any = None) -> Any:
        if body is not None:
            body = to_jsonable_python(body, exclude_none=True)
        self._server.requests.append((method, path, body))
        with self._turn:
            return self._server.answer(method, path, query or {}, body)

    def _points(self, request: Any, method: str, path: str, body: Any, query: Any = None) -> Any:
        return self._ask(method, f"/collections/{quote(request.collection_name)}/{path}", body, query)

    def HealthCheck(self, request, context):
        return grpc.HealthCheckReply(title="qdrant - vector search engine", version=self._server.version)

    def List(self, request, context):
        names = [each.name for each in self._ask("GET", "/collections").collections]
        return grpc.ListCollectionsResponse(collections=[grpc.CollectionDescription(name=name) for name in names])

    def ListAliases(self, request, context):
        aliases = map(RestToGrpc.convert_alias_description, self._ask("GET", "/aliases").aliases)
        return grpc.ListAliasesResponse(aliases=aliases)

    def UpdateAliases(self, request, context):
        actions = [GrpcToRest.convert_alias_operations(action) for action in request.actions]
        return grpc.CollectionOperationResponse(
            result=self._ask("POST", "/collections/aliases", models.ChangeAliasesOperation(actions=actions))
        )

    def CollectionExists(self, request, context):
        exists = self._points(request, "GET", "exists", None)["exists"]
        return grpc.CollectionExistsResponse(result=grpc.CollectionExists(exists=exists))

    def Get(self, request, context):
        if isinstance(request, grpc.GetPoints):
            found = self._points(
                request,
                "POST",
                "points",
                models.PointRequest(
                    ids=[GrpcToRest.convert_point_id(id_) for id_ in request.ids],
                    with_payload=_maybe(request, "with_payload", GrpcToRest.convert_with_payload_interface),
                    with_vector=_maybe(request, "with_vectors", GrpcToRest.convert_with_vectors_selector),
                ),
            )
            return grpc.GetResponse(result=map(_record, found))
        info = self._ask("GET", f"/collections/{quote(request.collection_name)}")
        return grpc.GetCollectionInfoResponse(
            result=RestToGrpc.convert_collection_info(models.CollectionInfo.model_validate(info))
        )

    def Create(self, request, context):
        body = models.CreateCollection(
            vectors=_maybe(request, "vectors_config", GrpcToRest.convert_vectors_config),
            sparse_vectors=_maybe(request, "sparse_vectors_config", GrpcToRest.convert_sparse_vector_config),
            shard_number=_maybe(request, "shard_number"),
            replication_factor=_maybe(request, "replication_factor"),
            write_consistency_factor=_maybe(request, "write_consistency_factor"),
            on_disk_payload=_maybe(request, "on_disk_payload"),
            hnsw_config=_maybe(request, "hnsw_config", GrpcToRest.convert_hnsw_config_diff),
            optimizers_config=_maybe(request, "optimizers_config", GrpcToRest.convert_optimizers_config_diff),
            quantization_config=_maybe(request, "quantization_config", GrpcToRest.convert_quantization_config),
            metadata=GrpcToRest.convert_payload(request.metadata),
        )
        result = self._ask("PUT", f"/collections/{quote(request.collection_name)}", body)
        return grpc.CollectionOperationResponse(result=result)

    def Update(self, request, context):
        metadata = GrpcToRest.convert_payload(request.metadata)
        hnsw = _maybe(request, "hnsw_config", GrpcToRest.convert_hnsw_config_diff)
        body = {
            **to_jsonable_python(models.UpdateCollection(hnsw_config=hnsw), exclude_none=True),
            "metadata": metadata,
        }
        path = f"/collections/{quote(request.collection_name)}"
        self._server.requests.append(("PATCH", path, body))
        with self._turn:
            return grpc.CollectionOperationResponse(result=self._server.answer("PATCH", path, {}, body))

    def Delete(self, request, context):
        if isinstance(request, grpc.DeleteCollection):
            result = self._ask("DELETE", f"/collections/{quote(request.collection_name)}")
            return grpc.CollectionOperationResponse(result=result)
        self._points(request, "POST", "points/delete", GrpcToRest.convert_points_selector(request.points))
        return grpc.PointsOperationResponse(result=_DONE)

    def CreateFieldIndex(self, request, context):
        kind = (
            _maybe(request, "field_index_params", GrpcToRest.convert_payload_schema_params)
            or _KINDS[request.field_type]
        )
        body = models.CreateFieldIndex(field_name=request.field_name, field_schema=kind)
        self._points(request, "PUT", "index", body)
        return grpc.PointsOperationResponse(result=_DONE)

    def DeleteFieldIndex(self, request, context):
        self._points(request, "DELETE", f"index/{quote(request.field_name)}", None)
        return grpc.PointsOperationResponse(result=_DONE)

    def UpdateBatch(self, request, context):
        operations = [GrpcToRest.convert_points_update_operation(each) for each in request.operations]
        body = models.UpdateOperations(operations=operations)
        self._points(request, "POST", "points/batch", body, {"wait": [str(request.wait).lower()]})
        return grpc.UpdateBatchResponse(result=[_DONE] * len(operations))

    def Query(self, request, context):
        body = GrpcToRest.convert_query_points(request)
        answer = self._points(request, "POST", "points/query", body)
        return grpc.QueryResponse(result=map(RestToGrpc.convert_scored_point, answer.points))

    def QueryBatch(self, request, context):
        searches = [GrpcToRest.convert_query_points(each) for each in request.query_points]
        answers = self._points(request, "POST", "points/query/batch", models.QueryRequestBatch(searches=searches))
        return grpc.QueryBatchResponse(
            result=[grpc.BatchResult(result=map(RestToGrpc.convert_scored_point, each.points)) for each in answers]
        )

    def Scroll(self, request, context):
        body = models.ScrollRequest(
            filter=_maybe(request, "filter", GrpcToRest.convert_filter),
            offset=_maybe(request, "offset", GrpcToRest.convert_point_id),
            limit=_maybe(request, "limit"),
            with_payload=_maybe(request, "with_payload", GrpcToRest.convert_with_payload_interface),
            with_vector=_maybe(request, "with_vectors", GrpcToRest.convert_with_vectors_selector),
        )
        page = self._points(request, "POST", "points/scroll", body)
        offset = page["next_page_offset"]
        return grpc.ScrollResponse(
            result=map(_record, page["points"]),
            next_page_offset=None if offset is None else RestToGrpc.convert_extended_point_id(offset),
        )

    def Count(self, request, context):
        wanted = _maybe(request, "filter", GrpcToRest.convert_filter)
        body = models.CountRequest(filter=wanted, exact=_maybe(request, "exact"))
        count = self._points(request, "POST", "points/count", body).count
        return grpc.CountResponse(result=grpc.CountResult(count=count))

    def Facet(self, request, context):
        wanted = _maybe(request, "filter", GrpcToRest.convert_filter)
        limits = {"limit": _maybe(request, "limit"), "exact": _maybe(request, "exact")}
        body = models.FacetRequest(key=request.key, filter=wanted, **limits)
        return grpc.FacetResponse(
            hits=map(RestToGrpc.convert_facet_value_hit, self._points(request, "POST", "facet", body).hits)
        )


_STATUS = {
    400: transport.StatusCode.INVALID_ARGUMENT,
    403: transport.StatusCode.PERMISSION_DENIED,
    429: transport.StatusCode.RESOURCE_EXHAUSTED,
    500: transport.StatusCode.INTERNAL,
}


class _Refusing(transport.ServerInterceptor):
    """Turns a refusal into the status of a call."""

    def intercept_service(self, continuation, details):
        handler = continuation(details)

        def answer(request, context):
            try:
                return handler.unary_unary(request, context)
            except RefusalError as error:
                context.set_trailing_metadata(list(error.headers.items()))
                context.abort(_STATUS[error.status], error.message)

        return transport.unary_unary_rpc_method_handler(
            answer, handler.request_deserializer, handler.response_serializer
        )


_DONE = grpc.UpdateResult(operation_id=1, status=grpc.UpdateStatus.Completed)
_KINDS = {
    grpc.FieldType.FieldTypeKeyword: models.PayloadSchemaType.KEYWORD,
    grpc.FieldType.FieldTypeUuid: models.PayloadSchemaType.UUID,
    grpc.FieldType.FieldTypeBool: models.PayloadSchemaType.BOOL,
    grpc.FieldType.FieldTypeFloat: models.PayloadSchemaType.FLOAT,
    grpc.FieldType.FieldTypeDatetime: models.PayloadSchemaType.DATETIME,
}


@contextmanager
def qdrant_grpc(server: Server) -> Iterator[int]:
    """Run gRPC in front of a server until the block ends.

    Args:
        server: The server.

    Yields:
        The port.
    """
    services = _Services(server)
    front = transport.server(ThreadPoolExecutor(2), interceptors=[_Refusing()])
    qdrant_pb2_grpc.add_QdrantServicer_to_server(services, front)
    collections_service_pb2_grpc.add_CollectionsServicer_to_server(services, front)
    points_service_pb2_grpc.add_PointsServicer_to_server(services, front)
    port = front.add_insecure_port("127.0.0.1:0")
    front.start()
    try:
        yield port
    finally:
        front.stop(None).wait()
