from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import pairwise
from typing import Annotated, Any, ClassVar, Self

import numpy as np
from pydantic import Field, model_validator

from kinsplit.chunk import SIMILARITY_GAP, Document
from kinsplit.embedding import resolve
from kinsplit.embedding.calibration import calibrate
from kinsplit.errors import require
from kinsplit.parsers.base import Cut, Levels, Measured, Strategy, with_blocks
from kinsplit.parsers.packing.groups import Fits, Group, UnitRun, group_units, repack
from kinsplit.parsers.packing.partition import partition, with_overlap
from kinsplit.parsers.packing.refine import Refined, Unit, ladder, refine, slices
from kinsplit.parsers.parameters import EmbedderField, Language, Overlap, Size, check_below
from kinsplit.parsers.similarity import THRESHOLDS, ThresholdKind, Vectors, coherence, gains, similarities, variance
from kinsplit.parsers.units.builder import Level, document_sections, text_units
from kinsplit.text.blocks import Section

#: Metadata key of the heading path at the start of a chunk.
SECTION = "section"

_ADAPTIVE = THRESHOLDS["adaptive"]
_METHODS = "; ".join(f"{kind}: {t.unit}, default {t.default:g}" for kind, t in THRESHOLDS.items())


class SemanticStrategy(Measured):
    """Whole sentences, split where the meaning changes.

    Each distinct sentence is embedded once; text that can only be one chunk is not embedded. The result is the best of
    all divisions within the limits. Items, rows, records, statements and fences count as sentences. A heading stays
    with the text that follows it. Metadata of a chunk: `similarity_gap`, 1 minus the cosine between its first sentence
    and the previous one, and `section`, the heading path at its start.

    Attributes:
        threshold_kind: Method that decides where to split.
        window: Sentences compared on each side of a gap, unless adaptive. Default: 1 for similarity, else 4.
        min_sentences: Minimum sentences per chunk, if the text has that many.
        max_sentences: Maximum sentences per chunk.
        overlap_sentences: Sentences repeated from the previous chunk, as far as chunk_size allows.
        unit: Unit of chunk_size.
        chunk_size: Maximum size of a chunk, in `unit`; longer sentences are cut.

    Example:
        >>> from kinsplit import split
        >>> text = "Cats purr. Cats purr. Stocks fell. Stocks fell."
        >>> [chunk.text for chunk in split(text, "semantic", embedder="hash", min_sentences=1)]
        ['Cats purr. Cats purr.', 'Stocks fell. Stocks fell.']
    """

    name = "semantic"
    summary = "Whole sentences, split where the meaning changes"
    origin = "notebook (similarity 0.75, 3 to 20 sentences); 10-K search (500 words); adaptive by benchmark"
    resources: ClassVar = {**Strategy.resources, "embedder": '"bundled", "static" or "st:NAME_OR_FOLDER"'}

    embedder: EmbedderField = "bundled"
    threshold_kind: ThresholdKind = "adaptive"
    threshold: Annotated[float, Field(strict=True)] = Field(
        default=_ADAPTIVE.default, description=f"Threshold of the method. {_METHODS}."
    )
    window: Size = _ADAPTIVE.window
    min_sentences: Size = 3
    max_sentences: Annotated[int, Field(gt=0, le=1000, strict=True)] = 20
    overlap_sentences: Overlap = 0
    unit: Unit = "word"
    chunk_size: Size = 500
    language: Language = "auto"

    @model_validator(mode="before")
    @classmethod
    def _fill(cls, data: dict[str, Any]) -> dict[str, Any]:
        kind = data.get("threshold_kind")
        of_kind = next((threshold for name, threshold in THRESHOLDS.items() if name == kind), _ADAPTIVE)
        derived = {"threshold": of_kind.default, "window": of_kind.window}
        return {**data, **{key: value for key, value in derived.items() if data.get(key) is None}}

    @model_validator(mode="after")
    def _check(self) -> Self:
        kind, allowed = self.threshold_kind, THRESHOLDS[self.threshold_kind]
        rule = f"must be {allowed.least:g} to {allowed.most:g} ({allowed.unit}) for {kind!r}"
        is_allowed = allowed.least <= self.threshold <= allowed.most
        require(is_allowed, "threshold", rule, self.threshold, f"The default is {allowed.default:g}.")
        is_used = kind != "adaptive" or self.window == allowed.window
        remedy = "Leave it out, or choose another threshold_kind."
        require(is_used, "window", "is not used by 'adaptive'", self.window, remedy)
        check_below("min_sentences", self.min_sentences, "max_sentences", self.max_sentences + 1)
        check_below("overlap_sentences", self.overlap_sentences, "max_sentences", self.max_sentences)
        return self

    def _cut_outlined(self, documents: Sequence[Document]) -> list[Levels]:
        texts = [document.text for document in documents]
        parts = [document_sections(document) for document in documents]
        of_one = zip(documents, parts, strict=True)
        units = (text_units(document, self.language, found) for document, found in of_one)
        rungs = ladder(self._ruler, self.chunk_size, self.language)
        refined = refine(texts, units, self._ruler, self.chunk_size, rungs)
        refined = repack(texts, refined, self._ruler, self.chunk_size)
        vectors = self._embed(texts, refined)
        barred = [
            np.repeat(np.arange(len(r.levels)), np.maximum(0, r.levels - Level.GRAPHEME)).tolist() for r in refined
        ]

        def grouping(i: int, fits: Fits | None) -> list[UnitRun]:
            return self._runs(refined[i], vectors[i], barred[i], fits)

        grouped = group_units(texts, refined, self._ruler, self.chunk_size, grouping)
        cuts = [_cuts(*of_one) for of_one in zip(grouped, vectors, refined, parts, strict=True)]
        return [[with_blocks(*of_one)] for of_one in zip(texts, parts, cuts, strict=True)]

    def _embed(self, texts: Sequence[str], refined: Sequence[Refined]) -> list[Vectors | None]:
        """Return the vectors of each text's units; None for a text with only one possible division."""
        pieces = [slices(t, r.units) if self._has_choice(r) else [] for t, r in zip(texts, refined, strict=True)]
        numbers: dict[str, int] = {}
        for piece in (piece for found in pieces for piece in found):
            numbers.setdefault(piece, len(numbers))
        if not numbers:
            return [None] * len(texts)
        embedded = resolve(self.embedder).embed(list(numbers))
        return [embedded[[numbers[piece] for piece in found]] if found else None for found in pieces]

    def _has_choice(self, refined: Refined) -> bool:
        number, (left, right) = len(refined.units.starts), refined.scale
        if number < 2:
            return False
        return number >= 2 * self.min_sentences or number > self.max_sentences or right[-1] - left[0] > self.chunk_size

    def _runs(
        self, refined: Refined, vectors: Vectors | None, barred: Sequence[int], fits: Fits | None
    ) -> list[UnitRun]:
        within, cut = None, np.zeros(max(0, len(refined.units.starts) - 1))
        if vectors is not None and self.threshold_kind == "adaptive":
            within = coherence(vectors, self.max_sentences)
            cut -= self.threshold * variance(vectors)
        elif vectors is not None:
            kind, threshold = self.threshold_kind, self.threshold
            if kind == "similarity":
                threshold = calibrate(resolve(self.embedder)).cosine(threshold, vectors)
            cut = gains(similarities(vectors, self.window), kind, threshold)
        scale, size, least, most = refined.scale, self.chunk_size, self.min_sentences, self.max_sentences
        runs = partition(scale, size, cut, least=least, most=most, coherence=within, barred=barred, fits=fits)
        return with_overlap(runs, self.overlap_sentences, scale, size, fits)


def _cuts(groups: Sequence[Group], vectors: Vectors | None, refined: Refined, found: Sequence[Section]) -> list[Cut]:
    begins = [section.blocks[0].start for section in found]
    cores = [0, *(before.run.stop for before, _ in pairwise(groups))]
    cuts = []
    for group, core in zip(groups, cores, strict=bool(groups)):
        section = found[bisect_right(begins, int(refined.units.starts[core])) - 1].path
        own: dict[str, Any] = {SECTION: " > ".join(section)} if section else {}
        if core and vectors is not None:
            # As many digits as every store preserves and every processor agrees on.
            own[SIMILARITY_GAP] = round(1 - float(vectors[core - 1] @ vectors[core]), 4)
        cuts.append(Cut((group.span,), tokens=group.tokens, metadata=own))
    return cuts
