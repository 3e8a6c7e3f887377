"""Strategies by name, and the shortest way from a text to its chunks.

Type checkers and editors see the parameters of each strategy in `factory.pyi`, which
`python docs/stubs.py` writes.
"""

from __future__ import annotations

import os
import warnings
from typing import Any

from kinsplit.chunk import Chunk, Document
from kinsplit.errors import InvalidParameterError, KinsplitWarning, require_names
from kinsplit.parsers.base import Strategy
from kinsplit.parsers.registry import class_and_parameters

# No path is as long.
_LONGEST_PATH = 4096


def create(name: str | None = None, *unnamed: object, **parameters: Any) -> Strategy:
    """Return a strategy.

    Args:
        name: One of `names()`; None for `default_strategy`.
        *unnamed: Nothing; sizes need their names.
        **parameters: Parameters of the strategy; the rest have their defaults.

    Raises:
        InvalidParameterError: The name, a parameter or a value is invalid.

    Example:
        >>> create("sentence", chunk_size=4, unit="word").chunk_size
        4
    """
    kind, given = class_and_parameters(name, parameters)
    require_names(unnamed, "chunk_size")
    return kind(**given)


def default_strategy(**parameters: Any) -> Strategy:
    """Return the strategy that applies when none is named: whole sentences up to 160 tokens, without overlap.

    Chosen with `benchmarks/retrieval.py` (see docs/kin-scoring.md): chunks of this size are small enough to be found,
    and their kin add what they lack. With their headings, nearly all fit into the bundled model's window.

    Args:
        **parameters: Parameters of `sentence`, which replace these.

    Raises:
        InvalidParameterError: A parameter or a value is invalid.

    Example:
        >>> default_strategy().chunk_size, default_strategy(chunk_size=40).chunk_overlap
        (160, 0)
    """
    return create(None, **parameters)


def split(
    text: str | Document, strategy: str | Strategy | None = None, *unnamed: object, **parameters: Any
) -> list[Chunk]:
    """Split a text into chunks with exact offsets, stable ids and links to their kin.

    For many texts, make the strategy once with `create_strategy` and call its `chunk_many`.

    Args:
        text: A text, whose id is made from its hash, or a document.
        strategy: Name of the strategy, or a strategy; None for `default_strategy`, whole sentences up to 160 tokens.
        *unnamed: Nothing; sizes need their names.
        **parameters: Parameters of the strategy; the rest have their defaults.

    Returns:
        The chunks, coarsest level first and in document order within a level.

    Raises:
        InvalidParameterError: The name, a parameter or a value is invalid.
        LimitTooSmallError: A single character of the text exceeds the limit of a chunk.

    Example:
        >>> first, second = split("Owls hunt at night. Larks sing at dawn.", chunk_size=6)
        >>> second.start, second.end, second.text, second.prev_id == first.id
        (20, 39, 'Larks sing at dawn.', True)
    """
    if isinstance(text, str) and len(text) < _LONGEST_PATH and os.path.isfile(text):  # noqa: PTH113  # It raises nothing.
        rule = f"{text!r} is split as a text, and it is also the path of a file"
        warnings.warn(f"{rule}. Read the file: kinsplit.read({text!r}).", KinsplitWarning, stacklevel=2)
    if not isinstance(strategy, Strategy):
        return create(strategy, *unnamed, **parameters).chunk(text)
    require_names(unnamed, "chunk_size")
    if parameters:
        name, value = next(iter(parameters.items()))
        rule = "can't be combined with a strategy that is an object"
        raise InvalidParameterError(name, rule, value, "Give it to the strategy instead.")
    return strategy.chunk(text)
