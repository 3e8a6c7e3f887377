"""Converted and distilled models in the cache folder: made at first use, made again where they are damaged."""

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

from kinsplit.embedding.backends import convert as conversion
from kinsplit.embedding.backends import quantise as quantisation
from kinsplit.embedding.backends.integrity import damage, sign
from kinsplit.embedding.backends.openvino import OpenVinoBackend
from kinsplit.errors import CacheWarning, EmbeddingError, InvalidParameterError
from kinsplit.support.paths import cache_folder

_NAME = re.compile(r"\w[\w.-]*")


def made_once(name: str, make: Callable[[Path], None]) -> Path:
    """Return a model's folder in the cache folder, and make it first where it is not there.

    Of several processes that ask at once, one makes the folder and the others wait for it. It gets its name only when
    it is whole, so a process that is killed meanwhile leaves no half of a model behind; and it is signed, so that what
    happens to it later is found (see `kinsplit.embedding.backends.integrity`).

    Args:
        name: Of the folder: letters and digits, with "-", "_" and "." inside. It should name everything that the
            content depends on: the source's fingerprint, the kind, and the version of what makes it.
        make: Fills an empty folder.

    Raises:
        InvalidParameterError: The name is no name of a folder.
        EmbeddingError: The cache folder can't be written.
    """
    if not _NAME.fullmatch(name):
        rule = "must be letters and digits, with '-', '_' and '.' inside"
        raise InvalidParameterError("name", rule, name, "Choose another name.")
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
        shutil.rmtree(draft, ignore_errors=True)  # Of one that was killed.
        draft.mkdir()
        make(draft)
        sign(draft)
        draft.rename(folder)
    finally:
        shutil.rmtree(draft, ignore_errors=True)
        turn.release()


T = TypeVar("T")


def read_kept(name: str, make: Callable[[Path], None], read: Callable[[Path], T]) -> T:
    """Read what the cache folder keeps under a name, and make it first where it is missing or damaged.

    Where the cache folder can't be written, it is made in a folder that is deleted once it is read.

    Args:
        name: See `kinsplit.embedding.backends.model_cache.made_once`.
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


def open_converted(key: str, source: Callable[[], str], backend: str) -> OpenVinoBackend:
    """Open a model in OpenVINO's form.

    Args:
        key: Names the model with all that decides its vectors.
        source: Returns the model's folder; only called to convert it.
        backend: "openvino" (or "auto"), "openvino-float32" or "int8".

    Raises:
        MissingExtraError: "int8" without NNCF.
        EmbeddingError: The model can't be loaded, converted or quantised.
    """
    runtime = f"openvino{version('openvino')}"
    precision = "f32" if backend == "openvino-float32" else None

    def convert(folder: Path) -> None:
        conversion.convert(source(), folder)

    def quantise(folder: Path) -> None:
        # Reading it first makes sure that it is there and whole.
        read_kept(plain, convert, lambda found: quantisation.quantise(found, folder))

    plain = f"{key}-{runtime}-v{conversion.VERSION}"
    if backend != "int8":
        return read_kept(plain, convert, lambda folder: OpenVinoBackend(folder, precision))
    name = f"{key}-int8-{quantisation.quantiser()}-{runtime}-v{quantisation.VERSION}"
    return read_kept(name, quantise, lambda folder: OpenVinoBackend(folder, label="openvino int8"))
