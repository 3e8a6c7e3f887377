"""References in the text of a Word document: fields, footnotes, endnotes and comments.

A field has a code, such as `REF figure_1`, and perhaps the result that Word shows.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from typing import Any

from kinsplit.loaders.archive import local_name
from kinsplit.loaders.content import LeftOut
from kinsplit.loaders.office.lists import in_form
from kinsplit.loaders.office.styles import W, is_attribute_on, is_on, number, value
from kinsplit.loaders.office.symbols import sign

#: Stands for a page number in page headers and footers; no XML can contain it.
PAGE = "\0"

_PAGE_KINDS = frozenset({"PAGE", "NUMPAGES", "SECTIONPAGES"})
# Fields that show nothing.
_SILENT = frozenset({"ADVANCE", "ASK", "FORMTEXT", "PRIVATE", "RD", "SET", "TA", "TC", "XE", ""})
_HIDDEN = re.compile(r"\\h\b")
_BUTTON = re.compile(r"\s*(?:MACROBUTTON|GOTOBUTTON)\s+\S+\s+(.*)", re.DOTALL | re.IGNORECASE)
_SYMBOL = re.compile(r"\s*SYMBOL\s+(\d{1,5})\s[^\\]*\\f\s+\"?([^\"\\]+)", re.IGNORECASE)


class _Field:
    def __init__(self, around: bool, form: str | None) -> None:
        self.code = ""
        self.form = form  # what is shown instead of a result
        self.around = around  # whether text around the field is muted
        self.is_muted = True
        self.has_result = False


class WordFields:
    """The open fields of a part of a document, whose marks stand among its text.

    Args:
        root: The part; a mark that begins a field without an end is ignored.
        left_out: Counts the fields whose result is not known.
        in_margin: Whether the part is a page header or footer, where every page number becomes `PAGE`.
    """

    def __init__(self, root: Any, left_out: LeftOut, *, in_margin: bool) -> None:
        self._left_out = left_out
        self._in_margin = in_margin
        self._closed = _closed(root)
        self._open: list[_Field] = []

    @property
    def is_muted(self) -> bool:
        """Whether text is not shown here, since it is part of a code."""
        return bool(self._open) and self._open[-1].is_muted

    def mark(self, element: Any) -> str:
        """Read a `w:fldChar`; return what is shown for a field that ends here beyond its result."""
        kind = element.get(f"{W}fldCharType")
        if kind == "begin" and element in self._closed:
            self._open.append(_Field(self.is_muted, _choice(element.find(f"{W}ffData"))))
        elif kind == "separate" and self._open:
            field = self._open[-1]
            field.has_result = True
            field.is_muted = field.around or field.form is not None or self.is_page(field.code)
        elif kind == "end" and self._open:
            field = self._open.pop()
            if field.form is not None:
                return field.form
            return PAGE if self.is_page(field.code) else "" if field.has_result else self._without_result(field.code)
        return ""

    def add_code(self, element: Any) -> None:
        """Read a `w:instrText`."""
        if self._open:
            self._open[-1].code += element.text or ""

    def is_page(self, code: str) -> bool:
        """Return whether a field is a page number in a page header or footer."""
        return self._in_margin and _kind(code) in _PAGE_KINDS

    def _without_result(self, code: str) -> str:
        if button := _BUTTON.match(code):
            return button[1].rstrip()
        if symbol := _SYMBOL.match(code):
            return sign(int(symbol[1]), symbol[2].strip(), self._left_out)
        if _kind(code) not in _SILENT and not _HIDDEN.search(code) and not self.is_muted:
            self._left_out.add("field without a stored result", "fields without a stored result")
        return ""


def _kind(code: str) -> str:
    return next(iter(code.split(maxsplit=1)), "").upper()


def _closed(root: Any) -> set[Any]:
    """Return the marks of a part that begin a field and have an end."""
    opened: list[Any] = []
    closed = set()
    for mark in root.iter(f"{W}fldChar"):
        kind = mark.get(f"{W}fldCharType")
        if kind == "begin":
            opened.append(mark)
        elif kind == "end" and opened:
            closed.add(opened.pop())
    return closed


def _choice(data: Any) -> str | None:
    """Return what a check box or a list to choose from shows, given its `w:ffData`; None for other fields."""
    box = None if data is None else data.find(f"{W}checkBox")
    if box is not None:
        return "☒" if is_on(box, "checked", is_on(box, "default")) else "☐"
    choice = None if data is None else data.find(f"{W}ddList")
    if choice is None:
        return None
    entries = [entry.get(f"{W}val", "") for entry in choice.findall(f"{W}listEntry")]
    at = number(choice, "result", number(choice, "default"))
    return entries[at] if 0 <= at < len(entries) else ""


_FORMS = {"footnote": "decimal", "endnote": "lowerRoman"}


class Notes:
    """The notes of a document, which the text refers to by marks.

    Args:
        part: Returns the root of the document's part of a kind, such as `footnotes`, or None.
    """

    def __init__(self, part: Callable[[str], Any]) -> None:
        self._part = part
        self._settings = part("settings")
        self._notes: dict[str, dict[str, Any]] = {}  # by kind and id
        self._labels: dict[tuple[str, str], str] = {}  # of the notes that the text refers to
        self._counts: Counter[str] = Counter()

    def refer(self, reference: Any) -> tuple[str, Any, str]:
        """Read a reference to a note.

        Returns:
            The label that is shown, which is empty for a comment and where the text has its own mark; the note's
            element, or None if the text referred to it before or it does not exist; and what its text begins with.
        """
        kind = local_name(reference).removesuffix("Reference")
        key = (kind, reference.get(f"{W}id", ""))
        if key in self._labels:
            return self._labels[key], None, ""
        has_own = kind == "comment" or is_attribute_on(reference, "customMarkFollows")
        self._labels[key] = "" if has_own else self._next_label(kind)
        note = self._of_kind(kind).get(key[1])
        if note is None or kind != "comment":
            return self._labels[key], note, "" if has_own else f"[{self._labels[key]}] "
        author = note.get(f"{W}author")
        return "", note, f"Comment by {author}: " if author else "Comment: "

    def _of_kind(self, kind: str) -> dict[str, Any]:
        if kind not in self._notes:
            root = self._part(f"{kind}s")
            self._notes[kind] = {note.get(f"{W}id", ""): note for note in (() if root is None else root)}
        return self._notes[kind]

    def _next_label(self, kind: str) -> str:
        properties = None if self._settings is None else self._settings.find(f"{W}{kind}Pr")
        self._counts[kind] += 1
        form = value(properties, "numFmt", _FORMS[kind])
        return in_form(self._counts[kind] - 1 + number(properties, "numStart", 1), form)
