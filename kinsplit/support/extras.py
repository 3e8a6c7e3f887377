"""Packages that not every installation has."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from kinsplit.errors import MissingExtraError

# Where the distribution has another name than the module.
_DISTRIBUTIONS = {
    "llama_index": "llama-index-core",
    "pptx": "python-pptx",
    "python_calamine": "python-calamine",
    "qdrant_edge": "qdrant-edge-py",
    "webvtt": "webvtt-py",
}


@contextlib.contextmanager
def needs(extra: str) -> Iterator[None]:
    """Name the extra to install if a module imported in this context is missing.

    Args:
        extra: Name of the extra.

    Raises:
        MissingExtraError: A module is missing.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        module = (error.name or "").partition(".")[0]
        raise MissingExtraError(_DISTRIBUTIONS.get(module, module.replace("_", "-")), extra) from error
