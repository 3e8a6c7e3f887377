"""`kinsplit doctor`: an examination of a store."""

from __future__ import annotations

from contextlib import closing
from dataclasses import asdict
from typing import Annotated

import typer

from kinsplit.cli.command import SOME_FAILED
from kinsplit.cli.options import AsJson
from kinsplit.cli.output.tables import counted
from kinsplit.cli.output.terminal import Terminal


def doctor(
    address: Annotated[
        str,
        typer.Argument(
            metavar="ADDRESS", help="Address of the store: edge:DIR, qdrant:URL or pgvector:DSN.", show_default=False
        ),
    ],
    as_json: AsJson = False,
) -> None:
    """Try every operation of a store on a collection of its own, and drop that collection again.

    Other collections are neither read nor changed.
    """
    from kinsplit.stores.maintenance.doctor import examine

    terminal, checks = Terminal(as_json=as_json), []
    with closing(examine(address)) as examination:
        for check in examination:
            checks.append(check)
            if not as_json:
                terminal.line(f"{check.seconds * 1000:7.0f} ms  {check.name}: {check.problem or 'works'}")
    failed = sum(check.problem is not None for check in checks)
    if as_json:
        terminal.document({"checks": [{**asdict(check), "works": check.problem is None} for check in checks]})
    else:
        outcome = f"{counted(failed, 'problem')}" if failed else "all work"
        terminal.line(f"{counted(len(checks), 'operation')}: {outcome}.")
    if failed:
        raise typer.Exit(SOME_FAILED)
