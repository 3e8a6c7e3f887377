"""Loading of files in worker processes, with the files inside them; a broken file is reported, the others are loaded.

A file inside a file, such as the attachment of an e-mail, is read by its own format, as a document of its own. Its id
is that of the file, `/`, and its name. It is read in the worker of its file, within the same limits.
"""

from __future__ import annotations

import functools
import hashlib
import importlib
import itertools
import json
import math
import mimetypes
import os
import warnings
from collections import Counter, deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import closing
from dataclasses import dataclass, fields, replace
from pathlib import Path, PurePosixPath
from typing import Any

from kinsplit.chunk import ABSOLUTE_PATH, PLACED, RESERVED, Document
from kinsplit.errors import (
    LoadError,
    MemoryLimitError,
    MissingExtraError,
    ResultSizeError,
    TimeLimitError,
    WorkerDiedError,
    WorkerError,
    require,
)
from kinsplit.loaders.content import (
    Attachment,
    Content,
    ForeignError,
    Format,
    LeftOut,
    Reading,
    UnreadableError,
    row_id,
)
from kinsplit.loaders.decoding import clean
from kinsplit.loaders.discovery import Paths, SourceFile, discover
from kinsplit.loaders.registry import ReaderWarning, format_of, known
from kinsplit.support.telemetry import span
from kinsplit.support.workers import WorkerPool

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
            value = getattr(self, field.name)
            require(value > 0, field.name, "must be positive", value, f"The default is {field.default}.")


def read_file(path: Path, size: int, *, given: bool, reader: str = "") -> Reading:
    """Read one file in this process, with the reader that is named, or else the first that knows its suffix.

    The size is a maximum in bytes. A file may be given itself, or be in a folder that was given.

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
        whole = with_attachments(fmt.read(data), (reader,) if reader else ())
        return replace(_cleaned(whole), digest=hashlib.sha256(data).hexdigest())
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
        reason = f"has {size:,} bytes, where at most {most:,} are read"
        raise UnreadableError(f"{reason}. Split it, or raise the limit 'size'.")
    return data


def _cleaned(reading: Reading) -> Reading:
    contents, warnings = [], [*reading.warnings]
    for content in reading.contents:
        text, more = clean(content.text)
        title = " ".join(clean(content.title or "").text.split())
        more = more if text and not text.isspace() else (*more, "holds no text")
        headings = tuple(one._replace(title=clean(one.title).text) for one in content.headings)
        contents.append(replace(content, text=text, title=title or None, headings=headings))
        name = "#".join(filter(None, (content.path, content.id)))
        warnings += [f"{name}: {warning}" for warning in more] if name else more
    return Reading(tuple(contents), tuple(warnings))


# JSON characters of a value, which is stored with every chunk. Longer ones are vectors or texts.
_LONGEST = 10_000
_OWN = RESERVED | PLACED | {ABSOLUTE_PATH}
# Number of files read ahead, while an earlier one is embedded. Each may take all of its memory.
_AHEAD = 2


@dataclass(frozen=True, slots=True)
class Loaded:
    """The outcome for one file.

    Attributes:
        source: The file.
        documents: Its documents; empty if it couldn't be loaded. A document's text may be blank.
        warnings: Decisions and losses, each a phrase that follows the file's name.
        error: The reason why it couldn't be loaded, or None.
    """

    source: SourceFile
    documents: tuple[Document, ...] = ()
    warnings: tuple[str, ...] = ()
    error: LoadError | None = None

    @property
    def source_id(self) -> str:
        """Id of the file."""
        return self.source.source_id

    @property
    def path(self) -> Path:
        """Path of the file."""
        return self.source.path


def load(
    paths: Paths, *, subjects: Sequence[str] = (), readers: Sequence[str] = (), limits: Limits | None = None
) -> Iterator[Loaded]:
    """Load every file under some paths: `discover`, then `load_files`.

    Args:
        paths: Files and folders.
        subjects: Names of the only sub-folders to search; empty for everything.
        readers: Names of the readers that go before the others (see `kinsplit.loaders.registry`).
        limits: Limits of each file; None takes the defaults.

    Returns:
        The outcome for each file, ordered by id, loaded lazily.

    Raises:
        LoadError: The paths are wrong (see `discover`); raised at once, not while iterating.
        InvalidParameterError: No path was given, or no reader has one of the names.
    """
    return load_files(discover(paths, subjects=subjects, readers=readers).files, limits)


def read(paths: Paths, *, subjects: Sequence[str] = (), readers: Sequence[str] = ()) -> Iterator[Document]:
    """Read files of any format as documents, to split them or to look at them; `Index.add` does it by itself.

    Warnings of the readers are issued as warnings. `kinsplit.loaders.load` goes on after a file that can't be read.

    Args:
        paths: Files, folders and patterns such as "notes/*.pdf".
        subjects: Names of the only sub-folders to read; empty for everything.
        readers: Names of the readers that go before the others; `kinsplit readers` lists them.

    Yields:
        The documents, mostly one for each file, ordered by the ids of the files.

    Raises:
        LoadError: A path doesn't exist, a folder holds nothing to read, or a file can't be read.
        InvalidParameterError: No path was given, or no reader has one of the names.

    Example:
        >>> for document in read("courses"):
        ...     chunks = split(document)
    """
    for loaded in load(paths, subjects=subjects, readers=readers):
        if loaded.error is not None:
            raise loaded.error
        for warning in loaded.warnings:
            warnings.warn(ReaderWarning(f"{loaded.source_id}: {warning}"), stacklevel=2)
        yield from loaded.documents


def load_files(files: Iterable[SourceFile], limits: Limits | None = None) -> Iterator[Loaded]:
    """Load files one by one.

    Args:
        files: The files, as `discover` gives them.
        limits: Limits of each file; None takes the defaults.

    Yields:
        The outcome for each file, in the same order. A file that can't be loaded, or that repeats the id of an earlier
            document, comes with an `error` and without documents.
    """
    owners: dict[str, SourceFile] = {}
    with closing(_readings(files, limits or Limits())) as readings:
        for source, reading in readings:
            try:
                loaded = _loaded(source, reading)
            except LoadError as error:
                yield Loaded(source, error=error)
                continue
            twice = next((document.id for document in loaded.documents if document.id in owners), None)
            if twice is not None:
                reason = f"its document {twice!r} is also in {owners[twice].path}. Give every document its own id."
                yield Loaded(source, error=LoadError(source.path, reason))
                continue
            owners.update((document.id, source) for document in loaded.documents)
            yield loaded


def load_file(source: SourceFile) -> Loaded:
    """Load one file in a worker process (see `kinsplit.support.workers`), which a file may crash without harm.

    Args:
        source: The file, as `discover` gives it.

    Returns:
        Its documents and warnings; `error` is None. A file in a folder that has another purpose gives only a warning.

    Raises:
        LoadError: The file can't be read, doesn't match its suffix, or exceeds a limit; or the folder couldn't be
            listed.
    """
    limits = Limits()
    pool, size = _pool(limits), limits.size
    return _loaded(source, lambda: pool.call(read_file, source.path, size, given=source.given, reader=source.reader))


def _readings(files: Iterable[SourceFile], limits: Limits) -> Generator[tuple[SourceFile, Callable[[], Reading]]]:
    """Yield each file with a function that waits for its content, while the next one is being read."""
    pool, rest = _pool(limits), iter(files)
    begun: deque[tuple[SourceFile, Future[Reading]]] = deque()
    try:
        while True:
            for source in itertools.islice(rest, _AHEAD - len(begun)):
                begun.append((source, _submit(source, pool, limits)))
            if not begun:
                return
            source, future = begun[0]
            yield source, future.result
            begun.popleft()
    finally:
        for _, future in begun:
            future.cancel()


def _submit(source: SourceFile, pool: WorkerPool, limits: Limits) -> Future[Reading]:
    if source.error is not None:
        return Future()  # Never waited for.
    return pool.submit(read_file, source.path, limits.size, given=source.given, reader=source.reader)


def _loaded(source: SourceFile, reading: Callable[[], Reading]) -> Loaded:
    """Return the outcome for a file, or raise its LoadError."""
    if source.error is not None:
        raise source.error
    with span("kinsplit.read", texts={"file": source.source_id}) as record:
        try:
            read = reading()
        except WorkerError as error:
            raise LoadError(source.path, _reason(error)) from error
        left_out = LeftOut()
        documents = tuple(_document(source, content, read.digest, left_out) for content in read.contents)
        record(documents=len(documents), characters=sum(len(document.text) for document in documents))
    lost = left_out.warnings if left_out else ()
    return Loaded(source, documents, (*read.warnings, *lost))


def _document(source: SourceFile, content: Content, digest: str, left_out: LeftOut) -> Document:
    title = {"title": content.title} if content.title else {}
    file_type = {"file_type": content.file_type} if content.file_type else {}
    metadata = {**_stated(content.metadata, left_out, source.metadata), **title, **source.metadata, **file_type}
    file = f"{source.source_id}/{content.path}" if content.path else source.source_id
    own = row_id(file, content.id) if content.id and (source.scoped or content.path) else content.id
    structure = content.pages, content.times, content.outline, content.headings
    # A row or an attachment stays the same while its file gets others.
    more = "" if content.id or content.path else digest, content.kind, content.voices
    return Document(own or file, content.text, metadata, *structure, *more)


def _stated(metadata: Mapping[str, Any], left_out: LeftOut, facts: Mapping[str, Any]) -> dict[str, Any]:
    """Return metadata that a file states, with values that every store takes; those known otherwise take precedence."""
    kept: dict[str, Any] = {}
    for name_there, value in metadata.items():
        name, storable = clean(name_there).text, _storable(value)
        if name in _OWN or (name in facts and facts[name] != storable):
            _count(left_out, f"of the metadata {name!r}, which kinsplit sets itself,")
        elif len(json.dumps(storable) if isinstance(storable, list | dict) else str(storable)) > _LONGEST:
            _count(left_out, f"of more than {_LONGEST:,} characters of the metadata {name!r}")
        else:
            kept[name] = storable
    return kept


def _count(left_out: LeftOut, what: str) -> None:
    left_out.add(f"value {what}", f"values {what}")


def _storable(value: Any) -> Any:
    """Return a value of JSON without what stores refuse: NUL, infinite numbers, and integers of more than 64 bits."""
    if isinstance(value, str):
        return clean(value).text
    if isinstance(value, list):
        return list(map(_storable, value))
    if isinstance(value, dict):
        return {clean(key).text: _storable(child) for key, child in value.items()}
    is_number = isinstance(value, int) and -(2**63) <= value < 2**63
    return value if value is None or is_number or (isinstance(value, float) and math.isfinite(value)) else str(value)


@functools.lru_cache(maxsize=1)
def _pool(limits: Limits) -> WorkerPool:
    """Return the worker pool for all files, which outlasts a run, since starting it costs more than most files."""
    prepare = functools.partial(importlib.import_module, read_file.__module__)
    seconds, memory, text = limits.seconds, limits.memory, limits.text
    cpus = os.cpu_count() or 1
    return WorkerPool(cpus, time_limit=seconds, memory_limit=memory, result_limit=text, prepare=prepare)


def _reason(error: WorkerError) -> str:
    if isinstance(error, TimeLimitError | MemoryLimitError):
        limit = "seconds" if isinstance(error, TimeLimitError) else "memory"
        return f"{error} to be read. Convert it to plain text, or raise the limit {limit!r}."
    if isinstance(error, ResultSizeError):
        reason = f"holds {error.size:,} bytes of text, where at most {error.limit:,} are read"
        return f"{reason}. Split it, or raise the limit 'text'."
    if isinstance(error, WorkerDiedError):
        return f"makes its reader crash: it {error}. Convert it to another format."
    return f"can't be read: {error}."
