"""Costs of splitting, embedding and storing."""

from __future__ import annotations

from kinsplit.chunk import embedded_text
from kinsplit.evaluation.statistics.protocol import ChunkingProfile

_FLOAT32 = 4


class BytesStored:
    """The bytes of texts, contexts and vectors.

    Each chunk counts with its text and context in UTF-8, and with 4 bytes per dimension of its vector. Engines also
    store metadata, terms and an index, whose size depends on the engine and on the number of chunks.
    """

    name, unit = "bytes_stored", "bytes"
    description = "Bytes of the chunks' texts, contexts and float32 vectors, without an engine's index"

    def value(self, profile: ChunkingProfile) -> float:
        """Return the number of bytes."""
        chunks = profile.chunking.chunks
        texts = sum(len(f"{c.text}{c.context}".encode("utf-8", "surrogatepass")) for c in chunks)
        return texts + len(chunks) * profile.dimension * _FLOAT32


class EmbedSeconds:
    """Wall time of embedding the chunks."""

    name, unit = "embed_seconds", "seconds"
    description = "Wall time of embedding, in the run that did it"

    def value(self, profile: ChunkingProfile) -> float | None:
        """Return the time; None where vectors came from a cache."""
        return profile.embed_seconds


class TokensEmbedded:
    """The tokens that the embedding model reads, including the chunks' contexts."""

    name, unit = "tokens_embedded", "tokens"
    description = "Tokens that are embedded, contexts included"

    def value(self, profile: ChunkingProfile) -> float:
        """Return the number of tokens by the evaluation's tokenizer; equal texts count each time."""
        texts = [embedded_text(c) if profile.contexts else c.text for c in profile.chunking.chunks]
        return int(profile.chunking.tokenizer.count(texts).sum()) if texts else 0


class SplitSeconds:
    """Wall time of splitting all documents, including the models that the strategy uses."""

    name, unit = "split_seconds", "seconds"
    description = "Wall time of splitting, in the run that did it"

    def value(self, profile: ChunkingProfile) -> float | None:
        """Return the time; None where vectors came from a cache."""
        return profile.split_seconds
