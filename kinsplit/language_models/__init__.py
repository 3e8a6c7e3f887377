"""Language models by name, or as objects of kinsplit and of other frameworks."""

from __future__ import annotations

from kinsplit.language_models.protocol import LanguageModel, Pieces, Schema, StreamingModel
from kinsplit.language_models.registry import check, create, names, resolve
from kinsplit.language_models.streaming import stream

__all__ = ["LanguageModel", "Pieces", "Schema", "StreamingModel", "check", "create", "names", "resolve", "stream"]
