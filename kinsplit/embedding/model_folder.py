"""Models that kinsplit makes once and keeps: converted and distilled ones."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path

from kinsplit.embedding.integrity import sign
from kinsplit.errors import EmbeddingError, InvalidParameterError
from kinsplit.folders import cache_folder

_NAME = re.compile(r"\w[\w.-]*")


def made_once(name: str, make: Callable[[Path], None]) -> Path:
    """Return a model's folder in the cache folder, and make it first where it is not there.

    Of several processes that ask at once, one makes the folder and the others wait for it. It gets its name only when
    it is whole, so a process that is killed meanwhile leaves no half of a model behind; and it is signed, so that what
    happens to it later is found (see `kinsplit.embedding.integrity`).

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
