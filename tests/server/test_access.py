from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest

from kinsplit.errors import InvalidParameterError
from kinsplit.server.middleware.access import TokenBuckets
from kinsplit.server.settings import Rate
from tests.server.conftest import Connect, error_of

CLOSED = [("GET", "/search?q=loop"), ("GET", "/documents/gaps.txt"), ("POST", "/chunk"), ("GET", "/metrics")]


async def test_what_is_described_as_closed_is_closed_and_nothing_else_is_open(connect: Connect, tmp_path: Path) -> None:
    client = await connect(api_keys="key", uploads=tmp_path / "uploads")
    description = (await client.get("/openapi.json")).json()
    for path, item in description["paths"].items():
        for method, operation in item.items():
            status = (await client.request(method, path)).status_code
            assert (status == 401) == ("security" in operation), path
    for path in ("/nothing", "/page", "/healthz/", "/page/..%0A/search"):
        assert (await client.get(path)).status_code == 401


async def test_without_a_key_no_body_is_read(connect: Connect, tmp_path: Path) -> None:
    """Otherwise a few slow uploads without a key would keep out all others."""
    client = await connect(api_keys="key", uploads=tmp_path / "uploads")

    async def parts() -> AsyncIterator[bytes]:
        pytest.fail("The body is read.")
        yield b""

    response = await client.post("/documents", content=parts())
    assert error_of(response, 401)
    assert response.headers["Connection"] == "close"


@pytest.mark.parametrize(("method", "path"), CLOSED)
async def test_a_key_is_needed_where_there_are_keys(connect: Connect, method: str, path: str) -> None:
    client = await connect(api_keys="first-key,second-key")

    async def ask(**headers: str) -> httpx.Response:
        body = {"text": "One."} if method == "POST" else None
        return await client.request(method, path, headers=headers, json=body)

    for headers in ({}, {"X-API-Key": ""}, {"X-API-Key": "first-ke"}, {"X-API-Key": "x" * 5000}):
        assert error_of(await ask(**headers), 401)["field"] == "X-API-Key"
    for headers in ({"Authorization": "Bearer wrong"}, {"Authorization": "Basic Zmlyc3Qta2V5"}):
        response = await ask(**headers)
        assert error_of(response, 401)
        assert response.headers["WWW-Authenticate"] == "Bearer"
    for headers in ({"X-API-Key": "first-key"}, {"Authorization": "Bearer second-key"}):
        assert (await ask(**headers)).status_code == 200


async def test_health_needs_no_key_and_has_no_limit(connect: Connect) -> None:
    client = await connect(api_keys="key", rate_limit="1/day")
    for _ in range(3):
        assert (await client.get("/healthz")).json() == (await client.get("/readyz")).json() == {"status": "ok"}
        assert [(await client.head(path)).status_code for path in ("/healthz", "/readyz")] == [200, 200]


async def test_every_key_has_its_own_rate(connect: Connect) -> None:
    client = await connect(api_keys="first,second", rate_limit="2/hour")
    for key in ("first", "second"):
        headers = {"X-API-Key": key}
        codes = [(await client.get("/documents", headers=headers)).status_code for _ in range(3)]
        assert codes == [200, 200, 429]
    response = await client.get("/documents", headers={"X-API-Key": "first"})
    assert error_of(response, 429)["rule"] == "exceeds the rate limit"
    assert 0 < int(response.headers["Retry-After"]) <= 1800
    # Wrong keys share the bucket of their address, so that a client can't try many.
    codes = [(await client.get("/documents", headers={"X-API-Key": f"x{i}"})).status_code for i in range(4)]
    assert codes == [401, 401, 429, 429]


async def test_without_keys_every_address_has_its_own_rate(connect: Connect) -> None:
    app = (await connect(rate_limit="1/hour")).app

    async def ask(address: str) -> int:
        transport = httpx.ASGITransport(app, client=(address, 1234))
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            return (await client.get("/documents")).status_code

    assert [await ask("10.0.0.1"), await ask("10.0.0.1"), await ask("10.0.0.2")] == [200, 429, 200]
    # One client usually owns a whole /64 network.
    assert [await ask("2001:db8::1"), await ask("2001:db8::2"), await ask("2001:db8:0:1::1")] == [200, 429, 200]
    # IPv4 addresses in the notation of a dual-stack socket.
    assert [await ask("::ffff:10.0.0.1"), await ask("::ffff:10.0.0.3"), await ask("10.0.0.3")] == [429, 200, 429]


def test_a_bucket_fills_up_evenly_and_only_so_far() -> None:
    now = 0.0
    buckets = TokenBuckets(Rate(2, 10), now=lambda: now)
    assert [buckets.take("a"), buckets.take("a"), buckets.take("a")] == [0, 0, 5]
    now = 5.0
    assert [buckets.take("a"), buckets.take("a")] == [0, 5]
    now = 1000.0
    assert [buckets.take("a"), buckets.take("a"), buckets.take("a")] == [0, 0, 5]


@pytest.mark.parametrize("text", ["", "many", "0/minute", "5", "5/fortnight", "-1/minute", 5])
def test_rates_that_are_none(text: object) -> None:
    with pytest.raises(InvalidParameterError, match="rate_limit: must be a number of requests per"):
        Rate.parse(text)


async def test_other_origins_are_closed_out_unless_they_are_named(connect: Connect) -> None:
    headers = {"Origin": "https://class.example", "Access-Control-Request-Method": "POST"}
    client = await connect()
    response = await client.get("/documents", headers=headers)
    assert not any(name.startswith("access-control") for name in response.headers)
    assert error_of(await client.options("/chunk", headers=headers), 405)
    client = await connect(cors_origins="https://class.example")
    response = await client.options("/chunk", headers={**headers, "Access-Control-Request-Headers": "X-API-Key"})
    assert response.status_code == 200
    assert response.headers["access-control-allow-origin"] == "https://class.example"
    assert "access-control-allow-credentials" not in response.headers
    other = await client.get("/documents", headers={"Origin": "https://other.example"})
    assert "access-control-allow-origin" not in other.headers


async def test_a_foreign_name_for_this_machine_is_refused(connect: Connect) -> None:
    client = await connect()
    for host in ("evil.example", "evil.example:8000", "localhost.evil.example", "[::2]"):
        assert error_of(await client.get("/documents", headers={"Host": host}), 400)["field"] == "Host"
    for host in ("LOCALHOST", "localhost:8000", "127.0.0.1:1", "[::1]:8000", "[::1]"):
        assert (await client.get("/documents", headers={"Host": host})).status_code == 200
    # Probes call the container's address.
    client = await connect(host="0.0.0.0", api_keys="key", allowed_hosts="Search.example")
    for path in ("/healthz", "/readyz"):
        assert (await client.get(path, headers={"Host": "10.0.0.7:8000"})).status_code == 200
    assert error_of(await client.get("/", headers={"Host": "10.0.0.7:8000"}), 400)["field"] == "Host"
    assert (await client.get("/", headers={"Host": "search.example"})).status_code == 200
    client = await connect(host="0.0.0.0", api_keys="key")
    assert (await client.get("/healthz", headers={"Host": "search.example"})).status_code == 200


async def test_every_answer_has_the_security_headers(client: httpx.AsyncClient) -> None:
    for path in ("/healthz", "/documents", "/search", "/nothing", "/documents/nothing"):
        headers = (await client.get(path)).headers
        assert "default-src 'none'" in headers["Content-Security-Policy"]
        assert "-src 'self'" not in headers["Content-Security-Policy"]
        assert headers["Cross-Origin-Resource-Policy"] == "same-origin"
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["Referrer-Policy"] == "no-referrer"
        assert headers["Cache-Control"] == "no-store"
