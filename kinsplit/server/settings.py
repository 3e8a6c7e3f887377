"""Settings of the service: command line, environment, TOML file and `.env`, in order of precedence."""

from __future__ import annotations

import ipaddress
import os
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, NamedTuple, Self

from pydantic import AfterValidator, AliasChoices, BeforeValidator, Field, PlainValidator, SecretStr, ValidationError
from pydantic_settings import BaseSettings, InitSettingsSource, NoDecode, PydanticBaseSettingsSource, SettingsConfigDict

from kinsplit import stores
from kinsplit.doors import Door
from kinsplit.errors import InvalidParameterError, require
from kinsplit.index import DEFAULT_STORE
from kinsplit.indexing.configuration import Configuration
from kinsplit.model_servers.secrets import check_source
from kinsplit.support import environment
from kinsplit.support.settings import Documented, first_fault

_KEY = re.compile(r"[!-~]+")


def _listed(value: object) -> object:
    """Return a list from a list, a table of names, or comma-separated text."""
    if isinstance(value, str):
        return [part.strip() for part in value.split(",") if part.strip()]
    if isinstance(value, Mapping):
        return [f"{name}={collection}" for name, collection in value.items()]
    return value


def _matching(pattern: re.Pattern[str], rule: str) -> AfterValidator:
    """Return a validator of names in any case; "*" stands for all."""

    def check(value: str) -> str:
        if value != "*" and not pattern.fullmatch(value):
            raise ValueError(rule)
        return value.casefold()

    return AfterValidator(check)


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


_ORIGIN = _matching(re.compile(r"https?://[^/\s]+"), "must be origins without a path, such as https://class.example")
_HOST = _matching(
    re.compile(r"\[[0-9a-fA-F:.]+\]|[^\s/:\[\]]+"), "must be names without scheme and port, such as search.example"
)
Names = Annotated[tuple[str, ...], NoDecode, BeforeValidator(_listed)]
Origins = Annotated[tuple[Annotated[str, _ORIGIN], ...], NoDecode, BeforeValidator(_listed)]
Hosts = Annotated[tuple[Annotated[str, _HOST], ...], NoDecode, BeforeValidator(_listed)]
Proxies = Annotated[tuple[Annotated[str, AfterValidator(_proxy)], ...], NoDecode, BeforeValidator(_listed)]
Secrets = Annotated[tuple[Annotated[SecretStr, AfterValidator(_key)], ...], NoDecode, BeforeValidator(_listed)]


_SECONDS = {"second": 1, "minute": 60, "hour": 3600, "day": 86400}
_RATE = re.compile(rf"(\d{{1,9}})\s*/\s*({'|'.join(_SECONDS)})")


class Rate(NamedTuple):
    """A number of requests per period."""

    requests: int
    seconds: int

    @classmethod
    def parse(cls, text: object) -> Rate:
        """Parse a rate such as "120/minute", or raise InvalidParameterError if the text is not a rate."""
        if isinstance(text, Rate):
            return text
        found = _RATE.fullmatch(text.strip()) if isinstance(text, str) else None
        if found is None or not int(found[1]):
            rule = f"must be a number of requests per {', '.join(_SECONDS)}"
            raise InvalidParameterError("rate_limit", rule, text, 'For example: "120/minute".')
        return cls(int(found[1]), _SECONDS[found[2]])


class _Found(NamedTuple):
    """Mark of a setting that a `.env` may give that is merely found, since it points nowhere."""


class ServiceSettings(Documented, BaseSettings):
    """Settings of the service, from a table `[service]` in TOML and from `KINSPLIT_*` in the environment.

    In the environment, lists are comma-separated and an empty variable counts as unset. Create instances with `load`,
    which reports a mistake in one line.

    Attributes:
        store: Address of the store.
        collections: Names of its collections, or NAME=COLLECTION to give a collection another name for `strategy` than
            that of its strategy. Default: "default", or else "demo".
        strategy: Name of the collection for requests that name none; also STRATEGY. Default: the first.
        embedder: Embedding model of all collections. Default: that of `[index]`, or "bundled".
        model: Language model for answers, and for the strategy `llm` in previews. Without one, the best sentences are
            quoted and boundaries follow rules.
        watch: Folders and files to keep in sync with the collection, or NAME=FOLDER for another collection than the
            default one. A collection that does not exist is created.
        uploads: Folder into which clients may upload files, and from which they may delete them; collections other than
            the default one have folders in it. Without one, they can't.
        max_upload: Bytes of an upload.
        pictures: Whether the pages of indexed PDF files are shown as pictures, for which the files are read.
        originals: Folders whose indexed files clients may download, as long as they are unchanged.
        rerankers: Rerankers that requests may use. Default: "none", and "late" if the embedder supports it.
        host: Address to listen on.
        port: Port to listen on; 0 picks a free one.
        api_keys: Keys that give access. Without any, access is open.
        rate_limit: Requests per key, or per address without keys, such as 120/minute. Default: no limit.
        cors_origins: Origins whose pages may call the service.
        allowed_hosts: Host names under which the service may be called. Default: any, but only this machine's own names
            if the service listens on this machine only; that keeps foreign pages from calling it by a name of theirs.
        trusted_proxies: Addresses of proxies whose X-Forwarded-For header is trusted.
        threads: Calls that run at a time. Default: four per processor, since most wait for the model or the store.
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

    # The address of the store may hold a password.
    store: str = Field(default=DEFAULT_STORE, repr=False)
    collections: Names = ()
    strategy: Annotated[str | None, _Found()] = Field(
        default=None, validation_alias=AliasChoices("KINSPLIT_STRATEGY", "strategy")
    )
    embedder: str = "bundled"
    model: str | None = None
    watch: Names = ()
    uploads: Path | None = None
    max_upload: Annotated[int, _Found()] = Field(default=50 * 2**20, ge=1)
    pictures: Annotated[bool, _Found()] = True
    originals: Names = ()
    rerankers: Names | None = None
    host: str = Field(default="127.0.0.1", min_length=1)
    port: int = Field(default=8000, ge=0, le=65535)
    api_keys: Annotated[Secrets, _Found()] = ()
    rate_limit: Annotated[Annotated[Rate, PlainValidator(Rate.parse)] | None, _Found()] = None
    cors_origins: Origins = ()
    allowed_hosts: Hosts | None = None
    trusted_proxies: Proxies = ()
    threads: Annotated[int, _Found()] = Field(default_factory=lambda: 4 * min(os.cpu_count() or 1, 64), ge=1, le=256)
    queue: Annotated[int, _Found()] = Field(default=256, ge=0)
    timeout: Annotated[float, _Found()] = Field(default=30.0, gt=0)
    answers: Annotated[int, _Found()] = Field(default=8, ge=1, le=256)
    answer_timeout: Annotated[float, _Found()] = Field(default=120.0, gt=0)
    connections: Annotated[int, _Found()] = Field(default=1000, ge=1)
    patience: Annotated[float, _Found()] = Field(default=10.0, gt=0)
    max_body: Annotated[int, _Found()] = Field(default=1_048_576, ge=1)
    log_json: Annotated[bool, _Found()] = False
    log_text: Annotated[bool, _Found()] = False

    @classmethod
    def load(cls, config: Path | None = None, **given: Any) -> Self:
        """Load the settings.

        The order of precedence is that of trust: what is given, the environment with the file of `--env-file`, the TOML
        file, and last a `.env` that is merely found.

        Args:
            config: A TOML file.
            **given: Settings that take precedence over all others; None counts as not given.

        Raises:
            LoadError: A file can't be read.
            InvalidParameterError: A setting is invalid or unknown, or comes from a source that is not trusted with it.
        """
        table = {} if config is None else _table(cls, config)
        found = _found(cls)
        harmless = {name: value for name, value in found.items() if may_be_found(cls, name)}

        class FromFiles(cls):  # type: ignore[valid-type, misc]
            @classmethod
            def settings_customise_sources(
                cls, settings_cls: type[BaseSettings], **sources: PydanticBaseSettingsSource
            ) -> tuple[PydanticBaseSettingsSource, ...]:
                files = (InitSettingsSource(settings_cls, init_kwargs=kwargs) for kwargs in (table, harmless))
                # In pydantic's order: what is given, the environment, and the file of `--env-file`.
                return *sources.values(), *files

        given = {name: value for name, value in given.items() if value is not None}
        try:
            settings: Self = FromFiles(**given)
        except ValidationError as error:
            fault = first_fault(error.errors())
            if fault.cause is not None:
                raise fault.cause from None
            field = fault.path[0].lower().removeprefix("kinsplit_")
            # An invalid key is still secret.
            value = "..." if field == "api_keys" else fault.value
            remedy = f"Correct it in the file, in KINSPLIT_{field.upper()} or on the command line."
            raise InvalidParameterError(field, fault.rule, value, remedy) from None
        for name in found:
            if name not in settings.model_fields_set:
                raise environment.untrusted(variable_of(name))
        _check_addresses(settings, given, config)
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


_SEEN = dict.fromkeys(("api_keys", "log_json"), "other users of the machine see command lines; --json sets log_json")
#: The command `kinsplit serve`.
SERVE = Door((ServiceSettings,), without=_SEEN)
_FILES = ("uploads", "max_upload", "pictures", "originals", "rerankers")
#: The command `kinsplit mcp`.
MCP = Door(
    (ServiceSettings,),
    without={**_SEEN, **dict.fromkeys(_FILES, "the tools neither take nor show files, and don't rerank")},
)


def variable_of(field: str) -> str:
    """Return the name of a setting's variable."""
    return f"KINSPLIT_{field.upper()}"


def may_be_found(kind: type[ServiceSettings], field: str) -> bool:
    """Return whether a `.env` that is merely found may give a setting."""
    return any(isinstance(mark, _Found) for mark in kind.model_fields[field].metadata)


def service_variables() -> list[environment.Variable]:
    """Return the variables of the settings."""
    return [
        environment.Variable(variable_of(name), field.description or "", may_be_found(ServiceSettings, name))
        for name, field in ServiceSettings.model_fields.items()
    ]


def default_of(variable: str) -> str | None:
    """Return the default of the setting with a variable, as text; None for none."""
    default = ServiceSettings.model_fields[variable.removeprefix("KINSPLIT_").lower()].get_default(
        call_default_factory=True
    )
    return None if default is None or default == () else str(default)


def _found(kind: type[ServiceSettings]) -> dict[str, str]:
    """Return the settings in a `.env` that is merely found."""
    values = {name.upper(): value for name, value in environment.found_values().items()}
    names = {"STRATEGY": "strategy"} | {variable_of(field): field for field in kind.model_fields}
    return {names[name]: value for name, value in values.items() if name in names}


def _check_addresses(settings: ServiceSettings, given: Mapping[str, object], config: Path | None) -> None:
    """Check that no key goes to an address that a less trusted source has set."""
    for name in settings.model_fields_set - given.keys() & {"store", "embedder", "model", "rerankers"}:
        variable = environment.look_up(variable_of(name))
        value = getattr(settings, name)
        for each in value if isinstance(value, tuple) else filter(None, [value]):
            address = replace(variable, value=each) if variable else _of_file(name, each, config)
            (stores.check_source if name == "store" else check_source)(address)


def _of_file(name: str, value: str, config: Path | None) -> environment.Setting:
    return environment.Setting(name, value, environment.Origin.FILE, str(config))


def _table(kind: type[ServiceSettings], path: Path) -> dict[str, Any]:
    """Return the table [service] of a file, with the embedder of [index] as its default."""
    read = Configuration.read(path)
    for key, value in read.service.items():
        known = f"Settings of [service]: {', '.join(kind.model_fields)}."
        require(key in kind.model_fields, f"{path}: {key}", "is not a setting", value, known)
    embedder = {} if read.index.embedder is None else {"embedder": read.index.embedder}
    return {**embedder, **read.service}
