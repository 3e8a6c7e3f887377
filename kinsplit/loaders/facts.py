"""Facts of a file from its path: its kin, its course, its subject."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePath
from typing import NamedTuple

from kinsplit.loaders.decoding import clean


class Kin(NamedTuple):
    """A file's id, its group, and the ids of the other files of that group."""

    source_id: str
    group_id: str
    siblings: list[str]


def kin_facts(folder_id: str, names: Sequence[str], stated: Mapping[str, str]) -> Iterator[Kin]:
    """Group the files of one folder by their names, and yield the facts of each.

    `lecture_10.pdf` and `lecture_10_code.py` form the group `lecture_10`; `lecture_1.pdf` is another group.

    Args:
        folder_id: Id of the folder, the prefix of the files' ids.
        names: Names of the files, sorted.
        stated: Groups from a course file, by file name.
    """
    groups = _groups(names, stated)
    # Most files have no kin, and a folder may have very many files.
    members: dict[str, list[str]] = {group: [] for group, number in Counter(groups).items() if number > 1}
    for name, group in zip(names, groups, strict=True):
        if group in members:
            members[group].append(_id(folder_id, name))
    for name, group in zip(names, groups, strict=True):
        own = _id(folder_id, name)
        yield Kin(own, readable(group), [other for other in members.get(group, ()) if other != own])


def course_facts(root: str, folders: Sequence[str], subject: str | None) -> dict[str, str]:
    """Read course and subject from the folders between the given one and the file.

    Args:
        root: Name of the given folder.
        folders: Names of the folders below it, from the top.
        subject: The requested subject, which is then the first folder.

    Returns:
        `course` and `subject`, as far as known.
    """
    if subject is not None:
        facts = {"subject": subject, "course": folders[1] if len(folders) > 1 else ""}
    elif len(folders) > 1:
        facts = {"subject": folders[0], "course": folders[1]}
    else:
        facts = {"course": folders[0] if folders else root}
    return {key: readable(value) for key, value in facts.items() if value}


def _groups(names: Sequence[str], stated: Mapping[str, str]) -> list[str]:
    """Return the group of each file."""
    stems = [PurePath(name).stem for name in names]
    known = set(stems)
    return [stated.get(name) or _group(stem, known) for name, stem in zip(names, stems, strict=True)]


def _group(stem: str, known: set[str]) -> str:
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
