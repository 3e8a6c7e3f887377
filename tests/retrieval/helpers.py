"""A small collection, and a store that records its calls."""

from __future__ import annotations

from collections.abc import Sequence

from kinsplit.chunk import Chunk, Document
from kinsplit.embedding import create
from kinsplit.embedding.sparse import Bm25Embedder
from kinsplit.indexing.indexer import Indexer
from kinsplit.parsers import Strategy
from kinsplit.parsers import create as create_strategy
from kinsplit.retrieval import SearchQuestion
from kinsplit.stores import ChunkStore, Query, Schema, open_store
from kinsplit.stores.values import RankedEntries, Vectors, Where

EMBEDDER = create("hash")
BM25 = Bm25Embedder()
STRATEGY = create_strategy("sentence", chunk_size=12, chunk_overlap=0)

TOPICS = ("recursion", "sorting", "classes", "files", "testing", "modules")


def course(documents: int = 3) -> list[Document]:
    """Return documents of one subject each, in paragraphs that all look alike."""
    return [
        Document(
            f"lecture_{number}.md",
            " ".join(
                f"{'Recursion' if number == 0 else 'This lecture'} has a part {part}. It is about {topic}. "
                f"We learn what {topic} means."
                for part, topic in enumerate(TOPICS[number:] + TOPICS[:number])
            ),
            {"subject": "cs" if number % 2 else "math"},
        )
        for number in range(documents)
    ]


class CountingStore:
    """A store in memory that records its calls.

    Args:
        documents: Documents in the store.
        strategy: Strategy that splits them.
    """

    def __init__(self, documents: Sequence[Document], strategy: Strategy = STRATEGY) -> None:
        self.schema = Schema(EMBEDDER.fingerprint, EMBEDDER.dimension, BM25.fingerprint, "{}", strategy.fingerprint)
        self.store: ChunkStore = open_store("memory:", "cs", self.schema)
        for _ in Indexer(self.store, strategy, EMBEDDER, BM25).run(documents):
            pass
        self.calls: list[str] = []

    def rank(self, queries: Sequence[Query]) -> list[RankedEntries]:
        self.calls.append("rank")
        return self.store.rank(queries)

    def get(self, ids: Sequence[str]) -> list[Chunk]:
        self.calls.append("get")
        return self.store.get(ids)

    def get_with_vectors(self, ids: Sequence[str]) -> list[tuple[Chunk, Vectors]]:
        self.calls.append("get_with_vectors")
        return self.store.get_with_vectors(ids)

    def find(self, where: Where, level: int | None = 0) -> list[Chunk]:
        self.calls.append("find")
        return self.store.find(where, level)


def question(text: str, **options: object) -> SearchQuestion:
    return SearchQuestion(EMBEDDER.embed_query(text), BM25.embed_query(text), **options)  # type: ignore[arg-type]
