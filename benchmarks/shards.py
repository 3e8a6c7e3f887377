"""How rankings differ with the number of shards of a Qdrant collection, whose server weighs words within each shard.

    python benchmarks/shards.py

A server gives a point to one shard by its id, ranks within each shard by that shard's own IDF, and merges the rankings
by score. The same is done here with a collection in memory, so that no server is needed. The questions are those of
courses.py. A ranking by words is the same if all of its chunks and their order are.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from unittest.mock import patch
from uuid import UUID

from courses import courses
from rich.console import Console
from rich.table import Table

from kinsplit import Index, Passage
from kinsplit.stores import Query
from kinsplit.stores.engines.arrays import PointArrays
from kinsplit.stores.engines.memory import HeldCollection, MemoryStore
from kinsplit.stores.payload import Payload

NUMBERS = (1, 2, 3, 6)
#: Length of a ranking.
LIMIT = 100


class ShardedStore(MemoryStore):
    """A collection in memory whose points are divided among shards by their ids."""

    def __init__(self, whole: HeldCollection, number: int) -> None:
        super().__init__("", "shards", whole.schema)
        self._collection = whole
        parts = [HeldCollection(whole.schema) for _ in range(number)]
        for id_, point in whole.points.items():
            part = parts[UUID(id_).int % number]
            part.points[id_] = point
            part.sources.setdefault(point[0]["source_id"], {})[id_] = None
        self._shards = [MemoryStore("", "shard", whole.schema) for _ in parts]
        for shard, part in zip(self._shards, parts, strict=True):
            shard._collection = part

    def _found(self, queries: Sequence[Query]) -> tuple[PointArrays, list[Payload], list[list[tuple[int, float]]]]:
        arrays, payloads, _ = super()._found([])
        rows = {entry.id: row for row, entry in enumerate(arrays.entries)}
        merged: list[list[tuple[int, float]]] = [[] for _ in queries]
        for shard in self._shards:
            own, _, rankings = shard._found(queries)
            for ranking, found in zip(merged, rankings, strict=True):
                ranking += [(rows[own.entries[row].id], score) for row, score in found]
        best = [sorted(ranking, key=lambda hit: (-hit[1], hit[0])) for ranking in merged]
        return arrays, payloads, [ranking[: query.limit] for ranking, query in zip(best, queries, strict=True)]


def main() -> None:
    """Print how many rankings by words, and first passages, are those of one shard."""
    rows = json.loads(Path(__file__).with_name("courses_questions.json").read_text(encoding="utf-8"))
    questions = [row["question"] for row in rows]
    with Index("memory:") as index:
        index.add(courses())
        assert isinstance(index.store, MemoryStore)
        whole, terms = index.store._open(), [index.bm25.embed_query(question) for question in questions]
        found: dict[int, list[tuple[list[str], list[Passage]]]] = {}
        for number in NUMBERS:
            store = ShardedStore(whole, number)
            rankings = store.rank([Query("bm25", each, LIMIT) for each in terms])
            with patch.object(index, "store", store):
                passages = [index.search(question) for question in questions]
            found[number] = [
                ([entry.id for entry, _ in ranking], own) for ranking, own in zip(rankings, passages, strict=True)
            ]
    table = Table("shards", "same chunks by words, in order", "same first passage", "same passages")
    for number, answers in found.items():
        pairs = list(zip(answers, found[1], strict=True))
        texts = [([p.text for p in own], [p.text for p in first]) for (_, own), (_, first) in pairs]
        ranked = sum(own == first for (own, _), (first, _) in pairs)
        table.add_row(*map(str, (number, ranked, sum(a[:1] == b[:1] for a, b in texts), sum(a == b for a, b in texts))))
    Console().print(f"{len(whole.points)} points, {len(questions)} questions", table)


if __name__ == "__main__":
    main()
