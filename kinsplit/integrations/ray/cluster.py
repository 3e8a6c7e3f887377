"""Connection to a Ray cluster by its address."""

from __future__ import annotations

import logging
import os
import re
import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

from pydantic import Field

from kinsplit.embedding.protocol import Embedder
from kinsplit.embedding.remote_models.base import usage_of
from kinsplit.errors import InvalidParameterError
from kinsplit.integrations.ray.stages import TOKENS
from kinsplit.support.extras import needs
from kinsplit.support.settings import Settings

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
    """Raise InvalidParameterError unless a cluster answers at an address, and takes the token of this process."""
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
    """Return the address of the cluster that runs on this machine, or raise ConnectionError if there is none.

    Ray sends a token to it wherever it finds one.
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


# Documents that an actor with a GPU takes at a time, for which Ray wants a number.
_DOCUMENTS = 16


class Pool(NamedTuple):
    """Keyword arguments of `map_batches` for the stages."""

    task: dict[str, Any]  # For tasks, which read, split and compare.
    embedding: dict[str, Any]  # For the actors that embed.
    writing: dict[str, Any]  # For the actors that write.
    tasks: int  # Number of tasks among which files are divided, if there are enough.


class Resources(Settings):
    """Share of a cluster that `kinsplit.integrations.ray.index` takes.

    Attributes:
        concurrency: Number of actors that embed. None takes as many as the GPUs allow, or without `num_gpus` half the
            number of processors.
        num_cpus: Processors of each of them. None takes 1, or 0 for a model on a GPU or on a server.
        num_gpus: GPUs of each of them, such as 1 or 0.5.
        tokens: Number of tokens, estimated, that an actor embeds in one call of its model.
        writers: Maximum number of actors that write, each with a connection of its own.

    Raises:
        InvalidParameterError: A number is too small.
    """

    concurrency: int | None = Field(default=None, ge=1)
    num_cpus: float | None = Field(default=None, ge=0)
    num_gpus: float = Field(default=0, ge=0)
    tokens: int = Field(default=TOKENS, ge=1)
    writers: int = Field(default=4, ge=1)

    def on(self, cluster: Mapping[str, float], embedder: Embedder) -> Pool:
        """Return the arguments for a cluster.

        Args:
            cluster: Total resources of the cluster, as `ray.cluster_resources()` returns them.
            embedder: The embedding model.

        Raises:
            InvalidParameterError: The cluster has too few GPUs or processors.
        """
        from ray.data import ActorPoolStrategy

        cpus, gpus = cluster.get("CPU", 0.0), cluster.get("GPU", 0.0)
        if self.num_gpus > gpus:
            remedy = "Leave it out, or connect to a cluster that has them."
            rule = f"must be at most {gpus:g}, the GPUs of the cluster"
            raise InvalidParameterError("num_gpus", rule, self.num_gpus, remedy)
        # On a single processor, tasks need a part of it.
        share = min(1.0, cpus / 2)
        num_cpus = self.num_cpus
        if num_cpus is None:
            num_cpus = 0.0 if self.num_gpus or usage_of(embedder) else share
        number = self.concurrency or max(1, int(gpus / self.num_gpus if self.num_gpus else cpus / 2))
        if number * self.num_gpus > gpus or number * num_cpus > cpus - share:
            fitting = (
                f"{gpus:g} GPUs" if number * self.num_gpus > gpus else f"{cpus:g} processors, of which tasks need 1"
            )
            remedy = "Lower it, or num_cpus or num_gpus."
            raise InvalidParameterError("concurrency", f"must fit into {fitting}", number, remedy)
        gpu = {"num_gpus": self.num_gpus, "batch_size": _DOCUMENTS} if self.num_gpus else {}
        # A task waits half of its time for a reader's process or the store, and a writer nearly always for the store.
        return Pool(
            {"batch_format": "pyarrow", "num_cpus": share / 2},
            {"batch_format": "pyarrow", "num_cpus": num_cpus, "compute": ActorPoolStrategy(size=number), **gpu},
            {"batch_format": "pyarrow", "num_cpus": 0, "compute": ActorPoolStrategy(min_size=1, max_size=self.writers)},
            max(1, int(4 * cpus)),
        )
