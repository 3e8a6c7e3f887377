"""Expansion of hits to passages: merged, bounded, exact, and with one read of the store."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import cast

import pytest

from kinsplit.chunk import Chunk, Document
from kinsplit.parsers import Strategy, create
from kinsplit.retrieval import Candidate, Expansion, Passage, arrange
from kinsplit.retrieval.expand import decisive, fetch_kin
from kinsplit.retrieval.scoring import ScoredEntry
from kinsplit.stores.payload import to_entry, to_payload
from kinsplit.stores.store import ChunkStore
from tests.retrieval.helpers import CountingStore

TEXT = "".join(f"Sentence number {i} stands here.{'  ' if i % 3 else chr(10) * 2}" for i in range(30)).strip()
STRATEGY = create("sentence", max_sentences=1)
OVERLAPPING = create("sentence", chunk_size=14, overlap_sentences=1)


def stored(strategy: Strategy = STRATEGY, documents: int = 1) -> tuple[CountingStore, list[list[Chunk]]]:
    store = CountingStore([Document(f"d{n}", TEXT) for n in range(documents)], strategy)
    return store, [store.store.find({"source_id": f"d{n}"}) for n in range(documents)]


def passages(
    store: CountingStore, hits: Sequence[tuple[Chunk, float]], *, window: int, top_k: int, **options: bool
) -> list[Passage]:
    expansion = Expansion(window=window, **options)
    candidates = [Candidate(chunk, score) for chunk, score in hits]
    known, fingerprint = {chunk.id: chunk for chunk, _ in hits}, store.schema.fingerprint
    chunks = fetch_kin(cast(ChunkStore, store), known.values(), expansion, fingerprint, known)
    return arrange(candidates, chunks, expansion, fingerprint, top_k)


@pytest.mark.parametrize("window", [0, 1, 2, 5])
@pytest.mark.parametrize("strategy", [STRATEGY, OVERLAPPING], ids=["apart", "overlapping"])
def test_every_passage_is_a_slice_of_its_source_and_no_chunk_is_in_two(strategy: Strategy, window: int) -> None:
    store, (chunks,) = stored(strategy)
    hits = [(chunks[i % len(chunks)], 1 - n / 100) for n, i in enumerate([7, 3, 8, 20, 0, len(chunks) - 1, 12, 5])]

    found = passages(store, hits, window=window, top_k=4)

    assert 0 < len(found) <= 4
    for passage in found:
        assert passage.text == TEXT[passage.start : passage.end]
        assert len(passage.chunks) <= 4 * window + 2
        assert passage.score == max(hit.score for hit in passage.hits)
    ids = [chunk.id for passage in found for chunk in passage.chunks]
    assert len(ids) == len(set(ids))


@pytest.mark.parametrize("options", [{}, {"parents": True}, {"within_sections": True}], ids=["", "parents", "sections"])
@pytest.mark.parametrize("window", [0, 1, 2])
def test_hits_that_are_left_out_would_change_no_passage(window: int, options: dict[str, bool]) -> None:
    store, documents = stored(documents=3)
    chunks = [chunk for document in documents for chunk in document]
    for seed in range(20):
        hits = [(chunk, -float(n)) for n, chunk in enumerate(random.Random(seed).sample(chunks, 25))]
        entries = [ScoredEntry(to_entry(chunk.id, to_payload(chunk)), score, {}) for chunk, score in hits]
        kept = {hit.entry.id for hit in decisive(entries, Expansion(window=window, **options), 3)}
        some = passages(store, [pair for pair in hits if pair[0].id in kept], window=window, top_k=3, **options)
        assert some == passages(store, hits, window=window, top_k=3, **options)
    assert window or options or len(kept) < len(hits)


@pytest.mark.parametrize("window", [1, 2, 7])
@pytest.mark.parametrize("hits", [1, 5, 30])
def test_any_number_of_hits_and_any_window_cost_one_read(hits: int, window: int) -> None:
    store, documents = stored(documents=3)

    passages(store, [(documents[n % 3][n], 1.0) for n in range(hits)], window=window, top_k=3)

    assert store.calls == ["get"]


def test_without_siblings_nothing_is_read() -> None:
    store, (chunks,) = stored()

    (passage,) = passages(store, [(chunks[4], 0.5)], window=0, top_k=3)

    assert store.calls == []
    assert passage.text == chunks[4].text


def test_adjacent_hits_become_one_passage_with_both_scores_kept() -> None:
    store, (chunks,) = stored(OVERLAPPING)

    (passage,) = passages(store, [(chunks[5], 0.9), (chunks[4], 0.8)], window=0, top_k=3)

    assert passage.text == TEXT[chunks[4].start : chunks[5].end]
    assert [(hit.chunk.id, hit.score) for hit in passage.hits] == [(chunks[5].id, 0.9), (chunks[4].id, 0.8)]
    assert passage.score == 0.9


def test_siblings_stop_at_the_edges_of_the_document() -> None:
    store, (chunks, other) = stored(documents=2)

    first, last = passages(store, [(chunks[0], 0.9), (other[-1], 0.8)], window=2, top_k=2)

    assert (first.source_id, first.start, first.end) == ("d0", 0, chunks[2].end)
    assert (last.source_id, last.start, last.end) == ("d1", other[-3].start, len(TEXT))


def test_top_k_counts_passages_after_merging() -> None:
    store, (chunks,) = stored()
    hits = [(chunks[i], 1 - n / 10) for n, i in enumerate([3, 4, 10, 11, 20])]

    found = passages(store, hits, window=1, top_k=3)

    assert [[hit.chunk.index for hit in p.hits] for p in found] == [[3, 4], [10, 11], [20]]


def test_a_passage_stops_where_a_sibling_is_missing() -> None:
    store, (chunks,) = stored()
    store.store.remove([chunks[6].id])

    (passage,) = passages(store, [(chunks[5], 0.5)], window=3, top_k=1)

    assert passage.text == TEXT[chunks[2].start : chunks[5].end]
    assert len(passage.spans) == 1


def test_chunks_that_another_passage_keeps_apart_are_not_joined() -> None:
    store, (chunks,) = stored()
    hits = [(chunks[n], 1 - n / 100) for n in (4, 10, 7, 13, 16, 1, 19)]

    for passage in passages(store, hits, window=1, top_k=9):
        assert passage.text == TEXT[passage.start : passage.end]
        assert [chunk.index for chunk in passage.chunks] == list(
            range(passage.chunks[0].index, passage.chunks[-1].index + 1)
        )
