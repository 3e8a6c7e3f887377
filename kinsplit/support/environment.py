"""Variables that kinsplit reads, each with the source that set it: not every source is trusted alike."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from kinsplit.errors import InvalidParameterError, LoadError

#: Name of the file that is read in the current folder without being asked for.
FOUND = ".env"


class Origin(IntEnum):
    """Who set a value, least trusted first."""

    FOUND = 0  # A `.env` in the current folder, which may have come with downloaded material.
    FILE = 1  # A file that the user named.
    ENVIRONMENT = 2
    GIVEN = 3  # On the command line, or in Python.


@dataclass(frozen=True)
class Setting:
    """A value and where it comes from."""

    name: str
    value: str
    origin: Origin
    file: str = ""

    @property
    def source(self) -> str:
        """Name and place, such as "OPENAI_API_KEY in the environment"."""
        places = {Origin.ENVIRONMENT: "in the environment", Origin.GIVEN: "as given"}
        return f"{self.name} {places.get(self.origin, f'in {self.file}')}"


class Variable(NamedTuple):
    """A variable that kinsplit reads."""

    name: str
    purpose: str
    may_be_found: bool = False


#: Variables besides the settings of the service (`kinsplit.server.settings`).
VARIABLES = (
    Variable("OPENAI_API_KEY", "Key of OpenAI, or of a server with its API.", may_be_found=True),
    Variable("OPENAI_BASE_URL", "Address of a server with OpenAI's API."),
    Variable("OLLAMA_API_KEY", "Key of Ollama's cloud.", may_be_found=True),
    Variable("OLLAMA_HOST", "Address of an Ollama server."),
    Variable("PROVIDER_API_KEY", "Key of a provider of litellm, such as COHERE_API_KEY.", may_be_found=True),
    Variable("KINSPLIT_QDRANT_API_KEY", "Key of a Qdrant server.", may_be_found=True),
    Variable("KINSPLIT_EMBEDDING_PRICE", "Price of embedding a million tokens in US dollars.", may_be_found=True),
    Variable("KINSPLIT_CONTACT", "Contact address for the operators of Wikipedia.", may_be_found=True),
    Variable("KINSPLIT_CONFIG", "TOML file of settings, for commands without --config."),
    Variable("KINSPLIT_TRACEBACK", "Whether a defect of kinsplit is shown with its traceback."),
    Variable("KINSPLIT_CACHE", "Folder of the caches."),
    Variable("KINSPLIT_MINILM", "Folder of the bundled embedding model."),
)
_BY_NAME = {variable.name: variable for variable in VARIABLES}
_KEY = "_API_KEY"
# Text before an @ may be a password even if the address is invalid.
_ANY_CREDENTIALS = re.compile(r"^(\w+://)?.*@")
# Addresses that libraries read from the environment, with the secrets that they send there.
_SENT_BY_LIBRARIES = (
    ("HF_ENDPOINT", "HF_TOKEN"),
    ("PGHOST", "PGPASSWORD"),
    ("PGHOSTADDR", "PGPASSWORD"),
    ("AWS_ENDPOINT_URL", "AWS_SECRET_ACCESS_KEY"),
    ("AWS_ENDPOINT_URL_S3", "AWS_SECRET_ACCESS_KEY"),
)


@dataclass(frozen=True)
class _Files:
    found: Path | None  # The file in the current folder, which is read when a variable is looked up; None for none.
    named: Mapping[str, str]

    @cached_property
    def values(self) -> dict[str, str]:
        return {} if self.found is None else _values(self.found)


# The user's cache by platform: the variable that names it, and its usual place; Linux and other systems follow XDG.
_CACHES = {"darwin": ("XDG_CACHE_HOME", "~/Library/Caches"), "win32": ("LOCALAPPDATA", "~/AppData/Local")}

# Those of the commands that run in this process, each in a thread of its own perhaps; the last one counts.
_open = [_Files(None, {})]


@contextmanager
def env_files(named: Path | None = None) -> Iterator[None]:
    """Take variables also from files until the block ends.

    The variables of a file that the user names are set in the environment, as far as they are not set there. Those of a
    `.env` in the current folder are looked up by `look_up`, and nowhere else: they never enter the environment of this
    process or of its children. Values are taken literally. Empty ones count as unset.

    Raises:
        LoadError: The named file can't be read.
        InvalidParameterError: It has an address to which a library would send a secret of the environment.
    """
    given = {} if named is None else _values(named)
    new = {name: value for name, value in given.items() if not os.environ.get(name)}
    path = Path(FOUND).absolute()
    is_found = path.is_file() and not (named is not None and named.exists() and path.samefile(named))
    own = _Files(path if is_found else None, {**_open[-1].named, **dict.fromkeys(new, str(named))})
    _open.append(own)
    try:
        with variables(new):
            for name, secret in _SENT_BY_LIBRARIES:
                if name in new and secret in os.environ:
                    check_address(Setting(name, new[name], Origin.FILE, str(named)), look_up(secret))
            yield
    finally:
        _open.remove(own)


@contextmanager
def variables(values: Mapping[str, str]) -> Iterator[None]:
    """Set variables of the environment until the block ends."""
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def _values(path: Path) -> dict[str, str]:
    from dotenv import dotenv_values

    if not path.is_file():
        raise LoadError(path, "is not a file. Correct the path.")
    try:
        values = dotenv_values(path, interpolate=False, encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = "is not UTF-8 text" if isinstance(error, UnicodeDecodeError) else str(error.strerror)
        shown = FOUND if path == Path(FOUND).absolute() else path
        raise LoadError(shown, f"{reason}. Correct it, or run the command in another folder.") from None
    return {name: value for name, value in values.items() if value}


def look_up(name: str) -> Setting | None:
    """Return a variable with its source, also one that its source may not set; None if it isn't set."""
    if value := os.environ.get(name):
        file = _open[-1].named.get(name, "")
        return Setting(name, value, Origin.FILE if file else Origin.ENVIRONMENT, file)
    found = _open[-1].values.get(name)
    return None if found is None else Setting(name, found, Origin.FOUND, FOUND)


def read(name: str) -> str | None:
    """Return the value of a variable; None if it isn't set.

    Raises:
        InvalidParameterError: Only a `.env` that is merely found sets it, and may not.
        LoadError: The `.env` can't be read.
    """
    setting = look_up(name)
    if setting is None:
        return None
    if setting.origin is Origin.FOUND and not may_be_found(name):
        raise untrusted(name)
    return setting.value


def may_be_found(name: str) -> bool:
    """Return whether a `.env` that is merely found may set a variable of `VARIABLES`."""
    known = _BY_NAME.get(name)
    return name.endswith(_KEY) if known is None else known.may_be_found


def own_names() -> set[str]:
    """Return the names of all variables that begin with `KINSPLIT_` and are set, in upper case; not those of tests."""
    named = {name.upper() for name in (*os.environ, *_open[-1].values)}
    return {name for name in named if name.startswith("KINSPLIT_") and not name.startswith("KINSPLIT_TEST_")}


def found_values() -> Mapping[str, str]:
    """Return all variables of the `.env` in the current folder, or raise LoadError if it can't be read."""
    return _open[-1].values


def untrusted(name: str, why: str = "") -> InvalidParameterError:
    """Return the error for a variable that a merely found `.env` sets; `why` is a clause on what would happen."""
    rule = "can't be set by a .env that is merely found, since it may have come with downloaded material"
    remedy = f"If you wrote the file, name it with --env-file {FOUND}; otherwise delete the line."
    return InvalidParameterError(name, f"{rule}{why and f': {why}'}", f"{FOUND} in this folder", remedy)


def check_address(address: Setting, secret: Setting | None) -> None:
    """Check that a text, and a secret if there is one, may be sent to an address.

    A secret goes to an address from the same source or a more trusted one only. One that is given in Python counts as
    from the environment, which can change the program anyway.

    Raises:
        InvalidParameterError: The address comes from a `.env` that is merely found, or is less trusted than the secret.
    """
    if address.origin is Origin.FOUND:
        sent = "your texts" if secret is None else f"your texts and {secret.source}"
        raise untrusted(address.name, f"{sent} would go to that address")
    if secret is not None and min(secret.origin, Origin.ENVIRONMENT) > address.origin:
        rule = f"can't be an address from {address.file} while the key is {secret.source}, which is trusted more"
        remedy = f"Set both in {address.file}, or both in the environment."
        raise InvalidParameterError(address.name, rule, redact_url(address.value), remedy)


def redact_url(url: str) -> str:
    """Return a URL without its credentials, for messages."""
    return _ANY_CREDENTIALS.sub(r"\1", url)


def cache_folder() -> Path:
    """Return the folder in KINSPLIT_CACHE, else kinsplit's own in the user's cache, such as ~/.cache/kinsplit.

    Nothing in it is essential: deleted content is made again.
    """
    if named := read("KINSPLIT_CACHE"):
        return Path(named).expanduser()
    variable, usual = _CACHES.get(sys.platform, ("XDG_CACHE_HOME", "~/.cache"))
    return Path(os.environ.get(variable) or usual).expanduser() / "kinsplit"
