"""Anything that splits, as a strategy: kinsplit's own, LlamaIndex's, LangChain's, chonkie's, and functions."""

from kinsplit.evaluation.splitters.foreign import ForeignStrategy, UnlocatedWarning
from kinsplit.evaluation.splitters.locate import GivenChunks
from kinsplit.evaluation.splitters.specs import Named, as_strategy, from_spec, spec_of

__all__ = ["ForeignStrategy", "GivenChunks", "Named", "UnlocatedWarning", "as_strategy", "from_spec", "spec_of"]
