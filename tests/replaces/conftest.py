from __future__ import annotations

from tests.cli.conftest import cli, fake
from tests.stores.conftest import postgres_server
from tests.wire.replay import ollama, openai, smollm2, wikipedia

__all__ = ["cli", "fake", "ollama", "openai", "postgres_server", "smollm2", "wikipedia"]
