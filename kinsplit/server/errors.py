"""Error responses, all in one shape, without details of the machine."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from starlette.exceptions import HTTPException
from starlette.types import Receive, Scope, Send

from kinsplit.errors import InvalidParameterError, KinsplitError
from kinsplit.server.middleware.logs import log_failure
from kinsplit.server.models import ErrorAnswer
from kinsplit.support.settings import first_fault

#: Longest value, in characters, that a response repeats in full.
_LONGEST = 80
_PATHS = "See /openapi.json for the paths."
_RULES = {
    400: ("can't be read", "Send JSON in UTF-8, or files as multipart/form-data."),
    404: ("does not exist", _PATHS),
    405: ("does not support this method", "See /openapi.json for the methods."),
}

#: Error responses of the routes, for OpenAPI.
RESPONSES: dict[int | str, dict[str, Any]] = {
    400: {"model": ErrorAnswer, "description": "The request is not valid HTTP or JSON."},
    401: {"model": ErrorAnswer, "description": "The API key is missing or wrong."},
    403: {"model": ErrorAnswer, "description": "The page that sent the request is of another origin."},
    404: {"model": ErrorAnswer, "description": "Not found."},
    408: {"model": ErrorAnswer, "description": "The body arrived too slowly."},
    409: {"model": ErrorAnswer, "description": "The file has changed since it was indexed."},
    413: {"model": ErrorAnswer, "description": "The body is too large."},
    422: {"model": ErrorAnswer, "description": "A parameter is invalid."},
    429: {"model": ErrorAnswer, "description": "Too many requests; Retry-After says when to try again."},
    503: {"model": ErrorAnswer, "description": "The service is overloaded, or the store does not respond."},
    504: {"model": ErrorAnswer, "description": "The request took too long."},
}


class RequestError(Exception):
    """A failed request, with the response to it: an HTTP status, the rule that it breaks or the failure, and a remedy.

    The field is the part of the request that is at fault.
    """

    def __init__(
        self,
        status: int,
        rule: str,
        remedy: str,
        *,
        field: str | None = None,
        value: object = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(status, rule)
        self.status, self.rule, self.remedy = status, rule, remedy
        self.field, self.value, self.headers = field, value, headers

    def problem(self) -> dict[str, object]:
        """Return the error as the body holds it."""
        return {"field": self.field, "rule": self.rule, "value": _shorten(self.value), "remedy": self.remedy}

    def response(self) -> Response:
        """Return the response."""
        # `json.dumps` escapes lone surrogates, which UTF-8 can't encode.
        body = json.dumps({"error": self.problem()})
        return Response(body, self.status, self.headers, media_type="application/json")


async def reject(error: RequestError, scope: Scope, receive: Receive, send: Send) -> None:
    """Respond with an error before the request's body is read, and close the connection."""
    response = error.response()
    response.headers["Connection"] = "close"
    await response(scope, receive, send)


def internal_error() -> RequestError:
    """Return the error for an unexpected exception."""
    remedy = "Try again. If it fails again, give the operator of the service the X-Request-ID of this response."
    return RequestError(500, "failed", remedy)


def unavailable_error(error: KinsplitError, *, log_text: bool) -> RequestError:
    """Log an error of a store or a model and return one without its message, which may hold paths and URLs."""
    log_failure(error, log_text=log_text)
    remedy = "Try again later. The log of the service has the reason."
    return RequestError(503, f"failed with {type(error).__name__}", remedy, headers={"Retry-After": "10"})


def add_handlers(app: FastAPI) -> None:
    """Make an application respond to every error in the one shape."""

    @app.exception_handler(RequestError)
    async def request(_: Request, error: RequestError) -> Response:
        return error.response()

    @app.exception_handler(InvalidParameterError)
    async def parameter(_: Request, error: InvalidParameterError) -> Response:
        return RequestError(422, error.rule, error.remedy, field=error.field, value=error.value).response()

    @app.exception_handler(KinsplitError)
    async def unavailable(request: Request, error: KinsplitError) -> Response:
        return unavailable_error(error, log_text=request.app.state.settings.log_text).response()

    @app.exception_handler(RequestValidationError)
    async def validation(_: Request, error: RequestValidationError) -> Response:
        fault = first_fault(error.errors())
        if fault.kind == "json_invalid":
            return RequestError(422, "must be JSON", "Check quotes and brackets.", field="body").response()
        if isinstance(fault.value, bytes):
            remedy = "Send JSON with the header Content-Type: application/json."
            return RequestError(422, "must be announced as JSON", remedy, field="body").response()
        # The path begins with "body", "query" or "path".
        field = ".".join(fault.path[1:]) or fault.field
        remedy = "See /openapi.json for the parameters."
        return RequestError(422, fault.rule, remedy, field=field, value=fault.value).response()

    @app.exception_handler(HTTPException)
    async def http(request: Request, error: HTTPException) -> Response:
        rule, remedy = _RULES.get(error.status_code, ("can't be answered", _PATHS))
        headers = dict(error.headers or {})
        field, value = ("body", None) if error.status_code == 400 else ("path", request.url.path)
        return RequestError(error.status_code, rule, remedy, field=field, value=value, headers=headers).response()


def _shorten(value: object) -> object:
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int | float) and abs(value) < 2**53:  # False for infinity and NaN.
        return value
    if isinstance(value, str):
        return value if len(value) <= _LONGEST else f"{value[: _LONGEST - 3]}..."
    if isinstance(value, list | dict | tuple):
        return f"({type(value).__name__} of {len(value)})"  # Not serialised: it may be deeply nested.
    return f"({type(value).__name__})"
