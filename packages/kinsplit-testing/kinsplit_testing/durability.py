"""Tests that stored chunks are read back unchanged."""

# ruff: noqa: S101

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from kinsplit.chunk import Beside
from kinsplit.errors import InvalidParameterError
from kinsplit.identity import chunk_id
from kinsplit.spans import Span
from kinsplit.stores.maintenance.doctor import DENSE, TEXTS, embed, make_chunks, make_document, save
from kinsplit.stores.store import ChunkStore
from kinsplit.stores.values import Query, SyncReport
from kinsplit_testing.base import Contract


class Keeping(Contract):
    """Tests that stored chunks and vectors are read back unchanged."""

    def test_every_field_comes_back(self, store: ChunkStore) -> None:
        """A chunk is read back as it was written."""
        parent, leaf = make_chunks("a/b.md", ["parent"], level=1), make_chunks("a/b.md", TEXTS[:2])
        full = replace(
            leaf[1],
            parent_id=parent[0].id,
            overlap=7,
            beside=Beside(("Objects", "Basics > C++"), "| a | b |\n|---|---|", "c", "Ann", "é"),
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
        assert store.find({"beside.headings": "Objects"}) == store.find({"beside.speaker": "Ann"}) == [full]

    def test_vectors_come_back_by_id(self, store: ChunkStore) -> None:
        """One call reads vectors of any sources and levels, without ids that are not stored."""
        one, two = make_chunks("one", TEXTS), make_chunks("two", TEXTS[:2])
        whole = make_document(one, "Objects")
        given = embed([*one, *two, whole])
        save(store, "one", [*one, whole])
        save(store, "two", two)
        asked = [one[3], two[0], whole, one[0]]
        found = store.vectors([*(chunk.id for chunk in asked), chunk_id("nobody", "f1", 0, 0), one[0].id])
        assert found.keys() == {chunk.id for chunk in asked}
        for chunk in asked:
            kept, wanted = found[chunk.id], given[chunk.content_key]
            assert (kept.dense is None) == (wanted.dense is None)
            if kept.dense is not None and wanted.dense is not None:
                assert kept.dense.dtype == np.float32
                assert kept.dense == pytest.approx(wanted.dense / np.linalg.norm(wanted.dense), abs=1e-6)
            assert kept.sparse is not None
            assert wanted.sparse is not None
            kept_terms = dict(zip(kept.sparse.indices, kept.sparse.values, strict=True))
            assert kept_terms == pytest.approx(dict(zip(wanted.sparse.indices, wanted.sparse.values, strict=True)))
        assert store.vectors([]) == {}
        with pytest.raises(InvalidParameterError, match="UUID"):
            store.vectors(["chunk-1"])

    def test_chunks_and_vectors_come_back_together(self, store: ChunkStore) -> None:
        """They are those of `get` and `vectors`, in the order of the ids."""
        chunks = make_chunks("doc", TEXTS)
        save(store, "doc", [*chunks, make_document(chunks, "Objects")])
        ids = [make_document(chunks, "Objects").id, chunks[2].id, chunk_id("nobody", "f1", 0, 0), chunks[0].id]
        pairs, vectors = store.get_with_vectors(ids), store.vectors(ids)
        assert [chunk for chunk, _ in pairs] == store.get(ids)
        for chunk, found in pairs:
            kept = vectors[chunk.id]
            assert np.array_equal(found.dense, kept.dense)  # type: ignore[arg-type]
            assert found.sparse is not None
            assert kept.sparse is not None
            assert dict(zip(found.sparse.indices, found.sparse.values, strict=True)) == dict(
                zip(kept.sparse.indices, kept.sparse.values, strict=True)
            )
        assert store.get_with_vectors([]) == []
        with pytest.raises(InvalidParameterError, match="UUID"):
            store.get_with_vectors(["chunk-1"])

    def test_lone_surrogates_keep_their_length(self, store: ChunkStore) -> None:
        """They come back as U+FFFD, and the next sync does not count them as a change."""
        chunks = make_chunks("doc", ["broken \ud800 text"], title="x\udfff")
        save(store, "doc", chunks)
        (found,) = store.get([chunks[0].id])
        assert (found.text, found.metadata) == ("broken \ufffd text", {"title": "x\ufffd"})
        assert save(store, "doc", chunks) == (SyncReport(unchanged=1), [])

    def test_control_characters_and_astral_text_come_back(self, store: ChunkStore) -> None:
        """NUL, other control characters and characters outside the Basic Multilingual Plane are preserved."""
        text = "nul \x00 sub \x1a0 \x1a\x1a esc \\u0000 \x7f \x85 \u2028 😀 e\u0301"
        chunks = make_chunks("nul \x00", [text], 0, title=text, **{"key\x00": [text, {"deep\x00": text}]})
        save(store, "nul \x00", chunks)
        assert store.get([chunks[0].id]) == chunks
        assert store.sources() == {"nul \x00": 1}
        assert store.known("nul \x00") == {chunks[0].id: chunks[0].content_key}
        (hits,) = store.search([Query("dense", DENSE.embed_query("nul"), 5, where={"title": text})])
        assert [hit.chunk for hit in hits] == chunks
        assert save(store, "nul \x00", chunks) == (SyncReport(unchanged=1), [])
        assert store.delete("nul \x00") == 1

    def test_numbers_come_back_as_they_were(self, store: ChunkStore) -> None:
        """Large and small floats stay floats, whole ones become integers, and a sync sees no change."""
        numbers = [1.0, -0.5, 1e16, 1.1579208923731604e77, 5e-324, 1e-7, 2**63 - 1, -(2**63), 0, True]
        chunks = make_chunks("doc", TEXTS[:1], numbers=numbers)
        save(store, "doc", chunks)
        (found,) = store.get([chunks[0].id])
        assert found.metadata["numbers"] == pytest.approx(numbers, rel=1e-15)
        kinds = [int, *[float] * 5, int, int, int, bool]
        assert [type(number) for number in found.metadata["numbers"]] == kinds
        assert save(store, "doc", chunks) == (SyncReport(unchanged=1), [])

    def test_get_keeps_the_order_and_leaves_out_what_is_missing(self, store: ChunkStore) -> None:
        """Ids that are not stored are skipped; malformed ids are an error."""
        chunks = make_chunks("doc", TEXTS)
        save(store, "doc", chunks)
        ids = [chunks[3].id, chunk_id("other", "f1", 0, 0), chunks[0].id, chunks[4].id]
        assert store.get(ids) == [chunks[3], chunks[0], chunks[4]]
        assert store.get([]) == []
        assert store.search([]) == []
        with pytest.raises(InvalidParameterError, match="UUID"):
            store.get(["chunk-1"])

    def test_export_gives_back_what_was_saved(self, store: ChunkStore) -> None:
        """Chunks come in order with their vectors; a vector's length and the order of terms may differ."""
        leaves = make_chunks("doc", TEXTS)
        chunks = [*leaves, *make_chunks("doc", [" ".join(TEXTS)], level=1), make_document(leaves, "Objects")]
        save(store, "doc", chunks[::-1])
        save(store, "other", make_chunks("other", TEXTS[:1]))
        vectors = embed(chunks)
        pairs = store.export("doc")
        assert [chunk for chunk, _ in pairs] == chunks
        for chunk, found in pairs:
            given = vectors[chunk.content_key]
            if given.dense is None:
                assert found.dense is None
            else:
                assert found.dense == pytest.approx(given.dense, abs=1e-6)
            assert found.sparse is not None
            assert given.sparse is not None
            terms = dict(zip(found.sparse.indices, found.sparse.values, strict=True))
            assert terms == pytest.approx(dict(zip(given.sparse.indices, given.sparse.values, strict=True)), abs=1e-6)
        assert store.export("nothing") == []
