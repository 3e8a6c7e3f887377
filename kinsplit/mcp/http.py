"""The server over streamable HTTP, with the API keys and the rate limit of the service."""

from __future__ import annotations

from collections.abc import Callable

import uvicorn
from mcp.server.mcpserver import MCPServer
from mcp.server.transport_security import TransportSecuritySettings
from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from kinsplit.server.errors import RequestError
from kinsplit.server.middleware.access import AccessControl
from kinsplit.server.middleware.metrics import Metrics
from kinsplit.server.run import NotifyingServer, address_of, listen
from kinsplit.server.settings import ServiceSettings


class RequireAccess:
    """ASGI middleware that checks the key and the rate of requests.

    Args:
        app: The wrapped application.
        access: The check.
    """

    def __init__(self, app: ASGIApp, access: AccessControl) -> None:
        self._app, self._access = app, access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request, or reject it."""
        if scope["type"] == "http":
            headers, client = Headers(scope=scope), scope.get("client")
            scheme, _, token = headers.get("authorization", "").partition(" ")
            key = headers.get("x-api-key") or (token.strip() if scheme.casefold() == "bearer" else None)
            try:
                self._access.check(key, client[0] if client else "")
            except RequestError as error:
                await error.response()(scope, receive, send)
                return
        await self._app(scope, receive, send)


def create_app(server: MCPServer, settings: ServiceSettings) -> Starlette:
    """Create the application, which answers at /mcp.

    Args:
        server: The tools.
        settings: Settings with the keys, the rate limit and the host names.
    """
    hosts = [name for host in settings.hosts for name in (host, f"{host}:*")]
    security = TransportSecuritySettings(
        enable_dns_rebinding_protection=bool(hosts),
        allowed_hosts=hosts,
        allowed_origins=[f"{scheme}://{name}" for scheme in ("http", "https") for name in hosts],
    )
    app = server.streamable_http_app(
        stateless_http=True, max_request_body_size=settings.max_body, transport_security=security
    )
    app.add_middleware(RequireAccess, access=AccessControl(settings, Metrics()))
    return app


def run(server: MCPServer, settings: ServiceSettings, on_start: Callable[[str], None]) -> None:
    """Serve until Ctrl-C.

    Args:
        server: The tools.
        settings: The settings.
        on_start: Called with the server's address once it accepts requests.
    """
    config = uvicorn.Config(
        create_app(server, settings),
        access_log=False,
        log_config=None,
        server_header=False,
        limit_concurrency=settings.connections,
    )
    with listen(settings) as listening:
        NotifyingServer(config, lambda: on_start(address_of(listening))).run(sockets=[listening])
