"""Chunks and vectors for the tests of a store, and for its examination."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kinsplit.chunk import DOCUMENT, Chunk, Content
from kinsplit.embedding.hashing import HashEmbedder
from kinsplit.embedding.sparse import Bm25Embedder
from kinsplit.identity import chunk_id, content_hash, document_hash
from kinsplit.spans import Span
from kinsplit.stores.store import ChunkStore
from kinsplit.stores.values import Schema, SyncReport, Vectors

DENSE = HashEmbedder()
SPARSE = Bm25Embedder()
SCHEMA = Schema(DENSE.fingerprint, DENSE.dimension, SPARSE.fingerprint, "sentence(chunk_size=500)", "f1", "none")

TEXTS = (
    "A class is a blueprint for objects.",
    "An object is an instance of a class.",
    "Recursion is a function that calls itself.",
    "A loop repeats statements until a condition fails.",
    "Sorting puts the items of a list in order.",
)


def make_chunks(source_id: str, texts: Sequence[str], level: int = 0, **metadata: Any) -> list[Chunk]:
    """Return the linked chunks of a document whose text is `texts` joined by a line break."""
    ids = [chunk_id(source_id, "f1", level, index) for index in range(len(texts))]
    chunks, start = [], 0
    for index, text in enumerate(texts):
        chunks.append(
            Chunk(
                id=ids[index],
                source_id=source_id,
                index=index,
                total=len(texts),
                level=level,
                spans=(Span(start, start + len(text)),),
                text=text,
                prev_id=ids[index - 1] if index else None,
                next_id=ids[index + 1] if index + 1 < len(texts) else None,
                content_hash=content_hash(text),
                metadata=metadata,
            )
        )
        start += len(text) + 1
    return chunks


def make_document(leaves: Sequence[Chunk], title: str = "", **metadata: Any) -> Chunk:
    """Return the chunk of a whole document from its leaves; `embed` takes its terms from the title."""
    return Chunk(
        id=chunk_id(leaves[0].source_id, "f1", DOCUMENT, 0),
        source_id=leaves[0].source_id,
        index=0,
        total=1,
        level=DOCUMENT,
        spans=(Span(0, leaves[-1].end),),
        text="",
        content_hash=document_hash(leaf.content_hash for leaf in leaves),
        metadata={"title": title, **metadata},
    )


def embed(chunks: Sequence[Chunk]) -> dict[Content, Vectors]:
    """Return dense and sparse vectors of chunks by content; documents have no dense vectors."""
    vectors = {}
    for chunk in chunks:
        whole = chunk.level == DOCUMENT
        text = chunk.metadata["title"] if whole else chunk.text
        vectors[chunk.content] = Vectors(None if whole else DENSE.embed([text])[0], SPARSE.embed([text])[0])
    return vectors


def save(store: ChunkStore, source_id: str, chunks: Sequence[Chunk]) -> tuple[SyncReport, list[Chunk]]:
    """Sync a source as an indexer does; return the report and the chunks that had to be embedded."""
    missing = store.missing(source_id, chunks)
    return store.sync(source_id, chunks, embed(missing)), missing
