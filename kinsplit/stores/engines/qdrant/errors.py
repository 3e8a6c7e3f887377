"""Errors of qdrant-client in one line, with the cause and the remedy."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager

from kinsplit.errors import KinsplitError, StoreError
from kinsplit.stores.engines.qdrant.options import API_KEY

_REFUSED = (
    f"the server refuses access. Set the environment variable {API_KEY} to a key that may read and write collections"
)
_UNREACHABLE = "no server answers: {}. Check the address, and that the server is running"
_SLOW = "the server did not answer in time. Give the address a higher timeout, such as ?timeout=300"
_STRANGER = "the answer is not that of a Qdrant server. Check the address"


@contextmanager
def qdrant_errors(name: str) -> Iterator[None]:
    """Turn the client's errors into one-line errors, which never contain the API key.

    Args:
        name: Collection or server.

    Raises:
        StoreError: The client raised an error.
    """
    try:
        yield
    except KinsplitError:
        raise
    except Exception as error:  # The client's REST, gRPC and local modes raise different errors.
        raise StoreError(f"{name}: {_reason(error)}") from error


def _reason(error: Exception) -> str:
    # Lazily, since the extra may be missing when the error is another one.
    from grpc import RpcError
    from httpx import TimeoutException, TransportError
    from qdrant_client.http.exceptions import ResponseHandlingException, UnexpectedResponse

    if isinstance(error, UnexpectedResponse):
        return _http_reason(error.status_code, error.content, str(error))
    if isinstance(error, RpcError):
        return _grpc_reason(error)
    cause = error.source if isinstance(error, ResponseHandlingException) else error
    if isinstance(cause, TimeoutException):
        return _SLOW
    if isinstance(cause, TransportError):
        return _UNREACHABLE.format(_line(cause))
    return _STRANGER if isinstance(error, ResponseHandlingException | json.JSONDecodeError) else _line(error)


def _http_reason(status: int | None, content: bytes, text: str) -> str:
    if status in (401, 403):
        return _REFUSED
    try:
        return str(json.loads(content)["status"]["error"])
    except (ValueError, TypeError, KeyError):
        # An error page of a proxy or of another server.
        return f"{_STRANGER} (status {status})" if status is not None and status < 500 else " ".join(text.split())


def _grpc_reason(error: Exception) -> str:
    from grpc import StatusCode

    # The public interface of a call's error is grpc.Call, which RpcError does not declare.
    code, details = getattr(error, "code", lambda: None)(), getattr(error, "details", lambda: "")()
    if code in (StatusCode.UNAUTHENTICATED, StatusCode.PERMISSION_DENIED):
        return _REFUSED
    if code == StatusCode.DEADLINE_EXCEEDED:
        return _SLOW
    return _UNREACHABLE.format(details) if code == StatusCode.UNAVAILABLE else details or _line(error)


def _line(error: Exception) -> str:
    return " ".join(str(error).split()) or type(error).__name__
