"""What lies in a folder, and what a given path is."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal, NamedTuple

from kinsplit.errors import LoadError
from kinsplit.loaders.course_file import NAME as COURSE_FILE
from kinsplit.loaders.registry import format_of, known

_NEVER_WALKED = frozenset({"__pycache__", "node_modules"})  # .venv and the like are hidden anyway


class Listing(NamedTuple):
    """What lies in a folder.

    Attributes:
        files: Those that can be loaded, without a `course.toml`.
        folders: Those to search.
        skipped: What is left alone.
    """

    files: list[Path]
    folders: list[Path]
    skipped: list[Path]


def list_folder(folder: Path) -> Listing:
    """List a folder.

    Raises:
        LoadError: It can't be listed.
    """
    listing = Listing([], [], [])
    for path in _visible(folder):
        kind = _kind(path)
        if kind == "folder":
            # A link could lead back up; following it would give files a second id or no end.
            if path.is_symlink():
                listing.skipped.append(path)
            elif path.name not in _NEVER_WALKED:
                listing.folders.append(path)
        elif path.name == COURSE_FILE:
            continue
        elif kind == "file" and format_of(path) is not None:
            listing.files.append(path)
        else:
            listing.skipped.append(path)
    return listing


def folders_of(folder: Path) -> list[Path]:
    """Return the folders in a folder, also links to such.

    Raises:
        LoadError: It can't be listed.
    """
    return [path for path in _visible(folder) if _kind(path) == "folder"]


def _visible(folder: Path) -> list[Path]:
    """Return what lies in a folder and isn't hidden, sorted."""
    try:
        return sorted(path for path in folder.iterdir() if not path.name.startswith("."))
    except OSError as error:
        raise LoadError(folder, f"can't be listed: {error.strerror}. Check the folder's permissions.") from error


def _kind(path: Path) -> Literal["folder", "file", "other"]:
    try:
        return "folder" if path.is_dir() else "file" if path.is_file() or dangling(path) else "other"
    except OSError:
        return "file"  # It can't be looked at, and the others can: whoever reads it reports it.


def dangling(path: Path) -> LoadError | None:
    """Return why a path can't be followed, if it is a link that leads nowhere or in a circle."""
    try:
        if not path.is_symlink() or path.exists():
            return None
        return LoadError(path, f"is a link to {str(path.readlink())!r}, which isn't there. Mend it, or delete it.")
    except OSError:
        return None  # Whoever looks at it next says why that fails.


def is_folder(path: Path) -> bool:
    """Return whether a given path is a folder; a link that leads nowhere is none.

    Raises:
        LoadError: It doesn't exist, or can't be looked at.
    """
    try:
        if not path.exists() and not path.is_symlink():
            raise LoadError(path, "doesn't exist. Check the spelling, and the folder you are in.")
        return path.is_dir()
    except OSError as error:
        raise LoadError(path, f"can't be reached: {error.strerror}. Check its permissions.") from error


def checked_file(path: Path, subjects: Sequence[str]) -> Path:
    """Return the absolute path of a given file.

    Raises:
        LoadError: It can't be loaded, or has no subjects to choose from.
    """
    if subjects:
        raise LoadError(path, "is a file, and subjects are folders. Give the folder that holds the subjects' folders.")
    if not path.is_file():
        raise LoadError(path, "is neither a file nor a folder. Copy its content into a file first.")
    if format_of(path) is None:
        raise LoadError(path, f"has an unknown suffix. Known ones: {known()}.")
    return absolute(path)


def absolute(path: Path) -> Path:
    """Return the absolute path; `..` and `.` need resolving because the folder's name begins the ids."""
    return path.resolve() if ".." in path.parts else path.absolute()
