from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np
from pydantic import Field, model_validator

from kinsplit.embedding import resolve as resolve_embedder
from kinsplit.errors import InvalidParameterError, LimitTooSmallError
from kinsplit.parsers.base import Cut, Levels, Strategy
from kinsplit.parsers.packing.measure import CHARACTERS_PER_TOKEN, Ruler, divide
from kinsplit.parsers.parameters import EmbedderField, Overlap, Size, share
from kinsplit.parsers.similarity.clusters import Gathering, cluster
from kinsplit.parsers.strategies.token import TokenStrategy
from kinsplit.spans import Span
from kinsplit.tokenizers import resolve

# rag_eval's overlap and passage size: where only the size is given, the overlap is the same share of it.
_OVERLAP, _PASSAGE = 50, 512


class ClusterStrategy(Strategy):
    r"""Passages that are about the same thing, adjacent or not, gathered into chunks of several spans.

    Token passages are embedded, and each joins the cluster whose mean vector is most like its own, or begins one of its
    own if none is similar enough (greedy centroid clustering, in one pass). A cluster that has no room for a passage is
    passed over.

    A chunk is a cluster: its passages in document order, neighbours joined to one span, spans with a blank line
    between them. Chunks come in the order of their first passages. Two neighbouring passages repeat `passage_overlap`
    tokens if they are in different chunks, each of which keeps its own; inside a chunk nothing is repeated. So these
    tokens are in two chunks, which need not be neighbours; without an overlap everything is in one chunk.

    Example:
        >>> strategy = ClusterStrategy(passage_size=2, passage_overlap=0, embedder="hash")
        >>> [chunk.text for chunk in strategy.chunk(Document("pets", "Cats eat dogs run cats eat"))]
        ['Cats eat\n\ncats eat', 'dogs run']
    """

    name = "cluster"
    summary = "Passages about the same thing gathered, adjacent or not"
    origin = "rag_eval (512 tokens, overlap 50, similarity 0.75)"
    resources: ClassVar[Mapping[str, str]] = {
        **Strategy.resources,
        "embedder": 'a name that `kinsplit.embedding.create` takes, such as "bundled"',
    }

    embedder: EmbedderField = "bundled"
    chunk_size: Size = Field(default=4 * _PASSAGE, description="Most tokens in a chunk, separators included.")
    passage_size: Size = Field(
        default=_PASSAGE, description="Tokens in a passage; a quarter of chunk_size unless given."
    )
    passage_overlap: Overlap = Field(
        default=_OVERLAP,
        description="Tokens that a passage shares with the one before; about a tenth of passage_size unless given.",
    )
    threshold: float = Field(
        default=0.75, ge=-1, le=1, strict=True, description="Least cosine between a passage and the mean of a cluster."
    )

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
        if self.passage_size > self.chunk_size:
            rule = f"must not be greater than chunk_size ({self.chunk_size})"
            raise InvalidParameterError("passage_size", rule, self.passage_size, "Lower it or raise chunk_size.")
        if 2 * self.passage_overlap >= self.passage_size:
            rule = f"must be less than half of passage_size ({self.passage_size})"
            remedy = "Lower it, so that a passage shares text with its neighbours only."
            raise InvalidParameterError("passage_overlap", rule, self.passage_overlap, remedy)
        return self

    def _cut(self, texts: Sequence[str]) -> list[Levels]:
        passages = self._passages(texts)
        pieces = [text[start:end] for text, spans in zip(texts, passages, strict=True) for start, end in spans]
        if not pieces:
            return [[[]] for _ in texts]
        sizes = [len(spans) for spans in passages]
        vectors = np.split(resolve_embedder(self.embedder).embed(pieces), np.cumsum(sizes)[:-1])
        gatherings = self._gatherings(texts, passages, pieces)
        for gathering, own in zip(gatherings, vectors, strict=True):
            cluster(own, self.threshold, gathering)
        counted = self._counted(gatherings)
        for i, cuts in enumerate(counted):
            if any(cut.tokens is not None and cut.tokens > self.chunk_size for cut in cuts):
                # Lengths don't add up in this text, so each chunk is measured before it grows.
                gatherings[i] = gatherings[i].measured(self._ruler.length)
                cluster(vectors[i], self.threshold, gatherings[i])
                (counted[i],) = self._counted([gatherings[i]])
        return [[cuts] for cuts in counted]

    def _passages(self, texts: Sequence[str]) -> list[list[Span]]:
        splitter = TokenStrategy(
            chunk_size=self.passage_size, chunk_overlap=self.passage_overlap, tokenizer=self.tokenizer
        )
        try:
            return splitter.split_many(texts)
        except LimitTooSmallError as error:
            raise error.of("passage_size") from None

    @property
    def _ruler(self) -> Ruler:
        return Ruler("token", resolve(self.tokenizer))

    def _gatherings(
        self, texts: Sequence[str], passages: Sequence[list[Span]], pieces: Sequence[str]
    ) -> list[Gathering]:
        added = [
            text[before.end : span.end]
            for text, spans in zip(texts, passages, strict=True)
            for before, span in zip([Span(0, 0), *spans], spans, strict=False)
        ]
        counts = resolve(self.tokenizer).count([self.separator, *pieces, *added])
        sizes = [len(spans) for spans in passages]
        extents = np.array([len(text) + len(self.separator) for text in [*pieces, *added]], dtype=np.int64)
        alone, joined = np.split(np.maximum(counts[1:], -(-extents // CHARACTERS_PER_TOKEN)), 2)
        return [
            Gathering(text, spans, own, more, self.separator, int(counts[0]), self.chunk_size)
            for text, spans, own, more in zip(texts, passages, divide(alone, sizes), divide(joined, sizes), strict=True)
        ]

    def _counted(self, gatherings: Sequence[Gathering]) -> list[list[Cut]]:
        chunks = [gathering.texts() for gathering in gatherings]
        counts = iter(resolve(self.tokenizer).count([text for own in chunks for text in own]).tolist())
        return [[Cut(tuple(spans), tokens=next(counts)) for spans in g.chunks] for g in gatherings]
