"""Chunks with kin, vectors and questions for the stores: made once per size, read by all engines' processes."""

from __future__ import annotations

import pickle
import random
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from texts import prose

from kinsplit import embedding
from kinsplit.chunk import DOCUMENT, Chunk, Content, Document
from kinsplit.embedding.sparse import Bm25Embedder
from kinsplit.indexing.indexer import Indexer
from kinsplit.parsers import default_strategy
from kinsplit.retrieval import SearchQuestion
from kinsplit.stores import Schema, Vectors, open_store

DIMENSION = 384
#: Length of a document in characters, which the default strategy splits into about 50 chunks.
_LENGTH = 25_000
#: Number of consecutive words of a chunk that make a question.
_WORDS = 8
#: Distance of chunks from their document's direction, and of a question from its chunk.
_SPREAD = 1.5

Batch = tuple[list[Chunk], Mapping[Content, Vectors]]


def schema() -> Schema:
    """Return the schema of all collections."""
    return Schema("random", DIMENSION, Bm25Embedder().fingerprint, "{}", default_strategy().fingerprint)


def make(folder: Path, chunks: int, questions: int) -> int:
    """Write documents with at least that many leaves, and questions about them; return the number of leaves.

    The vectors are random around one direction per document, so that documents differ as with a real model.
    """
    random_vectors, choice = np.random.default_rng(0), random.Random(0)
    unused = open_store("memory:", "unused", schema()), embedding.create("hash")
    indexer = Indexer(unused[0], default_strategy(), unused[1], Bm25Embedder())
    made = 0
    samples: list[tuple[str, NDArray[np.float32]]] = []
    with (folder / "documents").open("wb") as file:
        while made < chunks:
            document = Document(f"course/lecture_{len(samples):05}.md", prose(_LENGTH, len(samples)))
            batch = _document(indexer, document, random_vectors)
            pickle.dump(batch, file)
            leaves = [chunk for chunk in batch[0] if chunk.level == 0]
            made += len(leaves)
            leaf = choice.choice(leaves)
            samples.append((leaf.text, batch[1][leaf.content_key].dense))
    asked = [_ask(*choice.choice(samples), choice, random_vectors) for _ in range(questions)]
    (folder / "questions").write_bytes(pickle.dumps(asked))
    return made


def documents(folder: Path) -> Iterator[Batch]:
    """Yield the chunks of all levels with their vectors, document by document."""
    with (folder / "documents").open("rb") as file:
        while file.peek(1):
            yield pickle.load(file)


def questions(folder: Path) -> list[SearchQuestion]:
    """Return the questions in the form that stores take."""
    asked: list[SearchQuestion] = pickle.loads((folder / "questions").read_bytes())
    return asked


def _document(indexer: Indexer, document: Document, random_vectors: np.random.Generator) -> Batch:
    chunks = indexer.chunk(document)
    topic = _unit(random_vectors.standard_normal(DIMENSION))
    terms = indexer.bm25.embed([document.text if chunk.level == DOCUMENT else chunk.text for chunk in chunks])
    vectors = {
        chunk.content_key: Vectors(None if chunk.level == DOCUMENT else _near(topic, random_vectors), sparse)
        for chunk, sparse in zip(chunks, terms, strict=True)
    }
    return chunks, vectors


def _ask(
    text: str, vector: NDArray[np.float32], choice: random.Random, random_vectors: np.random.Generator
) -> SearchQuestion:
    words = text.split()
    first = choice.randrange(max(1, len(words) - _WORDS))
    return SearchQuestion(
        _near(vector, random_vectors), Bm25Embedder().embed_query(" ".join(words[first : first + _WORDS]))
    )


def _near(vector: NDArray[np.float32], random_vectors: np.random.Generator) -> NDArray[np.float32]:
    return _unit(vector + _SPREAD * _unit(random_vectors.standard_normal(DIMENSION)))


def _unit(vector: NDArray[np.floating]) -> NDArray[np.float32]:
    return np.asarray(vector / np.linalg.norm(vector), dtype=np.float32)
