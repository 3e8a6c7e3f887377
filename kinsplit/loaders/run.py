"""Files -> documents, one file at a time; a broken one is reported and the rest go on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kinsplit.chunk import Document
from kinsplit.errors import LoadError
from kinsplit.loaders.content import Content, ForeignError, UnreadableError
from kinsplit.loaders.decoding import clean
from kinsplit.loaders.discovery import SourceFile, discover
from kinsplit.loaders.registry import format_of, known


@dataclass(frozen=True, slots=True)
class Loaded:
    """What became of one file.

    Attributes:
        source: The file.
        documents: Its documents; empty when it couldn't be loaded. A document's text may be blank.
        warnings: What was decided or lost, each a phrase that follows the file's name.
        error: Why it couldn't be loaded, or None.
    """

    source: SourceFile
    documents: tuple[Document, ...] = ()
    warnings: tuple[str, ...] = ()
    error: LoadError | None = None

    @property
    def path(self) -> Path:
        """Where the file is."""
        return self.source.path


def load(paths: str | Path | Iterable[str | Path], *, subjects: Sequence[str] = ()) -> Iterator[Loaded]:
    """Load every file under some paths: `discover`, then `load_files`.

    Args:
        paths: Files and folders.
        subjects: Names of sub-folders of the given folders; only these are searched. Default: everything.

    Returns:
        The result of each file, ordered by id, loaded as they are asked for.

    Raises:
        LoadError: The paths are wrong (see `discover`); raised at once, not while iterating.
        InvalidParameterError: No path was given.
    """
    return load_files(discover(paths, subjects=subjects).files)


def load_files(files: Iterable[SourceFile]) -> Iterator[Loaded]:
    """Load files one by one.

    Args:
        files: The files, as `discover` gives them.

    Yields:
        The result of each file, in the same order. A file that can't be loaded, or one of whose documents has the id of
            an earlier document, comes with an `error` and without documents.
    """
    owners: dict[str, SourceFile] = {}
    for source in files:
        try:
            loaded = load_file(source)
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
    """Load one file.

    Args:
        source: The file, as `discover` gives it.

    Returns:
        Its documents and warnings; `error` is None. A file met in a folder that was made for another purpose gives no
            documents and a warning.

    Raises:
        LoadError: The file can't be read, or is not what its suffix promises; the folder couldn't be listed.
    """
    if source.error is not None:
        raise source.error
    fmt = format_of(source.path)
    if fmt is None:
        raise LoadError(source.path, f"has an unknown suffix. Known ones: {known()}.")
    data = b""
    try:
        data = source.path.read_bytes()
        reading = fmt.read(data)
    except OSError as error:
        raise LoadError(
            source.path, f"can't be read: {error.strerror}. Check that it is there and readable."
        ) from error
    except UnreadableError as error:
        reason = str(error) if data else "is empty. Copy it there again, or delete it."
        if isinstance(error, ForeignError) and not source.given:
            why = reason.rstrip(".") if data else "is empty"
            return Loaded(source, warnings=(f"skipped, since it holds no rows of documents ({why})",))
        raise LoadError(source.path, reason) from error
    except MemoryError as error:
        raise LoadError(source.path, "is too large for this machine's memory. Split it.") from error
    except Exception as error:  # a library's or our own mistake, which must not cost all other files
        reason = f"makes the reader of {fmt.name} files fail: {error!r}. Convert it, and please report it to kinsplit."
        raise LoadError(source.path, reason) from error
    documents, warnings = [], [*reading.warnings]
    for content in reading.contents:
        document, more = _document(source, content)
        documents.append(document)
        warnings += [f"{content.id}: {warning}" for warning in more] if content.id else more
    return Loaded(source, tuple(documents), tuple(warnings))


def _document(source: SourceFile, content: Content) -> tuple[Document, list[str]]:
    text, warnings = clean(content.text)
    title = " ".join(clean(content.title or "").text.split())
    metadata: dict[str, Any] = {**content.metadata, **({"title": title} if title else {}), **source.metadata}
    more = [*warnings, *([] if text and not text.isspace() else ["holds no text"])]
    return Document(content.id or source.source_id, text, metadata, content.pages, content.times, content.outline), more
