"""Language models by name, as objects of our own or of a framework: a prompt goes in, an answer comes out."""

from __future__ import annotations

from kinsplit.language_models.protocol import LanguageModel, Pieces, Schema, StreamingModel
from kinsplit.language_models.registry import check, create, names, resolve
from kinsplit.language_models.streaming import stream

__all__ = [
    "LanguageModel",
    "Pieces",
    "Schema",
    "StreamingModel",
    "check",
    "create",
    "names",
    "resolve",
    "stream",
]
