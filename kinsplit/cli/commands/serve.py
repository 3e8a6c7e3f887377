"""`kinsplit serve` and `kinsplit mcp`: run the service, or offer the index to language models."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from kinsplit.cli.command import report_warnings
from kinsplit.cli.derive import from_options
from kinsplit.cli.output.progress import spinner
from kinsplit.cli.output.tables import counted
from kinsplit.cli.output.terminal import Terminal
from kinsplit.support.extras import needs

if TYPE_CHECKING:
    from mcp.server.mcpserver import MCPServer

    from kinsplit.server.middleware.metrics import Metrics
    from kinsplit.server.settings import ServiceSettings


@from_options("kinsplit.server.settings:SERVE", extra="server")
def serve(config: Path | None = None, *, terminal: Terminal, **options: Any) -> None:
    """Run the HTTP service and its page until Ctrl-C.

    Settings that aren't given come from the environment (KINSPLIT_*), --env-file and --config.

    Args:
        config (FILE): TOML file with settings in a table [service]. Default: KINSPLIT_CONFIG.
    """
    with needs("server"):
        from kinsplit.server.app import create_app
        from kinsplit.server.collections import Collections
        from kinsplit.server.run import address_of, listen, run
        from kinsplit.server.settings import ServiceSettings

    settings = ServiceSettings.load(config, log_json=terminal.as_json or None, **options)
    with listen(settings) as listening:
        _warn_of_settings(settings, terminal, offers_uploads=settings.uploads is not None)
        # Before the service starts, since warnings are otherwise written when the command ends.
        with report_warnings(terminal), spinner(terminal.aside, "Opening"):
            collections = Collections(settings)
            collections.warm()
        opened = [(each.name, each.stored_name, len(each.index.store.sources(0))) for each in collections]
        address = address_of(listening)

        def started() -> None:
            if terminal.as_json:
                rows = [{"name": name, "collection": stored, "documents": n} for name, stored, n in opened]
                terminal.row({"address": address, "collections": rows})
                return
            for name, stored, number in opened:
                terminal.line(f"Collection {stored}: {counted(number, 'document')}, strategy={name}")
            terminal.line(f"Listening on {address}. Open it in a browser; Ctrl-C stops the service.")

        app = create_app(settings, collections)
        app.state.viewer.renderer.warm()
        run(app, settings, collections.metrics, listening, started)


@from_options("kinsplit.server.settings:MCP", extra="mcp")
def mcp(config: Path | None = None, *, http: bool = False, terminal: Terminal, **options: Any) -> None:
    """Serve the index to language models by the Model Context Protocol until the client ends.

    Tools: search, ask, read and list_documents. Settings are those of kinsplit serve (KINSPLIT_*,
    --env-file and --config).

    Args:
        config (FILE): TOML file with settings in a table [service]. Default: KINSPLIT_CONFIG.
        http: Listen for streamable HTTP at /mcp instead of standard input and output.
    """
    with needs("mcp"):
        from kinsplit.mcp import create_server
        from kinsplit.server.collections import Collections
        from kinsplit.server.settings import ServiceSettings

    settings = ServiceSettings.load(config, log_json=terminal.as_json or None, **options)
    # Written before the first call, since standard output belongs to the protocol.
    with report_warnings(terminal):
        collections = Collections(settings)
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
    from kinsplit.mcp import create_http_app

    with needs("server"):
        from kinsplit.server.run import address_of, listen, run

    with listen(settings) as listening:
        _warn_of_settings(settings, terminal, offers_uploads=False)
        started = f"Listening on {address_of(listening)}/mcp; Ctrl-C stops the server."
        run(create_http_app(server, settings, metrics), settings, metrics, listening, lambda: terminal.line(started))


def _warn_of_settings(settings: ServiceSettings, terminal: Terminal, *, offers_uploads: bool) -> None:
    """Warn of an address that is open to everybody."""
    if not settings.is_local and not settings.api_keys:
        terminal.warning(
            f"Anyone who can reach {settings.host} can read {'and change ' if offers_uploads else ''}the indexed "
            "documents. Set KINSPLIT_API_KEYS to require a key."
        )
