"""Error messages in the responses of servers, on one line."""

from __future__ import annotations

import json
from typing import Any

# Maximum number of quoted characters in a message.
_QUOTED = 200


def error_message(answer: Any) -> str:
    """Return the error message in an answer, such as one with the key `error`, on one line."""
    message = answer
    for keys in (("error", "detail", "message"), ("message",)):
        if isinstance(message, dict):
            message = next((message[key] for key in keys if message.get(key)), message)
    return " ".join(quoted(message)[: 10 * _QUOTED].split())[:_QUOTED].rstrip(".")


def error_of_body(text: str) -> str:
    """Return the error message in the body of a response."""
    try:
        answer = json.loads(text)
    except (ValueError, RecursionError):
        answer = None
    return error_message(answer if isinstance(answer, dict) else text)


def quoted(answer: Any) -> str:
    """Return an answer as text, even if it is nested too deeply for that."""
    try:
        return str(answer)
    except RecursionError:
        return f"{type(answer).__name__} in {type(answer).__name__} without end"
