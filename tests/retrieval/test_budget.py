"""Spending of a token budget: worth first, exact passages, no token too many."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kinsplit import Index
from kinsplit.chunk import Chunk, Document
from kinsplit.errors import InvalidParameterError
from kinsplit.indexing.indexer import Indexer
from kinsplit.parsers import create
from kinsplit.retrieval import Budget, Candidate, Expansion, Passage, context_of, shorten, spend
from kinsplit.tokenizers import resolve
from tests.generators import strategy_parameters, texts

TOKENIZER = resolve("bundled")
TEXT = "".join(f"Sentence number {i} stands here.{'  ' if i % 3 else chr(10) * 2}" for i in range(30)).strip()
#: Tokens of a sentence of `TEXT`, each of which is a chunk.
SENTENCE = 6


def placed(strategy: Any, text: str) -> dict[str, Chunk]:
    indexer = Indexer(cast(Any, None), strategy, cast(Any, None), cast(Any, None))
    return {chunk.id: chunk for chunk in indexer.chunk(Document("d", text))}


def leaves(chunks: Mapping[str, Chunk]) -> list[Chunk]:
    return [chunk for chunk in chunks.values() if chunk.level == 0]


STRATEGY = create("sentence", max_sentences=1)
CHUNKS = placed(STRATEGY, TEXT)
LEAVES = leaves(CHUNKS)


def spent(tokens: int, hits: Sequence[int], *, window: int = 1, **options: Any) -> list[Passage]:
    candidates = [Candidate(LEAVES[index], 1 - rank / 100) for rank, index in enumerate(hits)]
    budget = Budget(tokens, TOKENIZER, **options)
    return spend(budget, candidates, context_of(CHUNKS, Expansion(window=window), STRATEGY.fingerprint))


def indices(passages: Sequence[Passage]) -> list[list[int]]:
    return [[chunk.index for chunk in passage.chunks] for passage in passages]


def count(passages: Sequence[Passage]) -> int:
    return sum(TOKENIZER.count([passage.text for passage in passages]).tolist()) if passages else 0


def test_hits_are_taken_by_worth_and_neighbours_merged_afterwards() -> None:
    found = spent(4 * SENTENCE, [10, 20, 11, 5, 21])

    assert indices(found) == [[10, 11], [20], [5]]
    assert [passage.score for passage in found] == [1.0, 0.99, 0.97]
    assert found[0].text == TEXT[found[0].start : found[0].end]


def test_context_takes_what_hits_leave_or_its_share_or_goes_with_each_hit() -> None:
    assert indices(spent(6 * SENTENCE, [10, 20], window=2)) == [[8, 9, 10, 11, 12], [20]]
    assert indices(spent(6 * SENTENCE, [10, 20, 3, 4, 5, 6])) == [[10], [20], [3, 4, 5, 6]]
    assert indices(spent(6 * SENTENCE, [10, 20, 3, 4, 5, 6], context_share=0.5)) == [[9, 10, 11], [20, 21], [3]]
    assert indices(spent(6 * SENTENCE, [10, 20, 3], with_context=True)) == [[9, 10, 11], [19, 20, 21]]


def test_top_k_counts_passages_after_merging() -> None:
    found = spent(100 * SENTENCE, [10, 20, 3, 11, 12], top_k=2, window=0)

    assert indices(found) == [[10, 11], [20]]
    assert indices(spent(100 * SENTENCE, [10, 20, 3, 11, 12], top_k=2)) == [[9, 10, 11, 12, 13], [19, 20, 21]]


def test_the_last_hit_is_cut_at_the_sentences_with_clearly_more_terms_of_the_question() -> None:
    chunks = placed(create("sentence", chunk_size=60, chunk_overlap=0), TEXT)
    leaf = leaves(chunks)[0]

    def about(*words: str) -> str:
        def terms(found: Sequence[str]) -> list[frozenset[int]]:
            return [frozenset(number for number, word in enumerate(words) if word in text.split()) for text in found]

        budget = Budget(2 * SENTENCE + 1, TOKENIZER, terms=terms)
        (passage,) = spend(budget, [Candidate(leaf, 1.0)], context_of(chunks, Expansion(), ""))
        assert passage.text == TEXT[passage.start : passage.end]
        assert passage.chunks == (leaf,)
        return passage.text

    assert [word for word in about("nothing").split() if word.isdecimal()] == ["0", "1"]
    assert [word for word in about("5").split() if word.isdecimal()] == ["0", "1"]
    assert [word for word in about("4", "5").split() if word.isdecimal()] == ["4", "5"]


@pytest.mark.parametrize(("tokens", "text"), [(1, "Sentence"), (3, "Sentence number 7"), (6, LEAVES[7].text)])
def test_below_a_sentence_the_best_hit_is_cut_at_a_word(tokens: int, text: str) -> None:
    (found,) = spent(tokens, [7, 8])

    assert found.text == text


def test_a_later_hit_in_a_script_without_spaces_between_words_is_cut_at_a_clause() -> None:
    clause = "ภาษาไทยไม่เว้นวรรคระหว่างคำ"
    text = f"{' '.join([clause] * 8)}\n\n{' '.join([clause] * 6)}"
    chunks = placed(create("structure", chunk_size=300), text)
    first, second = leaves(chunks)
    tokens = int(TOKENIZER.count([first.text])[0]) + int(TOKENIZER.count([f"{clause} {clause} "])[0])

    hits = [Candidate(first, 2.0), Candidate(second, 1.0)]
    found = spend(Budget(tokens, TOKENIZER), hits, context_of(chunks, Expansion(), ""))

    assert "".join(passage.text for passage in found).count(clause) == 10
    assert all(passage.text == text[passage.start : passage.end] for passage in found)


def test_a_later_hit_is_cut_at_a_word_only_where_a_twentieth_of_the_budget_would_be_left() -> None:
    long = f"Words {'and words ' * 100}without an end"
    short = "".join(f"This is sentence number {number} of the text. " for number in range(9)).strip()
    chunks = placed(create("structure", chunk_size=250), f"{short}\n\n{long}")
    first, second = leaves(chunks)[:2]
    size = int(TOKENIZER.count([first.text])[0])

    def taken(tokens: int) -> list[str]:
        hits = [Candidate(first, 2.0), Candidate(second, 1.0)]
        return [passage.text for passage in spend(Budget(tokens, TOKENIZER), hits, context_of(chunks, Expansion(), ""))]

    assert taken(size + size // 20) == [first.text]
    (both,) = taken(size + size // 10)
    words = both.removeprefix(first.text).strip()
    assert second.text.startswith(words)
    assert words.endswith((" and", " words"))
    # The same within a chunk: a sentence more, or some of its words.
    chunks = placed(create("sentence", chunk_size=60, chunk_overlap=0), TEXT)
    first = leaves(chunks)[0]
    found = spend(Budget(2 * SENTENCE - 2, TOKENIZER), [Candidate(first, 1.0)], context_of(chunks, Expansion(), ""))
    assert [passage.text for passage in found] == ["Sentence number 0 stands here.\n\nSentence number 1 stands"]


def test_a_budget_below_one_character_is_an_error_and_no_empty_answer() -> None:
    def bytes_of(text: str) -> list[str]:
        return [f"{byte}" for byte in text.encode()]

    budget = Budget(2, resolve(bytes_of))
    chunks = placed(STRATEGY, "\u20ac\u20ac\u20ac.")
    leaf = leaves(chunks)[0]

    with pytest.raises(InvalidParameterError, match=r"^budget: must be at least 3, .*\(got 2\)"):
        spend(budget, [Candidate(leaf, 1.0)], context_of(chunks, Expansion(), ""))


def test_passages_are_shortened_to_their_hits_before_any_is_left_out() -> None:
    whole = spent(100 * SENTENCE, [10, 20], window=2)

    assert indices(shorten(whole, Budget(5 * SENTENCE, TOKENIZER))) == [[9, 10, 11, 12], [20]]
    assert indices(shorten(whole, Budget(SENTENCE, TOKENIZER))) == [[10]]
    assert shorten(whole, Budget(100 * SENTENCE, TOKENIZER)) == whole


@settings(max_examples=60, deadline=None)
@given(
    text=texts(),
    name=st.sampled_from(["sentence", "token", "structure", "cluster", "hierarchical"]),
    tokens=st.integers(1, 200),
    data=st.data(),
)
def test_no_budget_is_exceeded_and_every_passage_is_made_of_slices(
    text: str, name: str, tokens: int, data: Any
) -> None:
    parameters = data.draw(strategy_parameters(name))
    strategy = create(name, **parameters)
    chunks = placed(strategy, text)
    found = [chunk for chunk in leaves(chunks) if chunk.text.strip()]
    if not found:
        return
    hits = data.draw(st.lists(st.sampled_from(found), min_size=1, max_size=6, unique_by=lambda chunk: chunk.id))
    expansion = Expansion(window=data.draw(st.integers(0, 2)), parents=data.draw(st.booleans()))
    budget = Budget(tokens, TOKENIZER, data.draw(st.sampled_from([0.0, 0.4])), with_context=data.draw(st.booleans()))
    candidates = [Candidate(hit, 1 - rank / 10) for rank, hit in enumerate(hits)]

    try:
        passages = spend(budget, candidates, context_of(chunks, expansion, strategy.fingerprint))
    except InvalidParameterError:
        assert int(TOKENIZER.count([hits[0].text])[0]) > tokens
        return

    assert passages[0].best.chunk == hits[0]
    assert count(passages) <= tokens
    for passage in passages:
        assert passage.text == "\n\n".join(text[start:end] for start, end in passage.spans)
        assert passage.text.strip() or not TOKENIZER.count([hits[0].text])[0]


def test_a_search_with_a_budget_alone_fills_it() -> None:
    with Index("memory:", embedder="hash", strategy=create("sentence", chunk_size=12, chunk_overlap=0)) as index:
        index.add([Document(f"{n}.md", f"Recursion has a part {n}. It calls itself.") for n in range(60)])
        for budget in (24, 250, 400):
            found = index.search("recursion", budget=budget)
            assert budget - 12 < count(found) <= budget
        assert len(found) > 3
        assert index.search("recursion", budget=400, top_k=2) == found[:2]
