"""Registry of formats by reader, which the CLI and the docs list.

A reader is a set of formats under a name. The reader `kinsplit` is the formats of this package. Others come from
packages with an entry point of the group `kinsplit.readers`, whose name is the reader's and whose value is a `Format`
or several:

```toml
[project.entry-points."kinsplit.readers"]
ledger = "my_package.ledger:FORMAT"
```

A suffix that several readers know is read by the first of these: the readers that the caller names, in that order;
`kinsplit`; those of other packages by name. The readers in `ON_REQUEST` read files only if the caller names them. A
package with a broken entry point is named in a warning, and the others are used.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path, PurePath
from typing import Any

from kinsplit.errors import InvalidParameterError, KinsplitWarning
from kinsplit.loaders.content import Format
from kinsplit.loaders.formats import (
    csv_rows,
    epub,
    html,
    json_rows,
    mail,
    markdown,
    notebook,
    pdf,
    plain,
    rich_text,
    slides,
    spreadsheets,
    transcript,
    word,
)
from kinsplit.registry import Registry, several

#: The formats of this package, in the order of lists.
FORMATS: tuple[Format, ...] = (
    *(
        plain.TEXT,
        plain.LOG,
        markdown.FORMAT,
        html.FORMAT,
        *plain.CODE_FORMATS,
        pdf.FORMAT,
        slides.FORMAT,
        word.FORMAT,
    ),
    *(
        rich_text.FORMAT,
        epub.FORMAT,
        spreadsheets.SPREADSHEET,
        csv_rows.CSV,
        csv_rows.TSV,
        mail.MAIL,
        mail.MAILBOX,
        transcript.SRT,
    ),
    *(transcript.VTT, notebook.FORMAT, json_rows.JSON, json_rows.JSONL),
)
#: The readers that read files only if the caller names them, since each reads what another one reads too.
ON_REQUEST = ("docling", "markitdown", "trafilatura")


class ReaderWarning(KinsplitWarning):
    """Files could be read in another way: by several readers, or with a package that isn't installed."""


def _adopt(name: str, part: Any) -> tuple[Format, ...]:
    formats = several(Format)(name, part)
    for suffix in (suffix for fmt in formats for suffix in fmt.suffixes):
        if suffix != Path(f"a{suffix}").suffix.lower():
            raise ValueError(f"{suffix!r} is not a suffix in lower case with its dot")
    return tuple(replace(fmt, reader=name) for fmt in formats)


_OWN = {"kinsplit": "kinsplit.loaders.registry:FORMATS"} | {
    name: f"kinsplit.loaders.formats.on_request:{name.upper()}" for name in ON_REQUEST
}
#: The readers by name; those of other packages are entry points of the group `kinsplit.readers`.
READERS: Registry[tuple[Format, ...]] = Registry("readers", "readers", _OWN, _adopt)


@functools.lru_cache(maxsize=1)
def readers() -> dict[str, tuple[Format, ...]]:
    """Return the formats of every reader by its name, in order of precedence."""
    found = READERS.load_all()
    _warn_of_rivals(found)
    return found


def format_of(path: PurePath, preferred: Sequence[str] = ()) -> Format | None:
    """Return the format of a file by its suffix, or None for an unknown one; preferred readers go before the others.

    Raises:
        InvalidParameterError: No reader has one of the names.
    """
    by_reader = readers()
    check_readers(preferred)
    suffix = path.suffix.lower()
    order = dict.fromkeys((*preferred, *_usual()))
    return next((fmt for name in order for fmt in by_reader[name] if suffix in fmt.suffixes), None)


def check_readers(names: Iterable[str]) -> None:
    """Raise InvalidParameterError unless there are readers of these names."""
    for name in names:
        if name not in readers():
            rule = f"must be one of {', '.join(readers())}"
            raise InvalidParameterError("readers", rule, name, "Check the spelling, or install its package.")


def known() -> str:
    """Return the known suffixes for errors, with only the number of those of source code other than Python."""
    others = sorted(set(suffixes()).difference(plain.CODE_SUFFIXES))
    return f"{', '.join(others)} and {len(plain.CODE_SUFFIXES)} of source code"


def suffixes() -> tuple[str, ...]:
    """Return every known suffix, sorted."""
    return tuple(sorted({suffix for name in _usual() for fmt in readers()[name] for suffix in fmt.suffixes}))


def _usual() -> list[str]:
    """Return the names of the readers that read files without being named."""
    return [name for name in readers() if name not in ON_REQUEST]


def _warn_of_rivals(found: dict[str, tuple[Format, ...]]) -> None:
    """Warn of suffixes that two readers of other packages know."""
    first: dict[str, str] = {}
    others = [name for name in found if found[name] is not FORMATS and name not in ON_REQUEST]
    for reader, suffix in ((name, suffix) for name in others for fmt in found[name] for suffix in fmt.suffixes):
        owner = first.setdefault(suffix, reader)
        if owner != reader:
            message = f"The readers {owner!r} and {reader!r} both read {suffix} files, and {owner!r} does so unless"
            warnings.warn(ReaderWarning(f"{message} {reader!r} is named."), stacklevel=3)
