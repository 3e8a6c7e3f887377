"""`kinsplit serve`: run the service."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from kinsplit.cli.command import report_warnings
from kinsplit.cli.options import AsJson
from kinsplit.cli.output.progress import waiting
from kinsplit.cli.output.tables import counted
from kinsplit.cli.output.terminal import Terminal
from kinsplit.errors import MissingExtraError


def serve(
    store: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="Where collections lie. Default: edge:./kinsplit-data.")
    ] = None,
    collection: Annotated[
        list[str] | None,
        typer.Option(
            metavar="[NAME=]COLLECTION",
            help="A collection and what requests call it; may be repeated. Default: default, or else demo.",
        ),
    ] = None,
    strategy: Annotated[
        str | None, typer.Option(metavar="NAME", help="Which of them is asked where a request names none.")
    ] = None,
    host: Annotated[str | None, typer.Option(metavar="HOST", help="Default: 127.0.0.1, this machine only.")] = None,
    port: Annotated[int | None, typer.Option(metavar="N", help="Default: 8000; 0 takes a free one.")] = None,
    embedder: Annotated[
        str | None, typer.Option(metavar="SPEC", help="Embedding model of the collections. Default: bundled.")
    ] = None,
    config: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Settings in TOML, in a table [service].", show_default=False)
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Answer searches over HTTP, until Ctrl-C. Settings not given here come from KINSPLIT_*, .env and --config."""
    try:
        from kinsplit.server.app import create_app
        from kinsplit.server.collections import Collections
        from kinsplit.server.middleware.logs import configure_logs
        from kinsplit.server.run import address_of, listen, make_server
        from kinsplit.server.settings import ServiceSettings, unknown_variables
    except ModuleNotFoundError as error:
        raise MissingExtraError(error.name or "fastapi", "server") from error

    terminal = Terminal(as_json=as_json)
    given: dict[str, Any] = {
        "store": store,
        "collections": collection or None,
        "strategy": strategy,
        "host": host,
        "port": port,
        "embedder": embedder,
        "log_json": as_json or None,
    }
    settings = ServiceSettings.load(config, **{key: value for key, value in given.items() if value is not None})
    for name in unknown_variables():
        terminal.warning(f"{name} is no setting. docs/service.md tells where all of them are listed.")
    with listen(settings) as listening:
        if not settings.is_local and not settings.api_keys:
            terminal.warning(
                f"Everybody who reaches {settings.host} can read what is indexed. Set KINSPLIT_API_KEYS to let in only "
                "those who have one."
            )
        # Before the service starts, since warnings are otherwise written when the command ends.
        with report_warnings(terminal), waiting(terminal.err, "Opening"):
            collections = Collections.open(settings)
            collections.warm()
        opened = [(each.name, each.stored_name, len(each.index.store.sources(0))) for each in collections]
        address = address_of(listening)

        def started() -> None:
            if as_json:
                rows = [{"name": name, "collection": stored, "documents": n} for name, stored, n in opened]
                terminal.row({"address": address, "collections": rows})
                return
            for name, stored, number in opened:
                terminal.line(f"Collection {stored}: {counted(number, 'document')}, strategy={name}")
            terminal.line(f"Listening on {address}. Open it in a browser; Ctrl-C stops the service.")

        configure_logs(as_json=settings.log_json, log_text=settings.log_text)
        # The event loop waits for other threads several times per request, by default up to 5 ms each time.
        sys.setswitchinterval(0.001)
        make_server(create_app(settings, collections), settings, started).run(sockets=[listening])
