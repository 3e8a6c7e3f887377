"""Errors of Qdrant's client and server as errors of kinsplit, each with its remedy, none with the API key."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager

from kinsplit.errors import CollectionNotFoundError, KinsplitError, StoreError
from kinsplit.stores.engines.qdrant.options import API_KEY

_UNREACHABLE = "no server answers: {}. Check the address, and that the server is running"
#: What a failed connection says, and what that means.
_CONNECTIONS = {
    re.compile("CERTIFICATE_VERIFY_FAILED"): (
        "the certificate of the server is not trusted: {}. Set the environment variable SSL_CERT_FILE to a file with "
        "the certificate of its authority"
    ),
    re.compile("WRONG_VERSION_NUMBER|RECORD_LAYER|record layer"): (
        "the server does not use TLS: {}. Write http:// instead of https:// in the address"
    ),
    re.compile("without sending|reset by peer|Socket closed"): (
        "the server closed the connection without an answer: {}. If it uses TLS, write https:// in the address"
    ),
}
_SLOW = "the server did not answer in time. Give the address a higher timeout, such as ?timeout=300"
#: What servers and the local mode say of a collection that does not exist.
_GONE = re.compile("Collection .* (doesn't exist|not found)")
_STRANGER = "the answer is not that of a Qdrant server. Check the address"
_KEY = f"Set the environment variable {API_KEY} to"
#: What the server says, and what to do about it.
_REMEDIES = {
    re.compile("(?P<what>Access to collection .*) is required"): (
        f"the server refuses access: {{what}} is required. {_KEY} a key that has it; one that is bound to a collection "
        "needs both of its names, such as notes and notes@1"
    ),
    re.compile("(?P<what>(Global|Manage|Write) .*) is required"): (
        f"the server refuses access: {{what}} is required. {_KEY} a key that has it"
    ),
    re.compile("No space left|disk space|out of disk|Not enough space"): (
        "the disk of the server is full: {words}. Free some space there, and repeat the command"
    ),
    re.compile('Failed to connect to (?P<what>[^,"]+)'): (
        "a node of the cluster that holds chunks of this collection is down: {what}. Start it again and repeat the "
        "command, which also writes what that node has missed"
    ),
    re.compile("active replica|replicas? .*(dead|failed)|consistency .* not (met|satisfied)"): (
        "too few nodes that hold this collection are up: {words}. Start them again and repeat the command"
    ),
    re.compile("No appropriate index for faceting"): (
        "the collection was not finished when it was made. Open it with a key that may manage collections, as "
        "`kinsplit index` does, which finishes it, or drop it"
    ),
    re.compile("Limit exceeded|limit reached"): (
        "the collection's strict mode allows less: {words}. Ask for less, or let an administrator raise the limit"
    ),
    re.compile("maximum number of payload indices"): (
        "the collection may have no more payload indexes: {words}. Raise max_payload_index_count in its strict mode"
    ),
    re.compile("larger than allowed|Payload reached size limit|larger than max"): (
        "the server accepts no requests of this size: {words}. Give the address a lower request_mb"
    ),
}


@contextmanager
def qdrant_errors(name: str) -> Iterator[None]:
    """Turn the client's errors into one-line errors, which never contain the API key.

    Raises:
        CollectionNotFoundError: The collection was dropped after it was opened.
        StoreError: The client raised another error.
    """
    try:
        yield
    except KinsplitError:
        raise
    except Exception as error:  # The client's REST, gRPC and local modes raise different errors.
        if _GONE.search(reason := reason_of(error)):
            raise CollectionNotFoundError(f"{name} was dropped. Open the collection that has its name now.") from error
        raise StoreError(f"{name}: {reason.rstrip('.')}.") from error


def is_passing(error: Exception) -> bool:
    """Return whether an error may be gone when the same request is sent again: of the network, or inside the server."""
    from grpc import RpcError, StatusCode
    from qdrant_client.http.exceptions import ResponseHandlingException, UnexpectedResponse

    if isinstance(error, UnexpectedResponse):
        return (error.status_code or 0) >= 500
    if isinstance(error, RpcError):
        passing = (StatusCode.UNAVAILABLE, StatusCode.DEADLINE_EXCEEDED, StatusCode.INTERNAL)
        return getattr(error, "code", lambda: None)() in passing
    return isinstance(error, ResponseHandlingException) and not isinstance(error.source, ValueError)


def is_forbidden(error: Exception) -> bool:
    """Return whether the API key lacks the right to do what was asked for."""
    from grpc import RpcError, StatusCode
    from qdrant_client.http.exceptions import UnexpectedResponse

    if isinstance(error, RpcError):
        return bool(getattr(error, "code", lambda: None)() == StatusCode.PERMISSION_DENIED)
    return isinstance(error, UnexpectedResponse) and error.status_code == 403


def words_of(error: Exception) -> str:
    """Return what the server said of a request that it refused; "" for other errors."""
    from grpc import RpcError
    from qdrant_client.common.client_exceptions import ResourceExhaustedResponse
    from qdrant_client.http.exceptions import UnexpectedResponse

    if isinstance(error, RpcError):
        # The public interface of a call's error is grpc.Call, which RpcError does not declare.
        return getattr(error, "details", lambda: "")() or ""
    if isinstance(error, ResourceExhaustedResponse):
        return str(error)
    if isinstance(error, UnexpectedResponse):
        try:
            return str(json.loads(error.content)["status"]["error"])
        except (ValueError, TypeError, KeyError):
            return ""
    return ""


def reason_of(error: Exception) -> str:
    """Return the reason of an error of the client, with its remedy, in one line."""
    # Lazily, since the extra may be missing when the error is another one.
    from grpc import RpcError
    from httpx import TimeoutException, TransportError
    from qdrant_client.http.exceptions import ResponseHandlingException, UnexpectedResponse

    words = words_of(error)
    if isinstance(error, UnexpectedResponse):
        return _http_reason(error.status_code, words, str(error))
    if isinstance(error, RpcError):
        return _grpc_reason(error, words)
    cause = error.source if isinstance(error, ResponseHandlingException) else error
    if isinstance(cause, TimeoutException):
        return _SLOW
    if isinstance(cause, TransportError):
        return _unreachable(_line(cause))
    return _STRANGER if isinstance(error, ResponseHandlingException | json.JSONDecodeError) else _line(error)


def _http_reason(status: int | None, words: str, text: str) -> str:
    if words:
        return _with_remedy(words)
    if status in (401, 403):
        return f"the server refuses access. {_KEY} a key of the server"
    # An error page of a proxy or of another server.
    return f"{_STRANGER} (status {status})" if status is not None and status < 500 else " ".join(text.split())


def _grpc_reason(error: Exception, words: str) -> str:
    from grpc import StatusCode

    code = getattr(error, "code", lambda: None)()
    if code == StatusCode.UNAUTHENTICATED:
        return f"the server refuses access. {_KEY} a key of the server"
    if code == StatusCode.DEADLINE_EXCEEDED:
        return _SLOW
    return _unreachable(words) if code == StatusCode.UNAVAILABLE else _with_remedy(words) if words else _line(error)


def _unreachable(text: str) -> str:
    meanings = (meaning for pattern, meaning in _CONNECTIONS.items() if pattern.search(text))
    return next(meanings, _UNREACHABLE).format(text)


def _with_remedy(words: str) -> str:
    """Return the server's words, or what they mean and what to do about it."""
    for pattern, remedy in _REMEDIES.items():
        if found := pattern.search(words):
            return remedy.format(words=words, **found.groupdict())
    return words


def _line(error: Exception) -> str:
    return " ".join(str(error).split()) or type(error).__name__
