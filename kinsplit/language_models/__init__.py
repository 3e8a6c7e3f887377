"""Language models by name, as objects of our own or of a framework: a prompt goes in, an answer comes out."""

from __future__ import annotations

from kinsplit.language_models.protocol import LanguageModel, Schema
from kinsplit.language_models.registry import check, create, names, resolve

__all__ = ["LanguageModel", "Schema", "check", "create", "names", "resolve"]
