"""The server over HTTP: it is guarded like the service."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest
from mcp.server.mcpserver import MCPServer
from starlette.applications import Starlette
from starlette.middleware.gzip import GZipMiddleware

from kinsplit.mcp import create_http_app
from kinsplit.server.app import create_app
from kinsplit.server.collections import Collections
from kinsplit.server.middleware.access import AccessControl
from kinsplit.server.settings import ServiceSettings
from tests.server.conftest import serving

pytestmark = pytest.mark.usefixtures("socket_enabled")

GOOD = {"X-API-Key": "good"}
_HEADERS = {"Accept": "application/json, text/event-stream"}

MakeApp = Callable[..., Starlette]


@pytest.fixture
def make_app(server: MCPServer, collections: Collections) -> MakeApp:
    """Return a function that makes applications with settings."""

    def make(**given: Any) -> Starlette:
        settings = ServiceSettings.load(port=0, **given)
        app = create_http_app(server, settings, collections.metrics)
        app.state.settings, app.state.collections = settings, collections
        return app

    return make


def list_tools(address: str, headers: dict[str, str], **more: Any) -> httpx.Response:
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    return httpx.post(f"{address}/mcp", json=message, headers={**_HEADERS, **headers}, timeout=30, **more)


def test_the_stack_is_that_of_the_service(make_app: MakeApp, collections: Collections) -> None:
    app = make_app(api_keys="good", rate_limit="5/minute", cors_origins="https://class.example", patience=3)
    service = create_app(app.state.settings, collections)
    ours, theirs = ([(each.cls, dict(each.kwargs)) for each in one.user_middleware] for one in (app, service))
    # Packing is for the page, whose files are many times as long as an answer of a tool.
    theirs = [each for each in theirs if each[0] is not GZipMiddleware]
    for kind, kwargs in theirs:
        if kind is AccessControl:
            assert kwargs.pop("open_paths") is not None
            kwargs["open_paths"] = None
    assert ours == theirs


def test_no_header_evades_the_rate_limit(make_app: MakeApp) -> None:
    def codes(address: str) -> list[int]:
        forwarded = [f"10.0.0.{i}" for i in range(12)]
        return [
            list_tools(
                address,
                {"X-API-Key": f"wrong-{ip}", "X-Forwarded-For": ip, "X-Real-IP": ip, "Forwarded": f"for={ip}"},
            ).status_code
            for ip in forwarded
        ]

    with serving(make_app(api_keys="good", rate_limit="5/day")) as address:
        assert codes(address) == [401] * 5 + [429] * 7
        assert list_tools(address, GOOD).status_code == 200
    # A proxy that the settings name says who the clients are.
    with serving(make_app(api_keys="good", rate_limit="5/day", trusted_proxies="127.0.0.1")) as address:
        assert codes(address) == [401] * 12


@pytest.mark.parametrize(
    "sent",
    [
        b"",
        b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nX-A: ",
        b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nX-API-Key: good\r\nContent-Length: 100\r\n\r\n{",
        b"GET /mcp HTTP/1.1\r\nHost: localhost\r\nX-API-Key: good\r\nAccept: text/event-stream\r\n\r\n",
    ],
    ids=["silent", "half a head", "half a body", "a stream of nothing"],
)
def test_clients_that_hold_connections_lock_nobody_out(make_app: MakeApp, sent: bytes) -> None:
    with (
        serving(make_app(api_keys="good", connections=60, patience=60)) as address,
        contextlib.ExitStack() as stack,
    ):
        parts = urlsplit(address)
        for _ in range(70):
            client = stack.enter_context(socket.create_connection((parts.hostname, parts.port), timeout=30))
            with contextlib.suppress(OSError):  # Closed already.
                client.sendall(sent)
        assert list_tools(address, GOOD).status_code == 200


def test_a_client_that_does_not_finish_is_cut_off(make_app: MakeApp) -> None:
    with serving(make_app(patience=0.3)) as address:
        parts = urlsplit(address)
        with socket.create_connection((parts.hostname, parts.port), timeout=30) as client:
            client.sendall(b"POST /mcp HTTP/1.1\r\nHost: loc")
            with contextlib.suppress(ConnectionResetError):
                assert client.recv(100) == b""
        with socket.create_connection((parts.hostname, parts.port), timeout=30) as client:
            client.sendall(b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{")
            assert client.recv(100).startswith(b"HTTP/1.1 408")


def test_nothing_holds_a_connection_open(make_app: MakeApp) -> None:
    with serving(make_app()) as address:
        version, key = "2026-07-28", "io.modelcontextprotocol"
        meta = {
            f"{key}/protocolVersion": version,
            f"{key}/clientInfo": {"name": "x", "version": "1"},
            f"{key}/clientCapabilities": {},
        }
        listen = {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "subscriptions/listen",
            "params": {"notifications": {"toolsListChanged": True}, "_meta": meta},
        }
        headers = {**_HEADERS, "MCP-Protocol-Version": version, "Mcp-Method": "subscriptions/listen"}
        answer = httpx.post(f"{address}/mcp", json=listen, headers=headers, timeout=30)
        assert answer.json()["error"]["message"] == "Method not found"
        for method in ("GET", "DELETE"):
            assert httpx.request(method, f"{address}/mcp", headers=_HEADERS, timeout=30).status_code == 405


def test_keys_hosts_origins_and_sizes_are_checked(make_app: MakeApp) -> None:
    app = make_app(api_keys="good", max_body=1000, cors_origins="https://class.example")
    with serving(app) as address:
        assert list_tools(address, {}).status_code == 401
        wrong = list_tools(address, {"Authorization": "Bearer wrong"})
        assert wrong.json()["error"]["remedy"].startswith("Send it as")
        for key in ({"Authorization": "Bearer good"}, GOOD, {**GOOD, "Origin": "https://class.example"}):
            listed = list_tools(address, key)
            assert listed.status_code == 200
            assert "list_documents" in listed.text
            assert listed.headers["X-Content-Type-Options"] == "nosniff"
            assert listed.headers["Cache-Control"].startswith("no-")
            assert listed.headers["X-Request-ID"]
        assert list_tools(address, {**GOOD, "Host": "evil.example"}).json()["error"]["field"] == "Host"
        assert list_tools(address, {**GOOD, "Origin": "https://evil.example"}).status_code == 403
        assert httpx.post(f"{address}/mcp", content=b" " * 1001, headers=GOOD).status_code == 413
