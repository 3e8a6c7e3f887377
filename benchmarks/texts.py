"""Texts for the benchmarks: the five chroma corpora, or as much text made from the sample course."""

from __future__ import annotations

import functools
import json
import os
import random
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from kinsplit.chunk import Document

if TYPE_CHECKING:
    from langchain_core.documents import Document as LangChainDocument
    from llama_index.core.schema import Document as LlamaIndexDocument

ROOT = Path(__file__).resolve().parents[1]
SHARED_DATA = Path(os.environ.get("KINSPLIT_TEST_DATA", ROOT.parent / "shared" / "data"))

#: Number of characters of each chroma corpus, and of its stand-in.
SIZES = {"chatlogs": 40_000, "finance": 737_905, "pubmed": 500_000, "state_of_the_union": 48_051, "wikitexts": 118_372}


@dataclass(frozen=True)
class Corpus:
    """Texts by name, in the form that each library takes."""

    origin: str
    by_name: dict[str, str]

    @functools.cached_property
    def texts(self) -> list[str]:
        return list(self.by_name.values())

    @functools.cached_property
    def documents(self) -> list[Document]:
        return [Document(name, text) for name, text in self.by_name.items()]

    @functools.cached_property
    def llama_index(self) -> list[LlamaIndexDocument]:
        from llama_index.core.schema import Document as LlamaIndexDocument

        return [LlamaIndexDocument(id_=name, text=text) for name, text in self.by_name.items()]

    @functools.cached_property
    def langchain(self) -> list[LangChainDocument]:
        from langchain_core.documents import Document as LangChainDocument

        return [LangChainDocument(id=name, page_content=text) for name, text in self.by_name.items()]


def corpus() -> Corpus:
    """Return the chroma corpora if they are available, else their stand-in."""
    folder = SHARED_DATA / "chroma"
    if not folder.is_dir():
        return stand_in(f", because {folder} is absent")
    rows = {name: (folder / name / "docs.jsonl").read_text(encoding="utf-8") for name in SIZES}
    # Not splitlines, which also splits at separators that a text may contain.
    return Corpus(
        "the five chroma corpora", {name: json.loads(row.split("\n")[0])["text"] for name, row in rows.items()}
    )


def stand_in(reason: str = "", *, one_line: bool = False) -> Corpus:
    """Return texts of the same lengths, which every clone can make."""
    made = {name: prose(size, seed, one_line=one_line) for seed, (name, size) in enumerate(SIZES.items())}
    return Corpus(f"a stand-in made from the sample course{reason}", made)


def prose(size: int, seed: int = 0, *, one_line: bool = False) -> str:
    """Return Markdown of `size` characters: numbered sections of the sample course in a random, repeatable order.

    The sections are shared until they are joined, so that a large text needs little more memory than its own size.
    """
    found, choice = sections(one_line), random.Random(seed).choice
    gap = " " if one_line else "\n\n"
    pieces: list[str] = []
    left = size
    while left > 0:
        for piece in (f"## Section {len(pieces) // 3 + 1}: ", choice(found), gap):
            pieces.append(piece[:left])
            left -= len(pieces[-1])
    return "".join(pieces)


@functools.cache
def sections(one_line: bool) -> tuple[str, ...]:
    files = sorted((ROOT / "examples" / "course").glob("*.md"))
    texts = [file.read_text(encoding="utf-8") for file in files]
    sections = [section.strip() for text in texts for section in re.split(r"^## ", text, flags=re.MULTILINE)[1:]]
    return tuple(" ".join(s.split()) for s in sections) if one_line else tuple(sections)
