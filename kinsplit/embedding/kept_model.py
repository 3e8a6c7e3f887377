"""Converted and distilled models in the cache folder: made at first use, made again where they are damaged."""

from __future__ import annotations

import shutil
import tempfile
import uuid
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from kinsplit.embedding.integrity import damage
from kinsplit.embedding.model_folder import made_once
from kinsplit.errors import CacheWarning, EmbeddingError
from kinsplit.folders import cache_folder

T = TypeVar("T")


def read_kept(name: str, make: Callable[[Path], None], read: Callable[[Path], T]) -> T:
    """Read what the cache folder keeps under a name, and make it first where it is missing or damaged.

    Where the cache folder can't be written, it is made in a folder that is deleted once it is read.

    Args:
        name: See `kinsplit.embedding.model_folder.made_once`.
        make: Fills an empty folder.
        read: Reads the folder; it raises where that is damaged.

    Raises:
        EmbeddingError: It can't be made, or not be read although it was made just now.
    """
    try:
        folder = made_once(name, make)
    except EmbeddingError as error:
        # Only a cache folder that can't be written has this cause; what `make` raises is passed on.
        if not isinstance(error.__cause__, OSError):
            raise
        return _without_cache(make, read, error)
    problem = damage(folder)
    if problem is None:
        try:
            return read(folder)
        except Exception as error:  # OpenVINO raises whatever it likes.
            problem = f"it can't be read: {' '.join(str(error).split())[:200]}"
    _remove(folder)
    rule = f"{folder}: this model, which was made of another one, is damaged or of an earlier version"
    warnings.warn(f"{rule} ({problem}). It is made again.", CacheWarning, stacklevel=2)
    return _read(read, made_once(name, make))


def _without_cache(make: Callable[[Path], None], read: Callable[[Path], T], reason: EmbeddingError) -> T:
    warnings.warn(f"{reason} Until then it is converted again in every process.", CacheWarning, stacklevel=2)
    with tempfile.TemporaryDirectory(prefix="kinsplit-", ignore_cleanup_errors=True) as folder:
        make(Path(folder))
        return _read(read, Path(folder))


def _read(read: Callable[[Path], T], folder: Path) -> T:
    try:
        return read(folder)
    except Exception as error:
        raise EmbeddingError(
            f"{folder}: this model can't be read, although it was just made ({error}). "
            "Use the backend 'torch', or report this."
        ) from error


def _remove(folder: Path) -> None:
    """Take a damaged model away in one step, so that no other process sees half of it."""
    away = cache_folder() / "models" / f".{folder.name}.{uuid.uuid4().hex}"
    try:
        folder.rename(away)
    except FileNotFoundError:
        return  # Another process took it away.
    except OSError as error:
        raise EmbeddingError(f"{folder}: this converted model is damaged ({error}). Delete the folder.") from error
    shutil.rmtree(away, ignore_errors=True)
