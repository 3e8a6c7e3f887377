"""Splitters of any library, and functions, as strategies."""

from kinsplit.evaluation.splitters.foreign import ForeignStrategy, GivenChunks, UnlocatedWarning
from kinsplit.evaluation.splitters.specs import LabelledStrategy, as_strategy, from_spec, spec_of

__all__ = [
    "ForeignStrategy",
    "GivenChunks",
    "LabelledStrategy",
    "UnlocatedWarning",
    "as_strategy",
    "from_spec",
    "spec_of",
]
