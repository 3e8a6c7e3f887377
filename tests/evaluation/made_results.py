"""Made-up results of an evaluation."""

from __future__ import annotations

import random
from collections.abc import Sequence

from kinsplit.evaluation.labels import (
    AskedQuestion,
    Comparison,
    Estimate,
    MeasureNote,
    QuestionResult,
    RetrievedChunk,
    SharedSettings,
    SourceText,
    StrategyResult,
)
from kinsplit.evaluation.results import Results

HEADLINE = "recall@1000t"
BUDGETS = (100, 200, 500, 1000, 2000)
LABELS = ("sentence", "structure", "token 512", "semantic", "langchain:RecursiveCharacterTextSplitter", "chonkie:late")


def estimate(mean: float, margin: float = 0.04, count: int = 40) -> Estimate:
    return Estimate(mean=mean, low=mean - margin, high=mean + margin, count=count)


def setting(**changes: object) -> SharedSettings:
    values = {
        "dataset": "course",
        "documents": 5,
        "questions": 12,
        "embedder": "hash",
        "ranker": "dense",
        "tokenizer": "bundled",
        "top_k": 5,
        "headline": HEADLINE,
        "versions": {"kinsplit": "0.1.0", "numpy": "2.3.1"},
    }
    return SharedSettings(**{**values, **changes})  # type: ignore[arg-type]


def comparison(strategy: str, mean: float, p_value: float, measure: str = HEADLINE) -> Comparison:
    return Comparison(
        measure=measure,
        strategy=strategy,
        baseline="sentence",
        difference=estimate(mean, 0.031),
        p_value=p_value,
        wins=6,
        ties=4,
        losses=2,
    )


def text(seed: int, words: int = 400) -> str:
    chosen = random.Random(seed)
    known = ["a list", "holds", "items", "in order", "and each", "of them", "has an index", "that a loop", "may count"]
    return " ".join(chosen.choice(known) for _ in range(words)) + "."


def labels(count: int) -> list[str]:
    return [LABELS[n] if n < len(LABELS) else f"strategy {n}" for n in range(count)]


def results(
    strategies: int = 4, documents: int = 5, questions: int = 12, budgets: Sequence[int] = BUDGETS, **changes: object
) -> Results:
    """Return results in which the second strategy is better than the first, and the third worse."""
    chosen = random.Random(strategies)
    sources = {f"course/lecture_{n:02}.md": text(n) for n in range(1, documents + 1)}
    names = labels(strategies)
    asked = [_question(n, list(sources), sources) for n in range(questions)]
    shifts = [(0.06, -0.05, 0.005)[(n - 1) % 3] if n else 0.0 for n in range(strategies)]
    answers = [
        _answer(question, name, shift, chosen, sources)
        for name, shift in zip(names, shifts, strict=True)
        for question in asked
    ]
    values = {
        "setting": setting(documents=documents, questions=questions),
        "strategies": [
            _strategy(name, shift, budgets, list(sources), chosen) for name, shift in zip(names, shifts, strict=True)
        ],
        "questions": asked,
        "results": answers,
        "comparisons": [
            comparison(name, shift, 0.004 if abs(shift) > 0.02 else 0.6)
            for name, shift in zip(names[1:], shifts[1:], strict=True)
        ],
        "warnings": ["Only 12 questions were asked: differences below 10 points can't be told from chance."],
        "notes": [
            MeasureNote(
                name=HEADLINE, description="Share of the labelled text within 1,000 tokens.", higher_is_better=True
            ),
            MeasureNote(name="seconds", description="Time of a search.", higher_is_better=False),
        ],
    }
    return Results(**{**values, **changes})  # type: ignore[arg-type]


def _strategy(
    name: str, shift: float, budgets: Sequence[int], sources: Sequence[str], chosen: random.Random
) -> StrategyResult:
    counts = {source: chosen.randint(3, 40) for source in sources}
    lengths = [max(1, int(chosen.gauss(700, 180))) for _ in range(sum(counts.values()))]
    recall = {f"recall@{b}t": estimate(min(0.95, 0.25 + 0.09 * (b / 100) ** 0.6) + shift) for b in budgets}
    return StrategyResult(
        label=name,
        spec=f"{name}(chunk_size=512, chunk_overlap=64)",
        measures={
            **recall,
            "nDCG@10": estimate(0.61 + shift),
            "MRR": estimate(0.7 - shift),
            "precision": estimate(0.123),
            "jaccard": estimate(0.0712, 0.003),
            "query_terms": estimate(0.6944),
            "cosine": estimate(0.55),
            "seconds": estimate(0.0021, 0.0004),
        },
        statistics={"chunks": len(lengths), "mean characters": sum(lengths) / len(lengths), "mid_word": 0.0123},
        lengths=lengths,
        chunks_per_document=counts,
    )


def _question(number: int, names: Sequence[str], sources: dict[str, str]) -> AskedQuestion:
    source = names[number % len(names)]
    start = 120 + 10 * number
    passage = SourceText(source_id=source, spans=[(start, start + 90)], text=sources[source][start : start + 90])
    return AskedQuestion(id=f"q{number:02}", text=f"What does item {number} of the list hold?", labels=[[passage]])


def _answer(
    question: AskedQuestion, name: str, shift: float, chosen: random.Random, sources: dict[str, str]
) -> QuestionResult:
    source = question.labels[0][0].source_id
    starts = [chosen.randint(0, 300), 700, 1200]
    hits = [
        RetrievedChunk(source_id=source, spans=[(s, s + 260)], text=sources[source][s : s + 260], score=1 / (1 + rank))
        for rank, s in enumerate(starts)
    ]
    found = max(0.0, min(1.0, 0.6 + shift + chosen.uniform(-0.4, 0.4)))
    return QuestionResult(
        question_id=question.id, strategy=name, measures={HEADLINE: found, "seconds": 0.002, "jaccard": 0.07}, hits=hits
    )
