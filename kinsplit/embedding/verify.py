"""Verification of the files of an embedding model."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from kinsplit.embedding.backends.integrity import damage, difference
from kinsplit.embedding.registry import create
from kinsplit.embedding.sentence_transformer import SentenceTransformerEmbedder
from kinsplit.embedding.static import NAME, StaticEmbedder
from kinsplit.errors import InvalidParameterError
from kinsplit.support.paths import cache_folder


class Checked(NamedTuple):
    """A file or a folder of a model.

    Attributes:
        path: Path of the file or the folder.
        problem: Damage that was found; None without any.
    """

    path: Path
    problem: str | None


def verify(spec: str) -> list[Checked]:
    """Read every file of a model, and compare it with what was published or signed.

    Args:
        spec: Name of the model; see `kinsplit.embedding.create`.

    Returns:
        The model's own files with a known sha256, and the folders that were made from it on this machine.

    Raises:
        InvalidParameterError: No embedder has that name, or it has no files.
        EmbeddingError: The model's files are not on this machine.
    """
    embedder = create(spec)
    if isinstance(embedder, StaticEmbedder) and embedder.folder is None:
        return _derived(NAME)
    if isinstance(embedder, SentenceTransformerEmbedder):
        own = [Checked(path, difference(path, digest)) for path, digest in embedder.digests().items()]
        return [*own, *_derived(f"{embedder.key()}-*")]
    raise InvalidParameterError("model", "must be a model whose files are known", spec, "Give 'bundled' or 'st:NAME'.")


def _derived(pattern: str) -> list[Checked]:
    folders = (path for path in sorted((cache_folder() / "models").glob(pattern)) if path.is_dir())
    return [Checked(folder, damage(folder, full=True)) for folder in folders]
