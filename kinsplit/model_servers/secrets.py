"""API keys and passwords: where they are read, and the messages of servers, on one line and free of them."""

from __future__ import annotations

import base64
import json
import re
from dataclasses import replace
from typing import Any
from urllib.parse import unquote

from kinsplit.errors import require
from kinsplit.models import ADDRESSES, ModelSpec
from kinsplit.support.environment import Origin, Setting, check_address, look_up

OPENAI_KEY, OLLAMA_KEY = "OPENAI_API_KEY", "OLLAMA_API_KEY"
_KEYS = {"openai": OPENAI_KEY, "ollama": OLLAMA_KEY}
_CREDENTIALS = re.compile(r"(?<=//)(?P<name>[^:/?#]*)(?::(?P<password>[^/?#]*))?@")
# A shorter key is a placeholder for servers that need none, such as "x". Of a longer secret, this many characters are
# matched, since a message may quote only the beginning of a response.
_LEAST_KEY = 8
_LEAST_PASSWORD = 4
# Possible characters between those of a secret in a message, where quotation marks may be escaped.
_ESCAPES = r"\\*"


def read_key(key: str | None, variable: str) -> Setting | None:
    """Return an API key with its source, or None if there is none; None given takes the environment variable.

    Raises:
        InvalidParameterError: The key can't be sent.
    """
    setting = Setting("api_key", key, Origin.GIVEN) if key else look_up(variable)
    found = "" if setting is None else setting.value.strip()
    is_sendable = found.isascii() and found.isprintable() and " " not in found
    rule, remedy = "must be printable ASCII without blanks", f"Check that {variable} holds only the key."
    require(is_sendable, "api_key", rule, f"{len(found)} characters", remedy)
    return replace(setting, value=found) if setting is not None and found else None


def check_source(spec: Setting) -> None:
    """Check that no key goes to an address in the spec of a model that comes from a less trusted source.

    Raises:
        InvalidParameterError: The key is trusted more than the source of the spec.
    """
    asked = ModelSpec.parse(spec.value, spec.name)
    for provider in (asked.provider, asked.name.partition(":")[0]):
        if provider in _KEYS and any(name in asked.options for name in ADDRESSES):
            check_address(spec, look_up(_KEYS[provider]))


def split_credentials(url: str) -> tuple[str, str, str]:
    """Return a URL without its credentials, the credentials as a header sends them, and the password."""
    found = _CREDENTIALS.search(url)
    if found is None:
        return url, "", ""
    password = unquote(found["password"] or "")
    token = base64.b64encode(f"{unquote(found['name'])}:{password}".encode()).decode()
    return url[: found.start()] + url[found.end() :], token, password


class Secrets:
    """Secrets to be removed from messages, since a server may repeat them."""

    def __init__(self, key: str, token: str = "", password: str = "") -> None:
        plain = [*([key] if len(key) >= _LEAST_KEY else []), *([password] if len(password) >= _LEAST_PASSWORD else [])]
        forms = (token, *plain, *(json.dumps(one)[1:-1] for one in plain))
        self._secrets = [bare for one in dict.fromkeys(forms) if (bare := one.replace("\\", ""))]

    def redact(self, text: str) -> str:
        """Return a text with `***` in place of each secret, also of an escaped or truncated one."""
        for secret in self._secrets:
            kept, at = [], 0
            for found in re.finditer(_ESCAPES.join(map(re.escape, secret[:_LEAST_KEY])), text):
                if found.start() >= at:
                    kept += [text[at : found.start()], "***"]
                    at = _end(text, found.end(), secret[_LEAST_KEY:])
            text = "".join([*kept, text[at:]])
        return text


def _end(text: str, at: int, rest: str) -> int:
    """Return the offset up to which a text continues with the rest of a secret."""
    for letter in rest:
        found = re.compile(_ESCAPES + re.escape(letter)).match(text, at)
        if found is None:
            break
        at = found.end()
    return at


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
