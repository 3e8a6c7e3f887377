"""The words inside the names of code, which people who ask seldom join as programmers do."""

from __future__ import annotations

import re

_JOINED = re.compile(r"\w*[a-z][A-Z]\w*")
_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")


def with_parts(text: str) -> str:
    """Return a text followed by the parts of its names in camel case: after `isSubset` also `is` and `Subset`.

    Names in snake case need none of it, since the underscore parts them for every tokenizer.
    """
    parts = [part for name in _JOINED.findall(text) for part in _PART.findall(name) if len(part) > 1]
    return f"{text}\n{' '.join(parts)}" if parts else text
