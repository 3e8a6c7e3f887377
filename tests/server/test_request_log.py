from __future__ import annotations

import io
import json
import logging
import re
import warnings
from collections.abc import Iterator

import httpx
import pytest

from kinsplit import Index
from kinsplit.errors import KinsplitWarning, StoreError
from kinsplit.server.middleware.logs import configure_logs
from tests.server.conftest import HOME, Connect, error_of

SECRET = "the secret question"


@pytest.fixture
def logs() -> Iterator[io.StringIO]:
    """The log of the service, as JSON lines."""
    stream = io.StringIO()
    before = {name: logging.getLogger(name).__dict__.copy() for name in ("kinsplit.server", "uvicorn")}
    show = warnings.showwarning
    configure_logs(as_json=True, log_text=False, stream=stream)
    yield stream
    warnings.showwarning = show
    for name, state in before.items():
        logging.getLogger(name).__dict__.update(state)
        logging.getLogger(name).setLevel(state["level"])


def lines(logs: io.StringIO) -> list[dict[str, object]]:
    return [json.loads(line) for line in logs.getvalue().splitlines()]


async def test_a_request_is_one_line_without_any_text(connect: Connect, logs: io.StringIO) -> None:
    client = await connect()
    response = await client.get(f"/search?q={SECRET}", headers={"X-Request-ID": "mine-1"})
    assert response.headers["X-Request-ID"] == "mine-1"
    await client.get(f"/documents/{SECRET}")
    await client.post("/chunk", json={"text": SECRET})
    await client.request("SECRET", "/secret")
    await client.request("SECRET", "/chunk")
    first, *others = lines(logs)
    assert {key: first[key] for key in ("event", "method", "route", "status", "request_id", "level")} == {
        "event": "request",
        "method": "GET",
        "route": "/search",
        "status": 200,
        "request_id": "mine-1",
        "level": "info",
    }
    assert [line["route"] for line in others] == ["/documents/{id:id}", "/chunk", "(none)", "/chunk"]
    assert "secret" not in logs.getvalue().lower()


async def test_request_ids_are_made_where_they_are_none(connect: Connect, logs: io.StringIO) -> None:
    client = await connect()
    for given in ("", "a b", "x" * 65, 'x"\x1b[31m'):
        response = await client.get("/healthz", headers={"X-Request-ID": given.encode()})
        assert re.fullmatch("[0-9a-f]{32}", response.headers["X-Request-ID"])


@pytest.mark.parametrize(("error", "status"), [(ZeroDivisionError(HOME), 500), (StoreError(HOME), 503)])
async def test_errors_say_nothing_of_the_inside(
    connect: Connect, logs: io.StringIO, monkeypatch: pytest.MonkeyPatch, error: Exception, status: int
) -> None:
    client = await connect()

    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(Index, "search_as", fail)
    response = await client.get(f"/search?q={SECRET}")
    assert error_of(response, status)["field"] is None
    assert "X-Request-ID" in response.headers
    assert "default-src" in response.headers["Content-Security-Policy"]
    failed, request = lines(logs)
    assert (failed["event"], failed["error"]) == ("failed", type(error).__name__)
    assert failed["request_id"] == request["request_id"]
    assert request["status"] == status
    assert any("test_request_log.py" in str(frame) for frame in failed["stack"])
    assert HOME not in logs.getvalue()
    assert SECRET not in logs.getvalue()


async def test_what_is_told_of_errors_can_be_more(
    connect: Connect, logs: io.StringIO, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = await connect(log_text=True)
    monkeypatch.setattr(Index, "search_as", lambda *_, **__: 1 / 0)
    assert error_of(await client.get("/search?q=loop"), 500)
    assert lines(logs)[0]["message"] == "division by zero"


def test_warnings_are_lines_without_their_text(logs: io.StringIO) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        configure_logs(as_json=True, log_text=False, stream=logs)
        warnings.warn(SECRET, KinsplitWarning, stacklevel=1)
    (line,) = lines(logs)
    assert (line["warning"], line["level"]) == ("KinsplitWarning", "warning")
    assert SECRET not in logs.getvalue()


async def test_figures(connect: Connect) -> None:
    client = await connect(rate_limit="5/day")
    for path in ("/search?q=loop", "/search?q=loop&top_k=0", "/documents/a", "/documents/b", "/search?q=x"):
        await client.get(path)
    await client.get("/documents")
    transport = httpx.ASGITransport(client.app, client=("10.0.0.1", 1234))
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as other:
        await other.get("/nothing")
        for method in ("SECRET", "search"):
            await other.request(method, "/search")
        text = (await other.get("/metrics")).text
    assert 'kinsplit_request_seconds_count{method="GET",route="/search",status="200"} 2.0' in text
    assert 'kinsplit_request_seconds_count{method="GET",route="/search",status="422"} 1.0' in text
    # By the route's template: otherwise there would be one time series per document.
    assert 'kinsplit_request_seconds_count{method="GET",route="/documents/{id:id}",status="404"} 2.0' in text
    assert 'kinsplit_request_seconds_count{method="GET",route="(none)",status="404"} 1.0' in text
    # Clients can send any word as the method, and one time series per word would fill the memory.
    assert 'kinsplit_request_seconds_count{method="*",route="/search",status="405"} 2.0' in text
    assert "SECRET" not in text
    assert "kinsplit_requests_in_flight 1.0" in text
    assert 'kinsplit_requests_rejected_total{reason="rate"} 1.0' in text
    assert "kinsplit_embed_seconds_count 2.0" in text
