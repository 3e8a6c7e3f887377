"""Docstrings as the site shows them: an `Example:` is code, as `Examples:` is."""

from __future__ import annotations

from typing import Any

import griffe


class ExamplesAsCode(griffe.Extension):
    """Griffe takes the singular for the title of a note."""

    def on_instance(self, *, obj: griffe.Object, **_: Any) -> None:
        """Rename the section of an object's docstring."""
        if obj.docstring is not None:
            obj.docstring.value = obj.docstring.value.replace("\nExample:\n", "\nExamples:\n")
