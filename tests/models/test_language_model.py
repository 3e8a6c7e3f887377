"""A language model of 270 million parameters behind the server of llama.cpp."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from kinsplit.language_models.openai import OpenAIModel
from kinsplit.language_models.parsing import numbers_schema, read_numbers
from kinsplit.language_models.streaming import stream
from tests.wire.llama_server import KEY, serving

pytestmark = [pytest.mark.real_models, pytest.mark.usefixtures("socket_enabled")]
pytest.importorskip("xllamacpp", reason="xllamacpp, the server of llama.cpp, is not installed")


@pytest.fixture(scope="module")
def model(gemma: Path) -> Iterator[OpenAIModel]:
    with serving("chat", gemma) as url:
        yield OpenAIModel("gemma", url, KEY, timeout=120)


def test_it_goes_on_with_a_text(model: OpenAIModel) -> None:
    whole = model.complete("The capital of France is Paris. The capital of Germany is", max_tokens=8)
    assert "Berlin" in whole
    assert "".join(stream(model, "The capital of France is Paris. The capital of Germany is", 8)) == whole


def test_it_follows_a_schema(model: OpenAIModel) -> None:
    told = model.complete("Write the numbers 3 and 5 as JSON.", numbers_schema("starts"), 100)
    assert all(isinstance(number, int) for number in read_numbers(told, "starts").values)
