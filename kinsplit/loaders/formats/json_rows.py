"""JSON rows with `docid`, `title` and `text`, each a document.

`.jsonl` has one object per line; only a line feed ends a line, since U+2028 or U+0085 may occur inside a row. `.json`
has one object or a list of them; either suffix may have the other's form. `docid` and `text` are required strings,
`title` is optional, other fields become metadata. One broken row rejects the file: half a corpus would be worse than
none. A file without any `"docid"` has another purpose.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from functools import partial

from kinsplit.foreign import other_columns
from kinsplit.loaders.content import Content, ForeignError, Format, Reading, UnreadableError
from kinsplit.loaders.decoding import clean, decode

_SHAPE = 'Rows look like {"docid": "a1", "title": "optional", "text": "..."}.'


def _read(data: bytes, rows: Callable[[str], Iterable[tuple[str, object]]]) -> Reading:
    text, warnings = decode(data)
    try:
        return _reading(rows(text), warnings)
    except UnreadableError as error:
        if '"docid"' in text:
            raise
        raise ForeignError(str(error)) from error


def _rows(text: str) -> Iterator[tuple[str, object]]:
    if _is_lines(text):
        yield from _lines(text)
        return
    value = parse(text, "")
    if not isinstance(value, dict | list):
        raise UnreadableError(f"holds a JSON {_kind(value)}, not a row or a list of rows. {_SHAPE}")
    for number, row in enumerate([value] if isinstance(value, dict) else value, 1):
        yield f"row {number}", row


def _is_lines(text: str) -> bool:
    """Return whether a text has several values, as files of JSON Lines have under the wrong suffix."""
    try:
        _, end = json.JSONDecoder().raw_decode(text.lstrip())
    except (RecursionError, ValueError):
        return False
    return bool(text.lstrip()[end:].strip())


def _lines(text: str) -> Iterator[tuple[str, object]]:
    if text.lstrip().startswith("["):  # a list under the wrong suffix
        yield from _rows(text)
        return
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            yield f"line {number}", parse(line, f"line {number}: ")


def parse(text: str, where: str) -> object:
    """Return the value of JSON, or raise UnreadableError with its place in a file before the reason."""
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        at = f"column {error.colno}" if where else f"line {error.lineno}, column {error.colno}"
        raise UnreadableError(f"{where}is not valid JSON: {error.msg} at {at}.") from error
    except (RecursionError, ValueError) as error:  # nested too deeply, or a number with too many digits
        raise UnreadableError(f"{where}is JSON that can't be read: {error}.") from error


def _reading(rows: Iterable[tuple[str, object]], warnings: tuple[str, ...]) -> Reading:
    contents: dict[str, Content] = {}
    places: dict[str, str] = {}
    for where, row in rows:
        content, docid = _content(where, row)
        if docid in contents:
            raise UnreadableError(f"{where}: docid {docid!r} is also in {places[docid]}. Give every row its own.")
        contents[docid], places[docid] = content, where
    if not contents:
        warnings = (*warnings, "holds no rows")
    return Reading(tuple(contents.values()), warnings)


def _content(where: str, row: object) -> tuple[Content, str]:
    if not isinstance(row, dict):
        raise UnreadableError(f"{where}: is a JSON {_kind(row)}, not a row. {_SHAPE}")
    for name in ("docid", "text"):
        if name not in row:
            raise UnreadableError(f"{where}: {name} is missing. {_SHAPE}")
    docid, text, title = row["docid"], row["text"], row.get("title")
    if not isinstance(docid, str) or not docid.strip() or clean(docid).warnings:
        raise UnreadableError(f"{where}: docid must be a string of visible text (got {_shown(docid)}).")
    if not isinstance(text, str):
        raise UnreadableError(f"{where}: text must be a string (got {_shown(text)}).")
    if not isinstance(title, str | None):
        raise UnreadableError(f"{where}: title must be a string (got {_shown(title)}).")
    return Content(text, title, docid, metadata=other_columns(row, ("docid", "text", "title"))), docid


def _kind(value: object) -> str:
    return {dict: "object", list: "list", str: "string", bool: "boolean", type(None): "null"}.get(type(value), "number")


def _shown(value: object) -> str:
    shown = ascii(value)
    return shown if len(shown) <= 60 else f"{shown[:57]}..."


JSON = Format("json", (".json",), "a row, or a list of rows, with docid, title and text", partial(_read, rows=_rows))
JSONL = Format(
    "json", (".jsonl", ".ndjson"), "a row with docid, title and text on every line", partial(_read, rows=_lines)
)
