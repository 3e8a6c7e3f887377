"""Docstrings and signatures as the site shows them."""

from __future__ import annotations

import re
from typing import Any

import griffe

# Lines about what isn't in a signature: options that the site lists one by one, and arguments that nobody may give.
_LEFT_OUT = re.compile(r"\n +(?:\*\*options: See `|\*unnamed: )[^\n]*")


class Shown(griffe.Extension):
    """Griffe takes the singular `Example:` for the title of a note, and `*unnamed` only makes errors helpful."""

    def on_instance(self, *, obj: griffe.Object, **_: Any) -> None:
        """Change the docstring and the signature of an object."""
        if obj.docstring is not None:
            obj.docstring.value = obj.docstring.value.replace("\nExample:\n", "\nExamples:\n")
            obj.docstring.value = _LEFT_OUT.sub("", obj.docstring.value)
        if isinstance(obj, griffe.Function) and "unnamed" in obj.parameters:
            del obj.parameters["unnamed"]
