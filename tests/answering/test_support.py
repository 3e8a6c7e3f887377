"""The check of sentences against the sources that they cite."""

from __future__ import annotations

from pathlib import Path

import pytest

from kinsplit import Index
from kinsplit.answering.attempt import Marker, MarkerReader
from kinsplit.answering.checking import SourcePart, check, verdict
from kinsplit.answering.run import MOST, Draft, quotation, quotes
from kinsplit.answering.values import Check
from kinsplit.embedding import create
from kinsplit.embedding.sparse import Bm25Embedder
from kinsplit.options import MIN_SUPPORT
from kinsplit.spans import Span
from tests.answering.helpers import source

HEAP = "A heap is a tree. The smallest item stands on top. It has 1,024 items in 10 levels."
LOOP = "A loop repeats its body. A while loop asks its condition first."


def checked(text: str, min_support: float = MIN_SUPPORT) -> list[Check]:
    draft, reader = Draft("?", [source(1, HEAP, start=100), source(2, LOOP)]), MarkerReader()
    for part in [*reader.feed(text), *reader.finish()]:
        draft.marker(part) if isinstance(part, Marker) else draft.piece(part)
    return check(draft.text, draft.citations, create("hash"), Bm25Embedder(), min_support)


@pytest.mark.parametrize(
    ("text", "status"),
    [
        ("The smallest item stands on top [1].", "found"),
        ("The smallest items stand on the top. [1]", "found"),
        ("The smallest item stands on top.", "uncited"),
        ("The smallest item stands on top [2].", "not_found"),
        ("The smallest item stands on top [7].", "no_such_source"),
        ("The smallest item stands on top [1][7].", "no_such_source"),
        ("The smallest item stands on top [2][1].", "found"),
        ("Penguins breed in Antarctica [1].", "not_found"),
        ("It has 1024 items in 10 levels [1].", "found"),
        ("It has 2048 items in 10 levels [1].", "not_found"),
    ],
)
def test_a_sentence_is_looked_up_in_what_it_cites(text: str, status: str) -> None:
    (found,) = checked(text)
    assert found.status == status


def test_the_evidence_is_the_exact_place_in_the_document() -> None:
    (found,) = checked("The smallest item stands on top [2][1].")

    first, second = found.evidence
    assert (first.number, second.number) == (1, 2)
    assert (100 + HEAP.index("The smallest"), first.text) == (first.span.start, "The smallest item stands on top.")
    assert first.span.end - first.span.start == len(first.text)
    assert first.chunk.source_id == "course/a.md"
    assert (first.score, first.overlap) == (pytest.approx(1.0), 1.0)
    assert second.score < MIN_SUPPORT


def test_numbers_that_the_evidence_lacks_are_named() -> None:
    (found,) = checked("It has 2,048 items in 10 levels [1].", 0.6)
    assert (found.missing, found.status) == (("2048",), "not_found")
    assert found.evidence[0].score > 0.6


def test_two_sentences_may_be_found_as_one() -> None:
    (found,) = checked("A loop repeats its body, and a while loop asks its condition first [2].")
    assert found.status == "found"
    assert found.evidence[0].text == LOOP


def test_the_verdict_counts_what_was_found() -> None:
    good, bad = "A heap is a tree [1].", "Penguins breed there [1]."
    assert verdict(checked(good)) == "supported"
    assert verdict(checked(f"{good} {bad}")) == "partly_supported"
    assert verdict(checked(bad)) == verdict([]) == "unsupported"


def test_the_nearest_sentences_are_quoted_once_and_few_of_one_source() -> None:
    sources = [
        source(1, HEAP, start=100),
        source(2, LOOP),
        source(3, LOOP, file="b.md"),
        source(4, "What loops? Short one."),
    ]
    found = quotes("What does a while loop ask?", sources, create("hash"), Bm25Embedder())

    assert found[0].text == "A while loop asks its condition first."
    assert len({part.text for part in found}) == len(found) <= MOST
    assert all(not part.text.endswith("?") for part in found)
    for part in found:
        span = part.source.locate(*part.at)
        assert span.end - span.start == len(part.text)


def test_a_source_of_short_words_alone_is_quoted_all_the_same() -> None:
    (found,) = quotes("What?", [source(1, "Heap.")], create("hash"), Bm25Embedder())
    assert quotation(found) == "“Heap.”"
    assert quotation(quotes("x", [source(1, "word " * 500)], create("hash"), Bm25Embedder())[0]).endswith(" …”")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("A heap\n  is a tree.", "“A heap is a tree.”"),
        ("See this.\n\n| a  | b |\n|---|---|\n| 1 | 2 |", "“See this.\n| a  | b |\n|---|---|\n| 1 | 2 |”"),
        ("```\nif x:\n    y()\n```", "“```\nif x:\n    y()\n```”"),
    ],
)
def test_a_quotation_of_a_table_or_code_keeps_its_lines(text: str, expected: str) -> None:
    assert quotation(SourcePart(source(1, text), Span(0, len(text)))) == expected


def test_sentences_of_scripts_without_spaces_are_quoted_as_well() -> None:
    texts = ["堆是一种树结构。循环会重复它的主体吗？", "A loop repeats its body here."]
    found = quotes("堆是什么？", [source(n, text) for n, text in enumerate(texts, 1)], create("hash"), Bm25Embedder())
    assert [part.text for part in found] == ["堆是一种树结构。"]


def test_the_benchmark_looks_every_sentence_up(index: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "benchmarks"))
    import answer_check  # A script, not an installed package.

    said = ("A heap is a tree.", "A loop repeats its body.")
    group = answer_check.Group("What is a heap?", said, ("Penguins swim fast.",))
    assert answer_check.share(index, (group,), "said", index.embedder) == "2 of 2"
    assert answer_check.share(index, (group,), "not_said", index.embedder) == "0 of 1"
