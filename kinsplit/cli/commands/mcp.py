"""`kinsplit mcp`: offer the index to language models."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from kinsplit.cli.command import report_warnings
from kinsplit.cli.options import AsJson, ServiceConfig, ServiceEmbedder, ServiceStore
from kinsplit.cli.output.terminal import Terminal
from kinsplit.cli.service import warn_of_settings
from kinsplit.support.extras import needs

if TYPE_CHECKING:
    from mcp.server.mcpserver import MCPServer

    from kinsplit.server.middleware.metrics import Metrics
    from kinsplit.server.settings import ServiceSettings


def mcp(
    store: ServiceStore = None,
    collection: Annotated[
        list[str] | None,
        typer.Option(
            metavar="[NAME=]COLLECTION",
            help="Collection, with its name in calls; repeatable. Default: default, or else demo.",
        ),
    ] = None,
    embedder: ServiceEmbedder = None,
    model: Annotated[
        str | None,
        typer.Option(metavar="SPEC", help="Language model of the tool ask. Without one, it quotes the best sentences."),
    ] = None,
    http: Annotated[
        bool, typer.Option("--http", help="Listen for streamable HTTP at /mcp instead of standard input and output.")
    ] = False,
    host: Annotated[
        str | None, typer.Option(metavar="HOST", help="With --http: address to listen on. Default: 127.0.0.1.")
    ] = None,
    port: Annotated[
        int | None, typer.Option(metavar="N", help="With --http: port to listen on; 0 picks a free one. Default: 8000.")
    ] = None,
    config: ServiceConfig = None,
    as_json: AsJson = False,
) -> None:
    """Serve the index to language models by the Model Context Protocol until the client ends.

    Tools: search, ask, read and list_documents. Settings are those of kinsplit serve (KINSPLIT_*,
    --env-file and --config).
    """
    with needs("mcp"):
        from kinsplit.mcp.server import create_server
        from kinsplit.server.collections import Collections
        from kinsplit.server.settings import ServiceSettings

    terminal = Terminal(as_json=as_json)
    settings = ServiceSettings.load(
        config,
        store=store,
        collections=collection or None,
        embedder=embedder,
        model=model,
        host=host,
        port=port,
        log_json=as_json or None,
    )
    # Written before the first call, since standard output belongs to the protocol.
    with report_warnings(terminal):
        collections = Collections.open(settings)
    try:
        server = create_server(collections)
        collections.start()
        if http:
            _listen(server, settings, collections.metrics, terminal)
        else:
            server.run("stdio")
    finally:
        collections.close()


def _listen(server: MCPServer, settings: ServiceSettings, metrics: Metrics, terminal: Terminal) -> None:
    """Serve streamable HTTP until Ctrl-C."""
    from kinsplit.mcp.server import create_http_app

    with needs("server"):
        from kinsplit.server.run import address_of, listen, run

    with listen(settings) as listening:
        warn_of_settings(settings, terminal, offers_uploads=False)
        started = f"Listening on {address_of(listening)}/mcp; Ctrl-C stops the server."
        run(create_http_app(server, settings, metrics), settings, metrics, listening, lambda: terminal.line(started))
