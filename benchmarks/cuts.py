"""Cuts inside what is whole, of kinsplit's strategies and of other libraries' splitters: `python benchmarks/cuts.py`.

It prints Markdown; the tables of docs/cuts.md are its output.
"""

from __future__ import annotations

import re
import sys
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer
from cut_corpora import Corpora, corpora

from kinsplit.chunk import Document
from kinsplit.errors import KinsplitError
from kinsplit.evaluation.cuts import Cuts, count_cuts
from kinsplit.evaluation.splitters.foreign import UnlocatedWarning
from kinsplit.evaluation.splitters.specs import LabelledStrategy, from_spec
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

    @property
    def shown(self) -> str:
        """Percentage of the cuts that tear what fits into a chunk, and fill."""
        torn = self.cuts.inside["torn"].avoidable or 0
        share = f"{100 * torn / max(1, self.cuts.places):.0f} %" if torn else "**0**"
        return f"{share} ({100 * self.fill:.0f})"


@app.command()
def main(
    only: Annotated[str, typer.Option(help="Split only corpora whose name contains this.")] = "",
    output: Annotated[Path | None, typer.Option(help="Write the tables here, too.")] = None,
) -> None:
    """Count the cuts of all splitters in all corpora."""
    found = {name: documents for name, documents in corpora().items() if only in name}
    counted = {each.label: _counted(each, found) for each in available()}
    text = "\n".join((*_by_corpus(counted, list(found)), "", *_by_kind(counted)))
    print(text)
    if output is not None:
        output.write_text(f"{text}\n", encoding="utf-8")


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


def _by_corpus(counted: Mapping[str, Mapping[str, Counted]], names: list[str]) -> Iterator[str]:
    yield f"| splitter | {' | '.join(names)} |"
    yield "|---|" + "---:|" * len(names)
    for label, own in counted.items():
        yield f"| {label} | {' | '.join(own[name].shown if name in own else '–' for name in names)} |"


def _by_kind(counted: Mapping[str, Mapping[str, Counted]]) -> Iterator[str]:
    kinds = ("sentence", "item", "row", "statement", "line", "fence")
    heads = ("splitter", "cuts", *(f"in a {kind}" for kind in kinds), "number at the end", "closing mark at the start")
    yield f"| {' | '.join(heads)} |"
    yield "|---|" + "---:|" * (len(heads) - 1)
    for label, own in counted.items():
        cuts = sum((each.cuts for each in own.values()), Cuts())
        cells = [f"{cuts.places:,}", *(f"{cuts.inside[kind].avoidable or 0:,}" for kind in kinds)]
        yield f"| {label} | {' | '.join([*cells, f'{cuts.enumerators:,}', f'{cuts.marks:,}'])} |"


if __name__ == "__main__":
    app()
