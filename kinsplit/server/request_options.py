"""Options of a search or an answer as requests give them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, TypeVar

from fastapi.exceptions import RequestValidationError
from pydantic import Field, ValidationError, create_model
from starlette.datastructures import QueryParams

from kinsplit.doors import DOORS, HTTP
from kinsplit.errors import InvalidParameterError
from kinsplit.server import limits
from kinsplit.server.collections import Collections
from kinsplit.server.dependencies import StrategyName
from kinsplit.server.models import Model
from kinsplit.stores.filters import check_request, parse_where
from kinsplit.wire import is_hidden

_M = TypeVar("_M", bound=Model)

# An answer has all options of a search, and its own.
_OPTIONS = DOORS["ask"][HTTP].fields().keys()

Conditions = Annotated[list[Annotated[str, Field(max_length=limits.CONDITION)]], Field(max_length=limits.CONDITIONS)]


class SearchRequest(Model):
    """The collection, and the options that have a form of their own in requests."""

    strategy: StrategyName = None
    rerank: str = Field(default="none", max_length=limits.NAME, description="Reranker; GET /strategies lists them.")
    where: Any = None
    render: bool = Field(
        default=False, description="Whether to return how passages can be shown, Markdown and code as safe HTML."
    )

    def options(self, collections: Collections) -> dict[str, Any]:
        """Return the given options as keyword arguments of a search or an answer.

        A reranker that the service doesn't have is refused, since loading it would read a disk or a network.
        """
        if self.rerank not in collections.rerankers:
            remedy = f"Use one of: {', '.join(collections.rerankers)}."
            raise InvalidParameterError("rerank", "must be a reranker of this service", self.rerank, remedy)
        given = {name: getattr(self, name) for name in self.model_fields_set & _OPTIONS}
        return {**given, "rerank": collections.rerankers[self.rerank], "where": parse_filter(self.where)}


def offered(operation: str) -> Any:
    """Return the base of a request with the options of an operation that the service offers, within its limits."""
    offers = DOORS[operation][HTTP].fields().items()
    fields = ((name, info) for name, info in offers if name not in SearchRequest.model_fields)
    derived: Any = {name: (info.annotation, info) for name, info in fields}
    return create_model("Offered", __base__=SearchRequest, **derived)


def query_of(model: type[Model]) -> dict[str, Any]:
    """Return the OpenAPI description of a query with the fields of a model, for `read_query`.

    FastAPI could do both, but finds out the kind of each parameter anew for every request, which takes as long as all
    other work of the application.
    """
    schema = model.model_json_schema()
    needed, properties = schema.get("required", ()), schema["properties"].items()
    return {"parameters": [{"name": n, "in": "query", "required": n in needed, "schema": p} for n, p in properties]}


def read_query(model: type[_M], query: QueryParams) -> _M:
    """Return the parameters of a query as a model, or raise RequestValidationError."""
    given: dict[str, Any] = {**query}
    if "where" in given:
        given["where"] = query.getlist("where")
    try:
        return model.model_validate(given)
    except ValidationError as error:
        raise RequestValidationError([{**each, "loc": ("query", *each["loc"])} for each in error.errors()]) from None


def parse_filter(given: Sequence[str] | dict[str, Any] | None) -> dict[str, Any] | None:
    """Return a metadata filter, as `kinsplit.stores.values.Where`, from conditions such as `course=cs`, or from JSON.

    Raises:
        InvalidParameterError: The filter is invalid, too large, or tests a hidden key.
    """
    if not given:
        return None
    where = given if isinstance(given, dict) else _parse(given)
    check_request(where)
    _check_keys(where)
    return where


def _parse(conditions: Sequence[str]) -> dict[str, Any]:
    if len(conditions) > 1 or not conditions[0].lstrip().startswith("{"):
        return parse_where("where", conditions)
    try:
        where: dict[str, Any] = json.loads(conditions[0])
    except (ValueError, RecursionError):
        remedy = 'For example: {"year": {"$gte": 2020}}.'
        raise InvalidParameterError("where", "must be JSON", conditions[0], remedy) from None
    return where


def _check_keys(where: object) -> None:
    """Reject a filter on hidden metadata, whose values a client could find out by trying them."""
    if isinstance(where, Mapping):
        for key, value in where.items():
            if isinstance(key, str) and is_hidden(key):
                raise InvalidParameterError("where", "can't filter by this key", key, "Use another key.")
            _check_keys(value)
    elif isinstance(where, list):
        for each in where:
            _check_keys(each)
