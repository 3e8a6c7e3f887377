"""Embeddings of chunks as `.npz`: `ids`, `docids` and `embeddings`, as SC-Qrels has them."""

from __future__ import annotations

import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from kinsplit.errors import LoadError

_KEYS = ("ids", "docids", "embeddings")


@dataclass(frozen=True, eq=False)
class Embeddings:
    """Vectors of chunks.

    Attributes:
        ids: The chunks' ids.
        source_ids: The ids of their documents.
        vectors: float32[chunks, dimension].
    """

    ids: Sequence[str]
    source_ids: Sequence[str]
    vectors: npt.NDArray[np.float32]


def write_embeddings(path: Path, embeddings: Embeddings) -> None:
    """Write embeddings.

    Args:
        path: The file, whose name should end with ".npz".
        embeddings: What is written.
    """
    values = (np.array(embeddings.ids, np.str_), np.array(embeddings.source_ids, np.str_), embeddings.vectors)
    with path.open("wb") as file:  # np.savez would add ".npz" to another name.
        np.savez(file, allow_pickle=False, **dict(zip(_KEYS, values, strict=True)))


def read_embeddings(path: Path) -> Embeddings:
    """Read embeddings; nothing in the file is run, since pickled arrays are refused.

    Args:
        path: The file.

    Raises:
        LoadError: It is no `.npz`, an array is missing, pickled or of another kind, or their lengths differ.
    """
    try:
        with np.load(path, allow_pickle=False) as file:
            ids, source_ids, vectors = (file[key] for key in _KEYS)
    except (ValueError, KeyError, EOFError, AttributeError, TypeError, zipfile.BadZipFile) as error:
        raise LoadError(path, f"must be an .npz file with {', '.join(_KEYS)}, none of them pickled.") from error
    if ids.dtype.kind != "U" or source_ids.dtype.kind != "U" or vectors.dtype.kind != "f" or vectors.ndim != 2:
        raise LoadError(path, "ids and docids must be text, and embeddings a table of floating-point numbers.")
    if not ids.shape == source_ids.shape == vectors.shape[:1]:
        raise LoadError(path, "ids, docids and embeddings must have one entry for each chunk.")
    return Embeddings(ids.tolist(), source_ids.tolist(), vectors.astype(np.float32, copy=False))
