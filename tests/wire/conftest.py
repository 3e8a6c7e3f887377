from __future__ import annotations

from tests.wire.replay import ollama, openai, smollm2

__all__ = ["ollama", "openai", "smollm2"]
