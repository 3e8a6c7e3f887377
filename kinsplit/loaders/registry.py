"""Registry of formats, which the CLI and the docs list."""

from __future__ import annotations

from pathlib import Path

from kinsplit.loaders.content import Format
from kinsplit.loaders.formats import (
    code,
    epub,
    html,
    json_rows,
    markdown,
    notebook,
    pdf,
    python_code,
    slides,
    text,
    transcript,
    word,
)

#: All formats, in the order of lists.
FORMATS: tuple[Format, ...] = (
    text.FORMAT,
    markdown.FORMAT,
    html.FORMAT,
    python_code.FORMAT,
    code.FORMAT,
    pdf.FORMAT,
    slides.FORMAT,
    word.FORMAT,
    epub.FORMAT,
    transcript.SRT,
    transcript.VTT,
    notebook.FORMAT,
    json_rows.JSON,
    json_rows.JSONL,
)
_BY_SUFFIX = {suffix: fmt for fmt in FORMATS for suffix in fmt.suffixes}


def format_of(path: Path) -> Format | None:
    """Return the format of a file by its suffix, or None for an unknown one."""
    return _BY_SUFFIX.get(path.suffix.lower())


def known() -> str:
    """Return the known suffixes for errors, with only the number of those of source code other than Python."""
    others = (suffix for fmt in FORMATS if fmt is not code.FORMAT for suffix in fmt.suffixes)
    return f"{', '.join(sorted(others))} and {len(code.SUFFIXES)} of source code"


def suffixes() -> tuple[str, ...]:
    """Return every known suffix, sorted."""
    return tuple(sorted(_BY_SUFFIX))
