"""Settings of the service: command line, environment, `.env` and TOML file, in order of precedence."""

from __future__ import annotations

import ipaddress
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import AfterValidator, AliasChoices, BeforeValidator, Field, SecretStr, ValidationError
from pydantic_settings import (
    BaseSettings,
    InitSettingsSource,
    NoDecode,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
)

from kinsplit.errors import InvalidParameterError
from kinsplit.index import DEFAULT_STORE
from kinsplit.indexing.configuration import Configuration
from kinsplit.server.middleware.rate_limit import Rate
from kinsplit.support.env_file import env_file
from kinsplit.support.validation import first_fault

_ORIGIN = re.compile(r"https?://[^/\s]+")
_HOST = re.compile(r"\[[0-9a-fA-F:.]+\]|[^\s/:\[\]]+")
_KEY = re.compile(r"[!-~]+")


def _listed(value: object) -> object:
    """Return a list from a list, a table of names, or comma-separated text."""
    if isinstance(value, str):
        return [part.strip() for part in value.split(",") if part.strip()]
    if isinstance(value, Mapping):
        return [f"{name}={collection}" for name, collection in value.items()]
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
    if not _KEY.fullmatch(value.get_secret_value()):
        raise ValueError("must be visible ASCII characters, as HTTP headers allow no others")
    return value


Names = Annotated[tuple[str, ...], NoDecode, BeforeValidator(_listed)]
Origins = Annotated[tuple[Annotated[str, AfterValidator(_origin)], ...], NoDecode, BeforeValidator(_listed)]
Hosts = Annotated[tuple[Annotated[str, AfterValidator(_host)], ...], NoDecode, BeforeValidator(_listed)]
Proxies = Annotated[tuple[Annotated[str, AfterValidator(_proxy)], ...], NoDecode, BeforeValidator(_listed)]
Secrets = Annotated[tuple[Annotated[SecretStr, AfterValidator(_key)], ...], NoDecode, BeforeValidator(_listed)]


#: Variables that other parts of kinsplit read.
_OTHER_VARIABLES = frozenset(
    {"KINSPLIT_CACHE", "KINSPLIT_CONTACT", "KINSPLIT_EMBEDDING_PRICE", "KINSPLIT_QDRANT_API_KEY"}
)


class ServiceSettings(BaseSettings):
    """Settings of the service, from a table `[service]` in TOML and from `KINSPLIT_*` in the environment.

    In the environment, lists are comma-separated and an empty variable counts as unset. Create instances with `load`,
    which reports a mistake in one line.

    Attributes:
        store: Address of the store.
        collections: Names of its collections, or `name=collection` to give a collection another name for `strategy`
            than that of its strategy. Default: "default", or else "demo".
        strategy: Name of the collection for requests that name none; also `STRATEGY`. Default: the first.
        embedder: Embedding model of all collections. Default: that of `[index]`, or "bundled".
        model: Language model for answers, and for the strategy `llm` in previews. Without one, the best
            sentences are quoted and boundaries follow rules.
        watch: Folders and files to keep in sync with the collection, or `name=folder` for another collection than the
            default one. A collection that does not exist is created.
        uploads: Folder into which clients may upload files, and from which they may delete them. None forbids it.
        max_upload: Bytes of an upload.
        pictures: Whether the pages of indexed PDF files are shown as pictures, for which the files are read.
        originals: Folders whose indexed files clients may download, as long as they are unchanged.
        rerankers: Rerankers that requests may use. Default: "none", and "late" if the embedder supports it.
        host: Address to listen on.
        port: Port to listen on; 0 picks a free one.
        api_keys: Keys that give access. Without any, access is open.
        rate_limit: Requests per key, or per address without keys, such as "120/minute". None for no limit.
        cors_origins: Origins whose pages may call the service.
        allowed_hosts: Host names under which the service may be called. Default: any, but only this machine's own names
            if the service listens on this machine only; that keeps foreign pages from calling it by a name of theirs.
        trusted_proxies: Addresses whose X-Forwarded-For header is trusted.
        threads: Calls that run at a time. Default: one per processor, at least 2.
        queue: Calls that wait for a thread; more are rejected.
        timeout: Seconds from a request to its response.
        answers: Answers written at a time, and also searches and previews that call a language model; more are
            rejected.
        answer_timeout: Seconds that a language model may take for a piece of its answer.
        connections: Open connections. At the limit, connections without a complete request are closed, first those of
            the address with the most of them; if there are none, requests are rejected.
        patience: Seconds for a client to send a request head or a body, or to read a part of a response.
        max_body: Bytes of a request body.
        log_json: Whether logs are JSON lines.
        log_text: Whether logs may contain questions and error messages, which may quote documents.
    """

    model_config = SettingsConfigDict(
        env_prefix="KINSPLIT_",
        # An empty KINSPLIT_HOST would listen on all addresses.
        env_ignore_empty=True,
        extra="ignore",
        frozen=True,
        allow_inf_nan=False,
    )

    store: str = Field(default=DEFAULT_STORE, repr=False)  # May hold a password.
    collections: Names = ()
    strategy: str | None = Field(default=None, validation_alias=AliasChoices("KINSPLIT_STRATEGY", "strategy"))
    embedder: str = "bundled"
    model: str | None = None
    watch: Names = ()
    uploads: Path | None = None
    max_upload: int = Field(default=50 * 2**20, ge=1)
    pictures: bool = True
    originals: Names = ()
    rerankers: Names | None = None
    host: str = Field(default="127.0.0.1", min_length=1)
    port: int = Field(default=8000, ge=0, le=65535)
    api_keys: Secrets = ()
    rate_limit: Rate | None = None
    cors_origins: Origins = ()
    allowed_hosts: Hosts | None = None
    trusted_proxies: Proxies = ()
    threads: int = Field(default_factory=lambda: max(2, os.cpu_count() or 2), ge=1, le=256)
    queue: int = Field(default=256, ge=0)
    timeout: float = Field(default=30.0, gt=0)
    answers: int = Field(default=8, ge=1, le=256)
    answer_timeout: float = Field(default=120.0, gt=0)
    connections: int = Field(default=1000, ge=1)
    patience: float = Field(default=10.0, gt=0)
    max_body: int = Field(default=1_048_576, ge=1)
    log_json: bool = False
    log_text: bool = False

    @classmethod
    def load(cls, config: Path | None = None, **given: Any) -> Self:
        """Load the settings.

        Args:
            config: A TOML file.
            **given: Settings that take precedence over all others; None counts as not given.

        Raises:
            LoadError: The file is not valid TOML.
            InvalidParameterError: A setting is invalid, or the file has an unknown one.
        """
        table = {} if config is None else _table(cls, config)

        class FromFile(cls):  # type: ignore[valid-type, misc]
            @classmethod
            def settings_customise_sources(
                cls,
                settings_cls: type[BaseSettings],
                init_settings: PydanticBaseSettingsSource,
                env_settings: PydanticBaseSettingsSource,
                dotenv_settings: PydanticBaseSettingsSource,
                file_secret_settings: PydanticBaseSettingsSource,
            ) -> tuple[PydanticBaseSettingsSource, ...]:
                file = InitSettingsSource(settings_cls, init_kwargs=table)
                return init_settings, env_settings, dotenv_settings, file_secret_settings, file

        try:
            with env_file():
                settings: Self = FromFile(**{name: value for name, value in given.items() if value is not None})
        except ValidationError as error:
            fault = first_fault(error.errors())
            if fault.cause is not None:
                raise fault.cause from None
            field = fault.path[0].lower().removeprefix("kinsplit_")
            # An invalid key is still secret.
            value = "..." if field == "api_keys" else fault.value
            remedy = f"Correct it in the file, in KINSPLIT_{field.upper()} or on the command line."
            raise InvalidParameterError(field, fault.rule, value, remedy) from None
        return settings

    @property
    def is_local(self) -> bool:
        """Whether only this machine can reach the service."""
        return self.host in ("localhost", "::1") or self.host.startswith("127.")

    @property
    def fills(self) -> bool:
        """Whether the service adds documents, so that a collection may be new."""
        return bool(self.watch) or self.uploads is not None

    @property
    def hosts(self) -> tuple[str, ...]:
        """Host names under which the service may be called; empty for any."""
        if self.allowed_hosts is not None:
            return self.allowed_hosts
        return ("localhost", "127.0.0.1", "[::1]", self.host) if self.is_local else ()


def unknown_variables() -> list[str]:
    """Return the variables `KINSPLIT_*` that are not settings: a misspelt KINSPLIT_API_KEYS would leave access open."""
    known = _OTHER_VARIABLES | {f"KINSPLIT_{field.upper()}" for field in ServiceSettings.model_fields}
    with env_file():
        named = {name.upper() for name in os.environ}
    ours = (name for name in named - known if name.startswith("KINSPLIT_") and not name.startswith("KINSPLIT_TEST_"))
    return sorted(ours)


def _table(kind: type[ServiceSettings], path: Path) -> dict[str, Any]:
    """Return the table [service] of a file, with the embedder of [index] as its default."""
    read = Configuration.read(path)
    for key, value in read.service.items():
        if key not in kind.model_fields:
            known = f"Settings of [service]: {', '.join(kind.model_fields)}."
            raise InvalidParameterError(f"{path}: {key}", "is not a setting", value, known)
    embedder = {} if read.index.embedder is None else {"embedder": read.index.embedder}
    return {**embedder, **read.service}
