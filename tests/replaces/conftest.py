from __future__ import annotations

from tests.cli.conftest import cli, fake
from tests.stores.conftest import postgres_server

__all__ = ["cli", "fake", "postgres_server"]
