"""Plain text, logs and source code, as they are.

Python's own tokenizer finds the classes and functions of a Python program, the grammars of tree-sitter those of others.
Without the extra `code`, and for languages without a grammar, source code has no outline.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import partial
from importlib.util import find_spec
from pathlib import Path

from kinsplit.kinds import CODE
from kinsplit.loaders.content import Content, Format, Reading
from kinsplit.loaders.decoding import clean, decode
from kinsplit.loaders.markup.headings import plain_headings
from kinsplit.text.outlines import LARGEST, outline_of


def read_text(data: bytes) -> Reading:
    """Return the text of a plain text file."""
    text, warnings = decode(data)
    return Reading((Content(text, headings=plain_headings(clean(text).text)),), warnings)


TEXT = Format("text", (".txt", ".text", ".rst"), "plain text, as it is", read_text)


def read_log(data: bytes) -> Reading:
    """Return the text of a log."""
    text, warnings = decode(data)
    return Reading((Content(text, kind="records"),), warnings)


LOG = Format("text", (".log",), "plain text, as it is", read_log)


#: Suffixes of source code other than Python.
CODE_SUFFIXES = frozenset(suffix for name, suffixes in CODE.items() if name != "python" for suffix in suffixes)
# The rule of Python's own tokenizer, which editors follow for every language.
_CODING = re.compile(rb"(?:[^\n]*\n)?[^\n]*coding[:=][ \t]*([-\w.]+)")


def read_code(data: bytes, language: str = "") -> Reading:
    """Return the text of a source file with its outline."""
    coding = _CODING.match(data[:1000])
    text, warnings = decode(data, coding[1].decode("ascii", "replace") if coding else None)
    # The tokenizer of Python 3.12 stops at characters that are removed from the document anyway.
    parts = outline_of(clean(text).text, language)
    if parts is None:
        long = f"has more than {LARGEST:,} characters; it is split without regard to its functions"
        slow = "is split without regard to its functions, which took too long to find"
        warnings = (*warnings, long if len(text) > LARGEST else slow)
    return Reading((Content(text, outline=parts or (), kind="code"),), warnings)


def missing_outlines(paths: Iterable[Path]) -> str | None:
    """Return what to tell about source files that have no outline, since the grammars are not installed, or None."""
    outlined = CODE_SUFFIXES.difference(CODE[""])
    if find_spec("tree_sitter") is not None or not (count := sum(path.suffix.lower() in outlined for path in paths)):
        return None
    what = "1 file of source code is" if count == 1 else f"{count:,} files of source code are"
    return f'{what} split without regard to functions. To change that: pip install "kinsplit[code]"'


_CODE = "source code, as it is"
_DESCRIPTIONS = {"python": f"{_CODE}, outlined by its classes and functions", "": _CODE}
#: Python, the languages with a grammar, and the others.
CODE_FORMATS = tuple(
    Format(
        "code",
        CODE[name],
        _DESCRIPTIONS.get(name, f"{_CODE}, outlined by its functions"),
        partial(read_code, language=name),
    )
    for name in ("python", *(name for name in CODE if name != "python"))
)
