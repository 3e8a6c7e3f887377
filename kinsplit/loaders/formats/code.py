"""Source code, unchanged."""

from __future__ import annotations

import re

from kinsplit.loaders.content import Content, Format, Reading
from kinsplit.loaders.decoding import decode

SUFFIXES = (
    *(".ipy", ".r", ".jl", ".m"),
    *(".c", ".h", ".cc", ".cpp", ".cxx", ".hh", ".hpp", ".cu", ".rs", ".go", ".zig", ".asm", ".s"),
    *(".java", ".kt", ".kts", ".scala", ".groovy", ".clj", ".cs", ".fs", ".vb", ".swift", ".dart"),
    *(".js", ".mjs", ".cjs", ".jsx", ".ts", ".mts", ".tsx", ".vue", ".svelte", ".css", ".scss"),
    *(".rb", ".php", ".pl", ".pm", ".lua", ".tcl", ".ex", ".exs", ".erl"),
    *(".hs", ".ml", ".mli", ".lisp", ".scm", ".rkt", ".el", ".pro"),
    *(".sh", ".bash", ".zsh", ".fish", ".ps1", ".sql", ".proto", ".sol"),
)
# The rule of Python's own tokenizer, which editors follow for every language.
_CODING = re.compile(rb"(?:[^\n]*\n)?[^\n]*coding[:=][ \t]*([-\w.]+)")


def read(data: bytes) -> Reading:
    """Return the text of a source file."""
    coding = _CODING.match(data[:1000])
    text, warnings = decode(data, coding[1].decode("ascii", "replace") if coding else None)
    return Reading((Content(text),), warnings)


FORMAT = Format("code", SUFFIXES, "source code, as it is", read)
