"""What readers of files keep, and how fast they are: `PYTHONPATH=. python benchmarks/readers.py`.

It prints a page of Markdown; `--output docs/reader-comparison.md` writes it there. The files are those of the contract
suite in `tests/loaders/contract`.
"""

from __future__ import annotations

import logging
import time
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, NamedTuple

import typer
from reader_systems import LIBRARIES, ReaderSystem, installed

from tests.loaders.contract import blocks as b
from tests.loaders.contract import office_files, text_files
from tests.loaders.contract.checks import CHECKS, Check, Read

#: Builders of the formats that several systems read, in the order of the tables.
BUILDERS = (
    *(office_files.WORD, office_files.SLIDES, office_files.XLSX, office_files.ODS, office_files.PDF),
    *(text_files.HTML, text_files.EPUB, text_files.MAIL, text_files.MARKDOWN, text_files.NOTEBOOK),
    *(text_files.CSV, text_files.TSV, text_files.TEXT, text_files.VTT, text_files.RTF),
)
#: Rows of the contract that don't show in the text alone.
_BESIDE = frozenset({"pages, times, speakers", "extra fields", "left out"})

app = typer.Typer(add_completion=False)


class Tried(NamedTuple):
    """A check of a system with a file."""

    suffix: str
    check: Check
    kept: bool
    text: str


_INTRODUCTION = """# What readers keep

Compare what readers of files keep of a document: kinsplit's and those of other libraries.

Written by `PYTHONPATH=. python benchmarks/readers.py --output docs/reader-comparison.md`. The rows are those of
[the contract](readers.md); each number is how many of the checks a system keeps, of those in formats that it reads. All
get the same files, which the contract suite (`tests/loaders/contract`) builds with python-docx, python-pptx,
XlsxWriter, ReportLab and by hand, and each is called with the options that keep most:

- **MarkItDown**: the converter of the format, as the reader `markitdown` of kinsplit calls it.
- **docling**: the backends for formats other than PDF, with page headers, footers and notes; its Markdown without
  escapes. Its reader of PDFs needs models, which could not be had here.
- **Unstructured**: the partitioning function of the format, with speaker notes and attachments; titles become Markdown
  headings, and its HTML of tables is written with every value in its column. The model of spaCy by which it tells
  titles from other text could not be had here, so rules stand in its place. Its readers of PDFs need models, and those
  of e-books and RTF pandoc.

Any usual form is right: `10^5`, `10⁵` and `10<sup>5</sup>`; `☒` and `[x]`; a merged value once or in all of its places.
Not compared are pages, times and speakers, extra fields, and warnings of what was left out, since the others give them
in forms of their own, or not at all. The checks are those by which kinsplit's readers are tested, so its own column
says no more than that the tests pass.
"""
_BY_FORMAT = """
## By format

– stands for a format that a system doesn't read without models or other programs.
"""
_LOST = """
## What is not kept

"""
_SPEED = """
## Speed

Time to read a file, as a multiple of the time that the library below or beside it takes to give the bare values or
texts, in one run on one machine; smaller is faster.
"""


@app.command()
def main(
    output: Annotated[Path | None, typer.Option(help="Write the page here, too.")] = None,
    details: Annotated[bool, typer.Option(help="Print the text of every check that is not kept.")] = False,
    speed: Annotated[bool, typer.Option(help="Print the table of speed alone.")] = False,
) -> None:
    """Try all checks with all systems, and time them."""
    logging.disable(logging.CRITICAL)
    systems = installed()
    if speed:
        print(speed_table(systems))
        return
    tried = {system.name: list(try_all(system)) for system in systems}
    if details:
        for name, one in ((name, one) for name, all_of in tried.items() for one in all_of if not one.kept):
            print(f"--- {name} {one.suffix} {one.check.row}: {one.check.name}\n{one.text}")
    text = page(tried) + _SPEED + "\n" + speed_table(systems) + "\n"
    print(text)
    if output is not None:
        output.write_text(text, encoding="utf-8")


def try_all(system: ReaderSystem) -> Iterable[Tried]:
    """Yield the outcome of every check in the formats that a system reads."""
    for builder in (each for each in BUILDERS if system.reads(each.suffix)):
        for check in CHECKS:
            if check.row not in _BESIDE and builder.holds(check.blocks):
                read = _read(system, builder.suffix, builder.build(*check.blocks))
                yield Tried(builder.suffix, check, check.kept(read), read.text)


def _read(system: ReaderSystem, suffix: str, data: bytes) -> Read:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return system.read(suffix, data)
    except Exception as error:  # a file that a system can't read is one of which it keeps nothing
        return Read(f"{type(error).__name__}: {error}")


def page(tried: Mapping[str, Sequence[Tried]]) -> str:
    """Return the page, given the outcomes by system."""
    by_row = _table(tried, lambda one: one.check.row)
    by_format = _table(tried, lambda one: f"`{one.suffix}`")
    return f"{_INTRODUCTION}\n{by_row}\n{_BY_FORMAT}\n{by_format}\n{_LOST}{_lost(tried)}\n"


def _table(tried: Mapping[str, Sequence[Tried]], of: Callable[[Tried], str]) -> str:
    """Return a table of the checks that are kept, with a column for each system."""
    counts: dict[str, dict[str, list[bool]]] = defaultdict(lambda: defaultdict(list))
    for name, one in ((name, one) for name, all_of in tried.items() for one in all_of):
        counts[of(one)][name].append(one.kept)
    rows = (f"| {row} | {' | '.join(_of(own.get(name)) for name in tried)} |" for row, own in counts.items())
    return "\n".join((f"| | {' | '.join(tried)} |", "|---|" + "---:|" * len(tried), *rows))


def _of(kept: Sequence[bool] | None) -> str:
    return f"{sum(kept)} of {len(kept)}" if kept else "–"


def _lost(tried: Mapping[str, Sequence[Tried]]) -> str:
    lines = []
    for name, all_of in tried.items():
        lost: dict[str, list[str]] = defaultdict(list)
        for one in (one for one in all_of if not one.kept):
            lost[one.check.name].append(f"`{one.suffix}`")
        told = "; ".join(f"{check} ({' '.join(suffixes)})" for check, suffixes in lost.items())
        lines.append(f"- **{name}**: {told or 'nothing'}.")
    return "\n".join(lines)


# Speed

_PARAGRAPH = "The grey heron waits at the mill until the river brings a fish, and then it strikes without a sound. " * 3


def large_files() -> dict[str, bytes]:
    """Return a file of each format of which the library alone is timed."""
    rows = [["bird", "site", "count", "note"], *([f"heron {n}", "mill", str(n), "seen"] for n in range(5_000))]
    table, text = b.Table(rows), [b.Words(f"{n}. {_PARAGRAPH}") for n in range(400)]
    small = b.Table(rows[:40])
    lines = [b.Words("\n".join(_PARAGRAPH[at : at + 90] for at in range(0, 270, 90)))] * 12
    pages = [block for _ in range(40) for block in (*lines, b.Page())]
    mixed = [block for paragraph in text[:200] for block in (paragraph, small)]
    slides = [block for n in range(60) for block in (b.Heading(1, f"Slide {n}"), *text[:4])]
    return {
        ".xlsx": office_files.XLSX.build(table),
        ".csv": text_files.CSV.build(table),
        ".html": text_files.HTML.build(*mixed),
        ".eml": text_files.MAIL.build(*text, b.Attached("Seen at the mill")),
        ".docx": office_files.WORD.build(*text),
        ".pptx": office_files.SLIDES.build(*slides),
        ".pdf": office_files.PDF.build(*pages[:-1]),
    }


def speed_table(systems: Sequence[ReaderSystem], rounds: int = 3) -> str:
    """Return a table of times relative to the libraries', with kinsplit's in milliseconds."""
    rows = []
    for suffix, data in large_files().items():
        name, alone = LIBRARIES[suffix]
        calls = {system.name: _call(system, suffix, data) for system in systems if system.reads(suffix)}
        times = _times({name: lambda alone=alone, data=data: alone(data), **calls}, rounds)
        base = times.pop(name)
        ratios = (f"{times[each.name] / base:.1f}" if each.name in times else "–" for each in systems)
        rows.append(f"| `{suffix}` | {name}: {1000 * base:,.0f} ms | {' | '.join(ratios)} |")
    header = f"| file | library alone | {' | '.join(system.name for system in systems)} |"
    return "\n".join((header, "|---|---|" + "---:|" * len(systems), *rows))


def _call(system: ReaderSystem, suffix: str, data: bytes) -> Callable[[], object]:
    return lambda: _read(system, suffix, data)


def _times(calls: Mapping[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """Return the best time of each call, in interleaved rounds after one to warm up."""
    best = dict.fromkeys(calls, float("inf"))
    for number in range(rounds + 1):
        for name, call in calls.items():
            start = time.perf_counter()
            call()
            best[name] = min(best[name], time.perf_counter() - start) if number else best[name]
    return best


if __name__ == "__main__":
    app()
