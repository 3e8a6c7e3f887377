"""Values of parameters as a command line has them: JSON where it parses as JSON, and text otherwise."""

from __future__ import annotations

import json
import re
from typing import Any

# What would end or change a text that isn't quoted.
_UNSAFE = re.compile(r"""^\s|\s$|[,"\[\]{}]""")


def read_value(text: str) -> Any:
    """Return the value that a text stands for."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def write_value(value: Any) -> str:
    """Return the text that stands for a value, also between commas."""
    if isinstance(value, str) and read_value(value) == value and not _UNSAFE.search(value):
        return value
    return json.dumps(value, ensure_ascii=False)
