"""What real servers and the documentation of others answer, replayed through the clients."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from kinsplit import Index
from kinsplit.embedding import create as create_embedder
from kinsplit.embedding.remote_models.clients import OllamaEmbedder, OpenAIEmbedder
from kinsplit.errors import EmbedderUnavailableError, EmbeddingError, LanguageModelError, ModelUnavailableError
from kinsplit.language_models import create
from kinsplit.language_models.parsing import numbers_schema
from kinsplit.language_models.servers import OllamaModel
from kinsplit.model_servers.server import FailedCall
from tests.wire.replay import Replay

KEY = "sk-sentinel-0123456789"


def test_a_model_of_ollama_embeds_and_tells_its_window(ollama: Replay) -> None:
    embedder = OllamaEmbedder("all-minilm")
    texts = ["Files are opened with open().", "Lists are mutable.", "Tuples are not."]
    found = embedder.embed(texts)
    assert (embedder.window, found.shape) == (512, (3, 384))
    (recorded,) = (each["answer"] for each in ollama.exchanges if each["body"].get("input") == texts)
    np.testing.assert_allclose(found, recorded["embeddings"], atol=1e-3)
    files, lists, _ = found @ embedder.embed_query("files")
    assert files > lists + 0.2
    failure = embedder._request(["ok", "<700 words>"])
    assert isinstance(failure, FailedCall)
    assert "the input length exceeds the context length" in str(failure.error)


def test_a_collection_with_a_model_of_ollama_is_searched(ollama: Replay, tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("# A\n\nFiles are opened with open().\nnew\n")
    (tmp_path / "b.md").write_text("# B\n\nLists are mutable. Tuples are not.\n")
    with Index("memory:", embedder="ollama:all-minilm") as index:
        index.add(tmp_path)
        (found,) = index.search("files", ranking="dense", top_k=1)
    assert found.text.startswith("# A")
    assert all(body.get("truncate") is False for body in ollama.asked if "input" in body)


def test_what_ollama_refuses_is_told_in_its_words(ollama: Replay) -> None:
    with pytest.raises(EmbedderUnavailableError, match="this model does not support embeddings"):
        OllamaEmbedder("gemma").embed(["dimension"])
    with pytest.raises(ModelUnavailableError, match=r"model 'nosuch' not found.*ollama pull nosuch"):
        list(OllamaModel("nosuch").stream("Hi", 1024))
    with pytest.raises(LanguageModelError, match='"all-minilm" does not support chat'):
        list(OllamaModel("all-minilm").stream("Hi", 1024))


def test_ollama_streams_until_the_length_that_was_asked_for(ollama: Replay) -> None:
    pieces, is_cut = [], None
    answer = OllamaModel("gemma", window=2048).stream("The capital of France is", 6)
    while is_cut is None:
        try:
            pieces.append(next(answer))
        except StopIteration as end:
            is_cut = end.value
    assert (pieces, is_cut) == ([" the", " capital", " of", " the", " country"], True)


def test_a_real_model_behind_openais_protocol_answers_and_follows_a_schema(smollm2: Replay) -> None:
    model = create("openai:smollm2")
    assert "".join(model.stream("Hi", 1024)) == "The passages do not hold the answer."  # type: ignore[attr-defined]
    assert model.complete("Hi", numbers_schema("starts")) == '{\n  "starts": [0, 4, 9]\n}'


def test_openai_embeds_and_counts_tokens(openai: Replay, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    embedder = OpenAIEmbedder("text-embedding-3-small")
    found = embedder.embed(["A loop repeats.", "Owls hunt at night."])
    np.testing.assert_allclose(found, [[0.6, 0.8, 0, 0], [0, 0, 0.8, 0.6]], atol=1e-6)
    assert embedder.usage.since().tokens == 9
    assert embedder.window == 8191


def test_openai_streams_after_the_pause_that_it_asks_for(openai: Replay, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    model = create("openai:gpt-4o-mini")
    assert "".join(model.stream("Hi", 99)) == "A base case ends a recursion [1]."  # type: ignore[attr-defined]
    assert openai.pauses == [1.0]
    assert {headers["Authorization"] for headers in openai.headers} == {f"Bearer {KEY}"}
    assert model.complete("Hi", numbers_schema("starts")) == '{"starts":[0,2]}'


def test_what_openai_refuses_is_told_without_the_key(openai: Replay, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(EmbedderUnavailableError, match="OPENAI_API_KEY"):
        create_embedder("openai:text-embedding-3-large").embed(["a"])
    assert openai.asked == []
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with pytest.raises(EmbedderUnavailableError, match="Incorrect API key provided") as wrong:
        create_embedder("openai:text-embedding-3-large?dimensions=4").embed(["a"])
    assert KEY not in str(wrong.value)
    with pytest.raises(EmbeddingError, match="You exceeded your current quota"):
        create_embedder("openai:text-embedding-ada-002").embed(["a"])
    assert openai.pauses == [1.0, 1.0]
    with pytest.raises(ModelUnavailableError, match="`gpt-9` does not exist"):
        create("openai:gpt-9").complete("Hi")


def test_options_that_a_model_of_openai_refuses_are_left_out(openai: Replay, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    assert create("openai:o4-mini").complete("Hi", max_tokens=99) == "Yes."
    assert [sorted({"temperature", "seed", "max_tokens"} & body.keys()) for body in openai.asked] == [
        ["max_tokens", "seed", "temperature"],
        ["max_tokens", "seed"],
        ["seed"],
    ]
