"""Integrity of a model's files, by a signature or by published checksums."""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Mapping
from pathlib import Path

from kinsplit.errors import EmbeddingError

#: File with the size, modification time and sha256 of each other file in the folder of a converted or distilled model.
STAMP = "stamp.json"


def sign(folder: Path) -> None:
    """Record the content of a folder's files."""
    files = {}
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path.name != STAMP:
            facts = path.stat()
            files[path.relative_to(folder).as_posix()] = [facts.st_size, facts.st_mtime_ns, sha256(path)]
    draft = folder / f".{STAMP}"
    draft.write_text(json.dumps({"files": files, "sha256": _digest(files)}), encoding="utf-8")
    draft.replace(folder / STAMP)


def damage(folder: Path, *, full: bool = False) -> str | None:
    """Return the first difference from the signed content, or None.

    Sizes and times are compared, and the content of a file only if its time differs: that takes no time, and finds the
    damage of a full disk, a broken copy or an editor. It doesn't protect from tampering: anyone who can write the
    folder can sign it.

    Args:
        folder: A signed folder.
        full: Whether to read every file and compare its sha256.
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
                return f"{name} has {facts.st_size} bytes, expected {size}"
            if (full or facts.st_mtime_ns != time) and sha256(folder / name) != digest:
                return f"{name} has changed"
            touched |= facts.st_mtime_ns != time
    except FileNotFoundError as error:
        return f"{Path(error.filename).name} is missing"
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        return f"it can't be checked ({error})"
    if touched:  # By a copy, for example; the new times are recorded.
        with contextlib.suppress(OSError):
            sign(folder)
    return None


def check_files(expected: Mapping[Path, str], remedy: str) -> None:
    """Verify the checksums of files.

    Args:
        expected: Expected sha256 of each file.
        remedy: Remedy for the error.

    Raises:
        EmbeddingError: A file is missing or differs.
    """
    for path, digest in expected.items():
        if (problem := difference(path, digest)) is not None:
            raise EmbeddingError(f"{path}: {problem}. {remedy}")


def sha256(path: Path) -> str:
    """Return the sha256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def difference(path: Path, expected: str) -> str | None:
    """Return how a file differs from its expected sha256, or None."""
    if not path.is_file():
        return "this file of the model is missing"
    found = sha256(path)
    return None if found == expected else f"this file of the model has sha256 {found}, expected {expected}"


def _digest(files: object) -> str:
    return hashlib.sha256(json.dumps(files, sort_keys=True).encode()).hexdigest()
