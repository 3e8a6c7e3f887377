"""Connection to a Ray cluster by its address."""

from __future__ import annotations

import logging
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

_PLACE = re.compile(r"(?:ray://)?(?P<host>[^/:\[\]]+|\[[^\]]+\]):(?P<port>\d+)")
# Seconds within which a cluster answers; Ray itself would try for minutes.
_SECONDS = 5.0


@contextmanager
def connected(address: str) -> Iterator[None]:
    """Connect to a cluster while the block runs, and keep Ray's own messages off the terminal.

    Args:
        address: `AUTO`, `LOCAL`, "HOST:PORT", or "ray://HOST:PORT" for Ray's client.

    Raises:
        MissingExtraError: Ray is not installed.
        InvalidParameterError: There is no cluster at that address.
    """
    with needs("ray"):
        import ray
        import ray.data

    _check(address)
    local = {"include_dashboard": False} if address == LOCAL else {}
    try:
        ray.init(address, log_to_driver=False, logging_level=logging.ERROR, **local)
    except (OSError, RuntimeError, ValueError, ImportError) as error:
        raise _unreachable(address, str(error)) from error
    logger = logging.getLogger("ray.data")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(level)
        ray.shutdown()


def _check(address: str) -> None:
    if address in (AUTO, LOCAL):
        return
    found = _PLACE.fullmatch(address)
    if found is None:
        rule = f"must be {AUTO!r}, {LOCAL!r}, 'HOST:PORT' or 'ray://HOST:PORT'"
        raise InvalidParameterError("ray", rule, address, "Leave the address out for a cluster on this machine.")
    try:
        socket.create_connection((found["host"].strip("[]"), int(found["port"])), _SECONDS).close()
    except (OSError, OverflowError) as error:
        raise _unreachable(address, str(error)) from error


def _unreachable(address: str, reason: str) -> InvalidParameterError:
    first = next(iter(reason.strip().splitlines()), "").rstrip(".")
    remedy = "Start a cluster with: ray start --head; or give 'local' for one that ends with the run."
    return InvalidParameterError("ray", f"must be the address of a running cluster ({first})", address, remedy)
