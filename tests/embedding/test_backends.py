import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from kinsplit.embedding import create, verify
from kinsplit.embedding.backends import base, model_cache
from kinsplit.embedding.backends.base import sorted_batches
from kinsplit.embedding.backends.model_files import STAMP, declared_facts, read_network
from kinsplit.embedding.backends.openvino import OpenVinoBackend, without_telemetry
from kinsplit.embedding.bundled import BundledEmbedder
from kinsplit.embedding.sentence_transformer import BackendWarning, SentenceTransformerEmbedder
from kinsplit.errors import CacheWarning, EmbeddingError, InvalidParameterError, MissingExtraError
from kinsplit.support.environment import cache_folder
from tests.embedding.tiny_models import make_model, needs_torch

# Read by a window of 48 tokens: none, few, just as many as fit, one too many, thousands in one line.
ODD = (
    "",
    " \n\t",
    "🤣👩‍👩‍👧‍👦🇩🇪",
    "שלום עולם، مرحبا بالعالم",
    "e\u0301 \u202e\u0000\x07 a\u00adb",
    "word " * 46,
    "word " * 47,
    "x" * 20_000,
    "antidisestablishmentarianism " * 40,
    "[CLS] [SEP] [PAD] [MASK]",
)


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    return make_model(tmp_path_factory.mktemp("bert"))


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("KINSPLIT_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "models"


@pytest.fixture(scope="module")
def kept(tiny):
    """The folder of the converted model in the cache of this run, and the vector of a text."""
    return SentenceTransformerEmbedder(tiny).embed(["text"]), cache_folder() / "models" / kept_name(tiny)


@pytest.fixture
def warm(kept, tmp_path, monkeypatch):
    """A cache folder that holds the converted model, and its folder in it."""
    folder = Path(shutil.copytree(kept[1], tmp_path / "warm" / "models" / kept[1].name))
    monkeypatch.setenv("KINSPLIT_CACHE", str(tmp_path / "warm"))
    return folder


@pytest.fixture
def cheap(warm, tmp_path, monkeypatch):
    """A conversion that copies an earlier one."""
    earlier = shutil.copytree(warm, tmp_path / "earlier", ignore=shutil.ignore_patterns(STAMP))
    monkeypatch.setattr(
        model_cache, "convert", lambda *model, **_: shutil.copytree(earlier, model[2], dirs_exist_ok=True)
    )


def kept_name(model):
    """Name of the folder that holds a converted model in the cache of this run."""
    key = SentenceTransformerEmbedder(model)._key(Path(model))
    (folder,) = (path for path in (cache_folder() / "models").glob(f"{key}-openvino*") if path.is_dir())
    return folder.name


def cosines(one, other):
    assert one.shape == other.shape
    return (one * other).sum(axis=1)


@needs_torch
@pytest.mark.parametrize("backend", ["openvino", "openvino-float32", "numpy"])
def test_backends_agree_on_odd_texts(tiny, backend):
    model, reference = (SentenceTransformerEmbedder(tiny, backend=kind) for kind in (backend, "torch"))
    least = 0.999 if backend == "openvino" else 0.99999
    assert model.windows(ODD) == reference.windows(ODD)
    assert model.windows(ODD)[5:7] == [1, 2]
    assert cosines(model.embed(ODD), reference.embed(ODD)).min() >= least
    for own, others in zip(model.embed_tokens(ODD), reference.embed_tokens(ODD), strict=True):
        assert cosines(own, others).min(initial=1) >= least - 0.005
    assert (model.dimension, model.window, model.fingerprint) == (32, 48, reference.fingerprint)


@needs_torch
def test_the_known_vectors_of_the_bundled_model_are_those_of_sentence_transformers():
    found = BundledEmbedder(backend="torch").embed(model_cache.PROBE)
    assert np.abs(found - BundledEmbedder()._probe_vectors()).max() < 1e-5


@pytest.mark.parametrize(("backend", "error"), [("auto", 0.01), ("openvino-float32", 1e-5), ("numpy", 1e-5)])
def test_the_bundled_model_gives_its_known_vectors(backend, error):
    known, found = BundledEmbedder()._probe_vectors(), BundledEmbedder(backend=backend).embed(model_cache.PROBE)
    assert np.abs(found - known).max() < error
    assert cosines(found, known).mean() >= 0.9999


@needs_torch
@pytest.mark.parametrize(
    ("family", "pooling"), [("roberta", "mean"), ("mpnet", "mean"), ("electra", "mean"), ("distilbert", "cls")]
)
def test_other_encoders_are_read_with_their_pooling(tmp_path, family, pooling):
    folder = make_model(tmp_path, family, pooling)
    reference = SentenceTransformerEmbedder(folder, backend="torch")
    texts = [*ODD[:7], "antidisestablishmentarianism " * 20]
    expected = reference.embed(texts)
    for backend in ("openvino-float32", "numpy"):
        model = SentenceTransformerEmbedder(folder, backend=backend)
        assert np.abs(model.embed(texts) - expected).max() < 1e-5
        assert (model.dimension, model.window, model.fingerprint) == (32, 48, reference.fingerprint)


def as_gpt2(folder):
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"model_type": "gpt2"}))


def without_weights(folder):
    (folder / "model.safetensors").unlink()


def without_tokenizer(folder):
    (folder / "tokenizer.json").unlink()


def with_alibi(folder):
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"position_embedding_type": "alibi"}))


def with_a_dense_layer(folder):
    modules = json.loads((folder / "modules.json").read_text())
    modules.insert(2, {"idx": 2, "name": "2", "path": "2_Dense", "type": "sentence_transformers.models.Dense"})
    (folder / "modules.json").write_text(json.dumps(modules))


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (as_gpt2, "'gpt2' is none of bert"),
        (with_alibi, "'alibi'"),
        (without_weights, "no model.safetensors"),
        (without_tokenizer, "no tokenizer.json"),
        (with_a_dense_layer, "Dense"),
    ],
)
def test_a_model_that_cannot_be_read_says_why_and_names_the_extra(tiny, tmp_path, monkeypatch, change, reason):
    copy = Path(shutil.copytree(tiny, tmp_path / "model"))
    change(copy)
    with pytest.raises(EmbeddingError, match=f"can't be converted.*{reason}"):
        SentenceTransformerEmbedder(str(copy), backend="openvino").embed(["text"])
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with (
        pytest.warns(BackendWarning, match=f"PyTorch.*{reason}"),
        pytest.raises(MissingExtraError, match=r'pip install "kinsplit\[torch\]".*download.pytorch.org/whl/cpu'),
    ):
        SentenceTransformerEmbedder(str(copy)).embed(["text"])


@needs_torch
def test_a_model_that_cannot_be_read_runs_on_torch(tmp_path):
    folder = make_model(tmp_path, pooling="max")
    with pytest.warns(BackendWarning, match="pooling is max"):
        assert SentenceTransformerEmbedder(folder).runs_on == "torch float32 on cpu"


@pytest.mark.parametrize(("missing", "more"), [("encoder.layer.1.output.dense.bias", {}), (None, {"encoder.gate": 1})])
def test_weights_of_another_architecture_are_refused(tmp_path, missing, more):
    folder = Path(make_model(tmp_path))
    tensors = load_file(folder / "model.safetensors")
    tensors.pop(missing, None)
    save_file(tensors | {name: np.ones(value) for name, value in more.items()}, folder / "model.safetensors")
    with pytest.raises(EmbeddingError, match=f"not those of 'bert': {missing or 'encoder.gate'} is .*'torch'"):
        SentenceTransformerEmbedder(str(folder)).embed(["text"])


@needs_torch
def test_weights_in_the_format_of_pytorch_are_read(tiny, tmp_path):
    import torch

    copy = Path(shutil.copytree(tiny, tmp_path / "model"))
    tensors = load_file(copy / "model.safetensors")
    torch.save({name: torch.from_numpy(each) for name, each in tensors.items()}, copy / "pytorch_model.bin")
    (copy / "model.safetensors").unlink()
    found = SentenceTransformerEmbedder(str(copy), backend="numpy").embed(["text"])
    assert np.array_equal(found, SentenceTransformerEmbedder(tiny, backend="numpy").embed(["text"]))


def test_numpy_takes_over_where_openvino_is_missing(tiny, monkeypatch):
    expected = SentenceTransformerEmbedder(tiny, backend="openvino-float32").embed(ODD)
    for module in ("sentence_transformer", "backends.openvino"):
        monkeypatch.setattr(f"kinsplit.embedding.{module}.has_openvino", lambda: False)
    model = SentenceTransformerEmbedder(tiny)
    assert model.runs_on == "numpy float32"
    assert np.abs(model.embed(ODD) - expected).max() < 1e-5
    with pytest.raises(EmbeddingError, match=r"'int8' needs OpenVINO.*'numpy'"):
        SentenceTransformerEmbedder(tiny, backend="int8").embed(["text"])


def test_settings_of_the_tokenizer_are_read_from_both_files(tiny, tmp_path):
    copy = Path(shutil.copytree(tiny, tmp_path / "model"))
    settings = json.loads((copy / "tokenizer_config.json").read_text())
    (copy / "tokenizer_config.json").write_text(json.dumps(settings | {"do_lower_case": False}))
    ids = SentenceTransformerEmbedder(str(copy), backend="numpy").tokenizer.encode("A CLASS").ids
    assert ids != SentenceTransformerEmbedder(tiny).tokenizer.encode("A CLASS").ids
    (copy / "sentence_bert_config.json").write_text(json.dumps({"max_seq_length": 32, "do_lower_case": True}))
    model = SentenceTransformerEmbedder(str(copy), backend="numpy")
    assert model.window == 32
    assert model.tokenizer.encode("A CLASS").ids == SentenceTransformerEmbedder(tiny).tokenizer.encode("a class").ids


def test_a_conversion_that_gives_other_vectors_is_refused(tiny, cache, monkeypatch):
    vectors = OpenVinoBackend.vectors
    monkeypatch.setattr(OpenVinoBackend, "vectors", lambda *a, **o: (-found for found in vectors(*a, **o)))
    for embedder in (SentenceTransformerEmbedder(tiny), BundledEmbedder()):
        with pytest.raises(EmbeddingError, match=r"vectors .* off.*'torch'"):
            embedder.embed(["text"])
    assert not [path for path in cache.iterdir() if path.is_dir()]


def test_a_converted_model_starts_without_torch_output_and_identifier(tiny, warm, tmp_path):
    (tmp_path / "home").mkdir()
    code = f"""
import sys
from kinsplit.embedding import create
embedder = create({f"st:{tiny}"!r})
embedder.embed(["a text", "another"]), embedder.embed_query("a question"), embedder.embed_tokens(["text"])
embedder.fingerprint, embedder.dimension, embedder.window
loaded = {{"torch", "transformers", "sentence_transformers", "nncf"}} & set(sys.modules)
assert not loaded, loaded
"""
    environment = {**os.environ, "HOME": str(tmp_path / "home")}
    command = [sys.executable, "-W", "error", "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    # OpenVINO's library of telemetry would write one into the home folder.
    assert list((tmp_path / "home").iterdir()) == []


@pytest.mark.parametrize("damage", ["truncated", "missing", "rubbish", "unsigned", "flipped"])
def test_a_damaged_cache_is_made_again(tiny, kept, warm, cheap, damage):
    expected, _ = kept
    if damage == "truncated":
        weights = (warm / "model.bin").read_bytes()
        (warm / "model.bin").write_bytes(weights[: len(weights) // 2])
    elif damage == "missing":
        (warm / "tokenizer.json").unlink()
    elif damage == "unsigned":
        (warm / STAMP).unlink()
    elif damage == "flipped":
        weights = bytearray((warm / "model.bin").read_bytes())
        weights[len(weights) // 2] ^= 0x40
        (warm / "model.bin").write_bytes(weights)
    else:
        (warm / "model.json").write_text("rubbish")
    with pytest.warns(CacheWarning, match=r"is damaged or of an earlier version \(.*It is made again"):
        assert (SentenceTransformerEmbedder(tiny).embed(["text"]) == expected).all()
    assert (SentenceTransformerEmbedder(tiny).embed(["text"]) == expected).all()
    assert [path.name for path in warm.parent.iterdir() if path.is_dir()] == [warm.name]
    assert json.loads((warm / "model.json").read_text())["card"]["dimension"] == 32


def test_every_file_of_a_model_is_read_to_verify_it(tiny, warm):
    assert [(one.path, one.problem) for one in verify(f"st:{tiny}")] == [(warm, None)]
    file = warm / "model.bin"
    before, weights = file.stat(), bytearray(file.read_bytes())
    weights[-1] ^= 1
    file.write_bytes(weights)
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert [one.problem for one in verify(f"st:{tiny}")] == ["model.bin has changed"]
    assert [one.path.name for one in verify("bundled")][:2] == ["model.safetensors", "tokenizer.json"]
    with pytest.raises(InvalidParameterError, match="model: must be a model whose files are known"):
        verify("hash")


def test_a_cache_folder_that_cannot_be_written_costs_a_conversion_and_a_warning(
    tiny, kept, cheap, tmp_path, monkeypatch
):
    expected, _ = kept
    (tmp_path / "file").touch()
    monkeypatch.setenv("KINSPLIT_CACHE", str(tmp_path / "file"))
    with pytest.warns(CacheWarning, match="KINSPLIT_CACHE"):
        assert (SentenceTransformerEmbedder(tiny).embed(["text"]) == expected).all()


def test_what_else_decides_the_vectors_is_converted_anew(tiny, tmp_path):
    copy = Path(shutil.copytree(tiny, tmp_path / "model"))
    key = SentenceTransformerEmbedder(tiny)._key(Path(tiny))
    assert SentenceTransformerEmbedder(str(copy))._key(copy) == key
    file = copy / "1_Pooling" / "config.json"
    file.write_text(file.read_text().replace("mode_mean_tokens", "mode_cls_token"))
    assert SentenceTransformerEmbedder(str(copy))._key(copy) != key


def test_int8_is_near_and_another_model(tiny, capfd):
    pytest.importorskip("nncf", reason="the extra int8 is not installed")
    model, reference = SentenceTransformerEmbedder(tiny, backend="int8"), SentenceTransformerEmbedder(tiny)
    texts = ["A lecture about sorting.", "Recursion ends at a base case.", *ODD]
    assert cosines(model.embed(texts), reference.embed(texts)).mean() > 0.85
    assert model.runs_on == "openvino int8"
    assert model.fingerprint == reference.fingerprint.replace("?", ":int8?")
    assert create("bundled?backend=int8").fingerprint != create("bundled").fingerprint
    # Where a command's result goes, NNCF writes nothing.
    assert capfd.readouterr().out == ""


def test_int8_without_nncf_names_the_extra(tiny, cache, monkeypatch):
    def absent(name):
        if name == "openvino":
            return "1"
        raise model_cache.PackageNotFoundError(name)

    monkeypatch.setattr(model_cache, "version", absent)
    with pytest.raises(MissingExtraError, match=re.escape('pip install "kinsplit[int8]"')):
        SentenceTransformerEmbedder(tiny, backend="int8").embed(["text"])


def test_nothing_is_reported_to_others(tiny, tmp_path, monkeypatch):
    from openvino_telemetry import Telemetry
    from openvino_telemetry.backend.backend_ga4 import GA4Backend

    sent = []
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.setattr(GA4Backend, "send", lambda _, message: sent.append(message))
    (tmp_path / "home").mkdir()
    (tmp_path / "converted").mkdir()
    model_cache.convert(read_network(Path(tiny)), declared_facts(Path(tiny)), tmp_path / "converted")
    telemetry = Telemetry()
    with without_telemetry():
        telemetry.send_event("category", "action", "label", force_send=True)
    telemetry.sender.executor.submit(int).result(timeout=10)
    assert (sent, list((tmp_path / "home").iterdir())) == ([], [])


def test_batches_hold_like_lengths_and_no_more_tokens_than_asked():
    lengths = [5, 80, 1, 40, 2, 60, 3, 300]
    batches = sorted_batches(lengths, 100)
    assert sorted(index for batch in batches for index in batch) == list(range(8))
    assert batches == [[7], [1], [5], [3, 0], [6, 4, 2]]
    assert all(len(batch) == 1 or len(batch) * lengths[batch[0]] <= 100 for batch in batches)
    assert sorted_batches([], 100) == []


def test_the_device_is_looked_for_without_loading_torch(monkeypatch):
    monkeypatch.setattr(base, "_DRIVERS", ())
    monkeypatch.setattr(base.sys, "platform", "linux")
    monkeypatch.setitem(sys.modules, "torch", None)
    assert base.choose_device("auto") == "cpu"
    assert base.choose_device("cuda:1") == "cuda:1"
    # A GPU without the extra torch.
    monkeypatch.setattr(base, "_DRIVERS", ("/",))
    assert base.choose_device("auto") == "cpu"


def test_the_fastest_device_is_chosen(monkeypatch):
    torch = pytest.importorskip("torch", reason="the extra torch is not installed")

    monkeypatch.setattr(base, "_DRIVERS", ("/",))
    for cuda, mps, expected in ((True, False, "cuda"), (False, True, "mps"), (False, False, "cpu")):
        monkeypatch.setattr(torch.cuda, "is_available", lambda cuda=cuda: cuda)
        monkeypatch.setattr(torch.backends.mps, "is_available", lambda mps=mps: mps)
        assert base.choose_device("auto") == expected


@needs_torch
@pytest.mark.filterwarnings("ignore")  # PyTorch's own, where no driver is installed.
def test_a_device_that_is_not_there_is_one_clear_error(tiny, monkeypatch):
    with pytest.raises(EmbeddingError, match="can't be loaded"):
        SentenceTransformerEmbedder(tiny, device="cuda:99").embed(["text"])
