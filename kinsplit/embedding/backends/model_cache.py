"""Cache of converted and distilled models, which are made at first use and again if they are damaged."""

from __future__ import annotations

import re
import shutil
import tempfile
import uuid
import warnings
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from kinsplit.embedding.backends import convert as conversion
from kinsplit.embedding.backends.encoder import SENTENCE, Network
from kinsplit.embedding.backends.model_files import ModelFacts, damage, sign
from kinsplit.embedding.backends.openvino import OpenVinoBackend
from kinsplit.errors import CacheWarning, EmbeddingError, require
from kinsplit.support.environment import cache_folder

Vectors = NDArray[np.float32]
_NAME = re.compile(r"\w[\w.-]*")


def make_once(name: str, make: Callable[[Path], None]) -> Path:
    """Return a model's folder in the cache folder, and make it first if it is missing.

    If several processes need it at once, one makes the folder and the others wait. The folder gets its name only when
    it is complete, so a process that is killed leaves no partial model; and it is signed, so that later damage is
    detected (see `kinsplit.embedding.backends.model_files`).

    Args:
        name: Name of the folder: letters and digits, with "-", "_" and "." inside. It should contain everything that
            the content depends on: the source's fingerprint, the kind, and the version of the conversion.
        make: Function that fills an empty folder.

    Raises:
        InvalidParameterError: The name can't be that of a folder.
        EmbeddingError: The cache folder can't be written.
    """
    rule = "must be letters and digits, with '-', '_' and '.' inside"
    require(_NAME.fullmatch(name), "name", rule, name, "Choose another name.")
    folder = cache_folder() / "models" / name
    if not folder.is_dir():
        _make(folder, make)
    return folder


def _make(folder: Path, make: Callable[[Path], None]) -> None:
    from filelock import FileLock

    draft, lock = (folder.with_name(f".{folder.name}.{kind}") for kind in ("draft", "lock"))
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        turn = FileLock(lock)
        turn.acquire()
    except OSError as error:
        remedy = "Set the environment variable KINSPLIT_CACHE to a folder that can be written."
        raise EmbeddingError(f"{folder.parent}: a model can't be kept there ({error}). {remedy}") from error
    try:
        if folder.is_dir():  # Another process made it meanwhile.
            return
        shutil.rmtree(draft, ignore_errors=True)  # Left by a process that was killed.
        draft.mkdir()
        make(draft)
        sign(draft)
        draft.rename(folder)
    finally:
        shutil.rmtree(draft, ignore_errors=True)
        turn.release()


T = TypeVar("T")


def read_cached(name: str, make: Callable[[Path], None], read: Callable[[Path], T]) -> T:
    """Read a model from the cache folder, and make it first if it is missing or damaged.

    If the cache folder can't be written, the model is made in a temporary folder, which is deleted after reading.

    Raises:
        EmbeddingError: The model can't be made, or can't be read although it was just made.
    """
    try:
        folder = make_once(name, make)
    except EmbeddingError as error:
        # Only a cache folder that can't be written has this cause; errors of `make` are passed on.
        if not isinstance(error.__cause__, OSError):
            raise
        return _without_cache(make, read, error)
    problem = damage(folder)
    if problem is None:
        try:
            return read(folder)
        except Exception as error:  # OpenVINO raises exceptions of any kind.
            problem = f"it can't be read: {' '.join(str(error).split())[:200]}"
    _remove(folder)
    rule = f"{folder}: this converted model is damaged or of an earlier version"
    warnings.warn(f"{rule} ({problem}). It is made again.", CacheWarning, stacklevel=2)
    return _read(read, make_once(name, make))


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
    """Remove a damaged model in one step, so that no other process sees part of it."""
    away = cache_folder() / "models" / f".{folder.name}.{uuid.uuid4().hex}"
    try:
        folder.rename(away)
    except FileNotFoundError:
        return  # Another process removed it.
    except OSError as error:
        raise EmbeddingError(f"{folder}: this converted model is damaged ({error}). Delete the folder.") from error
    shutil.rmtree(away, ignore_errors=True)


def open_converted(
    key: str,
    read: Callable[[], tuple[Network, ModelFacts]],
    backend: str,
    expected: Vectors | None = None,
    output: str = SENTENCE,
) -> OpenVinoBackend:
    """Open a model that is converted for OpenVINO.

    Args:
        key: Key of the model, and of everything that affects its vectors.
        read: Function that reads the model, called only to convert it.
        backend: "openvino" (or "auto"), "openvino-float32" or "int8".
        expected: Known vectors of the texts `kinsplit.embedding.backends.convert.PROBE`, if there are any.
        output: See `OpenVinoBackend`.

    Raises:
        MissingExtraError: "int8" without NNCF.
        EmbeddingError: The model can't be loaded, converted or quantised.
    """
    runtime = f"openvino{version('openvino')}"
    precision = "f32" if backend == "openvino-float32" else None

    def convert(folder: Path) -> None:
        conversion.convert(*read(), folder, expected)

    def quantise(folder: Path) -> None:
        # Reading ensures that the converted model exists and is complete.
        read_cached(plain, convert, lambda found: conversion.quantise(found, folder))

    plain = f"{key}-{runtime}-v{conversion.CONVERT_VERSION}"
    if backend != "int8":
        return read_cached(plain, convert, lambda folder: OpenVinoBackend(folder, precision, output=output))
    name = f"{key}-int8-{conversion.quantiser()}-{runtime}-v{conversion.QUANTISE_VERSION}"
    return read_cached(name, quantise, lambda folder: OpenVinoBackend(folder, label="openvino int8"))
