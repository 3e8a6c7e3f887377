"""Connection to a Ray cluster by its address."""

from __future__ import annotations

import logging
import os
import re
import socket
from collections.abc import Iterator
from contextlib import contextmanager

from kinsplit.errors import InvalidParameterError
from kinsplit.support.extras import needs

#: Address of the cluster that runs on this machine, or that RAY_ADDRESS names.
AUTO = "auto"
#: Address of a cluster that is started on this machine and ends with the connection.
LOCAL = "local"

_PLACE = re.compile(r"(?P<client>ray://)?(?P<host>[^/:\[\]]+|\[[^\]]+\]):(?P<port>\d+)")
# Seconds within which a cluster answers; Ray itself would try for minutes.
_SECONDS = 5.0
# Calls that ask for nothing but an answer, and their messages: of a cluster, and of the server for Ray's client.
_CLUSTER = "/ray.rpc.NodeInfoGcsService/GetClusterId", b""
_CLIENT = "/ray.rpc.RayletDriver/ClusterInfo", b"\x08\x06"


@contextmanager
def connected(address: str) -> Iterator[None]:
    """Connect to a cluster while the block runs, and keep Ray's own messages off the terminal.

    Args:
        address: `AUTO`, `LOCAL`, "HOST:PORT", or "ray://HOST:PORT" for Ray's client.

    Raises:
        MissingExtraError: Ray is not installed.
        InvalidParameterError: There is no cluster at that address, or it refuses the token.
    """
    with needs("ray"):
        import ray
        import ray.data

    field, stated = "ray", address
    if address == AUTO and (named := os.environ.get("RAY_ADDRESS")):
        field, stated = "RAY_ADDRESS", named
    local = {"include_dashboard": False} if address == LOCAL else {}
    with _quiet("ray"), _quiet("ray.data"):
        _check(field, stated)
        try:
            ray.init(address, log_to_driver=False, logging_level=logging.ERROR, **local)
        except (OSError, RuntimeError, ValueError, ImportError, ray.exceptions.RayError) as error:
            is_token = type(error).__name__ == "AuthenticationError"  # older versions know no tokens
            raise (_without_token if is_token else _unreachable)(field, stated, str(error)) from error
        try:
            yield
        finally:
            ray.shutdown()


@contextmanager
def _quiet(name: str) -> Iterator[None]:
    """Keep a logger's messages off the terminal, and in its files: errors are raised too, without their tracebacks."""
    screens = [handler for handler in logging.getLogger(name).handlers if isinstance(handler, logging.StreamHandler)]
    levels = [handler.level for handler in screens]
    for handler in screens:
        handler.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        for handler, level in zip(screens, levels, strict=True):
            handler.setLevel(level)


def _check(field: str, stated: str) -> None:
    """Check that a cluster answers, and that it takes the token of this process.

    Raises:
        InvalidParameterError: The address has another form, or one of both is not so.
    """
    try:
        found = _PLACE.fullmatch(_running_here() if stated == AUTO else stated)
        if found is not None:
            place = found["host"].strip("[]"), int(found["port"])
            socket.create_connection(place, _SECONDS).close()
    except (OSError, OverflowError) as error:
        raise _unreachable(field, stated, str(error)) from error
    if found is not None:
        _check_token(field, stated, found)
    elif field == "ray" and stated not in (AUTO, LOCAL):  # Ray itself knows further forms of RAY_ADDRESS.
        rule = f"must be {AUTO!r}, {LOCAL!r}, 'HOST:PORT' or 'ray://HOST:PORT'"
        raise InvalidParameterError(field, rule, stated, "Leave the address out for a cluster on this machine.")


def _running_here() -> str:
    """Return the address of the cluster that runs on this machine, to which Ray sends a token wherever it finds one.

    Raises:
        ConnectionError: There is none.
    """
    try:
        from ray._private.authentication.authentication_token_setup import maybe_enable_token_auth_if_token_available
        from ray._private.services import canonicalize_bootstrap_address
    except ImportError:
        return AUTO
    maybe_enable_token_auth_if_token_available(warn_if_disabled=False)
    return canonicalize_bootstrap_address(AUTO) or AUTO


def _check_token(field: str, stated: str, place: re.Match[str]) -> None:
    """Ask a cluster for an answer, since Ray tries a wrong token for half a minute, and names no reason in the end."""
    try:
        import grpc
        from ray._private.grpc_utils import init_grpc_channel
        from ray.exceptions import AuthenticationError
    except ImportError:  # older versions know no tokens
        return
    method, message = _CLIENT if place["client"] else _CLUSTER
    try:
        with init_grpc_channel(f"{place['host']}:{place['port']}") as channel:
            channel.unary_unary(method)(message, timeout=_SECONDS)
    except AuthenticationError as error:
        raise _without_token(field, stated, str(error)) from None
    except grpc.RpcError as error:
        if error.code() == grpc.StatusCode.UNAUTHENTICATED:
            raise _refused(field, stated) from None
        # Ray itself knows better what other answers mean.


def _refused(field: str, stated: str) -> InvalidParameterError:
    mode = os.environ.get("RAY_AUTH_MODE", "")
    if mode.lower() == "token":
        sources = (name for name in ("RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH") if os.environ.get(name))
        return _with_token(field, stated, f"{next(sources, '~/.ray/auth_token')} holds a wrong token")
    reason = f"is {mode!r}" if mode else "is not set"
    return _with_token(field, stated, f"none is sent, since RAY_AUTH_MODE {reason}")


def _without_token(field: str, stated: str, reason: str) -> InvalidParameterError:
    return _with_token(field, stated, reason.partition(". ")[0].rstrip("."))


def _with_token(field: str, stated: str, reason: str) -> InvalidParameterError:
    rule = f"must be a cluster whose token you have ({reason})"
    remedy = "Set RAY_AUTH_MODE=token, and RAY_AUTH_TOKEN to what `ray get-auth-token` prints on its head node."
    return InvalidParameterError(field, rule, stated, remedy)


def _unreachable(field: str, stated: str, reason: str) -> InvalidParameterError:
    first = next(iter(reason.strip().splitlines()), "").rstrip(".")
    remedy = "Start a cluster with: ray start --head; or give 'local' for one that ends with the run."
    return InvalidParameterError(field, f"must be the address of a running cluster ({first})", stated, remedy)
