"""`kinsplit serve`: run the service."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kinsplit.cli.command import report_warnings
from kinsplit.cli.options import AsJson, ServiceConfig, ServiceEmbedder, ServiceStore
from kinsplit.cli.output.progress import spinner
from kinsplit.cli.output.tables import counted
from kinsplit.cli.output.terminal import Terminal
from kinsplit.cli.service import warn_of_settings
from kinsplit.support.extras import needs


def serve(
    store: ServiceStore = None,
    collection: Annotated[
        list[str] | None,
        typer.Option(
            metavar="[NAME=]COLLECTION",
            help="Collection, with its name in requests; repeatable. Default: default, or else demo.",
        ),
    ] = None,
    watch: Annotated[
        list[str] | None,
        typer.Option(
            metavar="[NAME=]FOLDER",
            help="Folder to keep in sync with the collection, or with another one by its name; repeatable. "
            "A missing collection is created.",
        ),
    ] = None,
    allow_upload: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="Folder into which clients may upload files to index. Without it, nothing can be changed.",
            show_default=False,
        ),
    ] = None,
    originals: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FOLDER",
            help="Folder whose indexed files clients may download while they are unchanged; repeatable.",
        ),
    ] = None,
    strategy: Annotated[
        str | None, typer.Option(metavar="NAME", help="Name of the collection for requests that name none.")
    ] = None,
    host: Annotated[
        str | None, typer.Option(metavar="HOST", help="Address to listen on. Default: 127.0.0.1, this machine only.")
    ] = None,
    port: Annotated[
        int | None, typer.Option(metavar="N", help="Port to listen on; 0 picks a free one. Default: 8000.")
    ] = None,
    embedder: ServiceEmbedder = None,
    config: ServiceConfig = None,
    as_json: AsJson = False,
) -> None:
    """Run the HTTP service and its page until Ctrl-C.

    Other settings come from the environment (KINSPLIT_*), --env-file and --config.
    """
    with needs("server"):
        from kinsplit.server.app import create_app
        from kinsplit.server.collections import Collections
        from kinsplit.server.run import address_of, listen, run
        from kinsplit.server.settings import ServiceSettings

    terminal = Terminal(as_json=as_json)
    settings = ServiceSettings.load(
        config,
        store=store,
        collections=collection or None,
        watch=watch or None,
        uploads=allow_upload,
        originals=originals or None,
        strategy=strategy,
        host=host,
        port=port,
        embedder=embedder,
        log_json=as_json or None,
    )
    with listen(settings) as listening:
        warn_of_settings(settings, terminal, offers_uploads=settings.uploads is not None)
        # Before the service starts, since warnings are otherwise written when the command ends.
        with report_warnings(terminal), spinner(terminal.err, "Opening"):
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

        app = create_app(settings, collections)
        app.state.viewer.warm()
        run(app, settings, collections.metrics, listening, started)
