"""Parameter values on a command line: JSON if it parses as JSON, else text."""

from __future__ import annotations

import json
import re
from typing import Any

# Characters that would end or change an unquoted text.
_UNSAFE = re.compile(r"""^\s|\s$|[,"\[\]{}]""")


def read_value(text: str) -> Any:
    """Return the value of a text."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def write_value(value: Any) -> str:
    """Return the text of a value, safe between commas."""
    if isinstance(value, str) and read_value(value) == value and not _UNSAFE.search(value):
        return value
    return json.dumps(value, ensure_ascii=False)
