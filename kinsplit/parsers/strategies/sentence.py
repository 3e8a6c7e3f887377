from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Self

from pydantic import model_validator

from kinsplit.chunk import Document
from kinsplit.errors import require
from kinsplit.parsers.base import Cut, Levels, Measured, with_blocks
from kinsplit.parsers.packing.groups import Fits, UnitRun, group_units, pack
from kinsplit.parsers.packing.refine import ladder, refine
from kinsplit.parsers.parameters import Language, Overlap, Size, check_below, share
from kinsplit.parsers.units.builder import TextUnits, document_sections, text_units
from kinsplit.text.blocks import Section


class SentenceStrategy(Measured):
    """Whole sentences, items, rows, records, statements and fences up to a maximum size, with overlap in whole ones.

    A chunk is filled with sentences rather than ended with a paragraph, but one that is half full ends with its
    section. A heading stays with what follows it. What exceeds the maximum by itself is cut at the best places within:
    an item at its sentences, a fence at its lines, a sentence at its clauses, then between words and graphemes.

    A quoted question such as `"Is it?" she asked.` is one sentence. If `max_sentences` or `overlap_sentences` count
    sentences, it is two, as in Punkt, and the sentences of an item count one by one.

    Attributes:
        chunk_size: Maximum size of a chunk, in `unit`.
        chunk_overlap: Maximum overlap with the previous chunk, in `unit`. Default: a fifth of chunk_size.
        overlap_sentences: Overlap in sentences, instead of chunk_overlap.
        max_sentences: Maximum sentences per chunk.

    Example:
        >>> from kinsplit import split
        >>> [chunk.text for chunk in split("One two. Three. Four five six.", unit="word", chunk_size=3)]
        ['One two. Three.', 'Four five six.']
    """

    name = "sentence"
    summary = "Whole sentences up to a maximum size, with overlap"
    origin = "course search (500 tokens, overlap 100); 10-K search counts words"

    chunk_size: Size = 500
    chunk_overlap: Overlap = 100
    overlap_sentences: Overlap = 0
    max_sentences: Size | None = None
    language: Language = "auto"

    @model_validator(mode="before")
    @classmethod
    def _fill(cls, data: dict[str, Any]) -> dict[str, Any]:
        if data.get("overlap_sentences") or data.get("max_sentences") == 1:
            return {"chunk_overlap": 0, **data}
        return {**data, "chunk_overlap": share(data, "chunk_overlap", "chunk_size", 500, 5)}

    @model_validator(mode="after")
    def _check(self) -> Self:
        check_below("chunk_overlap", self.chunk_overlap, "chunk_size", self.chunk_size)
        rule, count = "can't be combined with chunk_overlap", self.overlap_sentences
        require(not (count and self.chunk_overlap), "overlap_sentences", rule, count, "Give one of them.")
        if self.max_sentences is not None:
            check_below("overlap_sentences", self.overlap_sentences, "max_sentences", self.max_sentences)
        return self

    def _cut_outlined(self, documents: Sequence[Document]) -> list[Levels]:
        texts = [document.text for document in documents]
        counted = bool(self.max_sentences or self.overlap_sentences)
        rungs = ladder(self._ruler, self.chunk_size, self.language)
        found: list[list[Section]] = []

        def units() -> Iterator[TextUnits]:
            for document in documents:
                found.append(document_sections(document))
                joined = {"join_speech": not counted, "join_items": not counted}
                yield text_units(document, self.language, found[-1], **joined)

        refined = refine(texts, units(), self._ruler, self.chunk_size, rungs)

        def grouping(i: int, fits: Fits | None) -> list[UnitRun]:
            own = refined[i]
            return pack(
                own.scale,
                self.chunk_size,
                self.chunk_overlap,
                levels=None if counted else own.levels,
                most=self.max_sentences,
                overlap_units=self.overlap_sentences,
                begins=own.begins.tolist(),
                fits=fits,
            )

        grouped = group_units(texts, refined, self._ruler, self.chunk_size, grouping)
        cuts = [[Cut((g.span,), tokens=g.tokens) for g in groups] for groups in grouped]
        return [[with_blocks(*of_one)] for of_one in zip(texts, found, cuts, strict=True)]
