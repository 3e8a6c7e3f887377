"""What happens to a text before any model sees it."""

from __future__ import annotations

from collections.abc import Sequence

from kinsplit.errors import InvalidParameterError
from kinsplit.tokenizers import replace_surrogates

__all__ = ["check_texts", "replace_surrogates"]


def check_texts(texts: Sequence[str]) -> list[str]:
    """Return the texts ready for a model.

    Raises:
        InvalidParameterError: `texts` is one string, whose characters would be taken for texts.
    """
    if isinstance(texts, str):
        raise InvalidParameterError("texts", "must be a sequence of strings", texts, "Put the text into a list.")
    return [replace_surrogates(text) for text in texts]
