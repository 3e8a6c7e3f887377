"""Whether a model's files still hold what they held when they were made or published."""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from kinsplit.errors import EmbeddingError, InvalidParameterError
from kinsplit.support.paths import cache_folder

#: In the folder of a model that kinsplit made: the size, the time of change and the sha256 of each other file.
STAMP = "stamp.json"


class Checked(NamedTuple):
    """A file or a folder of a model.

    Attributes:
        path: Where it lies.
        problem: What is wrong with it; None where nothing is.
    """

    path: Path
    problem: str | None


def sign(folder: Path) -> None:
    """Write down what the files of a folder hold."""
    files = {}
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path.name != STAMP:
            facts = path.stat()
            files[path.relative_to(folder).as_posix()] = [facts.st_size, facts.st_mtime_ns, sha256(path)]
    draft = folder / f".{STAMP}"
    draft.write_text(json.dumps({"files": files, "sha256": _digest(files)}), encoding="utf-8")
    draft.replace(folder / STAMP)


def damage(folder: Path, *, full: bool = False) -> str | None:
    """Return what differs from what was signed, or None.

    Sizes and times are compared, and the content of a file only where its time differs: that takes no time, and finds
    what a full disk, a broken copy or an editor leaves behind. It is no seal: who can write the folder can sign it.

    Args:
        folder: A folder that was signed.
        full: Whether every file is read and its sha256 compared.
    """
    try:
        stamp = json.loads((folder / STAMP).read_text(encoding="utf-8"))
        files = stamp["files"]
        if stamp["sha256"] != _digest(files):
            return f"{STAMP} was changed"
        touched = False
        for name, (size, time, digest) in files.items():
            facts = (folder / name).stat()
            if facts.st_size != size:
                return f"{name} has {facts.st_size} bytes, and had {size}"
            if (full or facts.st_mtime_ns != time) and sha256(folder / name) != digest:
                return f"{name} holds something else than it did"
            touched |= facts.st_mtime_ns != time
    except FileNotFoundError as error:
        return f"{Path(error.filename).name} is missing"
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        return f"it can't be checked ({error})"
    if touched:  # By a copy for example; the next time it is known.
        with contextlib.suppress(OSError):
            sign(folder)
    return None


def check_files(expected: Mapping[Path, str], remedy: str) -> None:
    """Make sure that files are those expected.

    Args:
        expected: The sha256 of each file.
        remedy: What to do where one isn't.

    Raises:
        EmbeddingError: One is missing, or another one.
    """
    for path, digest in expected.items():
        if (problem := _difference(path, digest)) is not None:
            raise EmbeddingError(f"{path}: {problem}. {remedy}")


def verify(spec: str) -> list[Checked]:
    """Read every file of a model, and compare it with what was published or signed.

    Args:
        spec: See `kinsplit.embedding.create`.

    Returns:
        The model's own files of which the sha256 is known, and the folders that were made of it on this machine.

    Raises:
        InvalidParameterError: No embedder has that name, or it has no files.
        EmbeddingError: The model's files are not on this machine.
    """
    from kinsplit.embedding.registry import create
    from kinsplit.embedding.sentence_transformer import SentenceTransformerEmbedder
    from kinsplit.embedding.static import StaticEmbedder

    embedder = create(spec)
    if isinstance(embedder, StaticEmbedder) and embedder.folder is None:
        from kinsplit.embedding.static import NAME

        return _made(NAME)
    if isinstance(embedder, SentenceTransformerEmbedder):
        own = [Checked(path, _difference(path, digest)) for path, digest in embedder.digests().items()]
        return [*own, *_made(f"{embedder.key()}-*")]
    raise InvalidParameterError("model", "must be a model whose files are known", spec, "Give 'bundled' or 'st:NAME'.")


def sha256(path: Path) -> str:
    """Hash a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _made(pattern: str) -> list[Checked]:
    folders = (path for path in sorted((cache_folder() / "models").glob(pattern)) if path.is_dir())
    return [Checked(folder, damage(folder, full=True)) for folder in folders]


def _difference(path: Path, expected: str) -> str | None:
    if not path.is_file():
        return "this file of the model is missing"
    found = sha256(path)
    return None if found == expected else f"this file of the model has sha256 {found}, expected {expected}"


def _digest(files: object) -> str:
    return hashlib.sha256(json.dumps(files, sort_keys=True).encode()).hexdigest()
