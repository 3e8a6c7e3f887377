"""Files inside files, such as the attachments of an e-mail: each is read by its own format, as a document of its own.

Its id is that of the file, `/`, and its name. It is read in the worker of its file, within the same limits.
"""

from __future__ import annotations

import mimetypes
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import PurePosixPath

from kinsplit.errors import MissingExtraError
from kinsplit.loaders.content import Attachment, Format, LeftOut, Reading, UnreadableError
from kinsplit.loaders.registry import format_of

_DEEPEST = 8  # files inside files
_LONGEST_NAME = 150  # characters
_NAMED = 10  # files that a warning names


def with_attachments(reading: Reading, readers: Sequence[str] = (), depth: int = 1) -> Reading:
    """Return the contents of a file and of all files inside it; one that can't be read is named in a warning.

    Args:
        reading: The texts of the file itself, with its attachments.
        readers: Names of the readers that go before the others.
        depth: Number of files around the attachments.
    """
    contents, warnings = [*reading.contents], [*reading.warnings]
    taken: Counter[str] = Counter()
    unread: list[str] = []
    left_out = LeftOut()
    for attachment in reading.attachments:
        name = _own_name(attachment, taken)
        fmt = _format(name, attachment.media_type, readers) if depth <= _DEEPEST else None
        if fmt is None and attachment.media_type.startswith("image/"):
            left_out.add("picture")
        elif fmt is None:
            unread.append(name)
        else:
            inner = _read(attachment, fmt, readers, depth)
            for content in inner.contents:
                path = f"{name}/{content.path}" if content.path else name
                contents.append(replace(content, path=path, file_type=content.file_type or fmt.name))
            warnings += [f"{name}: {warning}" for warning in inner.warnings]
    if unread:
        names = ", ".join(unread[:_NAMED]) + (", ..." if len(unread) > _NAMED else "")
        left_out.add(f"attachment ({names})", f"attachments ({names})", len(unread))
    return replace(reading, contents=tuple(contents), warnings=(*warnings, *left_out.warnings), attachments=())


def _read(attachment: Attachment, fmt: Format, readers: Sequence[str], depth: int) -> Reading:
    try:
        return with_attachments(fmt.read(attachment.data), readers, depth + 1)
    except MemoryError:
        raise
    except (UnreadableError, MissingExtraError) as error:
        return Reading(
            (), (f"was left out, since it {error}" if attachment.data else "was left out, since it is empty",)
        )
    except Exception as error:  # a fault of a library or of kinsplit, which must not stop the rest of the file
        return Reading((), (f"was left out, since it makes the reader of {fmt.name} files fail: {error!r}",))


def _own_name(attachment: Attachment, taken: Counter[str]) -> str:
    """Return the name of an attachment in its id, unlike all before."""
    stated = PurePosixPath(attachment.name.replace("\\", "/")).name
    visible = "".join(character if character.isprintable() else " " for character in stated).strip()
    suffix = mimetypes.guess_extension(attachment.media_type) or ""
    name = visible[-_LONGEST_NAME:] if visible.strip(".") else f"attachment{suffix}"
    taken[name] += 1
    path = PurePosixPath(name)
    return (
        name
        if taken[name] == 1
        else _own_name(attachment._replace(name=f"{path.stem} ({taken[name]}){path.suffix}"), taken)
    )


def _format(name: str, media_type: str, readers: Sequence[str]) -> Format | None:
    """Return the format of an attachment by its name, or else by its type."""
    guessed = mimetypes.guess_extension(media_type) or ""
    fallback = ".txt" if media_type.startswith("text/") else ""
    found = (
        format_of(PurePosixPath(f"a{suffix}"), readers) for suffix in (PurePosixPath(name).suffix, guessed, fallback)
    )
    return next(filter(None, found), None)
