import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from kinsplit.embedding import create, static
from kinsplit.embedding.static import StaticEmbedder, distil, read_distilled
from kinsplit.errors import EmbeddingError, InvalidParameterError, MissingExtraError
from tests.tokenizer_files import KINDS, saved

pytest.importorskip("torch", reason="the extra static is not installed")
StaticModel = pytest.importorskip("model2vec", reason="the extra static is not installed").StaticModel

TEXTS = ["The quick brown fox jumps over the lazy dog.", "A class is a blueprint.", "a", "ünï 今天 fox!" * 9]
LONG = "The quick brown fox. " * 5_000


def made(folder: Path, kind: str = "word_piece", **tensors: np.ndarray) -> Path:
    """A static model with random vectors, as model2vec saves it."""
    folder.mkdir()
    file = saved(kind, folder)
    assert Path(file).name == "tokenizer.json"
    size = KINDS[kind]().get_vocab_size()
    rows = np.random.default_rng(1).normal(size=(size, 12)).astype(np.float32)
    save_file({"embeddings": rows} | tensors, folder / "model.safetensors")
    (folder / "config.json").write_text(json.dumps({"model_type": "model2vec", "normalize": True}))
    return folder


@pytest.mark.parametrize("kind", list(KINDS))
def test_vectors_are_model2vecs_own(kind, tmp_path):
    folder = made(tmp_path / "model", kind)
    vectors = StaticEmbedder(folder).embed([*TEXTS, LONG])
    expected = StaticModel.from_pretrained(folder).encode([*TEXTS, LONG], max_length=None)
    assert (vectors.shape, vectors.dtype) == ((5, 12), np.float32)
    assert vectors == pytest.approx(expected, abs=1e-5)


def test_a_model_with_a_quantised_vocabulary_gives_model2vecs_vectors(tmp_path):
    size = KINDS["word_piece"]().get_vocab_size()
    random = np.random.default_rng(2)
    folder = made(
        tmp_path / "model",
        embeddings=random.normal(size=(9, 5)).astype(np.float16),
        mapping=random.integers(0, 9, size),
        weights=random.random(size).astype(np.float32),
    )
    assert StaticEmbedder(folder).embed(TEXTS) == pytest.approx(
        StaticModel.from_pretrained(folder).encode(TEXTS, max_length=None).astype(np.float32), abs=2e-3
    )


def test_the_batch_does_not_matter_and_progress_is_told(tmp_path, monkeypatch):
    embedder, steps = StaticEmbedder(made(tmp_path / "model")), []
    whole = embedder.embed([*TEXTS, LONG])
    monkeypatch.setattr("kinsplit.embedding.static._CHARACTERS", 60)
    assert np.array_equal(embedder.embed([*TEXTS, LONG], lambda done, total: steps.append((done, total))), whole)
    assert steps == [(1, 5), (3, 5), (4, 5), (5, 5)]
    assert np.array_equal(embedder.embed_query(LONG), whole[4])
    assert embedder.embed([]).shape == (0, 12)


def test_a_text_without_known_tokens_still_points_somewhere(tmp_path):
    embedder = StaticEmbedder(made(tmp_path / "model"))
    blank, space, unknown, known, long = embedder.embed(["", " \n", "🦜🦜", "fox", "🦜 " * 20_000])
    assert blank.tolist() == space.tolist() == unknown.tolist() == long.tolist() != known.tolist()
    assert np.linalg.norm(blank) == pytest.approx(1)
    # What isn't known says nothing beside what is.
    assert embedder.embed(["🦜 fox"])[0].tolist() == known.tolist()


def test_a_table_of_zeros_still_gives_vectors_of_length_one(tmp_path):
    size = KINDS["word_piece"]().get_vocab_size()
    embedder = StaticEmbedder(made(tmp_path / "model", embeddings=np.zeros((size, 3), np.float32)))
    assert embedder.embed(["fox"]).tolist() == [[1, 0, 0]]


def test_there_are_no_windows(tmp_path):
    embedder = StaticEmbedder(made(tmp_path / "model"))
    assert embedder.windows([LONG, "a"]) == [1, 1]
    assert embedder.window > len(LONG)


def test_it_is_known_by_its_table(tmp_path):
    first, other = made(tmp_path / "a"), made(tmp_path / "c", "byte_level")
    same = shutil.copytree(first, tmp_path / "b")
    assert create(f"static:{first}").name == f"static:{first}"
    assert StaticEmbedder(first).fingerprint == StaticEmbedder(same).fingerprint != StaticEmbedder(other).fingerprint
    assert StaticEmbedder(first).fingerprint.endswith("?dimensions=12&pooling=mean")


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("model.safetensors", b"no tensors"),
        ("tokenizer.json", b"{}"),
        ("tokenizer.json", b"\xff"),
        ("config.json", None),
    ],
)
def test_a_folder_that_is_no_static_model_is_one_clear_error(name, content, tmp_path):
    folder = tmp_path / "absent" if content is None else made(tmp_path / "model")
    if content is not None:
        (folder / name).write_bytes(content)
    with pytest.raises(EmbeddingError, match=r"is not a static model.*save_pretrained"):
        StaticEmbedder(folder).embed(["a"])


@pytest.mark.parametrize(
    ("tensors", "complaint"),
    [
        ({"embeddings": np.ones((3, 4), np.float32)}, "3 vectors are not one"),
        ({"embeddings": np.full((900, 4), np.nan, np.float32)}, "not one finite"),
        ({"embeddings": np.ones(4, np.float32)}, "no table"),
    ],
)
def test_a_table_that_does_not_fit_is_one_clear_error(tensors, complaint, tmp_path):
    with pytest.raises(EmbeddingError, match=complaint):
        StaticEmbedder(made(tmp_path / "model", **tensors)).embed(["a"])


def test_a_colon_needs_a_folder():
    with pytest.raises(InvalidParameterError, match="static"):
        create("static:")


def tiny_bert(folder: Path) -> Path:
    """A model of transformers with random weights and a vocabulary of letters."""
    from transformers import BertConfig, BertModel, BertTokenizerFast

    folder.mkdir()
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *"abcdefghijklmnop", *(f"##{c}" for c in "abcdefghijklmnop")]
    BertTokenizerFast(vocab={word: n for n, word in enumerate(words)}).save_pretrained(folder)
    sizes = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
    BertModel(BertConfig(vocab_size=len(words), **sizes)).save_pretrained(folder)
    # As in the bundled model, of which the loader has something to say.
    tensors = load_file(folder / "model.safetensors")
    save_file(tensors | {"embeddings.position_ids": np.arange(3)}, folder / "model.safetensors", {"format": "pt"})
    return folder


def test_the_bundled_model_is_distilled_once_without_a_word(tmp_path, monkeypatch, capfd):
    source, calls = tiny_bert(tmp_path / "bert"), []
    capfd.readouterr()
    monkeypatch.setenv("KINSPLIT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(static, "_distil_bundled", lambda folder: calls.append(folder) or distil(source, folder))
    vectors = create("static").embed(["a b cad", "p"])
    assert np.array_equal(create("static").embed(["a b cad", "p"]), vectors)
    assert len(calls) == 1
    assert capfd.readouterr() == ("", "")
    expected = StaticModel.from_pretrained(read_distilled(lambda folder: folder)).encode(["a b cad", "p"])
    assert vectors == pytest.approx(expected.astype(np.float32), abs=2e-3)
    assert create("static").name == "static"


def test_other_weights_are_not_distilled(tmp_path, monkeypatch):
    monkeypatch.setenv("KINSPLIT_CACHE", str(tmp_path))
    monkeypatch.setattr("kinsplit.embedding.bundled.SHA256", "0" * 64)
    with pytest.raises(EmbeddingError, match="expected 000"):
        create("static").embed(["a"])


def test_without_model2vec_the_extra_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "model2vec.distill", None)
    with pytest.raises(MissingExtraError, match=r'pip install "kinsplit\[static\]"'):
        distil(tmp_path, tmp_path)


def test_reading_a_model_needs_neither_torch_nor_model2vec(tmp_path):
    folder = made(tmp_path / "model")
    code = (
        f"import sys; from kinsplit.embedding import create; create('static:{folder}').embed(['a']);"
        "print(sorted({'torch', 'transformers', 'model2vec'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
