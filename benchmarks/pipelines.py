"""The retrieval pipelines that are compared: peers' splitters with the usual rankings, and kinsplit's default."""

from __future__ import annotations

import hashlib
import importlib
import uuid
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from systems import fast

from kinsplit import embedding
from kinsplit.chunk import Chunk, Document, Span, content_hash
from kinsplit.embedding import Embedder, Progress
from kinsplit.embedding.sparse import Bm25Embedder
from kinsplit.evaluation.labels import Dataset, Question
from kinsplit.indexing import Indexer
from kinsplit.parsers import Strategy
from kinsplit.retrieval import NO_KIN, KinWeights, find_candidates, run
from kinsplit.retrieval import Question as Asked
from kinsplit.stores import ChunkStore, Query, Schema, Vectors, open_store

#: Hits per ranking: enough for 2,000 tokens of the shortest chunks.
_LIMIT = 100
#: The constant of reciprocal rank fusion (Cormack, Clarke and Buettcher, SIGIR 2009).
_RRF = 60

Splitter = Callable[[str], Iterator[tuple[int, str]]]
Ranker = Callable[[ChunkStore, Asked], Sequence[Chunk]]


class Pipeline(NamedTuple):
    """A way to get from a question to a ranking of chunks.

    Attributes:
        name: In tables.
        rankers: By name, the ways to rank the chunks of one index.
        fill: Writes a set's documents into a store.
    """

    name: str
    rankers: dict[str, Ranker]
    fill: Callable[[ChunkStore, Dataset, Embedder], None]


class CachedEmbedder:
    """The bundled model, which every pipeline uses, with its vectors kept in a folder between runs.

    Args:
        folder: Where the vectors are kept.
        spec: Of the model; one folder holds the vectors of one.
    """

    def __init__(self, folder: Path, spec: str = "bundled") -> None:
        self._inner = embedding.create(spec)
        self._folder = folder
        self.name, self.dimension = self._inner.name, self._inner.dimension
        self.window, self.fingerprint = self._inner.window, self._inner.fingerprint

    def windows(self, texts: Sequence[str]) -> list[int]:
        return [1] * len(texts)

    def embed(self, texts: Sequence[str], progress: Progress | None = None) -> NDArray[np.float32]:
        key = hashlib.blake2b(repr((self.fingerprint, list(texts))).encode("utf-8", "surrogatepass"), digest_size=16)
        file = self._folder / f"{key.hexdigest()}.npy"
        if not file.exists():
            self._folder.mkdir(parents=True, exist_ok=True)
            np.save(file, self._inner.embed(texts, progress))
        vectors: NDArray[np.float32] = np.load(file)
        return vectors

    def embed_query(self, text: str) -> NDArray[np.float32]:
        vector: NDArray[np.float32] = self.embed([text])[0]
        return vector


def fresh_store(embedder: Embedder, bm25: Bm25Embedder, fingerprint: str) -> ChunkStore:
    schema = Schema(embedder.fingerprint, embedder.dimension, bm25.fingerprint, "{}", fingerprint)
    return open_store("memory:", "benchmark", schema)


def ask(question: Question, embedder: Embedder, bm25: Bm25Embedder) -> Asked:
    return Asked(embedder.embed_query(question.text), bm25.embed_query(question.text))


def dense(store: ChunkStore, asked: Asked) -> list[Chunk]:
    (entries,) = store.rank([Query("dense", asked.dense, _LIMIT)])
    return store.get([entry.id for entry in entries])


def reciprocal_ranks(store: ChunkStore, asked: Asked) -> list[Chunk]:
    """Fuse the dense and the term ranking as both frameworks' hybrid retrievers do."""
    scores: dict[str, float] = defaultdict(float)
    for entries in store.rank([Query("dense", asked.dense, _LIMIT), Query("bm25", asked.terms, _LIMIT)]):
        for rank, entry in enumerate(entries, 1):
            scores[entry.id] += 1 / (_RRF + rank)
    return store.get(sorted(scores, key=lambda id_: -scores[id_])[:_LIMIT])


def kin(weights: KinWeights) -> Ranker:
    def rank(store: ChunkStore, asked: Asked) -> list[Chunk]:
        return [candidate.chunk for candidate in run(find_candidates(asked, weights, _LIMIT), store)]

    return rank


def peer(name: str, split: Splitter) -> Pipeline:
    def fill(store: ChunkStore, labelled: Dataset, embedder: Embedder) -> None:
        chunks = [chunk for document in labelled.documents for chunk in _chunks(document, split)]
        texts = [chunk.text for chunk in chunks]
        vectors = {
            chunk.content: Vectors(vector, terms)
            for chunk, vector, terms in zip(chunks, embedder.embed(texts), Bm25Embedder().embed(texts), strict=True)
        }
        store.put(chunks, vectors)

    return Pipeline(name, {"dense": dense, "dense + BM25 (RRF)": reciprocal_ranks}, fill)


def _chunks(document: Document, split: Splitter) -> Iterator[Chunk]:
    pieces = [(start, text) for start, text in split(document.text) if text.strip()]
    for index, (start, text) in enumerate(pieces):
        yield Chunk(
            id=str(uuid.uuid5(uuid.NAMESPACE_URL, f"{document.id}|{index}")),
            source_id=document.id,
            index=index,
            total=len(pieces),
            level=0,
            spans=(Span(start, start + len(text)),),
            text=text,
            content_hash=content_hash(text),
        )


def _located(text: str, pieces: Sequence[str]) -> Iterator[tuple[int, str]]:
    """Look for each piece behind the start of the one before: not every splitter says where its chunks are."""
    start = -1
    for piece in pieces:
        start = text.find(piece, start + 1)
        if start < 0:
            raise ValueError(f"A chunk is no slice of its document: {piece[:60]!r}")
        yield start, piece


def langchain(size: int, overlap: int) -> Pipeline:
    def split(text: str) -> Iterator[tuple[int, str]]:
        kind = importlib.import_module("langchain_text_splitters").RecursiveCharacterTextSplitter
        return _located(text, kind(chunk_size=size, chunk_overlap=overlap).split_text(text))

    return peer(f"LangChain recursive {size}/{overlap} characters", split)


def llama_index(size: int, overlap: int) -> Pipeline:
    def split(text: str) -> Iterator[tuple[int, str]]:
        kind: Any = importlib.import_module("llama_index.core.node_parser").SentenceSplitter
        count = fast().count_tokens
        splitter = kind(chunk_size=size, chunk_overlap=overlap, tokenizer=lambda piece: range(count(piece)))
        return _located(text, splitter.split_text(text))

    return peer(f"LlamaIndex sentence {size}/{overlap} tokens", split)


#: What every weight of kin scoring adds: the default without it.
KIN_RANKERS = {
    "without kin": kin(NO_KIN),
    "without siblings": kin(KinWeights(siblings=0)),
    "without parent": kin(KinWeights(parent=0)),
    "without document": kin(KinWeights(document=0)),
    "without a look into the best documents": kin(KinWeights(best_documents=0)),
    "default": kin(KinWeights()),
}


def kinsplit(strategy: Strategy, others: Sequence[str] = ()) -> Pipeline:
    """Return kinsplit's pipeline.

    Args:
        strategy: Splits the documents.
        others: Further weights to try, each such as "siblings=0.2,parent=1".
    """

    def fill(store: ChunkStore, labelled: Dataset, embedder: Embedder) -> None:
        for _ in Indexer(store, strategy, embedder, Bm25Embedder()).run(labelled.documents):
            pass

    pairs = {other: [part.partition("=") for part in other.split(",")] for other in others}
    tried = {name: kin(KinWeights(**{key: float(value) for key, _, value in parts})) for name, parts in pairs.items()}
    return Pipeline("kinsplit", {**KIN_RANKERS, **tried}, fill)


PEERS = (langchain(200, 0), langchain(1000, 200), llama_index(1024, 200), llama_index(256, 20))
