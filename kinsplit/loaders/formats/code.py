"""Source code, unchanged, with its classes and functions as the outline.

Grammars of tree-sitter find them, also in code with mistakes, as far as it can be understood. A part that begins on the
line of another one, as in minified code, is not listed by itself. Without the extra `code`, and for languages without a
grammar, there is no outline.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import partial
from importlib.util import find_spec
from pathlib import Path

from kinsplit.loaders.content import Content, Format, Reading
from kinsplit.loaders.decoding import clean, decode
from kinsplit.loaders.formats.code_outline import GRAMMARS, outline

SUFFIXES = (
    *(".ipy", ".r", ".jl", ".m"),
    *(".c", ".h", ".cc", ".cpp", ".cxx", ".hh", ".hpp", ".cu", ".rs", ".go", ".zig", ".asm", ".s"),
    *(".java", ".kt", ".kts", ".scala", ".groovy", ".clj", ".cs", ".fs", ".vb", ".swift", ".dart"),
    *(".js", ".mjs", ".cjs", ".jsx", ".ts", ".mts", ".cts", ".tsx", ".vue", ".svelte", ".css", ".scss"),
    *(".rb", ".php", ".pl", ".pm", ".lua", ".tcl", ".ex", ".exs", ".erl"),
    *(".hs", ".ml", ".mli", ".lisp", ".scm", ".rkt", ".el", ".pro"),
    *(".sh", ".bash", ".zsh", ".fish", ".ps1", ".sql", ".proto", ".sol"),
)
# The rule of Python's own tokenizer, which editors follow for every language.
_CODING = re.compile(rb"(?:[^\n]*\n)?[^\n]*coding[:=][ \t]*([-\w.]+)")
_LARGEST = 2**22  # code points; longer files are generated, and their outline would be of no use


def read(data: bytes) -> Reading:
    """Return the text of a source file."""
    coding = _CODING.match(data[:1000])
    text, warnings = decode(data, coding[1].decode("ascii", "replace") if coding else None)
    return Reading((Content(text),), warnings)


def read_outlined(data: bytes, language: str) -> Reading:
    """Return the text of a source file with its outline.

    Args:
        data: The file.
        language: Name of the language's grammar.
    """
    reading = read(data)
    (content,), warnings = reading.contents, reading.warnings
    if len(content.text) > _LARGEST:
        reason = f"has more than {_LARGEST:,} characters; it is split without regard to its functions"
        return Reading((content,), (*warnings, reason))
    if find_spec("tree_sitter") is None:  # `discover` tells so once.
        return reading
    parts = outline(clean(content.text).text, language)
    if parts is None:
        return Reading((content,), (*warnings, "is split without regard to its functions, which took too long to find"))
    return Reading((Content(content.text, outline=parts),), warnings)


def missing_outlines(paths: Iterable[Path]) -> str | None:
    """Return what to tell about source files that have no outline, since the grammars are not installed, or None."""
    outlined = {suffix for suffixes in GRAMMARS.values() for suffix in suffixes}
    if find_spec("tree_sitter") is not None or not (count := sum(path.suffix.lower() in outlined for path in paths)):
        return None
    what = "1 file of source code is" if count == 1 else f"{count:,} files of source code are"
    return f'{what} split without regard to functions. To change that: pip install "kinsplit[code]"'


def _format(suffixes: tuple[str, ...], read: Callable[[bytes], Reading], text: str) -> Format:
    return Format("code", suffixes, text, read)


#: The languages with a grammar, and the others.
FORMATS = (
    *(
        _format(suffixes, partial(read_outlined, language=language), "source code, as it is, outlined by its functions")
        for language, suffixes in GRAMMARS.items()
    ),
    _format(
        tuple(s for s in SUFFIXES if not any(s in known for known in GRAMMARS.values())), read, "source code, as it is"
    ),
)
