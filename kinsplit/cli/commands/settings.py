"""`kinsplit settings`: what the settings of all commands and of the service are, and who sets them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from kinsplit.cli.output.tables import text_table
from kinsplit.cli.output.terminal import Terminal
from kinsplit.support.environment import FOUND, VARIABLES, Origin, Setting, Variable, look_up, redact_url
from kinsplit.support.extras import needs

_SECRET = ("_KEY", "_KEYS")
#: Options in the tables of a file that a variable may set too.
_VARIABLES = ("embedder", "strategy")


def settings(config: Path | None = None, *, terminal: Terminal) -> None:
    """List the settings, their values, who sets each, and whether a .env that is merely found may.

    The command line goes before the environment, then come the file of --env-file, that of --config, and a .env in the
    current folder. The last may have come with downloaded material, so that it can set keys and options that point
    nowhere, but no address, folder or model. Options of index, search, ask and evaluate have no variables; the file has
    a table for each.

    Args:
        config (FILE): TOML file of settings, in tables [index], [search], [ask], [evaluate] and [service]; in a
            pyproject.toml, the names begin with tool.kinsplit, as in [tool.kinsplit.index]. Default: KINSPLIT_CONFIG.
    """
    with needs("server"):
        from kinsplit.server.settings import default_of, service_variables

    filed = {} if config is None else _filed(config)
    rows = [_row(variable, config, filed, None) for variable in VARIABLES]
    rows += [_row(variable, config, filed, default_of(variable.name)) for variable in service_variables()]
    rows += _rows_of_file(config)
    shown = [(r["variable"], r["value"] or "", r["set"] or "", _words(r), r["purpose"]) for r in rows]
    terminal.outcome(rows, text_table("Setting", "Value", "Set", f"In a {FOUND}", "Purpose", rows=shown))


def _rows_of_file(config: Path | None) -> Iterator[dict[str, Any]]:
    """Yield the options of the tables of a file, under names such as `search.top_k`."""
    from kinsplit.doors import DOORS, FILE
    from kinsplit.indexing.configuration import Configuration
    from kinsplit.server.settings import variable_of

    file = Configuration() if config is None else Configuration.read(config)
    for table, doors in DOORS.items():
        given = file.table(table)
        for name, info in doors[FILE].fields().items():
            value = given.get(name, None if info.default == () else info.default)
            where = f"in {config}" if name in given else None
            if name in _VARIABLES and (found := _look_up(variable_of(name))) and found.origin is not Origin.FOUND:
                value, where = found.value, found.source
            yield {
                "variable": f"{table}.{name}",
                "value": None if value is None else redact_url(str(value)),
                "set": where,
                "may_be_found": False,
                "purpose": info.description or "",
            }


def _look_up(variable: str) -> Setting | None:
    return look_up(variable) or (look_up("STRATEGY") if variable == "KINSPLIT_STRATEGY" else None)


def _words(row: Mapping[str, Any]) -> str:
    return "yes" if row["may_be_found"] else "no"


def _filed(config: Path) -> Mapping[str, object]:
    """Return the settings in a TOML file by the names of their variables."""
    from kinsplit.indexing.configuration import Configuration

    file = Configuration.read(config)
    values = {**file.index.given(), **file.service}
    return {f"KINSPLIT_{name.upper()}": value for name, value in values.items()}


def _shown(setting: Setting, name: str) -> str:
    """Return a value without secrets; a store's address may hold a password as one of its options."""
    if name.endswith(_SECRET):
        return "..."
    if name == "KINSPLIT_STORE" and "=" in setting.value:
        return f"{setting.value.partition(':')[0]}:..."
    return redact_url(setting.value)


def _row(variable: Variable, config: Path | None, filed: Mapping[str, object], default: str | None) -> dict[str, Any]:
    name = variable.name
    found = _look_up(name)
    if name in filed and (found is None or found.origin is Origin.FOUND):
        found = Setting(name, str(filed[name]), Origin.FILE, str(config))
    value, where = default, None
    if found is not None:
        value = _shown(found, name)
        where = found.source.removeprefix(f"{name} ")
        if found.origin is Origin.FOUND and not variable.may_be_found:
            value, where = None, f"{where}, refused"
    return {
        "variable": name,
        "value": value,
        "set": where,
        "may_be_found": variable.may_be_found,
        "purpose": variable.purpose,
    }
