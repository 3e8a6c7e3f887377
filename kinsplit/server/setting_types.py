"""Kinds of settings: lists as text with commas, and what one of them has to look like."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Mapping
from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, SecretStr
from pydantic_settings import NoDecode

_ORIGIN = re.compile(r"https?://[^/\s]+")
_HOST = re.compile(r"\[[0-9a-fA-F:.]+\]|[^\s/:\[\]]+")
_KEY = re.compile(r"[!-~]+")


def _listed(value: object) -> object:
    """Take a list, a table of names, or text with commas."""
    if isinstance(value, str):
        return [part.strip() for part in value.split(",") if part.strip()]
    if isinstance(value, Mapping):
        return [f"{name}={wanted}" for name, wanted in value.items()]
    return value


def _origin(value: str) -> str:
    if value != "*" and not _ORIGIN.fullmatch(value):
        raise ValueError("must be origins without a path, such as https://class.example")
    return value.casefold()


def _host(value: str) -> str:
    if not _HOST.fullmatch(value):
        raise ValueError("must be names without scheme and port, such as search.example")
    return value.casefold()


def _proxy(value: str) -> str:
    try:
        ipaddress.ip_network(value)
    except ValueError:
        if value != "*":
            raise ValueError("must be addresses or networks, such as 10.0.0.0/8") from None
    return value


def _key(value: SecretStr) -> SecretStr:
    # What else there is arrives changed, or not at all.
    if not _KEY.fullmatch(value.get_secret_value()):
        raise ValueError("must be visible ASCII characters, as only these go through a header")
    return value


Names = Annotated[tuple[str, ...], NoDecode, BeforeValidator(_listed)]
Origins = Annotated[tuple[Annotated[str, AfterValidator(_origin)], ...], NoDecode, BeforeValidator(_listed)]
Hosts = Annotated[tuple[Annotated[str, AfterValidator(_host)], ...], NoDecode, BeforeValidator(_listed)]
Proxies = Annotated[tuple[Annotated[str, AfterValidator(_proxy)], ...], NoDecode, BeforeValidator(_listed)]
Secrets = Annotated[tuple[Annotated[SecretStr, AfterValidator(_key)], ...], NoDecode, BeforeValidator(_listed)]
