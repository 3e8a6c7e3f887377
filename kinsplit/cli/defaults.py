"""Settings that all commands share, and the service: what an option is where it isn't given.

The order is that of trust: the command line, the environment with the file of `--env-file`, the TOML file that
`--config` or KINSPLIT_CONFIG names, and a `.env` that is merely found.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from kinsplit.cli.options import STORE
from kinsplit.errors import InvalidParameterError
from kinsplit.support.environment import Origin, Setting, look_up, read, untrusted

if TYPE_CHECKING:
    from kinsplit.indexing.configuration import Configuration

#: File that is named without `--config`.
CONFIG = "KINSPLIT_CONFIG"
#: Files in which settings may wait in vain: they count only if they are named.
_UNREAD = (("kinsplit.toml", ""), ("pyproject.toml", "[tool.kinsplit"))


class _Shared(NamedTuple):
    variables: tuple[str, ...]
    in_file: Callable[[Configuration], Any]
    may_be_found: bool = False


def _first(names: Any) -> str | None:
    """Return the first of the service's collections, without the other name that it may have."""
    if isinstance(names, Mapping):
        return next(iter(names.values()), None)
    listed = names.split(",") if isinstance(names, str) else names or ()
    return next((str(name).rpartition("=")[2].strip() for name in listed), None)


_SHARED = {
    "store": _Shared(("KINSPLIT_STORE",), lambda file: file.service.get("store")),
    "collection": _Shared(("KINSPLIT_COLLECTIONS",), lambda file: _first(file.service.get("collections"))),
    "embedder": _Shared(("KINSPLIT_EMBEDDER",), lambda file: file.index.embedder or file.service.get("embedder")),
    "strategy": _Shared(("KINSPLIT_STRATEGY", "STRATEGY"), lambda file: file.index.strategy, may_be_found=True),
    "model": _Shared(("KINSPLIT_MODEL",), lambda file: file.service.get("model")),
}
#: Options that are models.
_MODELS = {"embedder", "model", "rerank", "spec"}
#: Commands whose options of these names are the settings; of the other names, those of all commands are.
_ONLY = {
    "strategy": {"index", "watch", "chunk", "stats", "compare", "evaluate", "qrels"},
    "model": {"ask"},
}
#: Commands that read their settings themselves.
_SERVICE = {"serve", "mcp"}
#: Command that writes vectors only if it is told to.
_QRELS = ("qrels", "embedder")
#: Defaults of the options that a setting may replace; no store at all means something else to some commands.
_REPLACED: Mapping[str, set[object]] = {"store": {STORE}, "collection": {"default"}, "embedder": {"bundled", None}}


def config_file(given: str | Path | None) -> Path | None:
    """Return the TOML file of a command: the given one, or that of KINSPLIT_CONFIG."""
    named = given or read(CONFIG)
    return None if named is None else Path(named)


def setting(name: str, config: Path | None, command: str) -> Setting | None:
    """Return a shared setting of a command with its source, or None if nothing sets it.

    Raises:
        InvalidParameterError: Only a `.env` that is merely found sets it, and may not; or a key that is trusted more
            would go to the address.
        LoadError: A file can't be read.
    """
    shared = _SHARED[name]
    of_variables = [found for variable in shared.variables if (found := look_up(variable))]
    set_first = next((found for found in of_variables if found.origin is not Origin.FOUND), None)
    found = set_first or _of_file(name, config, command) or next(iter(of_variables), None)
    if found is None:
        return None
    if found.origin is Origin.FOUND and not shared.may_be_found:
        raise untrusted(found.name)
    if name in ("embedder", "model"):
        from kinsplit.model_servers.secrets import check_source

        check_source(found)
    elif name == "store":
        from kinsplit.stores import check_source as check_store

        check_store(found)
    return found


def _of_file(name: str, config: Path | None, command: str) -> Setting | None:
    if config is None:
        return None
    from kinsplit.doors import COMMANDS
    from kinsplit.indexing.configuration import Configuration

    file = Configuration.read(config)
    own = file.table(COMMANDS[command].table) if command in COMMANDS else {}
    value = own[name] if name in own else _SHARED[name].in_file(file)
    return Setting(name, str(value), Origin.FILE, str(config)) if value is not None else None


def default_of(command: str, name: str, default: object, config: Path | None, given: Mapping[str, Any]) -> str | None:
    """Return the value of an option that isn't given, or None if it keeps its default.

    `given` holds the values of the command's other options: stored collections have strategies of their own.

    Raises:
        InvalidParameterError: See `setting`; or the variable STRATEGY holds no name of a strategy.
        LoadError: A file can't be read.
    """
    if name not in _SHARED or command in _SERVICE or command not in _ONLY.get(name, {command}):
        return None
    if (command, name) == _QRELS or (command == "evaluate" and name == "strategy" and given["store"]):
        return None
    if default not in _REPLACED.get(name, {default}) or (found := setting(name, config, command)) is None:
        return None
    if name == "strategy":
        # That of a file comes with its parameters; see `kinsplit.cli.options.with_config`.
        return None if found.origin is Origin.FILE and found.name == name else _strategy(found)
    return _first(found.value) if name == "collection" else found.value


def named_model(option: str, value: Any, config: Path | None) -> Any:
    """Return the spec of a model that has a name of its own in a TOML file; any other value as it is.

    Raises:
        InvalidParameterError: A key that is trusted more would go to the address in the spec.
        LoadError: The file can't be read.
    """
    if option not in _MODELS or config is None or not isinstance(value, str):
        return value
    from kinsplit.indexing.configuration import Configuration
    from kinsplit.model_servers.secrets import check_source

    spec = Configuration.read(config).models.get(value)
    if spec is None:
        return value
    check_source(Setting(option, str(spec), Origin.FILE, str(config)))
    return str(spec)


def _strategy(found: Setting) -> str:
    """Return the strategy that a variable names, in any case, as the search that STRATEGY comes from wrote it."""
    from kinsplit.parsers.registry import OTHER_NAMES, names

    name = found.value.strip().casefold()
    name = OTHER_NAMES.get(name, name)
    if name not in names() and ":" not in name:
        remedy = f"Use one of {', '.join(names())}; unset it, or give --strategy."
        raise InvalidParameterError(found.name, "must be the name of a strategy", found.value, remedy)
    return found.value if ":" in name else name


def remarks(config: Path | None) -> list[str]:
    """Return sentences on settings that nothing reads: misspelt variables, and files that nobody names."""
    found = [f"{name} is not a setting.{_nearest(name, known)} {_SEE}" for name, known in _unknown().items()]
    for name, mark in _UNREAD if config is None else ():
        file = Path(name)
        if file.is_file() and mark in file.read_text(encoding="utf-8", errors="replace"):
            found.append(f"The settings in {name} are not read unless you name it: --config {name}, or {CONFIG}.")
    return found


_SEE = "See docs/service.md for the list of all settings."


def _nearest(name: str, known: list[str]) -> str:
    from difflib import get_close_matches

    nearest = get_close_matches(name, known, n=1, cutoff=0.6)
    return f" Did you mean {nearest[0]}?" if nearest else ""


def _unknown() -> dict[str, list[str]]:
    """Return the variables `KINSPLIT_*` that nothing reads, each with all names that are read."""
    from kinsplit.support.environment import VARIABLES, own_names

    known = {variable.name for variable in VARIABLES} | {each for one in _SHARED.values() for each in one.variables}
    if own_names() <= known:
        return {}
    try:
        from kinsplit.server.settings import service_variables
    except ImportError:  # Without the extra, nothing tells the service's settings from misspelt ones.
        return {}
    known |= {variable.name for variable in service_variables()}
    return dict.fromkeys(sorted(own_names() - known), sorted(known))
