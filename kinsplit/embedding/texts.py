"""What happens to a text before any model sees it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from kinsplit.errors import InvalidParameterError

_SURROGATES = re.compile("[\ud800-\udfff]")


def replace_surrogates(text: str) -> str:
    """Replace lone surrogates, which no encoding can carry, by U+FFFD; the length and every offset stay."""
    return text if text.isascii() else _SURROGATES.sub("\ufffd", text)


def check_texts(texts: Sequence[str]) -> list[str]:
    """Return the texts ready for a model.

    Raises:
        InvalidParameterError: `texts` is one string, whose characters would be taken for texts.
    """
    if isinstance(texts, str):
        raise InvalidParameterError("texts", "must be a sequence of strings", texts, "Put the text into a list.")
    return [replace_surrogates(text) for text in texts]
