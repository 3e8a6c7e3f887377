"""Requests that schemathesis generates from the OpenAPI description, valid and invalid ones."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
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
    with clean_environment(tmp_path_factory.mktemp("service")):
        settings = settings_of()
        collections = Collections.open(settings)
    with serving(create_app(settings, collections, previewer)) as address:
        yield schemathesis.openapi.from_url(f"{address}/openapi.json")


OPERATIONS = [
    *(("GET", "/search"), ("POST", "/ask"), ("POST", "/chunk"), ("GET", "/strategies"), ("GET", "/documents")),
    *(("GET", "/documents/{id}"), ("GET", "/documents/{id}/chunks"), ("GET", "/healthz"), ("GET", "/readyz")),
    *(("GET", "/documents/{id}/pages/{page}.png"), ("GET", "/documents/{id}/original")),
    *(("GET", "/filters"), ("GET", "/metrics")),
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
