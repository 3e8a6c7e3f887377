"""Models that are fetched from the Hugging Face Hub without sentence-transformers."""

from pathlib import Path

import pytest

from kinsplit.embedding.backends import model_files
from kinsplit.errors import EmbeddingError

huggingface_hub = pytest.importorskip("huggingface_hub")


@pytest.fixture
def asked(tmp_path, monkeypatch):
    """The patterns of each download into an empty folder."""
    found = []

    def snapshot_download(name, allow_patterns, **_):
        found.append((name, allow_patterns))
        return str(tmp_path)

    monkeypatch.setattr(huggingface_hub, "snapshot_download", snapshot_download)
    monkeypatch.setattr(model_files, "check_repository", lambda *names: None)
    return found


def test_only_files_that_are_read_are_fetched(asked, tmp_path):
    (tmp_path / "model.safetensors").touch()
    assert model_files.fetch("owner/plain") is None
    (tmp_path / "modules.json").touch()
    assert model_files.fetch("owner/model") == tmp_path
    assert asked == [
        ("owner/plain", ["*.json", "*.safetensors", "README.md"]),
        ("owner/model", ["*.json", "*.safetensors", "README.md"]),
    ]


def test_weights_of_pytorch_are_fetched_where_there_are_no_others(asked):
    model_files.fetch("owner/old")
    assert [patterns for _, patterns in asked] == [["*.json", "*.safetensors", "README.md"], "pytorch_model.bin"]


def test_a_model_that_is_not_on_the_hub_is_one_clear_error(monkeypatch):
    def missing(*names):
        raise LookupError("the Hugging Face Hub has no model of that name")

    monkeypatch.setattr(model_files, "check_repository", missing)
    with pytest.raises(EmbeddingError, match=r"'owner/none' can't be loaded: the Hugging Face Hub has no model"):
        model_files.fetch("owner/none")


def test_a_download_that_stopped_before_the_weights_counts_as_none(tmp_path, monkeypatch):
    (tmp_path / "modules.json").touch()
    found = str(tmp_path / "modules.json")
    monkeypatch.setattr(huggingface_hub, "try_to_load_from_cache", lambda name, file: found)
    assert model_files.find_folder("owner/model") is None
    (Path(tmp_path) / "model.safetensors").touch()
    assert model_files.find_folder("owner/model") == tmp_path
