"""Addresses of servers, of which no message holds the password."""

from __future__ import annotations

import re
from urllib.parse import unquote

import httpx

_CREDENTIALS = re.compile(r"(?<=//)(?P<name>[^:/?#]*)(?::(?P<password>[^/?#]*))?@")
# What stands before an @ may be a password even where the address is none.
_ANY_CREDENTIALS = re.compile(r"^(\w+://)?.*@")


def divide(url: str) -> tuple[str, httpx.BasicAuth | None]:
    """Return an address without the name and the password in it, and these as what is sent with a request."""
    found = _CREDENTIALS.search(url)
    if found is None:
        return url, None
    auth = httpx.BasicAuth(unquote(found["name"]), unquote(found["password"] or ""))
    return url[: found.start()] + url[found.end() :], auth


def shown(url: str) -> str:
    """Return what is given as an address as messages may show it."""
    return _ANY_CREDENTIALS.sub(r"\1", url)
