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

import os
import re
import tomllib
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Any, Literal, NamedTuple

from pydantic import Field, field_validator

from kinsplit.errors import InvalidParameterError, LoadError, require
from kinsplit.loaders.decoding import clean
from kinsplit.support.settings import Settings

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
        require(PurePath(pattern).parts, "match", "must name files", pattern, 'Write "*" for all of them.')
        return pattern


class CourseFile(Settings):
    """A `course.toml`."""

    course: str | None = None
    subject: str | None = None
    title: str | None = None
    files: list[FileEntry] = Field(default_factory=list)


@dataclass(frozen=True, slots=True)
class CourseFiles:
    """The course files of nested folders, the innermost last."""

    layers: tuple[tuple[PurePath, CourseFile], ...] = ()

    def inside(self, folder: Path) -> CourseFiles:
        """Return the course files that apply inside a folder, or raise LoadError if its own one can't be read."""
        path = folder / NAME
        try:
            if not path.is_file():
                return self
            with path.open("rb") as file:
                return self.with_file(folder, file.read(MOST_BYTES + 1))
        except OSError as error:
            raise LoadError(path, f"can't be read: {error.strerror}. Check its permissions.") from error

    def with_file(self, folder: PurePath, data: bytes) -> CourseFiles:
        """Return the course files that apply inside a folder with one of its own, or raise LoadError if it is wrong."""
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


class FileKin(NamedTuple):
    """A file's id, its group, the ids of the other files of that group, and those before and after in a series."""

    source_id: str
    group_id: str
    siblings: list[str]
    neighbours: dict[str, str]  # `previous_file` and `next_file`, as far as there are such files.


def kin_facts(
    folder_id: str, names: Sequence[str], stated: Mapping[str, str], beside: Mapping[int, Sequence[str]]
) -> Iterator[FileKin]:
    """Group the files of one folder by their names, and yield the facts of each.

    `lecture_10.pdf`, `lecture_10_code.py` and `exercise_10.md` form the group `lecture_10`; `lecture_1.pdf` is of
    another group, and in the series of `lecture_10.pdf`. `beside` are the ids of files of other folders by number.
    """
    stems = [PurePath(name).stem for name in names]
    by_stem: defaultdict[str, list[str]] = defaultdict(list)
    for name, stem in zip(names, stems, strict=True):
        by_stem[stem].append(name)
    lectures = {number: stem for stem in sorted(by_stem, reverse=True) if (number := _number(_LECTURE, stem))}

    def group(stem: str) -> str:
        own = _group(stem, by_stem)
        return lectures.get(_number(_WITH_LECTURE, own), own)

    groups = [stated.get(name) or group(stem) for name, stem in zip(names, stems, strict=True)]
    # Most files have no kin, and a folder may have very many files.
    members: dict[str, list[str]] = {named: [] for named, number in Counter(groups).items() if number > 1}
    for name, named in zip(names, groups, strict=True):
        if named in members:
            members[named].append(_id(folder_id, name))
    for name, named in zip(names, groups, strict=True):
        own = _id(folder_id, name)
        found = {"previous_file": _neighbour(name, by_stem, -1), "next_file": _neighbour(name, by_stem, 1)}
        neighbours = {key: _id(folder_id, other) for key, other in found.items() if other is not None}
        siblings = [other for other in members.get(named, ()) if other != own]
        yield FileKin(own, readable(named), [*siblings, *beside.get(number_of(name), ())], neighbours)


#: Names of folders and files that teach a part of a course. Some say so only with a number.
_LESSON = re.compile(
    r"(lectures?|exercises?|solutions?|assignments?|homeworks?|problem[ _-]?sets?|psets?|labs?|tutorials?|recitations?"
    r"|seminars?|quiz(zes)?|exams?|midterms?|slides|handouts|lessons?|weeks?|transcripts?)([^a-z]|$)"
    r"|(lec|ex|sol|hw|ps|ch|chapter|unit|module|session|day|part|section|wk)s?[ ._-]?\d+"
    r"|\d{1,2}([_-]\d{1,2})*$|\d{1,2}[ ._-]+[^\d ._-]",
    re.IGNORECASE,
)
#: Names of folders inside courses that other folders have, too.
_MATERIAL = re.compile(
    r"(pages?|notes?|code|src|scripts?|notebooks?|data|images?|img|figures?|media|videos?|audio|docs?|files?|assets"
    r"|resources|materials?|readings?|references|projects?|extras?|chapters|units|modules|sessions)([^a-z]|$)",
    re.IGNORECASE,
)


def is_course(folders: Sequence[str], files: Sequence[str]) -> bool:
    """Return whether a folder looks like one course, by the names in it.

    At least half of its folders, or of its files, are named as parts of a course are (`lectures`, `week 1`, `pages`),
    and one of them as something that is taught. Otherwise all of its folders are, beside each other or beside files.
    """
    parts = [name for name in folders if _is_part(name)]
    if 2 * len(parts) >= len(folders) and any(map(_LESSON.match, parts)):
        return True
    if 2 * sum(map(bool, map(_LESSON.match, files))) >= max(1, len(files)):
        return True
    return 0 < len(folders) == len(parts) and (len(parts) > 1 or bool(files))


def course_folder(folder: PurePath, looks: Callable[[PurePath], bool]) -> PurePath:
    """Return the folder of the course to which the files of a folder belong; their own if nothing says so.

    It depends on the folders alone, so that it is the same from wherever they are given.

    Args:
        folder: The folder.
        looks: Tells whether a folder looks like one course; see `is_course`.
    """
    found = None
    for place in (folder, *folder.parents):
        if place.name and looks(place):
            found = place
        elif found is not None and not _is_part(place.name):
            break
        if found is not None and not _is_part(found.name):
            break
    return found or folder


def _is_part(name: str) -> bool:
    return bool(_LESSON.match(name) or _MATERIAL.match(name))


def course_facts(
    base: PurePath, folder: PurePath, subject: str | None, looks: Callable[[PurePath], bool]
) -> dict[str, str]:
    """Read `course` and `subject`, as far as known, from folders: the subject's is that of the course, below `base`."""
    course = course_folder(folder, looks)
    above = course.parent
    if subject is None and above != base and above.is_relative_to(base):
        subject = above.name
    return {key: readable(value) for key, value in (("subject", subject), ("course", course.name)) if value}


# Files that are a lecture, and those that belong to the lecture of their number.
_LECTURE = re.compile(r"(?:lecture|lec|lesson|slides)[ _-]?0*(\d+)", re.IGNORECASE)
_WITH_LECTURE = re.compile(
    r"(?:exercise|ex|solution|sol|notes|code|handout|transcript|worksheet|lecture|lec|lesson|slides)s?[ _-]?0*(\d+)",
    re.IGNORECASE,
)
_LECTURES = re.compile(r"(?:lecture|lesson|slide)s?", re.IGNORECASE)
_WITH_LECTURES = re.compile(r"(?:exercise|solution|note|code|handout|transcript|worksheet)s?", re.IGNORECASE)
_NUMBER = re.compile(r"(\d+)")


def _number(pattern: re.Pattern[str], stem: str) -> str:
    found = pattern.fullmatch(stem)
    return found[1] if found else ""


def folders_of_lectures(folders: Sequence[str]) -> list[str]:
    """Return the names of folders that hold lectures, and what belongs to them by number; none without lectures."""
    if not any(map(_LECTURES.fullmatch, folders)):
        return []
    return [name for name in folders if _LECTURES.fullmatch(name) or _WITH_LECTURES.fullmatch(name)]


def number_of(name: str) -> int:
    """Return the first number in a file's name; -1 if there is none, or one too long for a lecture's."""
    found = _NUMBER.search(name)
    return int(found[1]) if found and len(found[1]) < 4 else -1


def _neighbour(name: str, by_stem: Mapping[str, Sequence[str]], step: Literal[1, -1]) -> str | None:
    """Return the next or previous file of a series, whose stems differ in one number; up to two may be missing.

    Of several with one stem, it is the one in the same format, or the first.
    """
    path = PurePath(name)
    before, digits, after = (*_NUMBER.split(path.stem, maxsplit=1), "", "")[:3]
    if not 0 < len(digits) < 10:  # Longer ones are no places in a series.
        return None
    numbers = (int(digits) + step * distance for distance in (1, 2, 3))
    others = (f"{before}{number:0{width}}{after}" for number in numbers if number >= 0 for width in (1, len(digits)))
    found = next((by_stem[other] for other in others if other in by_stem), ())
    return min(found, key=lambda other: PurePath(other).suffix != path.suffix, default=None)


def _group(stem: str, known: Collection[str]) -> str:
    """Return the shortest known stem that is a prefix of this one up to a `_` or `-`."""
    for at, character in enumerate(stem):
        if character in "_-" and stem[:at] in known:
            return stem[:at]
    return stem


def _id(folder_id: str, name: str) -> str:
    return readable(f"{folder_id}/{name}" if folder_id else name)


def readable(name: str) -> str:
    """Return a name or a path that every store accepts, with hexadecimal escapes for bytes that are not UTF-8."""
    return clean(os.fsencode(name).decode("utf-8", "backslashreplace")).text
