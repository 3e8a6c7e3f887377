"""`course.toml`: facts of files that their paths don't show.

```toml
course = "6.0001"            # these apply to the folder of this file and all below it
subject = "cs"
title = "Introduction to Computer Science and Programming in Python"

[[files]]                    # for some files; of several entries that match, the last one wins
match = "lectures/lec1*"     # matched as in `pathlib`, from the right: also "*.pdf" and "week1/*"
title = "What is Computation?"
group_id = "lecture_1"       # files of one folder with one group are siblings, whatever their names
url = "https://youtu.be/abc" # address of the recording, for a transcript, or of the file
```

Every key is optional, and an inner folder's file takes precedence over an outer one's.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Any

from pydantic import Field, field_validator

from kinsplit.errors import InvalidParameterError, LoadError
from kinsplit.loaders.decoding import clean
from kinsplit.support.model import Settings

NAME = "course.toml"

#: Hundreds of times the size of a handwritten file.
MOST_BYTES = 2**20

# Keys of the file, and the metadata keys of their values.
_OF_A_FOLDER = {"course": "course", "subject": "subject", "title": "course_title"}
_OF_FILES = {"course": "course", "subject": "subject", "title": "title", "group_id": "group_id", "url": "url"}


class FileEntry(Settings):
    """Facts of the files that match a pattern."""

    match: str = Field(min_length=1)
    course: str | None = None
    subject: str | None = None
    title: str | None = None
    group_id: str | None = Field(default=None, min_length=1)
    url: str | None = None

    @field_validator("match")
    @classmethod
    def _names_something(cls, pattern: str) -> str:
        if not PurePath(pattern).parts:
            raise InvalidParameterError("match", "must name files", pattern, 'Write "*" for all of them.')
        return pattern


class CourseFile(Settings):
    """A `course.toml`."""

    course: str | None = None
    subject: str | None = None
    title: str | None = None
    files: list[FileEntry] = Field(default_factory=list)


@dataclass(frozen=True, slots=True)
class CourseFiles:
    """The course files of nested folders, the innermost last.

    Attributes:
        layers: Each folder with such a file, and the file.
    """

    layers: tuple[tuple[PurePath, CourseFile], ...] = ()

    def inside(self, folder: Path) -> CourseFiles:
        """Return the course files that apply inside a folder.

        Raises:
            LoadError: The folder's own file can't be read.
        """
        path = folder / NAME
        try:
            if not path.is_file():
                return self
            with path.open("rb") as file:
                return self.with_file(folder, file.read(MOST_BYTES + 1))
        except OSError as error:
            raise LoadError(path, f"can't be read: {error.strerror}. Check its permissions.") from error

    def with_file(self, folder: PurePath, data: bytes) -> CourseFiles:
        """Return the course files that apply inside a folder with a file of its own.

        Args:
            folder: The folder.
            data: Content of its file, of which `MOST_BYTES` and one more are enough.

        Raises:
            LoadError: It is not valid.
        """
        path = folder / NAME
        if len(data) > MOST_BYTES:
            raise LoadError(path, f"has more than {MOST_BYTES:,} bytes, so it is not a course file. Rename it.")
        try:
            values = tomllib.loads(data.decode("utf-8-sig"))  # Windows writes a byte order mark.
            return CourseFiles((*self.layers, (folder, CourseFile(**values))))
        except (ValueError, TypeError, RecursionError, InvalidParameterError) as error:
            raise LoadError(path, f"is not a valid course file: {str(error).rstrip('.')}.") from error

    def of(self, path: PurePath) -> dict[str, str]:
        """Return the metadata of a file."""
        found: dict[str, str] = {}
        for folder, course in self.layers:
            found |= _metadata(course, _OF_A_FOLDER)
            relative = PurePath(path.relative_to(folder))
            for entry in course.files:
                if relative.match(entry.match):
                    found |= _metadata(entry, _OF_FILES)
        return found


def _metadata(facts: Settings, keys: Mapping[str, str]) -> dict[str, str]:
    values: dict[str, Any] = {key: getattr(facts, own) for own, key in keys.items()}
    return {key: " ".join(clean(value).text.split()) for key, value in values.items() if value is not None}
