"""Documents of other libraries and rows of tables, as the fields of kinsplit's own.

The objects are read by their attributes, so that no other library is imported.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from kinsplit.errors import InvalidParameterError, require
from kinsplit.identity import text_id
from kinsplit.kinds import DocumentKind, kind_of, language_of
from kinsplit.spans import Part
from kinsplit.text.outlines import outline_of

# Between the pages of a Docling document.
_BLANK_LINE = "\n\n"

# Stands for a page break in Markdown from Docling. Its characters are for private use, so that no document has them.
_BREAK = "\ue0f0\ue0f1\ue0f0"


class Fields(NamedTuple):
    """Fields of `kinsplit.chunk.Document`, by their names there."""

    id: str
    text: str
    metadata: dict[str, Any]  # A copy of the metadata.
    pages: tuple[int, ...] = ()  # Offset of each page.
    kind: DocumentKind = ""  # What its lines are, as far as the metadata tell.
    outline: tuple[Part, ...] = ()  # Its classes and functions, if it is a program.


def structure_of(text: str, metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of `kinsplit.chunk.Document` about a text's structure that its metadata tell."""
    return {"kind": kind_of(metadata), "outline": outline_of(text, language_of(metadata)) or ()}


def of_langchain(document: Any) -> Fields:
    """Return the fields of a LangChain document; see `Document.from_langchain`."""
    _check(document, ("page_content", "metadata"), "a LangChain document")
    text, metadata = document.page_content, document.metadata
    known = getattr(document, "id", None)
    id_ = known or text_id(text, metadata.get("source", "text"))
    return Fields(id_, text, dict(metadata), **structure_of(text, metadata))


def of_llama_index(document: Any) -> Fields:
    """Return the fields of a LlamaIndex document or node; see `Document.from_llama_index`."""
    _check(document, ("node_id", "get_content", "metadata"), "a LlamaIndex document or node")
    text, metadata = document.get_content(), dict(document.metadata)
    return Fields(document.node_id, text, metadata, **structure_of(text, metadata))


def of_docling(document: Any, own_id: str | None) -> Fields:
    """Return the fields of a Docling document; see `Document.from_docling`."""
    _check(document, ("export_to_markdown", "iterate_items", "name", "pages"), "a DoclingDocument")
    markdown = document.export_to_markdown(
        page_break_placeholder=_BREAK, escape_underscores=False, escape_html=False, image_placeholder=""
    )
    parts = [part.strip("\n") for part in markdown.split(_BREAK)]
    metadata: dict[str, Any] = {"title": document.name}
    if document.origin is not None:
        metadata |= {"file_type": document.origin.mimetype, "file_path": document.origin.filename}
    return Fields(
        own_id or metadata.get("file_path") or document.name, _BLANK_LINE.join(parts), metadata, _pages(document, parts)
    )


def _pages(document: Any, parts: list[str]) -> tuple[int, ...]:
    """Return the offset of each page, or none for a document whose items don't tell their pages.

    Docling writes a page break wherever an item lies on a later page than all before; `parts` are the texts between
    these.
    """
    numbers: list[int] = []
    for item, _ in document.iterate_items():
        for place in getattr(item, "prov", [])[:1]:
            if not numbers or place.page_no > numbers[-1]:
                numbers.append(place.page_no)
    if len(numbers) != len(parts):
        return ()
    begins, at = {}, 0
    for number, part in zip(numbers, parts, strict=True):
        begins[number] = at
        at += len(part) + len(_BLANK_LINE)
    # A page without text begins where the next one does, and the last ones at the end.
    pages, following = [], at - len(_BLANK_LINE)
    for number in range(max([*document.pages, *numbers]), 0, -1):
        following = begins.get(number, following)
        pages.append(following)
    return tuple(reversed(pages))


def of_dataset(rows: Iterable[Mapping[str, Any]], text: str, own_id: str | None) -> Iterator[Fields]:
    """Yield the fields of each row of a table; see `Document.from_dataset`."""
    if isinstance(rows, Mapping):
        splits = ", ".join(map(repr, rows))
        raise InvalidParameterError("rows", "must be rows, not a mapping", type(rows), f"Pass one of {splits}.")
    return (_row(number, row, text, own_id) for number, row in enumerate(rows))


def _row(number: int, row: Mapping[str, Any], text: str, own_id: str | None) -> Fields:
    for field, column in (("text", text), ("id", own_id)):
        if column is not None and column not in row:
            remedy = f"Row {number} has: {', '.join(map(str, row))}."
            if field == "id":
                remedy += " Pass id=None to derive ids from the texts."
            raise InvalidParameterError(field, "must be a column", column, remedy)
    content = row[text]
    require(isinstance(content, str), f"rows[{number}][{text!r}]", "must be a text", content, "Filter such rows out.")
    metadata = other_columns(row, (text, own_id))
    id_ = text_id(content) if own_id is None else str(row[own_id])
    return Fields(id_, content, metadata, **structure_of(content, metadata))


def other_columns(row: Mapping[str, Any], columns: Collection[str | None]) -> dict[str, Any]:
    """Return the columns of a row that have no meaning of their own, which are the metadata of its document."""
    return {key: value for key, value in row.items() if key not in columns}


def _check(document: object, attributes: tuple[str, ...], kind: str) -> None:
    if not all(hasattr(document, attribute) for attribute in attributes):
        remedy = "Use the classmethod of kinsplit.Document for its library."
        raise InvalidParameterError("document", f"must be {kind}", document, remedy)
