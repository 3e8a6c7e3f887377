"""Chunks of several spans, from parents to passages, without lost or additional text."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kinsplit import Document, Index
from kinsplit.chunk import DOCUMENT, Chunk
from kinsplit.errors import StoreError
from kinsplit.identity import chunk_id, content_hash
from kinsplit.indexing.indexer import Indexer
from kinsplit.parsers import create
from kinsplit.retrieval import Candidate, Expansion, Passage, arrange, join
from kinsplit.spans import Span, holds
from kinsplit.stores.maintenance import verify
from tests.generators import strategy_parameters, texts

CATS, DOGS = "Cats purr and cats sleep. ", "Dogs bark at the postman. "
TEXT = "".join(part * 3 for part in (CATS, DOGS, CATS, DOGS, CATS)).strip()
GATHER = create("cluster", chunk_size=60, passage_size=24, passage_overlap=3, threshold=0.8, embedder="hash")


def placed(strategy: Any, text: str) -> list[Chunk]:
    indexer = Indexer(cast(Any, None), strategy, cast(Any, None), cast(Any, None))
    return indexer.chunk(Document("d", text))


def check(passage: Passage, text: str) -> None:
    """Check that a passage consists of separate slices, and contains all text of its chunks once."""
    assert passage.text == "\n\n".join(text[start:end] for start, end in passage.spans)
    assert all(a.end < b.start for a, b in pairwise(passage.spans))
    assert all(holds(passage.spans, chunk.spans) for chunk in passage.chunks)
    own = {place for chunk in passage.chunks for start, end in chunk.spans for place in range(start, end)}
    more = {place for start, end in passage.spans for place in range(start, end)} - own
    assert not "".join(text[place] for place in more).strip()


@given(text=texts(), parameters=strategy_parameters("cluster"), data=st.data())
def test_any_passage_of_gathered_chunks_is_made_of_slices(text: str, parameters: dict[str, Any], data: Any) -> None:
    strategy = create("cluster", **parameters)
    chunks = placed(strategy, text)
    by_id = {chunk.id: chunk for chunk in chunks}
    leaves = [chunk for chunk in chunks if chunk.level == 0]
    for leaf in leaves:
        parent = by_id[leaf.parent_id or ""]
        assert holds(parent.spans, leaf.spans)
    for parent in (chunk for chunk in chunks if chunk.level == 1):
        check(join([parent], [Candidate(parent, 1.0)]), text)
        children = {p for c in leaves if c.parent_id == parent.id for s, e in c.spans for p in range(s, e)}
        own = {place for start, end in parent.spans for place in range(start, end)}
        assert not "".join(text[place] for place in own - children).strip()
    if leaves:
        hits = data.draw(st.lists(st.sampled_from(leaves), min_size=1, max_size=4, unique_by=lambda c: c.id))
        expansion = Expansion(window=data.draw(st.integers(0, 2)), parents=data.draw(st.booleans()))
        candidates = [Candidate(hit, 1 - n / 10) for n, hit in enumerate(hits)]
        passages = arrange(candidates, by_id, expansion, strategy.fingerprint, 3)
        for passage in passages:
            check(passage, text)
            assert passage.score == passage.hits[0].score
        assert passages[0].score == 1.0


def piece(index: int, *spans: tuple[int, int], gap: str | None = None) -> Chunk:
    text = "\n\n".join("abcdefghijklmnopqrstuvwxyz"[start:end] for start, end in spans)
    place = chunk_id("d", "f", 0, index), "d", index, 4, 0, tuple(Span(*span) for span in spans)
    return Chunk(*place, text, content_hash(text), metadata={} if gap is None else {"gap": gap})


@pytest.mark.parametrize(
    ("chunks", "spans", "text"),
    [
        ([piece(0, (0, 3), (6, 8))], [(0, 3), (6, 8)], "abc\n\ngh"),
        ([piece(0, (0, 3), (6, 8)), piece(1, (3, 5))], [(0, 5), (6, 8)], "abcde\n\ngh"),
        ([piece(0, (0, 3), (6, 8)), piece(1, (2, 7))], [(0, 8)], "abcdefgh"),
        ([piece(0, (0, 9), (20, 22)), piece(1, (3, 5), (8, 10))], [(0, 10), (20, 22)], "abcdefghij\n\nuv"),
        ([piece(0, (0, 3)), piece(1, (5, 7))], [(0, 3), (5, 7)], "abc\n\nfg"),
        ([piece(0, (0, 3)), piece(1, (5, 7), gap="de")], [(0, 7)], "abcdefg"),
        ([piece(0, (0, 4)), piece(1, (5, 7), gap="de")], [(0, 7)], "abcdefg"),
        ([piece(0, (0, 3)), piece(1, (5, 7), gap="e")], [(0, 3), (5, 7)], "abc\n\nfg"),
    ],
)
def test_slices_that_touch_are_one_and_others_stay_apart(
    chunks: list[Chunk], spans: list[tuple[int, int]], text: str
) -> None:
    for given_ in (chunks, chunks[::-1]):
        passage = join(given_, [Candidate(chunks[0], 0.5)])
        assert (list(passage.spans), passage.text) == (spans, text)
        assert (passage.start, passage.end) == (spans[0][0], spans[-1][1])


@pytest.mark.parametrize(
    ("chunks", "problem"),
    [
        ([replace(piece(0, (0, 3), (6, 8)), text="abcd")], "4 characters, which is not its place from 0 to 8"),
        ([replace(piece(2, (10, 13)), text="abcd")], "Chunk 2 .* 4 characters, which is not its place from 10 to 13"),
        ([piece(0, (0, 5)), replace(piece(1, (3, 7)), text="xefg")], "Chunks 0 and 1 .* different versions"),
    ],
)
def test_a_passage_is_the_slice_that_it_claims_or_none(chunks: list[Chunk], problem: str) -> None:
    with pytest.raises(StoreError, match=problem):
        join(chunks, [Candidate(chunks[0], 0.5)])


@pytest.mark.parametrize("address", ["memory:", "edge"])
def test_an_index_of_gathered_chunks_is_whole_and_searched(address: str, tmp_path: Path) -> None:
    place = address if address == "memory:" else f"edge:{tmp_path / 'data'}"
    with Index(place, strategy=GATHER, embedder="hash") as index:
        report = index.add([Document("pets", TEXT, pages=(0, 100, 200)), Document("other", "Nothing else here.")])
        assert verify(index.store) == []
        leaves = index.store.find({"source_id": "pets"}, 0)
        assert len(leaves) == report.added - 1
        assert max(len(leaf.spans) for leaf in leaves) > 1

        hit = next(leaf for leaf in leaves if len(leaf.spans) > 1)
        (passage,) = index.search(hit.text, top_k=1, candidates=1, window=0)
        assert (passage.spans, passage.text) == (hit.spans, hit.text)
        for options in ({"window": 1}, {"window": 3}, {"parents": True}):
            for found in index.search("Dogs bark", top_k=3, **cast(Any, options)):
                check(found, TEXT if found.source_id == "pets" else "Nothing else here.")
        assert index.search("Dogs bark", budget=60, window=0)
        assert index.add(Document("pets", TEXT, pages=(0, 100, 200))).unchanged == len(leaves)


def test_a_parents_vector_is_the_mean_of_the_leaves_that_lie_in_its_spans() -> None:
    text = " ".join(
        f"{subject} {verb} {n}." for n in range(400) for subject, verb in [("Cats", "eat"), ("Dogs", "run")]
    )
    strategy = create("cluster", chunk_size=300, passage_size=100, passage_overlap=0, threshold=0.2, embedder="hash")
    with Index("memory:", strategy=strategy, embedder="hash") as index:
        index.add(Document("d", text))
        stored = {chunk.id: (chunk, vectors.dense) for chunk, vectors in index.store.export("d")}
        parents = [(chunk, dense) for chunk, dense in stored.values() if 0 < chunk.level < DOCUMENT]
        assert len(parents) > 1
        for parent, dense in parents:
            own = [d for chunk, d in stored.values() if chunk.parent_id == parent.id]
            mean = np.mean(own, axis=0)
            assert np.allclose(dense, mean / np.linalg.norm(mean), atol=1e-5)


def test_a_gathered_child_outside_its_parent_is_a_problem() -> None:
    with Index("memory:", strategy=GATHER, embedder="hash") as index:
        index.add(Document("pets", TEXT))
        leaf = next(leaf for leaf in index.store.find({}, 0) if len(leaf.spans) > 1)
        parent = index.store.get([leaf.parent_id or ""])[0]
        holed = replace(parent, spans=(Span(parent.start, parent.start + 1), Span(parent.end - 1, parent.end)))
        index.store.put([holed], {})
        assert any(problem.kind == "parent" for problem in verify(index.store))
