"""What a loader gives back, and how a format describes itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from kinsplit.chunk import Moment, Part


class UnreadableError(Exception):
    """The bytes are not what their suffix promises; the message says why and what to do about it."""


class ForeignError(UnreadableError):
    """The bytes are sound but made for another purpose, as a `package.json` is; in a folder no failure."""


@dataclass(frozen=True, slots=True)
class Content:
    """One text found in a file.

    Attributes:
        text: The text that offsets will count.
        title: The title, where the format has one.
        id: The id that the text brings along; None where the file's own id serves.
        pages: Offset at which each page starts; empty where there are no pages.
        times: When each part was said; empty where the text is of no recording.
        outline: Its parts, where it marks them by no headings.
        metadata: What the file itself says of the text beside its title.
    """

    text: str
    title: str | None = None
    id: str | None = None
    pages: tuple[int, ...] = ()
    times: tuple[Moment, ...] = ()
    outline: tuple[Part, ...] = ()
    metadata: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Reading:
    """Everything found in a file.

    Attributes:
        contents: The texts, in file order.
        warnings: What was decided or lost on the way, a sentence each.
    """

    contents: tuple[Content, ...]
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Format:
    """A kind of file that can be loaded.

    Attributes:
        name: The `file_type` in the metadata.
        suffixes: Lower-case file name endings, with their dot.
        description: What becomes of such a file, in a few words.
        read: Turns the file's bytes into its contents; raises `UnreadableError`.
    """

    name: str
    suffixes: tuple[str, ...]
    description: str
    read: Callable[[bytes], Reading]
