"""The source of HTML in a form that Python's parser reads in linear time and without an error."""

from __future__ import annotations

import re

from kinsplit.loaders.decoding import legible

_LONG_NUMBER = re.compile(r"&#([0-9]{100,})")


def prepared(source: str) -> str:
    """Return HTML with legible characters and line ends as in the standard, and nothing that is never closed."""
    return _closed(with_readable_numbers(legible(source)).replace("\r\n", "\n").replace("\r", "\n"))


def with_readable_numbers(source: str) -> str:
    """Shorten numeric references with very many digits, for which Python's `html` raises; the meaning stays.

    Leading zeros have no meaning, and every number of eight digits is beyond Unicode and read as U+FFFD.
    """
    return _LONG_NUMBER.sub(lambda match: f"&#{match[1].lstrip('0')[:8] or '0'}", source)


def _closed(source: str) -> str:
    """Escape tags and comments that are never closed.

    Their text would be kept anyway, but the standard library searches to the end of the file for each of them.
    """
    if "<!--" in source:
        source = source.replace("--!>", "-->")  # ends a comment, too
    head, end, tail = source.rpartition("-->")
    source = head + end + tail.replace("<!--", "&lt;!--")
    head, end, tail = source.rpartition(">")
    return head + end + tail.replace("<", "&lt;")
