"""`kinsplit settings`: the variables that kinsplit reads, who sets them, and what a found `.env` may set."""

from __future__ import annotations

from typing import Any

from kinsplit.cli.output.tables import text_table
from kinsplit.cli.output.terminal import Terminal
from kinsplit.support.environment import FOUND, VARIABLES, Origin, Variable, look_up
from kinsplit.support.extras import needs


def settings(*, terminal: Terminal) -> None:
    """List the variables that kinsplit reads, who sets each, and whether a .env that is merely found may.

    Variables come from the environment, then from the file of --env-file. A .env in the current folder may have come
    with downloaded material, so that it can set keys and options that point nowhere, but no address, folder or model.
    """
    with needs("server"):
        from kinsplit.server.settings import service_variables

    rows = [_row(variable) for variable in (*VARIABLES, *service_variables())]
    shown = [(r["variable"], "yes" if r["may_be_found"] else "no", r["set"] or "", r["purpose"]) for r in rows]
    terminal.outcome(rows, text_table("Variable", f"In a {FOUND}", "Set", "Purpose", rows=shown))


def _row(variable: Variable) -> dict[str, Any]:
    setting = look_up(variable.name)
    where = None
    if setting is not None:
        where = "in the environment" if setting.origin is Origin.ENVIRONMENT else f"in {setting.file}"
        if setting.origin is Origin.FOUND and not variable.may_be_found:
            where = f"{where}, refused"
    return {"variable": variable.name, "may_be_found": variable.may_be_found, "set": where, "purpose": variable.purpose}
