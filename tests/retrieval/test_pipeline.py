"""A whole search: few calls, every option, sync and async alike."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from kinsplit.chunk import Document
from kinsplit.embedding import create
from kinsplit.errors import InvalidParameterError
from kinsplit.options import NO_KIN, KinWeights, SearchOptions
from kinsplit.retrieval import Passage, Ranked, Reranker, RerankWarning, find_candidates, related_once, search
from kinsplit.retrieval.rankings import find_entries
from kinsplit.tokenizers import resolve
from tests.retrieval.helpers import STRATEGY, CountingStore, course, question


class Longest:
    """Prefers long texts, and returns scores in any order."""

    def __init__(self) -> None:
        self.read: list[Sequence[str]] = []

    def rerank(self, query: str, texts: Sequence[str]) -> list[Ranked]:
        self.read.append(texts)
        return sorted((Ranked(i, float(len(text))) for i, text in enumerate(texts)), key=lambda r: -r.score)


def ask(store: CountingStore, text: str, reranker: Reranker | None = None, **options: Any) -> list[Passage]:
    asked = SearchOptions(**options)
    return search(
        store,  # type: ignore[arg-type]
        text,
        question(text, level=asked.level, where=asked.where),
        STRATEGY.fingerprint,
        asked,
        reranker,
        resolve("bundled"),
    )


@pytest.mark.parametrize("documents", [1, 3, 12])
@pytest.mark.parametrize("window", [0, 1, 9])
@pytest.mark.parametrize("parents", [False, True])
@pytest.mark.parametrize("candidates", [1, 30, 200])
def test_a_whole_search_is_at_most_three_calls_one_of_them_for_texts(
    documents: int, window: int, parents: bool, candidates: int
) -> None:
    store = CountingStore(course(documents))

    assert ask(store, "what is recursion", Longest(), window=window, parents=parents, candidates=candidates, top_k=1)
    # A first call that finds every chunk lacks nothing.
    lacks = store.store.count(0) >= max(KinWeights().pool, candidates)
    assert store.calls == [*["rank"] * (1 + lacks), "get"]


def test_without_kin_the_documents_are_not_looked_into() -> None:
    store = CountingStore(course())

    assert ask(store, "what is recursion", weights=NO_KIN)
    assert store.calls == ["rank", "get"]


@pytest.mark.parametrize("weights", [NO_KIN.model_copy(update={"pool": 4}), KinWeights(pool=4)])
def test_every_chunk_that_either_ranking_finds_has_both_scores(weights: KinWeights) -> None:
    store, asked = CountingStore(course(12)), question("what is recursion")
    everything = KinWeights(pool=10_000)
    whole = {found.entry.id: found for found in find_entries(store, asked, everything, 10_000).entries}  # type: ignore[arg-type]
    store.calls.clear()

    first = [asked.by_meaning(0, 4), asked.by_terms(0, 4)]
    found = {found.entry.id: found for found in find_entries(store, asked, weights, 1).entries}  # type: ignore[arg-type]

    assert store.calls == ["rank", "rank"]
    evidence = find_entries(store, asked, weights.model_copy(update={"best_documents": 0}), 4).entries  # type: ignore[arg-type]
    assert {entry.id for ranking in store.rank(first) for entry, _ in ranking} >= {one.entry.id for one in evidence}
    for one in (*found.values(), *evidence):
        for stage in ("dense", "bm25"):
            assert one.scores.get(stage) == pytest.approx(whole[one.entry.id].scores.get(stage))


def test_passages_are_slices_of_their_documents() -> None:
    documents = course()
    texts = {document.id: document.text for document in documents}
    for options in ({}, {"parents": True}, {"window": 3}, {"level": 1}, {"within_sections": True}):
        found = ask(CountingStore(documents), "sorting means", **options)
        assert found
        for passage in found:
            assert passage.text == texts[passage.source_id][passage.start : passage.end]
            assert passage.score == passage.scores["kin"] == passage.best.score


def test_a_parent_stands_for_its_hits() -> None:
    (passage, *others) = ask(CountingStore(course()), "recursion", parents=True, top_k=10)

    assert {chunk.level for chunk in passage.chunks} == {1}
    assert all(hit.chunk.level == 0 for hit in passage.hits)
    assert {hit.chunk.parent_id for hit in passage.hits} == {passage.chunks[0].id}
    assert len({p.chunks[0].id for p in (passage, *others)}) == len(others) + 1


def test_parents_can_be_asked_for_themselves() -> None:
    found = ask(CountingStore(course()), "recursion", level=1, window=0)

    assert {hit.chunk.level for passage in found for hit in passage.hits} == {1}


def test_a_filter_holds_for_every_stage() -> None:
    found = ask(CountingStore(course(4)), "recursion", where={"subject": "cs"}, top_k=20)

    assert {passage.metadata["subject"] for passage in found} == {"cs"}


def test_a_reranker_reads_the_candidates_and_then_the_passages() -> None:
    reranker = Longest()
    found = ask(CountingStore(course()), "recursion", reranker, candidates=5, top_k=2)

    first, second = reranker.read
    assert len(first) == 5
    assert len(found) == 2
    assert [len(passage.text) for passage in found] == sorted(map(len, second), reverse=True)[:2]
    for passage in found:
        assert passage.score == passage.scores["rerank_passage"] == len(passage.text)
        assert list(passage.best.scores)[-2:] == ["kin", "rerank"]


def test_passages_of_candidates_that_a_reranker_left_out_come_last() -> None:
    class First(Longest):
        def rerank(self, query: str, texts: Sequence[str]) -> list[Ranked]:
            return super().rerank(query, texts[:3])

    reranker = First()
    found = ask(many(), "recursion", reranker, candidates=8, top_k=8, window=0)

    assert [len(texts) for texts in reranker.read] == [3, 3]
    assert ["rerank_passage" in passage.scores for passage in found] == [True] * 3 + [False] * 5
    assert [list(passage.scores)[-1] for passage in found[3:]] == ["kin"] * 5


def many(number: int = 100) -> CountingStore:
    return CountingStore([Document(f"{n}.md", f"Recursion, told {n} times.") for n in range(number)])


def test_as_many_passages_come_as_are_asked_for() -> None:
    assert len(ask(many(), "recursion", top_k=50)) == 50


def test_a_reranker_that_fails_is_asked_once() -> None:
    class Broken:
        calls = 0

        def rerank(self, query: str, texts: Sequence[str]) -> list[Ranked]:
            self.calls += 1
            raise RuntimeError("down")

    broken, store = Broken(), CountingStore(course())
    with pytest.warns(RerankWarning) as caught:
        found = ask(store, "recursion", broken)

    assert (broken.calls, len(caught)) == (1, 1)
    assert found == ask(store, "recursion")


def test_siblings_stop_at_sections_on_request() -> None:
    from kinsplit import Index
    from kinsplit.parsers import create as create_strategy

    text = "# A\n\nApples are red.\n\n# B\n\nPears are green.\n\n# C\n\nPlums are blue."
    strategy = create_strategy("structure", chunk_size=4, min_chunk_size=1)
    with Index("memory:", embedder="hash", strategy=strategy) as index:
        index.add(Document("fruit.md", text))
        (wide,) = index.search("Pears", top_k=1, window=2)
        (narrow,) = index.search("Pears", top_k=1, window=2, within_sections=True)
    assert "Apples" in wide.text
    assert narrow.context == "B"
    assert {chunk.context for chunk in narrow.chunks} == {"B"}


@pytest.mark.parametrize("heading", ["# Fruit\n\n", ""])
def test_a_table_does_not_break_its_section(heading: str) -> None:
    from kinsplit import Index
    from kinsplit.parsers import create as create_strategy

    rows = "".join(f"| fruit{n} | colour{n} |\n" for n in range(6))
    text = f"{heading}Some are red.\n\n| name | colour |\n|------|:-----:|\n{rows}\nOthers are green.\n"
    strategy = create_strategy("structure", chunk_size=4, min_chunk_size=1)
    with Index("memory:", embedder="hash", strategy=strategy) as index:
        index.add(Document("fruit.md", text))
        contexts = {chunk.context for chunk in index.store.find({}, 0)}
        parents = index.store.find({}, 1)
        (found,) = index.search("fruit3", top_k=1, window=50, within_sections=True)
    assert len(contexts) == 2
    assert len(parents) == 1
    assert "Some are red" in found.text
    assert "Others are green" in found.text


def test_a_document_brings_its_sibling_files() -> None:
    notes = Document("10.md", "Merge sort halves a list.", {"sibling_files": ["10.py", "10.pdf"]})
    code = Document("10.py", "def merge_sort(items): ...", {"sibling_files": ["10.md", "10.pdf"]})
    chunked = Document("10.pdf", "Slides about sorting. " * 20, {"sibling_files": ["10.md", "10.py"]})
    store = CountingStore([notes, code, chunked])

    (passage,) = ask(store, "halves a list", top_k=1, candidates=1)

    assert (passage.text, [chunk.source_id for chunk in passage.related]) == (notes.text, ["10.py", "10.pdf"])
    assert [(chunk.index, chunk.total > 1) for chunk in passage.related] == [(0, False), (0, True)]
    assert store.calls == ["rank", "get"]
    tokens = int(resolve("bundled").count([notes.text])[0])
    (alone,) = ask(store, "halves a list", top_k=1, candidates=1, budget=tokens)
    assert (alone.text, alone.related) == (notes.text, ())
    (slides,) = ask(store, "slides about sorting", top_k=1, candidates=1)
    assert (slides.source_id, [chunk.text for chunk in slides.related]) == ("10.pdf", [notes.text, code.text])
    passages = ask(store, "sorting slides", top_k=9)
    assert {passage.source_id for passage in passages} == {"10.md", "10.py", "10.pdf"}
    assert related_once(passages) == [[] for _ in passages]
    assert all(passage.related for passage in passages)
    ample = ask(store, "slides about sorting", budget=tokens + 60)
    assert len({chunk.id for passage in ample for chunk in (*passage.chunks, *passage.related)}) == sum(
        len(passage.chunks) + len(passage.related) for passage in ample
    )


async def test_an_index_answers_an_event_loop_alike() -> None:
    from kinsplit import Index

    async with Index("memory:", embedder="hash") as index:
        index.add(course())
        assert await index.asearch("sorting", top_k=5) == index.search("sorting", top_k=5)


def test_candidates_that_vanish_between_two_calls_are_left_out() -> None:
    store = CountingStore(course(2))
    get = store.get

    def forgetful(ids: Sequence[str]) -> Any:
        store.store.delete("lecture_0.md")
        return get(ids)

    store.get = forgetful  # type: ignore[method-assign]
    found = find_candidates(store, question("recursion"), NO_KIN, 30)  # type: ignore[arg-type]

    assert {candidate.chunk.source_id for candidate in found} == {"lecture_1.md"}


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"top_k": 0}, r"top_k: must be at least 1 \(got 0\)"),
        ({"window": -1}, "window"),
        ({"budget": 0}, "budget"),
        ({"context_share": 0.5}, "context_share: needs a budget"),
        ({"candidates": "30"}, "candidates: must be a valid integer"),
        ({"top_k": 3, "candidates": 2}, r"candidates: must be at least top_k \(3\) \(got 2\)"),
        ({"where": [1]}, "where: must map keys to values"),
        ({"topk": 3}, "topk: is not known here"),
        ({"rerank": "best"}, "rerank: must be one of none, late, cross-encoder:NAME"),
        ({"rerank": "late"}, "rerank: needs an embedder with vectors for tokens"),
        ({"weights": {"siblings": -2}}, "siblings"),
    ],
)
def test_a_wrong_option_is_named(wrong: dict[str, Any], message: str) -> None:
    from kinsplit import Index

    with Index("memory:", embedder=create("hash")) as index, pytest.raises(InvalidParameterError, match=message):
        index.search("recursion", **wrong)
