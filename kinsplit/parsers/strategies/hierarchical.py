from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import pairwise
from typing import Annotated, Literal, NamedTuple, Self

import numpy as np
from pydantic import BeforeValidator, model_validator

from kinsplit.chunk import Document
from kinsplit.errors import LimitTooSmallError, require
from kinsplit.parsers.base import Cut, Levels, Measured, with_blocks
from kinsplit.parsers.packing.groups import Fits, UnitRun, group_units, pack
from kinsplit.parsers.packing.refine import Unit, ladder, refine
from kinsplit.parsers.parameters import Language, Size, Sizes
from kinsplit.parsers.units.builder import TextUnits, document_sections, text_units
from kinsplit.text.blocks import Section


class _Layer(NamedTuple):
    units: TextUnits
    edges: list[int]
    paths: list[tuple[str, ...] | None]


class HierarchicalStrategy(Measured):
    """Parents and children of whole sentences: small chunks to search, large chunks to read.

    Level 0 contains the children, level 1 their parents, and so on with one level per parent size. Items, rows,
    records, statements and fences count as sentences.

    Attributes:
        unit: Unit of all sizes.
        parent_size: Maximum size of a parent. Several descending sizes, at most 16, give several levels of parents.
        child_size: Maximum size of a child.
        children: How sentences longer than child_size are treated: cut ("limit"), or kept whole as a single child
            ("sentence"). No child exceeds the size of its parent.
        headings: Whether parents end at headings.

    Example:
        >>> from kinsplit import split
        >>> chunks = split("A b c. D e f. G h.", "hierarchical", parent_size=14, child_size=6)
        >>> [(chunk.level, chunk.text) for chunk in chunks]
        [(1, 'A b c. D e f.'), (1, 'G h.'), (0, 'A b c.'), (0, 'D e f.'), (0, 'G h.')]
        >>> text = "It rains today. We stay in."
        >>> chunks = split(text, "hierarchical", parent_size=40, child_size=8, children="sentence")
        >>> [chunk.text for chunk in chunks if chunk.level == 0]
        ['It rains today.', 'We stay in.']
    """

    name = "hierarchical"
    summary = "Parents and children of whole sentences, any depth"
    origin = "notebook (parents 1000, children 200 characters)"

    unit: Unit = "character"
    parent_size: Annotated[Sizes, BeforeValidator(lambda v: (v,) if isinstance(v, int) else v)] = (1000,)
    child_size: Size = 200
    children: Literal["limit", "sentence"] = "limit"
    headings: bool = False
    language: Language = "auto"

    @model_validator(mode="after")
    def _check(self) -> Self:
        sizes = (*self.parent_size, self.child_size)
        field = "child_size" if len(self.parent_size) == 1 else "parent_size"
        rule = f"must descend from the largest parent to the children ({', '.join(map(str, sizes))} doesn't)"
        descend = all(upper > lower for upper, lower in pairwise(sizes))
        require(descend, field, rule, getattr(self, field), "Lower child_size or raise parent_size.")
        return self

    @property
    def depth(self) -> int:
        """Number of levels of chunks: children, and parents of each size."""
        return 1 + len(self.parent_size)

    def _cut_outlined(self, documents: Sequence[Document]) -> list[Levels]:
        texts = [document.text for document in documents]
        sections = [document_sections(document) for document in documents]
        layers = [self._sentences(document, found) for document, found in zip(documents, sections, strict=True)]
        levels: list[Levels] = [[] for _ in texts]
        for size in (*self.parent_size, self.child_size):
            grouped, layers = self._descend(texts, layers, size)
            for found, text, blocks, cuts in zip(levels, texts, sections, grouped, strict=True):
                found.append(with_blocks(text, blocks, cuts))
        return [found[::-1] for found in levels]

    def _sentences(self, document: Document, found: Sequence[Section]) -> _Layer:
        units = text_units(document, self.language, found)
        if not self.headings or not found:
            return _Layer(units, [], [None])
        starts = [section.blocks[0].start for section in found[1:]]
        return _Layer(units, np.searchsorted(units.units.starts, starts).tolist(), [s.path for s in found])

    def _descend(
        self, texts: Sequence[str], layers: Sequence[_Layer], size: int
    ) -> tuple[list[list[Cut]], list[_Layer]]:
        """Pack units up to a size within the chunks of the level above; return the cuts, and the layers below."""
        # Sentences that fit into a parent stay whole.
        longest = self.parent_size[-1] if self.children == "sentence" and size == self.child_size else size
        rungs = ladder(self._ruler, longest, self.language)
        try:
            refined = refine(texts, [layer.units for layer in layers], self._ruler, longest, rungs)
        except LimitTooSmallError as error:
            raise error.of("child_size" if size == self.child_size else "parent_size") from None
        edges = [np.searchsorted(r.origin, layer.edges).tolist() for r, layer in zip(refined, layers, strict=True)]

        def grouping(i: int, fits: Fits | None) -> list[UnitRun]:
            return pack(refined[i].scale, size, levels=refined[i].levels, edges=edges[i], fits=fits)

        grouped = group_units(texts, refined, self._ruler, size, grouping)
        is_top = size == self.parent_size[0]
        cuts, below = [], []
        for groups, r, layer, ends in zip(grouped, refined, layers, edges, strict=True):
            stretch = [bisect_right(ends, g.run.first) for g in groups]
            paths = [layer.paths[n] for n in stretch]
            found = zip(groups, paths, stretch, strict=True)
            cuts.append([Cut((g.span,), path, g.tokens, None if is_top else n) for g, path, n in found])
            below.append(_Layer(r.text_units, [g.run.first for g in groups[1:]], paths))
        return cuts, below
