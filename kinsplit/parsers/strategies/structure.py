from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Self

import numpy as np
from pydantic import model_validator

from kinsplit.chunk import Document
from kinsplit.parsers.base import Cut, Levels, Measured, with_blocks
from kinsplit.parsers.packing.groups import Fits, Group, UnitRun, group_units, merge
from kinsplit.parsers.packing.refine import Refined, Unit, ladder, refine
from kinsplit.parsers.parameters import Language, Overlap, Size, check_below, share
from kinsplit.parsers.units.builder import Level, TextUnits, block_units, document_sections
from kinsplit.text.blocks import Section


class StructureStrategy(Measured):
    r"""Paragraphs, lists, tables and code fences; short ones are merged, long ones split, never across a heading.

    Recognises Markdown, wiki headings and HTML headings; other text is split at paragraphs. Documents from files bring
    their headings with them. `context` is the heading path, followed by the table header for continued tables. Programs
    with an outline are split at functions instead.

    Attributes:
        unit: Unit of all sizes.
        chunk_size: Maximum size of a chunk, in `unit`.
        min_chunk_size: Size below which adjacent blocks are merged. Default: a quarter of chunk_size.

    Example:
        >>> from kinsplit import split
        >>> [(chunk.context, chunk.text) for chunk in split("# A\n\nOne.\n\n## B\n\nTwo.", "structure")]
        [('A', '# A\n\nOne.'), ('A > B', '## B\n\nTwo.')]
    """

    name = "structure"
    summary = "Paragraphs merged and split, never across a heading"
    origin = "rag_eval (128 to 512 words)"

    unit: Unit = "word"
    chunk_size: Size = 512
    min_chunk_size: Overlap = 128
    language: Language = "auto"

    @model_validator(mode="before")
    @classmethod
    def _fill(cls, data: dict[str, Any]) -> dict[str, Any]:
        return {**data, "min_chunk_size": share(data, "min_chunk_size", "chunk_size", 512, 4)}

    @model_validator(mode="after")
    def _check(self) -> Self:
        check_below("min_chunk_size", self.min_chunk_size, "chunk_size", self.chunk_size + 1)
        return self

    def _cut_outlined(self, documents: Sequence[Document]) -> list[Levels]:
        texts = [document.text for document in documents]
        found: list[list[Section]] = []

        def units() -> Iterator[TextUnits]:
            for document in documents:
                found.append(document_sections(document))
                yield block_units(document.text, found[-1])

        rungs = ladder(self._ruler, self.chunk_size, self.language)
        refined = refine(texts, units(), self._ruler, self.chunk_size, rungs, headed=True)
        edges = [_starts_of(s, r) for s, r in zip(found, refined, strict=True)]

        def grouping(i: int, fits: Fits | None) -> list[UnitRun]:
            own = refined[i]
            ends = np.flatnonzero(own.begins & (own.levels < Level.HEADING))[1:].tolist()
            limits = self.min_chunk_size, self.chunk_size
            return merge(own.scale, *limits, levels=own.levels, ends=ends, edges=edges[i], fits=fits)

        grouped = group_units(texts, refined, self._ruler, self.chunk_size, grouping)
        return [[_cuts(*of_one)] for of_one in zip(texts, grouped, found, refined, strict=True)]


def _starts_of(found: Sequence[Section], refined: Refined) -> list[int]:
    """Return the number of the first unit of each section except the first section."""
    firsts = np.cumsum([len(section.blocks) for section in found])[:-1]
    return np.searchsorted(refined.origin, firsts).tolist()  # type: ignore[no-any-return]


def _cuts(text: str, groups: Sequence[Group], found: Sequence[Section], refined: Refined) -> list[Cut]:
    paths = [section.path for section in found for _ in section.blocks]
    numbers = refined.origin[[group.run.first for group in groups]].tolist() if groups else []
    named = zip(groups, numbers, strict=True)
    return with_blocks(text, found, [Cut((g.span,), paths[number], g.tokens) for g, number in named])
