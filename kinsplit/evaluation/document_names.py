"""Names of documents in labels: a row of a file has two, its own `docid` and `FILE#docid`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import PurePosixPath

from kinsplit.loaders import row_id


class DocumentNames:
    """Documents by every name that a label may give them.

    A collection holds the rows of its owner's files under their `docid`, and those of uploaded files as `FILE#docid`;
    labels made for one hold for the other. The file may be in any folder, as long as its name is the same.
    """

    def __init__(self, ids: Iterable[str], files: Mapping[str, str]) -> None:
        self._ids = set(ids)
        self._rows: dict[str, list[str]] = {}
        for id_ in sorted(self._ids & files.keys()):
            docid = id_.removeprefix(row_id(files[id_], ""))
            for name in (docid, row_id(files[id_], docid), row_id(_last(files[id_]), docid)):
                self._rows.setdefault(name, []).append(id_)

    def find(self, name: object) -> list[str]:
        """Return the ids of the documents of a name: one, none, or those between which it is ambiguous."""
        if not isinstance(name, str):
            return []
        if name in self._ids:
            return [name]
        return next((found for each in _forms(name) if (found := list(dict.fromkeys(self._rows.get(each, ()))))), [])


def _forms(name: str) -> Iterator[str]:
    """Yield a name as it is, and without the folder of a file before each "#"."""
    yield name
    for at, character in enumerate(name):
        if character == "#":
            yield row_id(_last(name[:at]), name[at + 1 :])


def _last(file_id: str) -> str:
    return PurePosixPath(file_id).name
