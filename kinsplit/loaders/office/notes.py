"""Footnotes, endnotes and comments of Word documents."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

from kinsplit.loaders.archive import local_name
from kinsplit.loaders.office.lists import in_form
from kinsplit.loaders.office.styles import W, is_attribute_on, number, value

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
