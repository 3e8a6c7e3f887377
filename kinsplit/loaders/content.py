"""The content of files, and the description of formats."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from kinsplit.chunk import Moment, Voice
from kinsplit.kinds import DocumentKind
from kinsplit.spans import Heading, Part


class UnreadableError(Exception):
    """The content doesn't match the suffix of the file; the message gives the reason and the remedy."""


class ForeignError(UnreadableError):
    """The content is valid but has another purpose, such as a `package.json`; in a folder it is skipped."""


def row_id(file_id: str, docid: str) -> str:
    """Return the id of a row with the file's id before its own, so that no other file's row or file has the same."""
    return f"{file_id}#{docid}"


#: A kind of things that are left out, in the singular and the plural.
PICTURE = ("picture without a text", "pictures without a text")


class LeftOut(Counter[tuple[str, str]]):
    """The numbers of things that a reader saw and did not keep, by their name in the singular and the plural."""

    def add(self, one: str, several: str = "", count: int = 1) -> None:
        """Count things; the plural is the singular with an s by default."""
        self[one, several or f"{one}s"] += count

    @property
    def warnings(self) -> tuple[str, ...]:
        """A warning for each kind of thing."""
        return tuple(
            f"1 {one} was left out" if count == 1 else f"{count:,} {several} were left out"
            for (one, several), count in self.items()
        )


@dataclass(frozen=True, slots=True)
class Content:
    """One text of a file.

    Attributes:
        text: The text to which offsets refer.
        title: The title, if any.
        id: Id of the text in the file; None if the file's own id serves.
        pages: Offset of each page; empty without pages.
        times: Times of its parts; empty unless it is the text of a recording.
        outline: Its parts, if headings don't mark them.
        headings: Its headings; see `kinsplit.Document`.
        kind: What its lines are; see `kinsplit.Document`.
        voices: Who speaks in it; empty unless it is the text of a recording.
        metadata: Further metadata in the file.
        path: Path inside the file, such as the name of an attachment; empty for a text of the file itself.
        file_type: Name of the format of an attachment; empty for a text of the file itself.
    """

    text: str
    title: str | None = None
    id: str | None = None
    pages: tuple[int, ...] = ()
    times: tuple[Moment, ...] = ()
    outline: tuple[Part, ...] = ()
    headings: tuple[Heading, ...] = ()
    kind: DocumentKind = ""
    voices: tuple[Voice, ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)
    path: str = ""
    file_type: str = ""


class Attachment(NamedTuple):
    """A file inside a file, which is read by its own format."""

    name: str  # May be empty.
    data: bytes
    media_type: str = ""  # Such as "image/png", which helps if the name has no suffix.


@dataclass(frozen=True, slots=True)
class Reading:
    """All contents of a file.

    Attributes:
        contents: The texts, in file order.
        warnings: Decisions and losses while reading, a sentence each.
        attachments: Files inside the file; those that can be read become contents by `read_file`.
        digest: SHA-256 of the file in hexadecimal digits; set by `read_file`.
    """

    contents: tuple[Content, ...]
    warnings: tuple[str, ...] = ()
    attachments: tuple[Attachment, ...] = ()
    digest: str = ""


@dataclass(frozen=True, slots=True)
class Format:
    """A kind of file that can be loaded.

    Another package can add formats (see `kinsplit.loaders.registry`).

    Attributes:
        name: The `file_type` in the metadata.
        suffixes: Lower-case file name endings, with their dot.
        description: Short description of the resulting text.
        read: Function from the file's bytes to its contents; raises `UnreadableError`.
        reader: Name of the reader that the format belongs to; set by the registry.
    """

    name: str
    suffixes: tuple[str, ...]
    description: str
    read: Callable[[bytes], Reading]
    reader: str = "kinsplit"
