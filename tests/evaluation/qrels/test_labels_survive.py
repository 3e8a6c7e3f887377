"""The same labels judge any chunking of a corpus, without being changed."""

from __future__ import annotations

import copy
from collections.abc import Sequence

import pytest

from kinsplit.chunk import Document
from kinsplit.evaluation.labels import Dataset, Label, Place, Question
from kinsplit.evaluation.measures.protocol import Chunking, Outcome
from kinsplit.evaluation.measures.registry import create_many
from kinsplit.evaluation.qrels import tune_thresholds
from kinsplit.evaluation.splitters.specs import as_strategy, from_spec
from kinsplit.options import SpanRule
from kinsplit.parsers import Strategy
from kinsplit.spans import Span
from kinsplit.tokenizers import resolve

TOPICS = ("loops", "classes", "functions", "recursion", "modules", "errors")
TEXTS = {
    f"{subject}.txt": "\n\n".join(
        f"About {topic} in {subject}. They are taught in the week of {topic}. 日本語 😀 and a sentence more.\n"
        f"The answer about {topic} in {subject} is number {number}. Nobody need remember that {topic} are old."
        for number, topic in enumerate(TOPICS)
    )
    for subject in ("python", "ruby")
}


def labelled(subject: str, topic: str) -> Question:
    source_id = f"{subject}.txt"
    start = TEXTS[source_id].index(f"The answer about {topic}")
    place = Place(source_id, Span(start, TEXTS[source_id].index(".", start) + 1))
    return Question(f"{subject}-{topic}", f"answer about {topic} in {subject}", (Label((place,)),))


DATASET = Dataset(
    "topics",
    tuple(Document(source_id, text) for source_id, text in TEXTS.items()),
    tuple(labelled(subject, topic) for subject in ("python", "ruby") for topic in TOPICS),
)


def halves(text: str) -> list[tuple[int, int]]:
    return [(0, len(text) // 2), (len(text) // 2, len(text))]


def splitters() -> dict[str, Strategy]:
    specs = (
        "sentence:chunk_size=24,chunk_overlap=0",
        "character:chunk_size=150,chunk_overlap=50",
        "langchain:RecursiveCharacterTextSplitter:chunk_size=120,chunk_overlap=20",
        "chonkie:RecursiveChunker:chunk_size=40",
    )
    for package in ("langchain_text_splitters", "chonkie"):
        pytest.importorskip(package)
    return {**{spec.partition(":")[0]: from_spec(spec).strategy for spec in specs}, "halves": as_strategy(halves)}


def ranked(chunking: Chunking) -> Sequence[Outcome]:
    """Rank the chunks for each question by the number of words that they share with it."""
    outcomes = []
    for question in chunking.dataset.questions:
        asked = set(question.text.split())
        hits = sorted(chunking.chunks, key=lambda chunk: (-len(asked & set(chunk.text.split())), chunk.id))
        scores = [float(len(hits) - rank) for rank in range(len(hits))]
        outcomes.append(Outcome(question, hits, scores, scores, 0.0))
    return outcomes


def test_five_chunkings_are_scored_by_the_same_labels() -> None:
    before = copy.deepcopy(DATASET.questions)
    tokenizer = resolve("bundled")
    chunkings = {
        label: Chunking(DATASET, tuple(c for own in strategy.chunk_many(DATASET.documents) for c in own), tokenizer)
        for label, strategy in splitters().items()
    }
    assert len(chunkings) == 5
    assert len({len(chunking.chunks) for chunking in chunkings.values()}) >= 4
    tuned = tune_thresholds(DATASET.questions, [chunking.alignment for chunking in chunkings.values()], least=1).best
    assert tuned is not None
    measures = create_many(["recall@60t", "recall@100000t", "nDCG@10", "text_recall@5", "precision_omega"], rule=tuned)
    means: dict[str, list[float]] = {}
    for label, chunking in chunkings.items():
        for measure in measures:
            scores = [measure.score(outcome, chunking) for outcome in ranked(chunking)]
            # All measures apply to all questions, with any chunks.
            assert None not in scores, (label, measure.name)
            means.setdefault(measure.name, []).append(sum(scores) / len(scores))
    assert means["recall@100000t"] == pytest.approx([1] * 5)
    for name, found in means.items():
        assert all(0 <= mean <= 1 for mean in found), name
    # The measures distinguish the chunkings: halves of a document are too large for a short answer.
    assert means["precision_omega"][-1] == min(means["precision_omega"]) < max(means["precision_omega"])
    assert means["recall@60t"][-1] == min(means["recall@60t"]) < max(means["recall@60t"])
    assert DATASET.questions == before


def test_under_the_strict_rule_large_chunks_are_not_judged_and_small_ones_are() -> None:
    tokenizer = resolve("bundled")
    judged = {}
    for label in ("sentence", "halves"):
        strategy = splitters()[label]
        chunks = tuple(chunk for own in strategy.chunk_many(DATASET.documents) for chunk in own)
        chunking = Chunking(DATASET, chunks, tokenizer)
        judged[label] = len(chunking.alignment.qrels(DATASET.questions, SpanRule()))
    assert judged["sentence"] > judged["halves"] == 0
