"""What every engine behind `ChunkStore` must do, as tests to inherit. Needs pytest.

```python
pytest.register_assert_rewrite("kinsplit.stores.testing")  # in conftest.py

class TestMyStore(ChunkStoreContract):
    @pytest.fixture
    def address(self, tmp_path: Path) -> str:
        return f"my-engine:{tmp_path}"
```
"""

# ruff: noqa: S101, S603

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any, ClassVar, Literal

import numpy as np
import pytest

from kinsplit.chunk import Chunk, Span, chunk_id, content_hash
from kinsplit.embedding.hashing import HashEmbedder
from kinsplit.embedding.sparse import Bm25Embedder
from kinsplit.errors import InvalidParameterError, SchemaMismatchError, StoreError, StoreLockedError
from kinsplit.stores.address import open_store
from kinsplit.stores.protocol import ChunkStore, Query, Schema, SyncReport, Vectors

COLLECTION = "contract"
DENSE = HashEmbedder()
SPARSE = Bm25Embedder()
SCHEMA = Schema(DENSE.fingerprint, DENSE.dimension, SPARSE.fingerprint, "sentence(chunk_size=500)", "f1")

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
                overlap=0,
                parent_id=None,
                prev_id=ids[index - 1] if index else None,
                next_id=ids[index + 1] if index + 1 < len(texts) else None,
                context="",
                token_count=None,
                content_hash=content_hash(text),
                metadata=metadata,
            )
        )
        start += len(text) + 1
    return chunks


def embed(chunks: Sequence[Chunk]) -> dict[str, Vectors]:
    """Return dense and sparse vectors of chunks by content hash."""
    texts = [chunk.text for chunk in chunks]
    pairs = zip(chunks, DENSE.embed(texts), SPARSE.embed(texts), strict=True)
    return {chunk.content_hash: Vectors(dense, sparse) for chunk, dense, sparse in pairs}


def save(store: ChunkStore, source_id: str, chunks: Sequence[Chunk]) -> tuple[SyncReport, list[Chunk]]:
    """Sync a source the way an indexer does; return the report and the chunks that had to be embedded."""
    missing = store.missing(source_id, chunks)
    return store.sync(source_id, chunks, embed(missing)), missing


class ChunkStoreContract:
    """Inherit it and provide the fixture `address`; see the module's docstring.

    Attributes:
        exclusive: Whether a second opener is refused until the first has closed; otherwise both see the same chunks.
        reach: Who finds what was written under the same address: every process, this process, or one object alone.
    """

    exclusive: ClassVar[bool] = False
    reach: ClassVar[Literal["machine", "process", "object"]] = "machine"

    @pytest.fixture
    def address(self) -> str:
        """Address of a fresh, empty place."""
        raise NotImplementedError

    @pytest.fixture
    def store(self, address: str) -> Iterator[ChunkStore]:
        """A fresh collection at that address."""
        with open_store(address, COLLECTION, SCHEMA) as store:
            yield store

    def test_every_field_comes_back(self, store: ChunkStore) -> None:
        """A chunk is read as it was written."""
        parent, leaf = make_chunks("a/b.md", ["parent"], level=1), make_chunks("a/b.md", TEXTS[:2])
        full = replace(
            leaf[1],
            parent_id=parent[0].id,
            overlap=7,
            context="Objects > Basics",
            token_count=11,
            spans=(Span(3, 9), Span(40, 55)),
            metadata={
                "strategy": "sentence",
                "page_start": 2,
                "page_end": 3,
                "file_path": "courses/a/b.md",
                "sibling_files": ["c.md", "d.md"],
                "a.b": 1.5,
                "nested": {"deep": [1, None, True, "ü"]},
                "nothing": None,
            },
        )
        chunks = [leaf[0], full, *parent]
        save(store, "a/b.md", chunks)
        assert store.get([chunk.id for chunk in chunks]) == chunks

    def test_sync_reports_what_it_changed(self, store: ChunkStore) -> None:
        """Added, unchanged, updated and deleted are counted per id; only new content is embedded."""
        first = make_chunks("doc", TEXTS[:4])
        assert save(store, "doc", first) == (SyncReport(added=4), first)
        assert save(store, "doc", first) == (SyncReport(unchanged=4), [])

        edited = make_chunks("doc", [*TEXTS[:2], "Tail calls need no stack.", TEXTS[3]])
        report, embedded = save(store, "doc", edited)
        assert embedded == [edited[2]]
        # The last chunk keeps its text, but starts elsewhere.
        assert report == SyncReport(updated=2, unchanged=2)

        shorter = make_chunks("doc", TEXTS[:2])
        assert save(store, "doc", shorter) == (SyncReport(updated=2, deleted=2), [])
        assert store.get([chunk.id for chunk in first]) == shorter
        assert store.known("doc") == {chunk.id: chunk.content_hash for chunk in shorter}

    def test_text_that_moved_keeps_its_vectors(self, store: ChunkStore) -> None:
        """Inserting a chunk in front embeds one text, and every text is found by its own vectors."""
        save(store, "doc", make_chunks("doc", TEXTS[1:]))
        moved = make_chunks("doc", TEXTS)
        report, embedded = save(store, "doc", moved)
        assert (report, embedded) == (SyncReport(added=1, updated=4), [moved[0]])
        for chunk in moved:
            queries = [
                Query("dense", DENSE.embed_query(chunk.text), 1),
                Query("bm25", SPARSE.embed_query(chunk.text), 1),
            ]
            assert [hits[0].chunk for hits in store.search(queries)] == [chunk, chunk]

    def test_texts_that_change_places(self, store: ChunkStore) -> None:
        """Points can lend each other their vectors."""
        save(store, "doc", make_chunks("doc", TEXTS[:3]))
        turned = make_chunks("doc", TEXTS[2::-1])
        assert save(store, "doc", turned)[1] == []
        for chunk in turned:
            (hits,) = store.search([Query("dense", DENSE.embed_query(chunk.text), 1)])
            assert hits[0].chunk == chunk
            assert hits[0].score == pytest.approx(1.0, abs=1e-5)

    def test_payload_changes_need_no_vectors(self, store: ChunkStore) -> None:
        """Metadata is rewritten, keys that are gone included."""
        save(store, "doc", make_chunks("doc", TEXTS[:2], course="cs", old="x"))
        changed = make_chunks("doc", TEXTS[:2], course="math")
        assert save(store, "doc", changed) == (SyncReport(updated=2), [])
        assert store.get([chunk.id for chunk in changed]) == changed

    def test_equal_texts_are_embedded_once_and_kept_apart(self, store: ChunkStore) -> None:
        """Neither two documents nor two chunks of one document melt together."""
        one, two = make_chunks("one", [TEXTS[0], TEXTS[0]]), make_chunks("two", [TEXTS[0]])
        assert save(store, "one", one) == (SyncReport(added=2), [one[0]])
        assert save(store, "two", two) == (SyncReport(added=1), two)
        assert store.sources() == {"one": 2, "two": 1}
        assert store.delete("one") == 2
        assert (store.sources(), store.get([two[0].id])) == ({"two": 1}, two)
        assert store.delete("one") == 0

    def test_search_ranks_as_exact_cosine_does(self, store: ChunkStore) -> None:
        """Scores are cosines, hits come best first, and each query has its own list."""
        rng = np.random.default_rng(7)
        chunks = make_chunks("doc", [f"text {number}" for number in range(200)])
        matrix = rng.standard_normal((200, DENSE.dimension)).astype(np.float32)
        vectors = {chunk.content_hash: Vectors(row) for chunk, row in zip(chunks, matrix, strict=True)}
        store.sync("doc", chunks, vectors)
        asked = rng.standard_normal((3, DENSE.dimension)).astype(np.float32)
        found = store.search([Query("dense", row, 10) for row in asked])
        unit = matrix / np.linalg.norm(matrix, axis=1, keepdims=True)
        for row, hits in zip(asked, found, strict=True):
            cosines = unit @ (row / np.linalg.norm(row))
            best = np.argsort(-cosines)[:10]
            assert [hit.chunk.index for hit in hits] == best.tolist()
            assert [hit.score for hit in hits] == pytest.approx(cosines[best].tolist(), abs=1e-5)

    def test_terms_are_weighed_by_their_rarity_within_the_level(self, store: ChunkStore) -> None:
        """A rare term outweighs a common one, and parents do not make a term of the leaves common."""
        leaves = make_chunks("doc", ["apple pear", *["apple plum"] * 8, "zebra plum"])
        parents = make_chunks("doc", ["zebra"] * 20, level=1)
        save(store, "doc", [*leaves, *parents])
        (hits,) = store.search([Query("bm25", SPARSE.embed_query("zebra apple"), 20)])
        assert hits[0].chunk == leaves[-1]
        assert {hit.chunk.level for hit in hits} == {0}
        (above,) = store.search([Query("bm25", SPARSE.embed_query("zebra apple"), 30)], level=1)
        assert len(above) == 20
        assert store.search([Query("bm25", SPARSE.embed_query("of the"), 5)]) == [[]]

    def test_filters_and_levels(self, store: ChunkStore) -> None:
        """A filter takes a value or a list of values; a stored list matches by any member."""
        save(store, "a", make_chunks("a", TEXTS[:2], 0, subject="cs", tags=["x", "y"], year=1, **{"a.b": "q"}))
        save(store, "b", make_chunks("b", TEXTS[:2], subject="math", tags=["y"], year=2))
        save(store, "c", [*make_chunks("c", TEXTS[:2]), *make_chunks("c", TEXTS[:1], level=1)])

        def sources(level: int | None = 0, **where: Any) -> set[str]:
            (hits,) = store.search([Query("dense", DENSE.embed_query("class"), 50)], level=level, where=where)
            return {hit.chunk.source_id for hit in hits}

        assert sources() == {"a", "b", "c"}
        assert sources(subject="cs") == {"a"}
        assert sources(subject=["cs", "math"]) == {"a", "b"}
        assert sources(subject=["cs", "math"], year=2) == {"b"}
        assert sources(year=[1, 2, "x"]) == {"a", "b"}
        assert sources(tags="y") == {"a", "b"}
        assert sources(0, **{"a.b": "q"}) == {"a"}
        assert sources(subject=[]) == set()
        assert sources(subject="nobody") == set()
        assert sources(level=1) == {"c"}
        assert sources(level=None) == {"a", "b", "c"}
        assert (store.count(), store.count(0), store.count(1), store.count(2)) == (7, 6, 1, 0)
        with pytest.raises(InvalidParameterError, match=r"where\['year'\]"):
            sources(year=1.5)
        with pytest.raises(InvalidParameterError, match=r"where\['is_chunked'\]"):
            sources(is_chunked=True)
        with pytest.raises(InvalidParameterError, match="level"):
            store.search([Query("bm25", SPARSE.embed_query("class"), 5)], level=None)

    def test_filters_hold_for_terms_too(self, store: ChunkStore) -> None:
        """A filter chooses among the hits and changes no score."""
        save(store, "a", make_chunks("a", TEXTS, subject="cs"))
        save(store, "b", [*make_chunks("b", TEXTS, subject="math"), *make_chunks("b", TEXTS, level=1)])
        save(store, "c", make_chunks("c", TEXTS, level=2, subject="cs"))
        query = Query("bm25", SPARSE.embed_query("recursion of a class"), 50)

        def scores(level: int = 0, **where: Any) -> dict[str, float]:
            (hits,) = store.search([query], level=level, where=where)
            return {hit.chunk.id: hit.score for hit in hits}

        everything = scores()
        for source_id, subject in (("a", "cs"), ("b", "math")):
            ids = {chunk.id for chunk in make_chunks(source_id, TEXTS)}
            expected = {id_: score for id_, score in everything.items() if id_ in ids}
            assert len(expected) == 3
            assert scores(subject=subject) == pytest.approx(expected)
            assert scores(source_id=[source_id], subject=subject) == pytest.approx(expected)
        assert scores(subject=["cs", "math"]) == pytest.approx(everything)
        assert len(scores(1)) == len(scores(2)) == len(scores(2, subject="cs")) == 3
        assert scores(3) == scores(2, subject="math") == scores(subject=[]) == scores(1, subject="cs") == {}
        assert store.search([query], where={"level": 1}) == [[]]

    def test_get_keeps_the_order_and_leaves_out_what_is_missing(self, store: ChunkStore) -> None:
        """Ids that are not stored cost nothing; ids that can't be are refused."""
        chunks = make_chunks("doc", TEXTS)
        save(store, "doc", chunks)
        ids = [chunks[3].id, chunk_id("other", "f1", 0, 0), chunks[0].id, chunks[4].id]
        assert store.get(ids) == [chunks[3], chunks[0], chunks[4]]
        assert store.get([]) == []
        assert store.search([]) == []
        with pytest.raises(InvalidParameterError, match="UUID"):
            store.get(["chunk-1"])

    def test_a_sync_that_can_not_be_done_writes_nothing(self, store: ChunkStore) -> None:
        """Every argument is checked before the first write."""
        chunks = make_chunks("doc", TEXTS[:2])
        vectors = embed(chunks)
        wrong = {key: Vectors(value.dense[:5]) for key, value in vectors.items()}
        with pytest.raises(InvalidParameterError, match=r"missing\(\)"):
            store.sync("doc", chunks, {})
        with pytest.raises(InvalidParameterError, match=r"\(64,\)"):
            store.sync("doc", chunks, wrong)
        with pytest.raises(InvalidParameterError, match="source 'other'"):
            store.sync("other", chunks, vectors)
        with pytest.raises(InvalidParameterError, match="differ"):
            store.sync("doc", [*chunks, chunks[0]], vectors)
        with pytest.raises(InvalidParameterError, match="full_content"):
            store.sync("doc", make_chunks("doc", TEXTS[:2], full_content="mine"), vectors)
        with pytest.raises(InvalidParameterError, match=r"metadata\['when'\]"):
            store.sync("doc", make_chunks("doc", TEXTS[:2], when=object()), vectors)
        with pytest.raises(InvalidParameterError, match="surrogates"):
            save(store, "\udce9", make_chunks("\udce9", TEXTS[:1]))
        assert (store.count(), store.sources(), store.known("doc")) == (0, {}, {})

    def test_lone_surrogates_keep_their_length(self, store: ChunkStore) -> None:
        """They come back as U+FFFD and do not look like a change at the next sync."""
        chunks = make_chunks("doc", ["broken \ud800 text"], title="x\udfff")
        save(store, "doc", chunks)
        (found,) = store.get([chunks[0].id])
        assert (found.text, found.metadata) == ("broken \ufffd text", {"title": "x\ufffd"})
        assert save(store, "doc", chunks) == (SyncReport(unchanged=1), [])

    def test_everything_is_there_after_reopening(self, address: str) -> None:
        """Chunks, vectors and schema outlive the store object; a closed one says so."""
        if self.reach == "object":
            pytest.skip("nothing outlives this store object")
        chunks = make_chunks("doc", TEXTS, subject="cs")
        with open_store(address, COLLECTION, SCHEMA) as store:
            save(store, "doc", chunks)
        store.close()
        with pytest.raises(StoreError, match="closed"):
            store.count()
        with open_store(address, COLLECTION) as store:
            assert store.schema == SCHEMA
            assert store.get([chunk.id for chunk in chunks]) == chunks
            assert save(store, "doc", chunks) == (SyncReport(unchanged=5), [])
            query = Query("bm25", SPARSE.embed_query("recursion"), 3)
            assert [hit.chunk for hit in store.search([query], where={"subject": "cs"})[0]] == [chunks[2]]

    def test_another_schema_is_refused(self, address: str) -> None:
        """The error names both values and what to do."""
        if self.reach == "object":
            pytest.skip("nothing outlives this store object")
        open_store(address, COLLECTION, SCHEMA).close()
        with pytest.raises(SchemaMismatchError) as caught:
            open_store(address, COLLECTION, replace(SCHEMA, model="other-model", fingerprint="f2"))
        message = str(caught.value)
        assert all(part in message for part in (SCHEMA.model, "other-model", "f1", "f2", "another collection name"))
        open_store(address, f"{COLLECTION}-second", replace(SCHEMA, model="other-model")).close()

    def test_a_collection_that_is_not_there_needs_a_schema(self, address: str) -> None:
        """Nothing is created by asking."""
        with pytest.raises(StoreError, match="no collection 'nothing'"):
            open_store(address, "nothing")
        with pytest.raises(InvalidParameterError, match="collection"):
            open_store(address, "../outside", SCHEMA)

    def test_opening_twice(self, address: str, store: ChunkStore) -> None:
        """From this process and from another one."""
        if self.reach == "object":
            pytest.skip("nobody else finds what this store object holds")
        save(store, "doc", make_chunks("doc", TEXTS))
        code = "import sys; from kinsplit.stores import open_store; print(open_store(*sys.argv[1:]).count())"
        other = subprocess.run(
            [sys.executable, "-c", code, address, COLLECTION], capture_output=True, text=True, check=False
        )
        if self.exclusive:
            with pytest.raises(StoreLockedError, match="open in another process") as caught:
                open_store(address, COLLECTION, SCHEMA)
            assert "\n" not in str(caught.value)
            assert other.stderr.strip().splitlines()[-1].startswith("kinsplit.errors.StoreLockedError: ")
        else:
            with open_store(address, COLLECTION, SCHEMA) as second:
                assert second.count() == len(TEXTS)
        if self.reach == "process":
            assert "CollectionNotFoundError" in other.stderr
        elif not self.exclusive:
            assert other.stdout.strip() == str(len(TEXTS))

    def test_a_closed_store_says_so(self, store: ChunkStore) -> None:
        """Closing twice is no error, using a closed store is one."""
        store.close()
        store.close()
        with pytest.raises(StoreError, match="closed"):
            store.count()
        with pytest.raises(StoreError, match="closed"):
            store.get([chunk_id("doc", "f1", 0, 0)])

    def test_export_gives_back_what_was_saved(self, store: ChunkStore) -> None:
        """Chunks in order with their vectors; a vector's length and a term vector's order may differ."""
        chunks = [*make_chunks("doc", TEXTS), *make_chunks("doc", [" ".join(TEXTS)], level=1)]
        save(store, "doc", chunks[::-1])
        save(store, "other", make_chunks("other", TEXTS[:1]))
        vectors = embed(chunks)
        pairs = store.export("doc")
        assert [chunk for chunk, _ in pairs] == chunks
        for chunk, found in pairs:
            given = vectors[chunk.content_hash]
            assert found.dense == pytest.approx(given.dense, abs=1e-6)
            assert found.sparse is not None
            assert given.sparse is not None
            terms = dict(zip(found.sparse.indices, found.sparse.values, strict=True))
            assert terms == pytest.approx(dict(zip(given.sparse.indices, given.sparse.values, strict=True)), abs=1e-6)
        assert store.export("nothing") == []

    def test_control_characters_and_astral_text_come_back(self, store: ChunkStore) -> None:
        """NUL, the other control characters and text beyond the basic plane are text like any other."""
        text = "nul \x00 sub \x1a0 \x1a\x1a esc \\u0000 \x7f \x85 \u2028 😀 e\u0301"
        chunks = make_chunks("nul \x00", [text], 0, title=text, **{"key\x00": [text, {"deep\x00": text}]})
        save(store, "nul \x00", chunks)
        assert store.get([chunks[0].id]) == chunks
        assert store.sources() == {"nul \x00": 1}
        assert store.known("nul \x00") == {chunks[0].id: chunks[0].content_hash}
        (hits,) = store.search([Query("dense", DENSE.embed_query("nul"), 5)], where={"title": text})
        assert [hit.chunk for hit in hits] == chunks
        assert save(store, "nul \x00", chunks) == (SyncReport(unchanged=1), [])
        assert store.delete("nul \x00") == 1

    def test_numbers_come_back_as_they_were(self, store: ChunkStore) -> None:
        """Large, small and whole floats stay floats, and do not look like a change."""
        numbers = [1.0, -0.5, 1e16, 1.1579208923731604e77, 5e-324, 1e-7, 2**63 - 1, -(2**63), 0, True]
        chunks = make_chunks("doc", TEXTS[:1], numbers=numbers)
        save(store, "doc", chunks)
        (found,) = store.get([chunks[0].id])
        assert found.metadata["numbers"] == pytest.approx(numbers, rel=1e-15)
        assert [type(number) for number in found.metadata["numbers"]] == [type(number) for number in numbers]
        assert save(store, "doc", chunks) == (SyncReport(unchanged=1), [])

    def test_eight_writing_threads_lose_nothing(self, store: ChunkStore) -> None:
        """Syncs of different sources, and searches, at the same time."""
        documents = {f"doc{n}": make_chunks(f"doc{n}", [f"{text} {n}" for text in TEXTS * 5]) for n in range(32)}
        query = Query("dense", DENSE.embed_query("class"), 5)

        def work(source_id: str) -> SyncReport:
            report, _ = save(store, source_id, documents[source_id])
            assert len(store.search([query])[0]) == 5
            return report

        with ThreadPoolExecutor(8) as pool:
            reports = list(pool.map(work, documents))
        assert sum(reports, SyncReport()) == SyncReport(added=32 * 25)
        assert store.sources() == dict.fromkeys(sorted(documents), 25)
        for chunks in documents.values():
            assert store.get([chunk.id for chunk in chunks]) == chunks
