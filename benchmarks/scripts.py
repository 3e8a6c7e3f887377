"""Lengths of chunks in scripts that the bundled tokenizer doesn't know: `python benchmarks/scripts.py`.

BERT's tokenizer takes a whole phrase of Thai, Khmer or Burmese for one token, by which a chunk could be many pages.
"""

from __future__ import annotations

import json
import re
import sys
import warnings
from collections.abc import Mapping, Sequence

import numpy as np
import typer
from rich.console import Console
from rich.table import Table
from texts import SHARED_DATA

from kinsplit.chunk import Document
from kinsplit.embedding import create as embedder
from kinsplit.parsers import default_strategy
from kinsplit.tokenizers import UnknownScriptWarning, resolve

#: Languages of the declaration of human rights, whose first article is repeated until it is a page or two.
LANGUAGES = ("English", "Amharic", "Burmese", "Khmer, Central", "Lao", "Thai")
_TIMES = 24
#: Tokenizers to count chunks with; a chunk's median is shown for each.
TOKENIZERS = ("bundled", "tiktoken:cl100k_base", "tiktoken:o200k_base")
#: Most characters of a chunk that is a passage and not a page.
LIMIT = 1000

app = typer.Typer(add_completion=False)
console = Console(width=None if sys.stdout.isatty() else 140)


@app.command()
def main() -> None:
    """Print the lengths of the default strategy's chunks in each language: the median, and the most."""
    warnings.simplefilter("ignore", UnknownScriptWarning)
    shown = Table(
        "text",
        "chunks",
        "characters",
        "most",
        *(spec.rpartition(":")[2] for spec in TOKENIZERS),
        "windows",
        "a passage",
    )
    for name, texts in languages().items():
        shown.add_row(name, *lengths(texts))
    console.print(shown)


def languages() -> Mapping[str, Sequence[str]]:
    """Return the texts by language."""
    articles = (SHARED_DATA / "robustness/text_odd/UDHR_first_article_all.txt").read_text(encoding="utf-8")
    found = {language: re.search(rf"^{language}\n(.+)$", articles, re.MULTILINE) for language in LANGUAGES}
    texts = {f"{language} (declaration)": [" ".join([m[1]] * _TIMES)] for language, m in found.items() if m}
    for language in ("th", "hi", "zh"):
        rows = (SHARED_DATA / "xquad" / language / "docs.jsonl").read_text(encoding="utf-8").splitlines()
        texts[f"xquad {language}"] = [json.loads(row)["text"] for row in rows]
    return texts


def lengths(texts: Sequence[str]) -> list[str]:
    """Return the cells of one language."""
    split = default_strategy().chunk_many([Document(str(n), text) for n, text in enumerate(texts)])
    chunks = [chunk.text for chunks in split for chunk in chunks]
    characters = np.array([len(chunk) for chunk in chunks])
    tokens = [f"{np.median(resolve(spec).count(chunks)):,.0f}" for spec in TOKENIZERS]
    windows = max(embedder("bundled").windows(chunks))
    cells = [f"{len(chunks):,}", f"{np.median(characters):,.0f}", f"{characters.max():,}", *tokens, str(windows)]
    return [*cells, "[green]yes[/]" if characters.max() <= LIMIT else "[red]no[/]"]


if __name__ == "__main__":
    app()
