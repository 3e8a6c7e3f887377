"""The markup of a text, recognised by its document, and what a text from the middle of one needs before it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Literal
from urllib.parse import urlsplit

from markdown_it import MarkdownIt
from markdown_it.rules_core import StateCore
from pygments.lexers import find_lexer_class_by_name, find_lexer_class_for_filename
from pygments.util import ClassNotFound

Kind = Literal["markdown", "code", "text"]

#: Markup that loaders write, by `file_type`; all others write plain text.
MARKUP: Mapping[str, Literal["markdown", "code"]] = {
    "code": "code",
    **dict.fromkeys(("epub", "html", "markdown", "notebook", "slides", "spreadsheet", "table", "word"), "markdown"),
}
#: Schemes of the links that are kept.
SCHEMES = frozenset({"http", "https", "mailto"})
_SUFFIXES = (".md", ".markdown")
_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})[ \t]*(\S*)", re.MULTILINE)
_ROW = re.compile(r"[ \t]*\|.*\|[ \t]*")
_DELIMITERS = re.compile(r"[ \t]*(?:\|[ \t]*)?(?::?-+:?[ \t]*\|[ \t]*)+(?::?-+:?[ \t]*)?\r?")


def kind_of(source_id: str, metadata: Mapping[str, Any]) -> Kind:
    """Return the markup of a document: that of its format, or else of its id's suffix."""
    file_type = metadata.get("file_type")
    if file_type is None:
        return "markdown" if source_id.lower().endswith(_SUFFIXES) else "text"
    return MARKUP.get(file_type, "text")


def opening(text: str, header: str) -> str:
    """Return the source without which a part of a Markdown document would be read as something else.

    The header is that of the table in which the text begins, if it is known.
    """
    if _begins_in_fence(text):
        return "```\n"
    rows = text.split("\n", 2)
    if _ROW.fullmatch(rows[0].rstrip("\r")) and not any(map(_DELIMITERS.fullmatch, rows[:2])):
        if _DELIMITERS.fullmatch(header.rpartition("\n")[2]):
            return f"{header}\n"
        cells = rows[0].strip().strip("|").count("|") + 1
        return f"|{' |' * cells}\n|{'---|' * cells}\n"
    return ""


def _begins_in_fence(text: str) -> bool:
    """Return whether the first fence in a text ends code that began before it."""
    fences = list(_FENCE.finditer(text))
    if not fences or fences[0][2]:
        return False
    if any(fence[2] for fence in fences[1::2]):  # Where code would end, other code begins.
        return True
    first = fences[0]
    before, after = text[: first.start()], text[first.end() :]
    is_after_code = not before.endswith("\n\n") and bool(before.strip())
    return len(fences) % 2 == 1 and is_after_code and (not after.strip() or after.startswith(("\n\n", "\r\n\r\n")))


def leads_away(link: Mapping[str, Any]) -> bool:
    """Return whether a link leads to another site; only its document's folder tells what a relative one means."""
    try:
        return urlsplit(str(link.get("href", ""))).scheme.lower() in SCHEMES
    except ValueError:
        return False


def lexer_of(name: str) -> Any | None:
    """Return the lexer of a language by its name or by the name of a file, or None for plain text."""
    find = find_lexer_class_for_filename if "." in name else find_lexer_class_by_name
    try:
        kind = find(name)
    except ClassNotFound:
        return None
    return None if kind is None or kind.name == "Text only" else kind(stripnl=False, ensurenl=False)


def parser() -> MarkdownIt:
    """Return a parser of CommonMark with tables and struck-out text, to which HTML is text and pictures are names."""
    made = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
    made.core.ruler.after("inline", "pictures", _name_pictures)
    return made


def _name_pictures(state: StateCore) -> None:
    for token in state.tokens:
        for child in token.children or ():
            if child.type == "image":
                child.type, child.tag, child.children = "text", "", None
                child.content = f"[picture: {child.content}]" if child.content else "[picture]"
