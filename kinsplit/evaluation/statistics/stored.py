"""What storing the chunks costs."""

from __future__ import annotations

from kinsplit.evaluation.statistics.protocol import Made

_FLOAT32 = 4


class BytesStored:
    """The bytes of texts, contexts and vectors.

    Each chunk has its text and context in UTF-8, and 4 bytes for each dimension of its vector. What an engine adds for
    metadata, terms and its index depends on the engine, and on the number of chunks above all.
    """

    name, unit = "bytes_stored", "bytes"
    description = "Bytes of the chunks' texts, contexts and float32 vectors, without an engine's index"

    def value(self, made: Made) -> float:
        """Add the bytes up."""
        chunks = made.chunking.chunks
        texts = sum(len(f"{c.text}{c.context}".encode("utf-8", "surrogatepass")) for c in chunks)
        return texts + len(chunks) * made.dimension * _FLOAT32
