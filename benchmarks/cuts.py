"""Cuts inside what is whole, of kinsplit's strategies and other libraries' splitters: `python benchmarks/cuts.py`.

It prints a page of Markdown; `--output docs/cuts.md` writes it there.
"""

from __future__ import annotations

import re
import sys
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer
from cut_corpora import Corpora, corpora

from kinsplit.chunk import Document
from kinsplit.errors import KinsplitError
from kinsplit.evaluation.splitters.foreign import UnlocatedWarning
from kinsplit.evaluation.splitters.specs import LabelledStrategy, from_spec
from kinsplit.evaluation.statistics import Cuts, count_cuts
from kinsplit.parsers.packing.refine import Limit, Ruler
from kinsplit.tokenizers import resolve

#: Limit of all chunks in tokens.
SIZE = 160
_SIZES = f"chunk_size={SIZE},chunk_overlap=0"
#: Strategies, and splitters of other libraries, all with the same limit and tokenizer, without overlap.
SPECS = (
    "default=default",
    f"sentence=sentence:chunk_size={SIZE},chunk_overlap=0",
    f"structure=structure:unit=token,chunk_size={SIZE}",
    f"hierarchical=hierarchical:unit=token,parent_size={4 * SIZE},child_size={SIZE}",
    f"semantic=semantic:unit=token,chunk_size={SIZE},embedder=hash",
    f"cluster=cluster:chunk_size={SIZE},passage_size={SIZE},embedder=hash",
    f"llm, by rules=llm:model=none,unit=token,chunk_size={SIZE}",
    f"LangChain recursive=langchain:RecursiveCharacterTextSplitter:{_SIZES},length_function=tokens",
    f"LlamaIndex sentence=llama-index:SentenceSplitter:chunk_size={SIZE},chunk_overlap=0",
    "chonkie recursive=python:peers:chonkie_160",
    "semchunk=python:peers:semchunk_160",
    "docling hybrid=python:peers:docling_160",
)
# Modules without which functions of `peers` can't be called.
_NEEDED = {"chonkie": "chonkie", "semchunk": "semchunk", "docling": "docling.backend.md_backend"}
# A splitter that rewrites more of a text can't be judged there.
_MOST_LOST = 0.1

app = typer.Typer(add_completion=False)


@dataclass(frozen=True, slots=True)
class Counted:
    """Cuts of one splitter in one corpus."""

    cuts: Cuts
    fill: float  # Mean length of a chunk, as a share of the limit.


_INTRODUCTION = f"""# What splitters cut

See how often each splitter cuts inside a sentence, a row, a statement or a record.

Written by `python benchmarks/cuts.py --output docs/cuts.md`, which needs the extra `benchmarks` and `docling-slim`; a
library that is not installed is left out. All splitters have a limit of {SIZE} tokens, the same tokenizer and no
overlap, and get the same documents: articles of Wikipedia, contracts of [LegalBench-RAG](datasets.md), the pages of
this documentation, source code of kinsplit in Python and JavaScript, and generated texts of some hundred items, rows,
records or fences. The contracts and articles are not part of the project; `benchmarks/README.md` says where they are
looked for.

Their chunks are judged alike, by the spans of their texts in the document ([cuts](evaluation.md#cuts)). For your own
documents, `kinsplit stats` makes such tables. – stands for a splitter that rewrites so much of a text that its chunks
can't be found there.

## Cuts that tear what would fit

Percentage of all cuts that are inside a sentence, an item, a row or another record, a statement, a line of code or a
fence that would fit into a chunk by itself.
"""
_FILL = """
## Filled chunks

Mean length of a chunk, in percent of the limit.
"""
_KINDS = """
## What is torn

Number of cuts inside what would fit into a chunk by itself, in all documents together; and of the chunks that end
with the number of what follows (`2.1.`), or begin with a mark that closes what precedes (`[1]`). Splitters that
rewrite some texts have fewer chunks to count.
"""


@app.command()
def main(
    only: Annotated[str, typer.Option(help="Split only corpora whose name contains this.")] = "",
    output: Annotated[Path | None, typer.Option(help="Write the tables here, too.")] = None,
) -> None:
    """Count the cuts of all splitters in all corpora."""
    found = {name: documents for name, documents in corpora().items() if only in name}
    text = page({each.label: _counted(each, found) for each in available()}, list(found))
    print(text)
    if output is not None:
        output.write_text(text, encoding="utf-8")


def page(counted: Mapping[str, Mapping[str, Counted]], names: Sequence[str]) -> str:
    """Return the page, given the counts by splitter and corpus."""
    torn = {label: {name: _share(one.cuts) for name, one in own.items()} for label, own in counted.items()}
    fill = {label: {name: f"{100 * one.fill:.0f}" for name, one in own.items()} for label, own in counted.items()}
    whole = {label: sum((one.cuts for one in own.values()), Cuts()) for label, own in counted.items()}
    kinds = {label: {name: f"{number:,}" for name, number in _numbers(cuts)} for label, cuts in whole.items()}
    rows = ["cuts", *_TORN, "number at the end", "mark at the start"]
    tables = (_table(torn, names), _FILL, _table(fill, names), _KINDS, _table(kinds, rows))
    return "\n".join((_INTRODUCTION, *tables)) + "\n"


_TORN = ("sentence", "item", "row", "statement", "line", "fence")


def _share(cuts: Cuts) -> str:
    torn = cuts.inside["torn"].avoidable or 0
    share = 100 * torn / max(1, cuts.places)
    return "**0**" if not torn else "< 1" if share < 1 else f"{share:.0f}"


def _numbers(cuts: Cuts) -> Iterator[tuple[str, int]]:
    yield "cuts", cuts.places
    yield from ((name, cuts.inside[name].avoidable or 0) for name in _TORN)
    yield "number at the end", cuts.enumerators
    yield "mark at the start", cuts.marks


def _table(columns: Mapping[str, Mapping[str, str]], names: Sequence[str]) -> str:
    """Return a table with a column for each splitter and a row for each name."""
    rows = (f"| {name} | {' | '.join(own.get(name, '–') for own in columns.values())} |" for name in names)
    return "\n".join((f"| | {' | '.join(columns)} |", "|---|" + "---:|" * len(columns), *rows))


def available() -> Iterator[LabelledStrategy]:
    """Yield the strategies whose libraries are installed."""
    for spec in SPECS:
        try:
            if module := _NEEDED.get(re.split(r"\W", spec)[0]):
                import_module(module)
            yield from_spec(spec)
        except (KinsplitError, ImportError) as error:
            print(f"{spec.partition('=')[0]} is left out: {error}", file=sys.stderr)


def _counted(splitter: LabelledStrategy, found: Corpora) -> dict[str, Counted]:
    counted = {}
    for name, documents in found.items():
        with warnings.catch_warnings(record=True) as raised:
            warnings.simplefilter("always", UnlocatedWarning)
            one = count(splitter.strategy, documents)
        lost = sum(each.message.lost for each in raised if isinstance(each.message, UnlocatedWarning))
        total = sum(each.message.total for each in raised if isinstance(each.message, UnlocatedWarning))
        if not lost or lost <= _MOST_LOST * total:
            counted[name] = one
    return counted


def count(strategy: Any, documents: list[Document]) -> Counted:
    """Count the cuts of a strategy's leaves."""
    limit = Limit(SIZE, Ruler("token", resolve("bundled")))
    cuts, texts = Cuts(), list[str]()
    for document, chunks in zip(documents, strategy.chunk_many(documents), strict=True):
        leaves = [chunk for chunk in chunks if chunk.level == 0]
        cuts += count_cuts(document, [chunk.spans for chunk in leaves], limit)
        texts += [chunk.text for chunk in leaves]
    return Counted(cuts, float(limit.ruler.tokenizer.count(texts).mean()) / SIZE if texts else 0)


if __name__ == "__main__":
    app()
