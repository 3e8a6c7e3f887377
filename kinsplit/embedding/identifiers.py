"""The words inside the names of code, which people who ask seldom join as programmers do."""

from __future__ import annotations

import re

_WORD = re.compile(r"\w+")
_JOINT = re.compile(r"[a-z][A-Z]")
_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")


def with_parts(text: str) -> str:
    """Return a text followed by the parts of its names in camel case: after `isSubset` also `is` and `Subset`.

    Names in snake case need none of it, since the underscore parts them for every tokenizer.
    """
    # One pattern for both would try every character of a long word as its beginning.
    names = [word for word in _WORD.findall(text) if _JOINT.search(word)] if _JOINT.search(text) else []
    parts = [part for name in names for part in _PART.findall(name) if len(part) > 1]
    return f"{text}\n{' '.join(parts)}" if parts else text
