from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
from pydantic import Field, model_validator

from kinsplit.chunk import Document
from kinsplit.embedding import resolve as resolve_embedder
from kinsplit.embedding.calibration import calibrate
from kinsplit.errors import LimitTooSmallError, require
from kinsplit.parsers.base import Cut, Levels, Strategy
from kinsplit.parsers.packing.refine import CHARACTERS_PER_TOKEN, Ruler, divide
from kinsplit.parsers.parameters import EmbedderField, Language, Overlap, Size, share
from kinsplit.parsers.similarity import ChunkBuilder, cluster
from kinsplit.parsers.strategies.sentence import SentenceStrategy
from kinsplit.spans import Span
from kinsplit.tokenizers import resolve

# Defaults of rag_eval; if only the size is given, the overlap has the same proportion.
_OVERLAP, _PASSAGE = 50, 512
_EMBEDDER = 'a name accepted by `kinsplit.embedding.create`, such as "bundled"'


class ClusterStrategy(Strategy):
    r"""Passages on the same topic, adjacent or not, gathered into chunks of several spans.

    Passages of whole sentences, items, rows or statements are embedded. Each joins the cluster with the most similar
    mean vector, or starts a new one if none is similar enough (greedy centroid clustering, in one pass). Clusters
    without room for a passage are skipped.

    A chunk is a cluster: its passages in document order, with adjacent passages joined to one span and a blank line
    between spans. Chunks are ordered by their first passages. Adjacent passages share what fits into `passage_overlap`.
    If they are in different chunks, both chunks contain it; within a chunk, nothing is repeated.

    Attributes:
        chunk_size: Maximum tokens per chunk, including separators.
        passage_size: Maximum tokens per passage. Default: a quarter of chunk_size.
        passage_overlap: Maximum tokens shared with the previous passage. Default: about a tenth of passage_size.
        threshold: Minimum similarity of a passage and the mean of a cluster, relative to unrelated texts: 0 for a
            cosine as high as theirs by this model, 1 for identical texts.

    Example:
        >>> from kinsplit import split
        >>> text = "Cats eat dogs run cats eat"
        >>> [chunk.text for chunk in split(text, "cluster", passage_size=2, passage_overlap=0, embedder="hash")]
        ['Cats eat\n\ncats eat', 'dogs run']
    """

    name = "cluster"
    summary = "Passages on the same topic, adjacent or not, in one chunk"
    origin = "rag_eval (512 tokens, overlap 50, similarity 0.75)"
    resources: ClassVar[Mapping[str, str]] = {**Strategy.resources, "embedder": _EMBEDDER}

    embedder: EmbedderField = "bundled"
    chunk_size: Size = 4 * _PASSAGE
    passage_size: Size = _PASSAGE
    passage_overlap: Overlap = _OVERLAP
    threshold: float = Field(default=0.75, ge=-1, le=1, strict=True)
    language: Language = "auto"

    @model_validator(mode="before")
    @classmethod
    def _fill(cls, data: dict[str, Any]) -> dict[str, Any]:
        size = share(data, "passage_size", "chunk_size", 4 * _PASSAGE, 4)
        filled = {**data, "passage_size": size if data.get("passage_size") is not None else max(1, size)}
        if data.get("passage_overlap") is None:
            filled["passage_overlap"] = size * _OVERLAP // _PASSAGE if isinstance(size, int) else 0
        return filled

    @model_validator(mode="after")
    def _check(self) -> Self:
        rule, remedy = f"must not be greater than chunk_size ({self.chunk_size})", "Lower it or raise chunk_size."
        require(self.passage_size <= self.chunk_size, "passage_size", rule, self.passage_size, remedy)
        rule = f"must be less than half of passage_size ({self.passage_size})"
        remedy = "Lower it, so that a passage shares text only with its neighbours."
        require(2 * self.passage_overlap < self.passage_size, "passage_overlap", rule, self.passage_overlap, remedy)
        return self

    def _cut(self, texts: Sequence[str]) -> list[Levels]:
        return self._cut_outlined([Document("", text) for text in texts])

    def _cut_outlined(self, documents: Sequence[Document]) -> list[Levels]:
        texts = [document.text for document in documents]
        found = self._passages(documents)
        passages = [[cut.spans[0] for cut in cuts] for cuts in found]
        pieces = [text[start:end] for text, spans in zip(texts, passages, strict=True) for start, end in spans]
        if not pieces:
            return [[[]] for _ in texts]
        sizes = [len(spans) for spans in passages]
        embedder = resolve_embedder(self.embedder)
        calibration = calibrate(embedder)
        vectors = np.split(embedder.embed(pieces), np.cumsum(sizes)[:-1])
        thresholds = [calibration.cosine(self.threshold, own) for own in vectors]
        builders = self._builders(texts, passages, pieces)
        for builder, own, threshold in zip(builders, vectors, thresholds, strict=True):
            cluster(own, threshold, builder)
        counted = self._counted(builders)
        for i, cuts in enumerate(counted):
            if any(cut.tokens is not None and cut.tokens > self.chunk_size for cut in cuts):
                # Lengths don't add up in this text, so chunks are measured before they grow.
                builders[i] = replace(builders[i], length=Ruler("token", resolve(self.tokenizer)).length)
                cluster(vectors[i], thresholds[i], builders[i])
                (counted[i],) = self._counted([builders[i]])
        return [[_named(cuts, of_text)] for cuts, of_text in zip(counted, found, strict=True)]

    def _passages(self, documents: Sequence[Document]) -> list[list[Cut]]:
        size, overlap = self.passage_size, self.passage_overlap
        own = {"tokenizer": self.tokenizer, "language": self.language}
        try:
            found = SentenceStrategy(chunk_size=size, chunk_overlap=overlap, **own)._cut_outlined(documents)
        except LimitTooSmallError as error:
            raise error.of("passage_size") from None
        return [cuts for (cuts,) in found]

    def _builders(
        self, texts: Sequence[str], passages: Sequence[list[Span]], pieces: Sequence[str]
    ) -> list[ChunkBuilder]:
        befores = [[Span(0, 0), *spans] for spans in passages]
        pairs = zip(texts, befores, passages, strict=True)
        added = [text[b.end : span.end] for text, *both in pairs for b, span in zip(*both, strict=False)]
        counts = resolve(self.tokenizer).count([self.separator, *pieces, *added])
        sizes = [len(spans) for spans in passages]
        extents = np.array([len(text) + len(self.separator) for text in [*pieces, *added]], dtype=np.int64)
        alone, joined = np.split(np.maximum(counts[1:], -(-extents // CHARACTERS_PER_TOKEN)), 2)
        limits = self.separator, int(counts[0]), self.chunk_size
        own = zip(texts, passages, divide(alone, sizes), divide(joined, sizes), strict=True)
        return [ChunkBuilder(*of_text, *limits) for of_text in own]

    def _counted(self, builders: Sequence[ChunkBuilder]) -> list[list[Cut]]:
        chunks = [builder.texts() for builder in builders]
        counts = iter(resolve(self.tokenizer).count([text for own in chunks for text in own]).tolist())
        return [[Cut(tuple(spans), tokens=next(counts)) for spans in g.chunks] for g in builders]


def _named(cuts: Sequence[Cut], passages: Sequence[Cut]) -> list[Cut]:
    """Return cuts with the header or language that their first passages continue."""
    first = {passage.spans[0].start: passage for passage in passages}
    begun = [(cut, first[cut.spans[0].start]) for cut in cuts]
    return [cut._replace(header=passage.header, language=passage.language) for cut, passage in begun]
