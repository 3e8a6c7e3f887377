"""Addresses of servers and what lets a client in, of which no message holds the secret."""

from __future__ import annotations

import base64
import json
import re
from urllib.parse import unquote

_CREDENTIALS = re.compile(r"(?<=//)(?P<name>[^:/?#]*)(?::(?P<password>[^/?#]*))?@")
# What stands before an @ may be a password even where the address is none.
_ANY_CREDENTIALS = re.compile(r"^(\w+://)?.*@")

# Fewer characters of a key are a placeholder for servers that want none, such as "x"; and of a longer secret so many
# are enough to hide it, since a message may quote no more of what a server said than its beginning.
_LEAST_KEY = 8
_LEAST_PASSWORD = 4
# Characters that may stand between those of a secret in a message: quoting it may escape quotation marks.
_ESCAPES = r"\\*"


def divide(url: str) -> tuple[str, str, str]:
    """Return an address without the name and the password in it, these as a header sends them, and the password."""
    found = _CREDENTIALS.search(url)
    if found is None:
        return url, "", ""
    password = unquote(found["password"] or "")
    token = base64.b64encode(f"{unquote(found['name'])}:{password}".encode()).decode()
    return url[: found.start()] + url[found.end() :], token, password


def shown(url: str) -> str:
    """Return what is given as an address as messages may show it."""
    return _ANY_CREDENTIALS.sub(r"\1", url)


class Secrets:
    """Secrets that no message may hold, although a server that gets them may repeat them.

    Args:
        key: A key; one of a few characters is none.
        token: A name and a password as a header sends them.
        password: The password.
    """

    def __init__(self, key: str, token: str, password: str) -> None:
        plain = [*([key] if len(key) >= _LEAST_KEY else []), *([password] if len(password) >= _LEAST_PASSWORD else [])]
        forms = (token, *plain, *(json.dumps(one)[1:-1] for one in plain))
        self._secrets = [bare for one in dict.fromkeys(forms) if (bare := one.replace("\\", ""))]

    def hidden_in(self, text: str) -> str:
        """Return a text with `***` in the place of each secret, also of one that is escaped or cut."""
        for secret in self._secrets:
            kept, at = [], 0
            for found in re.finditer(_ESCAPES.join(map(re.escape, secret[:_LEAST_KEY])), text):
                if found.start() >= at:
                    kept += [text[at : found.start()], "***"]
                    at = _end(text, found.end(), secret[_LEAST_KEY:])
            text = "".join([*kept, text[at:]])
        return text


def _end(text: str, at: int, rest: str) -> int:
    """Return how far a text goes on with the rest of a secret."""
    for letter in rest:
        found = re.compile(_ESCAPES + re.escape(letter)).match(text, at)
        if found is None:
            break
        at = found.end()
    return at
