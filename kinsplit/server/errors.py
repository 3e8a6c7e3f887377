"""Errors -> one shape of body, without anything of the machine that the service runs on."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from starlette.exceptions import HTTPException

from kinsplit.errors import InvalidParameterError, KinsplitError
from kinsplit.server.middleware.logs import failure
from kinsplit.server.models.operation import ErrorAnswer
from kinsplit.support.validation import first_fault

#: Longest value that is shown as it was given.
_SHOWN = 80
_RULES = {
    404: ("is not here", "See /openapi.json for what is."),
    405: ("does not take this method", "See /openapi.json for what it takes."),
}

#: Of every route that can fail; for OpenAPI.
RESPONSES: dict[int | str, dict[str, Any]] = {
    400: {"model": ErrorAnswer, "description": "The request is no HTTP or no JSON."},
    401: {"model": ErrorAnswer, "description": "A key is needed."},
    404: {"model": ErrorAnswer, "description": "There is no such thing."},
    408: {"model": ErrorAnswer, "description": "The body came too slowly."},
    413: {"model": ErrorAnswer, "description": "The body is too large."},
    422: {"model": ErrorAnswer, "description": "A parameter breaks a rule."},
    429: {"model": ErrorAnswer, "description": "Too many requests; Retry-After says when to come back."},
    503: {"model": ErrorAnswer, "description": "Too much to do at the moment, or the store does not answer."},
    504: {"model": ErrorAnswer, "description": "It took too long."},
}


class RequestError(Exception):
    """An answer other than the one that was asked for.

    Args:
        status: The HTTP status.
        rule: What is allowed, or what happened.
        remedy: What to do about it.
        field: What of the request it is about.
        value: What was given.
        headers: More headers of the answer.
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
        """Return what is told of it."""
        return {"field": self.field, "rule": self.rule, "value": _shortened(self.value), "remedy": self.remedy}

    def response(self) -> Response:
        """Return the answer."""
        # Escaped, so that a lone surrogate in a value can be answered too.
        body = json.dumps({"error": self.problem()})
        return Response(body, self.status, self.headers, media_type="application/json")


def internal() -> RequestError:
    """Return the answer to an error that nobody expected."""
    return RequestError(500, "failed", "Try again, and tell whoever runs the service the X-Request-ID of this answer.")


def unavailable(error: KinsplitError, *, log_text: bool) -> RequestError:
    """Log an error of a store or a model, and return the answer to it: its message may hold paths and addresses."""
    failure(error, log_text=log_text)
    remedy = "Try again later. Whoever runs the service finds the reason in its log."
    return RequestError(503, f"failed with {type(error).__name__}", remedy, headers={"Retry-After": "10"})


def add_handlers(app: FastAPI) -> None:
    """Let an application answer every error in the one shape."""

    @app.exception_handler(RequestError)
    async def fault(_: Request, error: RequestError) -> Response:
        return error.response()

    @app.exception_handler(InvalidParameterError)
    async def parameter(_: Request, error: InvalidParameterError) -> Response:
        return RequestError(422, error.rule, error.remedy, field=error.field, value=error.value).response()

    @app.exception_handler(KinsplitError)
    async def failed(request: Request, error: KinsplitError) -> Response:
        return unavailable(error, log_text=request.app.state.settings.log_text).response()

    @app.exception_handler(RequestValidationError)
    async def validation(_: Request, error: RequestValidationError) -> Response:
        fault = first_fault(error.errors())
        if fault.kind == "json_invalid":
            return RequestError(422, "must be JSON", "Check quotes and brackets.", field="body").response()
        # The path begins with "body", "query" or "path".
        field = ".".join(fault.path[1:]) or fault.field
        remedy = "See /openapi.json for what it takes."
        return RequestError(422, fault.rule, remedy, field=field, value=fault.value).response()

    @app.exception_handler(HTTPException)
    async def http(request: Request, error: HTTPException) -> Response:
        rule, remedy = _RULES.get(error.status_code, ("can't be answered", "See /openapi.json for what can."))
        path = request.url.path
        return RequestError(
            error.status_code, rule, remedy, field="path", value=path, headers=dict(error.headers or {})
        ).response()


def _shortened(value: object) -> object:
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int | float) and abs(value) < 2**53:  # Not so of infinity and of NaN.
        return value
    if isinstance(value, str):
        return value if len(value) <= _SHOWN else f"{value[: _SHOWN - 3]}..."
    if isinstance(value, list | dict | tuple):
        return f"({type(value).__name__} of {len(value)})"  # Not written out: it may be deep.
    return f"({type(value).__name__})"
