"""Requests that schemathesis generates from the OpenAPI description, valid and invalid ones."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from kinsplit.server.app import create_app
from kinsplit.server.collections import Collections
from kinsplit.server.processes.previews import Previewer
from tests.server.conftest import clean_environment, serving, settings_of

_CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]


pytestmark = pytest.mark.usefixtures("socket_enabled")


@pytest.fixture(scope="module")
def schema(previewer: Previewer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """The OpenAPI description of one service, for all tests."""
    folder = tmp_path_factory.mktemp("service")
    with clean_environment(folder):
        settings = settings_of(uploads=folder / "uploads", log_text=True)
        collections = Collections(settings)
    with serving(create_app(settings, collections, previewer)) as address:
        yield schemathesis.openapi.from_url(f"{address}/openapi.json")


@pytest.fixture(scope="module")
def client(schema: Any) -> Iterator[httpx.Client]:
    """A client of the service."""
    with httpx.Client(base_url=schema.location.removesuffix("/openapi.json"), timeout=30) as made:
        yield made


OPERATIONS = [
    *(("GET", "/search"), ("POST", "/ask"), ("POST", "/chunk"), ("GET", "/strategies"), ("GET", "/documents")),
    *(("GET", "/documents/{id}"), ("GET", "/documents/{id}/chunks"), ("GET", "/healthz"), ("GET", "/readyz")),
    *(("GET", "/documents/{id}/pages/{page}.png"), ("GET", "/documents/{id}/original")),
    *(("GET", "/filters"), ("GET", "/metrics"), ("POST", "/documents"), ("DELETE", "/documents/{id}")),
]


def test_every_operation_is_tried(schema: Any) -> None:
    assert {(method.upper(), path) for path, item in schema.raw_schema["paths"].items() for method in item} == set(
        OPERATIONS
    )


@pytest.mark.parametrize("mode", list(GenerationMode))
@pytest.mark.parametrize(("method", "path"), OPERATIONS)
def test_the_description_holds_and_nothing_fails(schema: Any, method: str, path: str, mode: GenerationMode) -> None:
    if mode is GenerationMode.NEGATIVE and path in ("/healthz", "/readyz"):
        pytest.skip("there is nothing to get wrong")

    @given(schema[path][method].as_strategy(generation_mode=mode))
    @settings(
        max_examples=8,
        derandomize=True,
        deadline=None,
        database=None,
        phases=[Phase.explicit, Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    def ask(case: schemathesis.Case) -> None:
        try:
            case.call_and_validate(checks=_CHECKS)
        except (requests.ConnectionError, requests.exceptions.ChunkedEncodingError):
            # A head of more than 64 KiB is rejected before all of it has arrived.
            assert len(case.as_curl_command()) > 65_536

    ask()


_HEADERS = [
    *(
        "Accept",
        "Accept-Encoding",
        "Authorization",
        "Connection",
        "Content-Encoding",
        "Content-Type",
        "Cookie",
        "Expect",
    ),
    *("Forwarded", "Host", "If-Modified-Since", "If-None-Match", "If-Range", "Origin", "Range", "Referer", "TE"),
    *(
        "Sec-Fetch-Site",
        "Upgrade",
        "X-API-Key",
        "X-Forwarded-For",
        "X-Request-ID",
        "baggage",
        "traceparent",
        "tracestate",
    ),
]
#: What parsers of headers stumble over.
_ODD = [
    "",
    "http://[",
    "http://[::1",
    "[",
    "]",
    ":",
    "localhost:99999",
    "::",
    "bytes=-",
    '"',
    "Bearer",
    "00-",
    "x" * 9000,
]


@given(
    st.sampled_from(OPERATIONS),
    st.dictionaries(
        st.sampled_from(_HEADERS),
        (st.sampled_from(_ODD) | st.text(st.characters(codec="latin-1", exclude_categories=["Cc"]))).map(
            lambda text: text.strip().encode("latin-1")
        ),
        max_size=3,
    ),
    st.binary(max_size=9) | st.just(b"[" * 20_000),
)
@settings(max_examples=int(os.environ.get("KINSPLIT_TEST_EXAMPLES", "60")))
def test_no_header_and_no_body_is_a_failure(
    client: httpx.Client, operation: tuple[str, str], headers: dict[str, bytes], body: bytes
) -> None:
    method, path = operation
    path = path.replace("{id}", "uploads/" + "x" * 300).replace("{page}", "1")
    response = client.request(method, path, params={"q": "loop"}, headers=headers, content=body)
    assert response.status_code < 500, response.text
