"""Source code, unchanged, with its classes and functions as the outline.

Python's own tokenizer finds those of a Python program, the grammars of tree-sitter those of others. Without the extra
`code`, and for languages without a grammar, there is no outline.
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
from kinsplit.text.outlines import LARGEST, outline_of

#: Suffixes of source code other than Python.
SUFFIXES = frozenset(suffix for name, suffixes in CODE.items() if name != "python" for suffix in suffixes)
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
    outlined = SUFFIXES.difference(CODE[""])
    if find_spec("tree_sitter") is not None or not (count := sum(path.suffix.lower() in outlined for path in paths)):
        return None
    what = "1 file of source code is" if count == 1 else f"{count:,} files of source code are"
    return f'{what} split without regard to functions. To change that: pip install "kinsplit[code]"'


_PLAIN = "source code, as it is"
_DESCRIPTIONS = {"python": f"{_PLAIN}, outlined by its classes and functions", "": _PLAIN}
#: Python, the languages with a grammar, and the others.
FORMATS = tuple(
    Format(
        "code",
        CODE[name],
        _DESCRIPTIONS.get(name, f"{_PLAIN}, outlined by its functions"),
        partial(read_code, language=name),
    )
    for name in ("python", *(name for name in CODE if name != "python"))
)
