"""Tests that all engines return the same rankings for the same chunks and vectors."""

import random
from dataclasses import replace
from itertools import pairwise
from unittest.mock import patch

import pytest
from engines import ENGINES, address_of
from kinsplit_testing import DENSE, SCHEMA, SPARSE, make_chunks, make_document, save

from kinsplit.chunk import DOCUMENT
from kinsplit.errors import SchemaMismatchError
from kinsplit.stores import open_store
from kinsplit.stores.maintenance import Copied, copy
from kinsplit.stores.values import Query

WORDS = (
    *("class", "object", "loop", "list", "tuple", "stack", "queue", "tree", "graph"),
    *("sort", "search", "hash", "table", "pointer", "memory", "thread", "lock"),
)
QUESTIONS = ("how does a hash table search", "stack and queue", "a lock for each thread", "tree", "unknown words only")
CHANGED = "pointer memory memory class"


def documents():
    rng = random.Random(5)
    for number in range(6):
        leaves = [" ".join(rng.choices(WORDS, k=rng.randint(3, 30))) for _ in range(15)]
        parents = [" ".join(leaves[start : start + 5]) for start in range(0, 15, 5)]
        source_id, subject = f"doc{number:02}", ("cs", "math", "art")[number % 3]
        yield (
            source_id,
            [
                *make_chunks(source_id, leaves, 0, subject=subject, year=2000 + number % 4),
                *make_chunks(source_id, parents, 1, subject=subject),
                *make_chunks(source_id, [" ".join(parents)], 2, subject=subject),
                make_document(make_chunks(source_id, leaves), " ".join(parents[:2]), subject=subject),
            ],
        )


def fill(store):
    """Write, change and delete chunks, so that the collection has a history."""
    for source_id, chunks in documents():
        save(store, source_id, chunks)
    save(store, "gone", make_chunks("gone", WORDS))
    store.delete("gone")
    return store


def rankings(store, using, level=0, where=None):
    embedder = {"dense": DENSE, "bm25": SPARSE}[using]
    return store.search([Query(using, embedder.embed_query(text), 40, level, where) for text in QUESTIONS])


def same(found, expected):
    """Compare rankings: equal scores at each rank, and the same chunk if no other has its score."""
    assert len(found) == len(expected)
    for ours, theirs in zip(found, expected, strict=True):
        scores = [hit.score for hit in theirs]
        assert [hit.score for hit in ours] == pytest.approx(scores, abs=1e-5)
        for place, (one, other) in enumerate(zip(ours, theirs, strict=True)):
            neighbours = [*scores[max(0, place - 1) : place], *scores[place + 1 : place + 2]]
            alone = all(abs(score - scores[place]) > 1e-5 for score in neighbours) and place < len(scores) - 1
            assert not alone or one.chunk == other.chunk


HOW = (
    {},
    {"level": 1},
    {"level": 2},
    {"where": {"subject": "cs"}},
    {"where": {"subject": ["cs", "art"], "year": [2001, 2002]}},
    {"where": {"source_id": ["doc01", "doc04"]}},
    {"where": {"year": {"$gte": 2001, "$lt": 2003}, "subject": {"$ne": "art"}}},
    {"where": {"$or": [{"subject": "cs"}, {"chunk_index": {"$gt": 9}}], "$not": {"source_id": "doc00"}}},
    {"where": {"chunk_index": [0, 1]}, "level": 1},
)


@pytest.fixture
def filled(request, tmp_path):
    """Function that makes a store with chunks, which is closed before its folder is deleted."""

    def make(engine, name):
        store = open_store(address_of(engine, request, name), name, SCHEMA)
        request.addfinalizer(store.close)
        return fill(store)

    return make


@pytest.mark.parametrize("engine", [engine for engine in ENGINES if engine != "memory"])
def test_dense_rankings_equal_the_exact_ones(engine, filled):
    exact, store = filled("memory", "exact"), filled(engine, "other")
    for how in HOW:
        # Edge counts deleted chunks in its IDF until it cleans up its segments, so terms are compared without any.
        same(rankings(store, "dense", **how), rankings(exact, "dense", **how))


@pytest.mark.parametrize("engine", [engine for engine in ENGINES if engine != "memory"])
def test_term_rankings_equal_the_exact_ones_where_nothing_was_deleted(engine, request):
    with (
        open_store("memory:", "cs", SCHEMA) as exact,
        open_store(address_of(engine, request, "terms"), "cs", SCHEMA) as store,
    ):
        for source_id, chunks in documents():
            save(exact, source_id, chunks)
            save(store, source_id, chunks)
        for how in (*HOW, {"level": DOCUMENT}, {"level": DOCUMENT, "where": {"subject": "cs"}}):
            same(rankings(store, "bm25", **how), rankings(exact, "bm25", **how))


@pytest.mark.parametrize(("source", "target"), list(pairwise((*ENGINES, ENGINES[0]))))
def test_a_copy_answers_as_the_original_does(source, target, filled, request):
    original = filled(source, "original")
    with open_store(address_of(target, request, "copy"), "copy", SCHEMA) as duplicate:
        made = copy(original, duplicate)
        assert made == Copied(len(original.sources()), original.count(0), 0)
        assert duplicate.sources() == original.sources()
        for source_id, chunks in documents():
            assert duplicate.get([chunk.id for chunk in chunks]) == chunks
            assert duplicate.missing(source_id, chunks) == []
        for how in HOW:
            same(rankings(duplicate, "dense", **how), rankings(original, "dense", **how))
        with patch.object(duplicate, "sync", side_effect=AssertionError):
            assert copy(original, duplicate) == replace(made, skipped=made.documents)


def test_a_copy_leaves_other_documents_alone_and_takes_changes(filled):
    original, duplicate = filled("memory", "original"), filled("memory", "copy")
    mine = make_chunks("mine", WORDS[:2])
    save(duplicate, "mine", mine)
    changed = make_chunks("doc00", [CHANGED])
    save(original, "doc00", changed)
    assert copy(original, duplicate).skipped == len(original.sources()) - 1
    assert duplicate.get([chunk.id for chunk in mine]) == mine
    assert [chunk for chunk, _ in duplicate.export("doc00")] == changed


def test_a_copy_between_different_schemas_is_refused():
    source = open_store("memory:", "a", SCHEMA)
    target = open_store("memory:", "b", replace(SCHEMA, model="x"))
    with pytest.raises(SchemaMismatchError, match="model"):
        copy(source, target)
