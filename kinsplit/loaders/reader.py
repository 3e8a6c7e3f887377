"""Reading of one file in a worker process, since a file may hang, exhaust or crash its reader."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass, fields, replace
from pathlib import Path

from kinsplit.errors import InvalidParameterError, LoadError, MissingExtraError
from kinsplit.loaders.content import ForeignError, Reading, UnreadableError
from kinsplit.loaders.decoding import clean
from kinsplit.loaders.registry import format_of, known


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of a file; one that exceeds them is reported, and the others are loaded.

    Attributes:
        size: Maximum bytes of the file.
        text: Maximum bytes of its documents.
        memory: Maximum bytes of memory while reading; enforced on Linux only.
        seconds: Maximum seconds of reading.

    Raises:
        InvalidParameterError: A limit isn't positive.
    """

    size: int = 2**29
    text: int = 2**28
    memory: int = 2**31
    seconds: float = 120.0

    def __post_init__(self) -> None:
        for field in fields(self):
            if not (value := getattr(self, field.name)) > 0:
                raise InvalidParameterError(field.name, "must be positive", value, f"The default is {field.default}.")


def read_file(path: Path, size: int, *, given: bool, reader: str = "") -> Reading:
    """Read one file in this process.

    Args:
        path: The file.
        size: Maximum bytes of the file.
        given: Whether the file itself was given, and not a folder that contains it.
        reader: Name of the reader; empty for the first one that knows the file's suffix.

    Returns:
        Its texts, without characters that stores reject, a warning for every decision and loss, and its digest.

    Raises:
        LoadError: The file can't be read, or doesn't match its suffix.
        MemoryError: There isn't enough memory for the file.
    """
    fmt = format_of(path, (reader,) if reader else ())
    if fmt is None:
        raise LoadError(path, f"has an unknown suffix. Known ones: {known()}.")
    data = None
    try:
        data = _bytes(path, size)
        return replace(_cleaned(fmt.read(data)), digest=hashlib.sha256(data).hexdigest())
    except MissingExtraError as error:
        raise LoadError(path, str(error)) from error
    except OSError as error:
        raise LoadError(path, f"can't be read: {error.strerror}. Check that it is there and readable.") from error
    except UnreadableError as error:
        reason = "is empty. Copy it there again, or delete it." if data == b"" else str(error)
        if isinstance(error, ForeignError) and not given:
            why = "is empty" if data == b"" else reason.rstrip(".")
            return Reading((), (f"skipped, since it holds no rows of documents ({why})",))
        raise LoadError(path, reason) from error
    except MemoryError:
        raise
    except Exception as error:  # a fault of a library or of kinsplit, which must not stop the other files
        whose = "kinsplit" if fmt.reader == "kinsplit" else f"the authors of the reader {fmt.reader!r}"
        reason = f"makes the reader of {fmt.name} files fail: {error!r}. Convert it, and please report it to {whose}."
        raise LoadError(path, reason) from error


def _bytes(path: Path, most: int) -> bytes:
    with path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        data = b"" if size > most else file.read()
    if (size := max(size, len(data))) > most:  # It may have grown.
        raise UnreadableError(
            f"has {size:,} bytes, where at most {most:,} are read. Split it, or raise the limit 'size'."
        )
    return data


def _cleaned(reading: Reading) -> Reading:
    contents, warnings = [], [*reading.warnings]
    for content in reading.contents:
        text, more = clean(content.text)
        title = " ".join(clean(content.title or "").text.split())
        more = more if text and not text.isspace() else (*more, "holds no text")
        headings = tuple(one._replace(title=clean(one.title).text) for one in content.headings)
        contents.append(replace(content, text=text, title=title or None, headings=headings))
        warnings += [f"{content.id}: {warning}" for warning in more] if content.id else more
    return Reading(tuple(contents), tuple(warnings))
