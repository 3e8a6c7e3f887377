"""Addresses of all engines, for tests that apply to each of them."""

from collections.abc import Callable
from importlib.util import find_spec

import pytest

ENGINES = ("memory", "edge", "qdrant", "pgvector")


def address_of(engine: str, request: pytest.FixtureRequest, name: str) -> str:
    """Return the address of a new store; the name distinguishes two stores of one test."""
    addresses: dict[str, Callable[[], str]] = {
        "memory": lambda: "memory:",
        "edge": lambda: f"edge:{request.getfixturevalue('tmp_path') / name}",
        "qdrant": lambda: f"qdrant:{request.getfixturevalue('tmp_path') / name}",
        "pgvector": lambda: request.getfixturevalue("postgres"),
    }
    if engine == "qdrant" and find_spec("qdrant_client") is None:
        pytest.skip("qdrant-client is not installed")
    return addresses[engine]()
