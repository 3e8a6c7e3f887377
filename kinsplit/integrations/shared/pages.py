"""Pages and elements that a loader has cut a document into, joined again."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple, TypeVar

from kinsplit.details import whole
from kinsplit.errors import InvalidParameterError, require
from kinsplit.foreign import of_docling
from kinsplit.integrations.shared.origins import has_chunk_metadata
from kinsplit.spans import Span
from kinsplit.support.extras import needs
from kinsplit.support.pages import join_pages

T = TypeVar("T")

#: Metadata key of the pages of a joined document.
PAGES = "joined_pages"
#: Metadata keys of a chunk's offsets in its first and last page, and of the offsets at which its other pages begin.
OFFSETS = ("page_char_start", "page_char_end", "page_breaks")
#: Those, and the keys of its first and last page.
PAGE_KEYS = ("page_start", "page_end", *OFFSETS)

# Keys of the file, and keys of the page, in order of preference.
_SOURCES = ("file_path", "source", "file_name", "filename")
_NUMBERS = ("page", "page_number", "page_label")
# Metadata keys of the elements into which Unstructured cuts a page, and the category of those that are chunks already.
_ELEMENT = frozenset({"element_id", "category"})
_CHUNK = "CompositeElement"
# How the JSON of a Docling document begins.
_DOCLING = re.compile(r'\s*\{\s*"schema_name"\s*:\s*"DoclingDocument"')


class FrameworkPage(NamedTuple):
    """A page of a document."""

    number: int
    start: int  # Offset in the document.
    metadata: Mapping[str, Any]  # Those that other pages of the document don't share.


class Text(NamedTuple):
    """Text of a framework's document, which may be a page."""

    text: str
    metadata: Mapping[str, Any]
    is_part: bool = False  # Whether the framework says that it is a part of a page or of another document.
    file: str | None = None  # Id of its file; None for the file's path or name in the metadata.


class Joined(NamedTuple):
    """A document of joined pages or elements.

    Its id is the file's, or else its path or name. If the first page is missing, so that it may be in another call, the
    number of the first page that is there is appended; and the id of the first element, since any may be in another
    call.
    """

    source_id: str | None  # None for the document's own id.
    text: str
    metadata: dict[str, Any]  # Those that all pages share, and `PAGES`.
    members: tuple[int, ...]  # Indices of the pages among the given texts, in order.


def checked_documents(
    documents: Iterable[T], kind: type[object], name: str = "documents", otherwise: str = "call split_text"
) -> list[T]:
    """Return a list of a framework's documents.

    Args:
        documents: The documents.
        kind: The framework's class of them.
        name: Name of the argument.
        otherwise: What else can be done with a text or a single document, for the error.

    Raises:
        InvalidParameterError: They are a single one or a text, or one of them is something else.
    """
    rule = f"must be a {kind.__name__} of {kind.__module__.partition('.')[0]}"
    if isinstance(documents, str | kind):
        raise InvalidParameterError(name, "must be several", documents, f"Pass a list, or {otherwise}.")
    given: list[T] = list(documents)
    for number, each in enumerate(given):
        remedy = f"Make one of it, or {otherwise}."
        require(isinstance(each, kind), f"{name}[{number}]", rule, each, remedy)
    return given


def join(texts: Sequence[Text], *, files: bool = True) -> list[Joined | int]:
    """Join the pages of each file, or its elements, and read documents that Docling has written as JSON.

    Texts are pages of a file if their metadata name the file under `file_path`, `source`, `file_name` or `filename`,
    and a page under `page`, `page_number` or `page_label`. Pages are ordered by number, or as given if their labels are
    not numbers. `page` counts from 0, as in LangChain, unless its values show that it counts from 1. A page that is
    given again is left out. If numbers repeat with other texts, because these are parts of pages, they are not joined.

    Elements of Unstructured become one document too: a title is a heading of Markdown, and a list item has a hyphen.
    A Docling document becomes Markdown with its pages.

    Args:
        texts: The texts.
        files: Whether to join what a file was cut into.

    Returns:
        Joined documents, each at the position of its first given page, and the indices of all other texts.

    Raises:
        InvalidParameterError: Docling's JSON is not valid.
        MissingExtraError: docling-core, which reads Docling's JSON, is not installed.
    """
    pages_by_file, elements_by_file = defaultdict[str, list[int]](list), defaultdict[str, list[int]](list)
    joined: dict[int, Joined] = {}
    members: set[int] = set()
    for index, text in enumerate(texts):
        if _DOCLING.match(text.text):
            joined[index] = _from_docling(text, index)
        elif files and (source := _source(text)) is not None:
            pages_by_file[source].append(index)
        elif files and (source := _source_of_element(text)) is not None:
            elements_by_file[source].append(index)
    for source, indices in elements_by_file.items():
        if indices[1:]:
            joined[indices[0]] = _of_elements(source, indices, texts)
            members.update(indices)
    for source, given in pages_by_file.items():
        indices = _once(given, texts)
        numbers = _numbers([texts[index] for index in indices])
        if numbers is not None:
            pages = sorted(zip(numbers, indices, strict=True))
            joined[indices[0]] = _joined(source, pages, texts)
            members.update(given)
    return [joined.get(index, index) for index in range(len(texts)) if index in joined or index not in members]


def pages_of(metadata: Mapping[str, Any]) -> tuple[FrameworkPage, ...]:
    """Return the pages of a joined document or of one of its chunks, from its metadata; () for any other."""
    if PAGES in metadata:
        return tuple(FrameworkPage(page["page"], page["start"], page["metadata"]) for page in metadata[PAGES])
    metadata = whole(metadata)
    if not has_chunk_metadata(metadata) or "page_char_start" not in metadata or "char_start" not in metadata:
        return ()
    first = FrameworkPage(metadata["page_start"], metadata["char_start"] - metadata["page_char_start"], {})
    return first, *(FrameworkPage(number, start, {}) for number, start in metadata.get("page_breaks", ()))


def page_metadata(pages: Sequence[FrameworkPage], spans: Sequence[Span]) -> dict[str, Any]:
    """Return the metadata of a chunk under `PAGE_KEYS`, from the pages of its document and its spans there."""
    start, end = spans[0].start, spans[-1].end
    first, last = _at(pages, start), _at(pages, max(start, end - 1))
    found = {
        "page_start": pages[first].number,
        "page_end": pages[last].number,
        "page_char_start": start - pages[first].start,
        "page_char_end": end - pages[last].start,
    }
    breaks = [[page.number, page.start] for page in pages[first + 1 : last + 1]]
    return {**found, "page_breaks": breaks} if breaks else found


def first_page(pages: Sequence[FrameworkPage], start: int) -> Mapping[str, Any]:
    """Return the metadata of the page on which a chunk starts."""
    return pages[_at(pages, start)].metadata


def _at(pages: Sequence[FrameworkPage], offset: int) -> int:
    return max(0, bisect_right(pages, offset, key=lambda page: page.start) - 1)


def _source(text: Text) -> str | None:
    """Return the file of a page, or None if the text is not a page."""
    metadata = text.metadata
    if text.is_part or PAGES in metadata or has_chunk_metadata(metadata) or _ELEMENT & metadata.keys():
        return None
    return _file(text) if any(metadata.get(key) is not None for key in _number_keys(metadata)) else None


def _source_of_element(text: Text) -> str | None:
    """Return the file of an element, or None if the text is none."""
    metadata = text.metadata
    is_element = metadata.keys() >= _ELEMENT and metadata["category"] != _CHUNK
    return None if text.is_part or has_chunk_metadata(metadata) or not is_element else _file(text)


def _file(text: Text) -> str | None:
    return text.file or next((str(text.metadata[key]) for key in _SOURCES if text.metadata.get(key)), None)


def _number_keys(metadata: Mapping[str, Any]) -> tuple[str, ...]:
    # LlamaIndex's PyMuPDFReader writes the page's number under `source`.
    is_number = "file_path" in metadata and "total_pages" in metadata and _number(metadata.get("source")) is not None
    return (*_NUMBERS, "source") if is_number else _NUMBERS


def _once(indices: Sequence[int], texts: Sequence[Text]) -> list[int]:
    """Return the indices of a file's pages, each once; all of them if one number has several texts."""
    keys = _shared_keys([texts[index] for index in indices])[:1]
    named = {index: str([texts[index].metadata[key] for key in keys]) for index in indices}
    first: dict[tuple[str, str], int] = {}
    for index, name in named.items():
        first.setdefault((name, texts[index].text), index)
    return list(first.values()) if len(first) == len(set(named.values())) else list(indices)


def _shared_keys(pages: Sequence[Text]) -> list[str]:
    return [key for key in _number_keys(pages[0].metadata) if all(p.metadata.get(key) is not None for p in pages)]


def _numbers(pages: Sequence[Text]) -> list[int] | None:
    """Return the number of each page of a file, counted from 1; None if the texts are parts of pages."""
    shared = _shared_keys(pages)
    if not shared:
        return None
    values = [page.metadata[shared[0]] for page in pages]
    numbers = [_number(value) for value in values]
    counted = [number for number in numbers if number is not None]
    if len(set(counted)) == len(pages):
        return _from_one(counted, pages) if shared[0] == "page" else counted
    # Labels may repeat, in a file whose parts count their own pages.
    named = shared[0] == "page_label" and "file_path" in pages[0].metadata
    if len(set(map(str, values))) == len(pages) or (named and all(a != b for a, b in pairwise(values))):
        return list(range(1, len(pages) + 1))
    return None


def _from_one(numbers: list[int], pages: Sequence[Text]) -> list[int]:
    total = max((_number(page.metadata.get("total_pages")) or 0 for page in pages), default=0)
    return [number + 1 for number in numbers] if 0 in numbers or max(numbers) < total else numbers


def _number(value: object) -> int | None:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    return int(value) if isinstance(value, str) and value.isascii() and value.isdigit() else None


def _joined(source: str, pages: Sequence[tuple[int, int]], texts: Sequence[Text]) -> Joined:
    given = [texts[index] for _, index in pages]
    shared = _shared(given)
    text, starts = join_pages([page.text for page in given])
    own = [
        {
            "page": number,
            "start": start,
            "metadata": {key: value for key, value in page.metadata.items() if key not in shared},
        }
        for (number, _), start, page in zip(pages, starts, given, strict=True)
    ]
    first = pages[0][0]
    source_id = source if first <= 1 else f"{source}#page={first}"
    return Joined(source_id, text, {**shared, PAGES: own}, tuple(index for _, index in pages))


def _shared(texts: Sequence[Text]) -> dict[str, Any]:
    """Return the metadata that all of some texts have."""
    return {
        key: value
        for key, value in texts[0].metadata.items()
        if all(key in text.metadata and text.metadata[key] == value for text in texts)
    }


def _of_elements(source: str, indices: Sequence[int], texts: Sequence[Text]) -> Joined:
    given = [texts[index] for index in indices]
    text, starts = join_pages([_marked(element) for element in given])
    numbers = [_number(element.metadata.get("page_number")) for element in given]
    pages, last = list[dict[str, Any]](), 0
    for number, start in zip(numbers, starts, strict=True):
        if number is not None and number > last:
            pages.append({"page": number, "start": start if pages else 0, "metadata": {"page_number": number}})
            last = number
    shared = {key: value for key, value in _shared(given).items() if key not in (*_ELEMENT, "page_number")}
    source_id = f"{source}#{given[0].metadata['element_id']}"
    return Joined(source_id, text, {**shared, **({PAGES: pages} if pages else {})}, tuple(indices))


def _marked(element: Text) -> str:
    """Return an element as Markdown."""
    category = element.metadata["category"]
    if category == "Title":
        level = min(_number(element.metadata.get("category_depth")) or 0, 5) + 1
        return f"{'#' * level} {' '.join(element.text.split())}"
    return f"- {element.text}" if category == "ListItem" else element.text


def _from_docling(text: Text, index: int) -> Joined:
    with needs("docling"):
        from docling_core.types.doc import DoclingDocument
    try:
        document = DoclingDocument.model_validate_json(text.text)
    except ValueError as error:
        rule = f"must be the whole JSON of a Docling document ({error})"
        raise InvalidParameterError("documents", rule, text.text, "Export it again.") from error
    fields = of_docling(document, None)
    pages = [{"page": number, "start": start, "metadata": {}} for number, start in enumerate(fields.pages, 1)]
    metadata = {**fields.metadata, **text.metadata, **({PAGES: pages} if pages else {})}
    return Joined(None, fields.text, metadata, (index,))
