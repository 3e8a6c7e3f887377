"""Generated calls of every tool and resource, and generated messages: what fails, fails with a remedy."""

from __future__ import annotations

import json
import logging
import os
from typing import Any

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mcp.server.mcpserver import MCPServer

from kinsplit.mcp import create_http_app
from kinsplit.server.collections import Collections
from kinsplit.server.settings import ServiceSettings
from tests.mcp.conftest import FIRST
from tests.server.conftest import serving

#: A few in a run of all tests, thousands to look for faults.
EXAMPLES = settings(max_examples=int(os.environ.get("KINSPLIT_TEST_EXAMPLES", "60")))

_NUMBERS = st.integers(-2, 60) | st.sampled_from([2**31, 2**63, -(2**63) - 1, 10**400, 0.5, float("nan"), float("inf")])
_TEXTS = st.text(st.characters(), max_size=9) | st.sampled_from(
    ["larks", FIRST, "family", "sentence", "kin", "terms", "none", "\x00", "\ud800", "x" * 3000, "\u202e", "../" * 9]
)
_LEAVES = st.none() | st.booleans() | _NUMBERS | _TEXTS
_KEYS = st.sampled_from(
    ["year", "file_path", "absolute_path", "$and", "$or", "$not", "$gte", "$in", "$ne", "", "a.b", "\x00"]
)
JSON = st.recursive(_LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_KEYS, inner, max_size=3))


def _values(schema: dict[str, Any]) -> st.SearchStrategy[Any]:
    """Draw values for a property, mostly of its type."""
    kinds = {each.get("type") for each in schema.get("anyOf", [schema])}
    of = {"integer": _NUMBERS, "string": _TEXTS, "boolean": st.booleans(), "object": st.dictionaries(_KEYS, JSON)}
    return st.one_of([of.get(kind, st.none()) for kind in sorted(map(str, kinds))] + [JSON])


@st.composite
def _call(draw: st.DrawFn, tools: list[Any]) -> dict[str, Any]:
    """Draw a call of a tool whose arguments are almost right."""
    tool = draw(st.sampled_from(tools))
    properties = tool.input_schema["properties"]
    required = {name: _values(properties[name]) for name in tool.input_schema.get("required", [])}
    optional = {name: _values(schema) for name, schema in properties.items() if name not in required}
    arguments = draw(st.fixed_dictionaries(required, optional=optional))
    params = {"name": tool.name, "arguments": arguments}
    return {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}


def test_no_message_and_no_argument_is_an_unforeseen_failure(
    server: MCPServer, collections: Collections, caplog: pytest.LogCaptureFixture, socket_enabled: None
) -> None:
    given_settings = ServiceSettings.load(port=0)
    app = create_http_app(server, given_settings, collections.metrics)
    app.state.settings, app.state.collections = given_settings, collections
    messages = st.fixed_dictionaries(
        {},
        optional={
            "jsonrpc": st.just("2.0") | JSON,
            "id": st.just(1) | JSON,
            "method": st.sampled_from(
                ["tools/call", "tools/list", "resources/read", "resources/list", "initialize", "ping", "prompts/get"]
            )
            | _TEXTS,
            "params": st.fixed_dictionaries(
                {},
                optional={
                    "name": st.sampled_from(["search", "read", "list_documents"]) | JSON,
                    "uri": st.sampled_from(["kinsplit://sentence/" + FIRST, "kinsplit://x", "http://[", ""]) | _TEXTS,
                    "arguments": JSON | st.fixed_dictionaries({"question": _TEXTS}),
                    "_meta": JSON,
                    "protocolVersion": JSON,
                },
            )
            | JSON,
        },
    )
    bodies = messages.map(lambda message: json.dumps(message).encode()) | st.binary(max_size=9) | st.just(b"[" * 20_000)
    versions = st.sampled_from(["", "2025-06-18", "2026-07-28", "2099-01-01", "x", "\xff"])
    with serving(app) as address, httpx.Client(base_url=address, timeout=60) as client:

        @EXAMPLES
        @given(bodies, versions)
        def check(body: bytes, version: str) -> None:
            headers = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
            more = {"MCP-Protocol-Version": version.encode("latin-1")} if version else {}
            response = client.post("/mcp", content=body, headers={**headers, **more})
            assert response.status_code < 500, response.text

        check()
    assert not [record for record in caplog.records if record.exc_info or record.levelno >= logging.ERROR]
